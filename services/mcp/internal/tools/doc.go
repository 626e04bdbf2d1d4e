// Package tools makes MCP tools of what the intake does: the six that the
// contract describes (contract section 10), and the six fixed ones of the
// deprecated endpoint.
//
// A tool judges its arguments by its own schema, in Ajv's words. Whatever a
// caller may read comes back as a result: data in structuredContent, and the
// same data as text between <extension-data> tags that nothing in it can close,
// after a notice that it is data and no instructions.
package tools
