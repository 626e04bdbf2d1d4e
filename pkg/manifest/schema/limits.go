package schema

// What a schema may hold. The first two are the contract's (contract section
// 5); the others keep its evaluation bounded (security page, section 1).
const (
	// MaxBytes is the largest schema, without white space between tokens.
	MaxBytes = 32 << 10
	// MaxSubschemas is how many subschemas may stand below the root,
	// definitions and boolean schemas included.
	MaxSubschemas = 200
	// MaxCost is how many evaluations one value may trigger with every $ref
	// written out.
	MaxCost = 5_000
	// MaxEnum is how many values an enum may list.
	MaxEnum = 256
	// MaxPatternProperties is how many patterns one object may have.
	MaxPatternProperties = 8
	// MaxUniqueItems is the largest maxItems beside uniqueItems, which costs
	// the square of it.
	MaxUniqueItems = 256
	// MaxPatternBytes and MaxInstructions bound a regular expression by its
	// text and by the size of its RE2 program.
	MaxPatternBytes = 1_024
	MaxInstructions = 1_000
	// MaxCount is the largest value of a keyword that counts, such as
	// maxLength: the validator would wrap around above it (SEC-53).
	MaxCount = 1<<31 - 1
)

// What a validation may take and say.
const (
	// MaxSteps bounds the work of one validation, at about a microsecond and a
	// half a step.
	MaxSteps = 20_000
	// MaxProblems is how many problems Validate lists (contract section 9).
	MaxProblems = 20
)
