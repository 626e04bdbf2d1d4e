// Package edgeapi is the REST door: the API of extensions and the admin API, as
// contracts/openapi.yaml describes them.
//
// It is a thin door. It reads a request strictly, asks the packages that decide
// (intake for calls and events, ledger and registry for what operators do) and
// writes the answer or the problem. It holds no state, so any number of
// replicas serve side by side.
//
// The order of what is asked of a request is the same everywhere: credential,
// session or role, media type, size, shape (contract section 6). No body is
// read for a caller without a valid token.
//
// Package door has what all endpoints share, package partner the endpoints of
// extensions, package admin those of operators.
package edgeapi
