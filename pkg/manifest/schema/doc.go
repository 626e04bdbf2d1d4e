// Package schema judges third-party JSON Schemas and validates values against
// them. Both the schema and the value may be hostile, so everything here is
// bounded by counting, not by time.
//
// [Compile] first lints: a schema may refer only to its own document and never
// to itself, its patterns must run on RE2, and its size and worst-case cost are
// limited (contract section 5, SEC-43 to SEC-53). Nothing is ever loaded, from a
// file or from the network (S-26). What passes is compiled by
// santhosh-tekuri/jsonschema, each schema with a compiler of its own (SEC-45,
// SEC-60).
//
// [Schema.Validate] first counts the steps a validation could take, and refuses
// a value that needs more than [MaxSteps] (SEC-47, SEC-48); the library has no
// limit of its own. Then it validates, and says what is wrong in Ajv's words
// with the path of each value at fault (contract section 9, S-28).
//
// The dialect is JSON Schema 2020-12 where $schema says nothing else; draft-07
// is honoured too (S-27). Of the formats, date-time, date, uri, email and uuid
// are asserted (SEC-61) and all others are annotations, as are keywords that
// the dialect does not know, such as x-chaster-options.
//
// A compiled [Schema] never changes and may be used by several goroutines.
package schema
