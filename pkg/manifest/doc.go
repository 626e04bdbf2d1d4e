// Package manifest holds what an extension declares: its commands, queries and
// events with their schemas, and the lock events it wants to be told (contract
// section 5). A manifest is written by a third party, so nothing in it is
// trusted.
//
// [Parse] judges a document that is being published and lists every problem at
// once. What passes is a [Document], whose JSON is exactly the contract's form.
// [Compile] makes a document ready for calls: a [Capability] knows its schemas
// and says what is wrong with an input, a result or a payload in Ajv's words.
// [Cache] keeps compiled manifests by slug and revision.
//
// Strict JSON and schemas live in the packages strictjson and schema below.
//
// Documents and compiled manifests are read-only after they are made and may be
// used by several goroutines.
package manifest
