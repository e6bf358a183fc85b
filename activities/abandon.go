package activities

// Elsewhere reports whether a dream runs on another Temporal cluster than the one here. A dream whose cluster is not
// recorded runs here.
func Elsewhere(cluster, here string) bool { return cluster != "" && cluster != here }

// Abandoning says how a person ends a dream whose Temporal cluster is gone for good.
func Abandoning(dreamID string) string {
	return "end the dream with oneiros dreams cancel " + dreamID + " --abandon"
}
