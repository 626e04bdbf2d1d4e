// Package e2etest speaks to a running pipeline as partners and operators do,
// over HTTP, with extensions that are real HTTP servers. The end-to-end tests
// and the fault tests stand on it.
package e2etest
