package screen

import "github.com/seed-56a03226/oneiros/activities/port/dream"

// steeredWords says by which vector a model was steered; empty for none.
func steeredWords(s dream.Settings) string {
	if s.Steering == "" {
		return ""
	}
	return ", steered by " + Clean(s.Steering)
}
