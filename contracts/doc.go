// Package contracts is the truth on the wire: what clients, partners and
// operators see, as documents, and a little Go that embeds them.
//
// The edge API is openapi.yaml, the messages on NATS and the webhooks are
// asyncapi.yaml, both over the JSON Schemas (2020-12) of schemas/. What the
// built-in extensions offer is data in manifests/, and their names are in
// builtins.json. Each schema has examples in examples/: documents that it
// takes, and documents that it refuses for the one reason in their name.
//
// The schemas refer to each other by relative file name, such as
// common.json#/$defs/id: a compiler needs all of them, under one base URL.
//
// The package holds no behaviour and imports the standard library only.
package contracts
