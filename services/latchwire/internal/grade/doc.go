// Package grade tries a receiver of webhooks from outside, as its developer
// would want to before the first real one arrives: it sends what the pipeline
// sends, what an attacker would, and what goes wrong on a bad day, and judges
// each answer (contract sections 7 and 8).
//
// The cases are sent one after another, by a client that follows no redirect
// and uses no proxy. It may call any address, this machine's own included: it
// is a tool for people, not a part of the pipeline. Each fault shows in one
// case: an answer that redirects is judged by no-redirect alone, and one that
// does not come in time by in-time alone.
//
// The receiver really gets what is sent. Its sessions, locks and events are
// made up, unless the config names a session.
package grade
