// Package admin serves the operators: extensions and their credentials, admin
// tokens, locks and what is installed on them, their history, chains, and the
// deliveries that were given up.
//
// Whatever is secret is shown once, in the answer that made it (SEC-28). A
// token with the role read-only may look and change nothing.
package admin
