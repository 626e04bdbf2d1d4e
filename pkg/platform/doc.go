// Package platform is what every service stands on: the connection to NATS,
// the ledger, the registry and the catalog, with their settings, opened in
// order and closed in reverse.
//
// Each service's process opens one; the one-process program opens one for all
// its services.
package platform
