package schema_test

import (
	"testing"

	"github.com/latchwire/latchwire/pkg/manifest/schema"
)

// The other tests use the names of the limits; this one has the figures.
func TestLimitsAreTheDocumentedFigures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ got, want int }{
		"contract section 5: a schema has 32 KiB":      {schema.MaxBytes, 32_768},
		"contract section 5: and 200 subschemas":       {schema.MaxSubschemas, 200},
		"SEC-47: one value triggers 5,000 evaluations": {schema.MaxCost, 5_000},
		"SEC-47: a validation takes 20,000 steps":      {schema.MaxSteps, 20_000},
		"SEC-50: a pattern has 1,000 instructions":     {schema.MaxInstructions, 1_000},
		"SEC-50: and 1,024 bytes":                      {schema.MaxPatternBytes, 1_024},
		"SEC-51: 256 items may have to be unique":      {schema.MaxUniqueItems, 256},
		"SEC-52: an enum has 256 values":               {schema.MaxEnum, 256},
		"SEC-53: a keyword counts up to 2^31-1":        {schema.MaxCount, 2_147_483_647},
		"security section 1: details have 20 entries":  {schema.MaxProblems, 20},
		"security section 1: an object has 8 patterns": {schema.MaxPatternProperties, 8},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.got != test.want {
				t.Errorf("got %d, want %d", test.got, test.want)
			}
		})
	}
}
