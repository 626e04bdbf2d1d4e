// Package permissions has the tests of deploy/nats: a real server runs by those
// files, with keys and certificates made here, and each service is let do what it
// does and nothing of what it must not.
package permissions
