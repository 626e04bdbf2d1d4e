// Package brokertest gives tests a real NATS server inside the test process:
// one without a socket, one that can be stopped and started again on the same
// port and folder, or a cluster of several. Everything is stored in the test's
// own temporary folder and is gone when the test ends.
package brokertest
