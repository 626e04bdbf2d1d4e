// Package ledgertest gives tests a ledger and a registry on a real server in
// the test process, with the topology applied and everything running.
package ledgertest
