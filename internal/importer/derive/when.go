package derive

// partOfDay is the usual name of an hour's part of the day.
func partOfDay(hour int) string {
	switch {
	case hour < 5:
		return "night"
	case hour < 12:
		return "morning"
	case hour < 17:
		return "afternoon"
	case hour < 22:
		return "evening"
	default:
		return "night"
	}
}
