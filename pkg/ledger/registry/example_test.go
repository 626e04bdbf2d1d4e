package registry_test

import (
	"fmt"
	"time"

	"github.com/latchwire/latchwire/pkg/ledger/registry"
)

// The secret goes to its holder once; only its hash is stored.
func ExampleNewToken() {
	tok, secret := registry.NewToken(registry.Token{Kind: registry.DeveloperToken, Extension: "dice"}, time.Now())
	fmt.Println(secret[:4], len(secret), secret[:10] == tok.Prefix)
	// Output: cdt_ 53 true
}
