package catalog_test

import (
	"fmt"

	"github.com/latchwire/latchwire/pkg/catalog"
)

func ExampleReserved() {
	fmt.Println(catalog.Reserved("lock"), catalog.Reserved("my-ext"))
	// Output: true false
}
