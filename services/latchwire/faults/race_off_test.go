//go:build !race

package faults

// underRace says whether the race detector watches these tests.
const underRace = false
