package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Without is the text of an empty list: that there is nothing, or nothing that matches the flags.
func Without(cmd *cobra.Command, a dream.Agent, nothing string) string {
	var questions []string
	for _, name := range []string{"kind", "state", "status", "dream", "session", "since", "until"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			questions = append(questions, "--"+name+" "+strings.Trim(flag.Value.String(), "[]"))
		}
	}
	if len(questions) == 0 {
		return fmt.Sprintf(nothing, a.Handle)
	}
	return fmt.Sprintf("%s has nothing that fits %s.", a.Handle, strings.Join(questions, " "))
}

// OneOf reports whether a word is among words.
func OneOf[S ~string](word string, words []S) bool {
	for _, w := range words {
		if string(w) == word {
			return true
		}
	}
	return false
}

// Listed joins words with commas.
func Listed[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// ReadTime parses a day, a time, or a duration before now.
func ReadTime(s, zone string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, s, Location(zone)); err == nil {
			return t.UTC(), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), nil
	}
	text := s
	if days, ok := strings.CutSuffix(s, "d"); ok {
		text = days + "h"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("%q is no time such as 2026-11-20, 2026-11-20T06:00 or 36h", s)
	}
	if text != s {
		d *= 24
	}
	return now.Add(-d).UTC(), nil
}

// OrEmpty returns the list; an empty one for nil, so that JSON shows [].
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
