package activities

// Abandoning says how a person ends a dream whose Temporal cluster is gone for good.
func Abandoning(dreamID string) string {
	return "end the dream with oneiros dreams cancel " + dreamID + " --abandon"
}
