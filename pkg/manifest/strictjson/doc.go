// Package strictjson is the door every JSON text from outside passes first. It
// reads the text once, strictly, and bounds what may cost time or memory later:
// nesting, the number of values, and the size of numbers.
//
// The standard library is too kind for a boundary. It keeps the last of two
// equal names, matches names without regard to case, turns invalid UTF-8 into
// U+FFFD and hands numbers out as float64, so that two readers of one document
// can see two different things. Here duplicate names, invalid UTF-8, lone
// surrogates, a byte order mark and trailing data are errors (SEC-30, SEC-31,
// SEC-37); names match exactly (SEC-36, S-01); numbers keep their digits
// (SEC-34, S-03) and are refused if no validator could work with them
// (SEC-33).
//
// [Check] only judges, [Decode] fills a Go value, [Value] builds a tree for a
// validator, and [Canonical] gives the one spelling by which two texts can be
// compared as JSON values. Every failure is an [*Error] that says why and where
// and never quotes the text.
//
// The functions keep no state and may be called from several goroutines.
package strictjson
