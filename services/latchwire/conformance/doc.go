// Package conformance tries the pipeline with what nobody here wrote: the MCP
// service with the official conformance suite for both eras and the official
// clients, webhooks with the official library of Standard Webhooks. The tests
// run against the whole pipeline in this process. Those that need Node are
// skipped unless LATCHWIRE_NODE names a folder with the packages of node/ and
// their Node; make conformance sees to that.
package conformance
