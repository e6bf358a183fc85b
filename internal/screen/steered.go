package screen

import "github.com/seed-56a03226/oneiros/internal/dream"

// steeredWords says under which vector a model said something; nothing for one that was not steered.
func steeredWords(s dream.Settings) string {
	if s.Steering == "" {
		return ""
	}
	return ", steered by " + Clean(s.Steering)
}
