package intake_test

import (
	"fmt"
	"strings"

	"github.com/latchwire/latchwire/pkg/intake"
)

// A key may hold anything, and is as long as the code points in it.
func ExampleCheckKey() {
	fmt.Println(intake.CheckKey("spin-6731b2c4e5:assign"))
	fmt.Println(intake.CheckKey(strings.Repeat("😀", 200)))
	fmt.Println(intake.CheckKey(strings.Repeat("a", 201)))
	// Output:
	// []
	// []
	// [{/idempotencyKey must NOT have more than 200 characters}]
}
