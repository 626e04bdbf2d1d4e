// Package wire has the JSON forms that more than one service writes: an
// invocation, a lock event, a history line, the parts of a webhook. The domain
// (package invocation) has no JSON of its own; each form here stands in
// contracts/schemas, and what the contract calls nullable is written as null,
// never left out.
package wire
