package derive

import (
	_ "embed" // feelings.txt
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

//go:embed feelings.txt
var feelingsText string

// feelings gives words a place in pleasure, arousal and dominance.
var feelings = readFeelings(feelingsText)

// readFeelings reads lines of three numbers, a colon and words.
func readFeelings(text string) map[uint64]mood.PAD {
	set := map[uint64]mood.PAD{}
	for line := range strings.Lines(text) {
		var p mood.PAD
		place, words, _ := strings.Cut(line, ":")
		if _, err := fmt.Sscan(place, &p.Pleasure, &p.Arousal, &p.Dominance); err != nil {
			continue // a comment, or a blank line
		}
		for hash := range hashed(words) {
			set[hash] = p
		}
	}
	return set
}
