// Package mcpservice is the door for language models: the MCP endpoints of an
// extension's sessions, as contract section 10 describes them.
//
// It admits a request (host and origin, credential, session, the limit of
// requests) and hands it to package mcp, which speaks the protocol, and that to
// package tools, which call the same intake as the REST door. It holds no state,
// so any number of replicas serve side by side, and each request of a client may
// reach another one.
package mcpservice
