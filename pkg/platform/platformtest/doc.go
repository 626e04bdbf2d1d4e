// Package platformtest gives tests a whole installation inside the test
// process: a NATS server with the topology set up, any number of replicas on
// it, extensions with published manifests, and locks that have them installed.
package platformtest
