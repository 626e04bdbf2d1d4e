// Package e2e has the end-to-end tests: they speak to the pipeline as partners
// and operators do, over HTTP, with extensions that are real HTTP servers.
//
// By default they start the pipeline in this process, with two replicas of each
// service. With LATCHWIRE_E2E_BASE, the base URLs of edge replicas separated by
// commas, and LATCHWIRE_ADMIN_TOKEN, they run against processes that are there:
// scripts/processes starts them.
package e2e
