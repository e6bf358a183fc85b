package worlds

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// Patterns answers a prompt of NREM as a model that claims these checks: the first half of them when it replays
// forwards, the others when it replays from the last episode back to the first.
func Patterns(prompt string, checks []dream.Check) string {
	half := len(checks) / 2
	if strings.Contains(prompt, "from the last back to the first") {
		checks = checks[half:]
	} else {
		checks = checks[:half]
	}
	all := []map[string]any{}
	for _, c := range checks {
		all = append(all, map[string]any{
			"claim": claims.Statement(c), "criterion": claims.Describe(c), "days": 14, "confidence": .35,
			"trace": "It was so before.", "sources": []string{FirstRef(prompt)},
		})
	}
	if len(all) == 0 {
		all = append(all, map[string]any{
			"claim": "Something else comes.", "criterion": "Somebody says so.", "days": 3, "confidence": .3,
			"trace": "It may.", "sources": []string{FirstRef(prompt)},
		})
	}
	body, err := json.Marshal(map[string]any{"patterns": all})
	if err != nil { // texts and numbers only
		panic("worlds: answer with patterns: " + err.Error())
	}
	return string(body)
}

// hours are said beside what is named, since nobody says the same twice a day word for word, and a copy is no evidence.
var hours = strings.Fields("owl moth fox hush frost dawn bread tram bell desk ink soup noon nap tea post chess stew lamp " +
	"radio book quilt snore candle")

// InWords is an episode of a world in words, with its names as spell writes them.
func InWords(e claims.Episode, spell func(name string) string) string {
	var sentences []string
	for _, name := range e.Terms {
		sentences = append(sentences, "There was the "+spell(name)+".")
	}
	return strings.Join(sentences, " ") + " It was the time of the " + hours[e.At.Hour()] + "."
}

var firstRef = regexp.MustCompile(`(?m)^- \[(r\d+)\]`)

// FirstRef is the reference of the first memory that a prompt shows.
func FirstRef(prompt string) string {
	if m := firstRef.FindStringSubmatch(prompt); m != nil {
		return m[1]
	}
	return "r1"
}
