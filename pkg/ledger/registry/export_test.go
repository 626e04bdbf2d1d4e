package registry

// LooksIssued reports whether a text has the checksum of an issued token, as a
// scanner for leaked secrets would ask.
func LooksIssued(text string) bool {
	cut := len(text) - checksumLength
	return cut > 0 && checksum(text[:cut]) == text[cut:]
}
