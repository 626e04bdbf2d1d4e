// Package mcp is the wire layer of a server of the Model Context Protocol: one
// URL that takes POST, stateless, with tools only, for clients of revision
// 2026-07-28 ("modern") and of the four revisions before it ("legacy").
//
// It reads a request's body once and hands on what matters as it was written:
// ids are echoed byte for byte, a tool gets its arguments raw and validates them
// itself. Answers that never change are encoded once, in [New]. A tool that
// panics costs its caller an internal error and nobody else anything. Numbers
// such as MCP-15 name the rows of the checklist that a piece of code fulfils.
//
// The package knows nothing of what the tools are about. Who calls is in the
// request's context, put there by whoever admits the request before it comes
// here.
package mcp
