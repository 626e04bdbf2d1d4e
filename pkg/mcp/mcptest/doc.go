// Package mcptest judges answers of MCP servers in tests: against the official
// schema of the revision that they were given in, and against transcripts that
// hold a request and its exact answer.
package mcptest
