// Package catalog knows what every extension offers: the built-in manifests,
// which are data in the contracts, and the manifests that partners published,
// compiled and ready to validate by.
//
// Compiled manifests never change, so they are cached by slug and revision; an
// invocation is validated and answered against the revision that admitted it
// (contract section 5).
package catalog
