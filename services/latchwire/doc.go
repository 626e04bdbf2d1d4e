// Package latchwire runs the whole pipeline in one process, with NATS embedded
// and its streams on files: `make run`, the end-to-end tests, and small
// installations. It wires the services; none of them knows another.
package latchwire
