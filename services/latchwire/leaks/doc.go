// Package leaks runs the whole pipeline with a marked text in every place that
// is secret or a stranger's, good calls and bad ones, and looks for the mark in
// everything that is printed, traced, counted and stored (SEC-117).
package leaks
