package keeping_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/utterance"
)

// shape is a request as a client sends it, with places for words and for pasted text.
type shape struct {
	Client   string
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

func shapes(t testing.TB) (all []shape) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "wrapped.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &all))
	return all
}

var place = regexp.MustCompile(`\{\{(\w+)(?::(\d+))?\}\}`)

// filled puts words and pasted text into their places.
func filled(text, words string, seed uint64) string {
	dice := rand.New(rand.NewPCG(seed, 0))
	return place.ReplaceAllStringFunc(text, func(at string) string {
		m := place.FindStringSubmatch(at)
		n, _ := strconv.Atoi(m[2])
		var b strings.Builder
		for b.Len() < n {
			switch m[1] {
			case "PROSE":
				b.WriteString(paragraph(dice))
			case "CODE":
				fmt.Fprintf(&b, "func step%d(n int) (int, error) {\n\tif n > %d {\n\t\treturn 0, errLimit\n\t}\n\tfor i := 0; i < n; i++ {\n\t\ttotal += i * %d\n\t}\n\treturn total, nil\n}\n\n",
					dice.IntN(1000), dice.IntN(100), dice.IntN(9))
			case "LOG":
				fmt.Fprintf(&b, "2026-03-%02dT10:%02d:%02dZ INFO  request served path=/v1/items/%d took=%dms\n", 1+dice.IntN(28), dice.IntN(60), dice.IntN(60), dice.IntN(900), dice.IntN(90))
			}
		}
		if m[1] == "WORDS" {
			return words
		}
		return strings.TrimSpace(b.String())
	})
}

// paragraph is prose as a report has it.
func paragraph(dice *rand.Rand) string {
	things := strings.Fields("harbour quay warehouse crane pilot tide ledger customs rope lantern barge cargo winter storm channel dredger")
	verbs := strings.Fields("served kept carried measured crossed sheltered counted supplied outlived guarded")
	var b strings.Builder
	for range 4 + dice.IntN(4) {
		fmt.Fprintf(&b, "The %s of the %s %s the %s in the year %d, as the %s had done before. ", things[dice.IntN(16)], things[dice.IntN(16)], verbs[dice.IntN(10)],
			things[dice.IntN(16)], 1700+dice.IntN(200), things[dice.IntN(16)])
	}
	return strings.TrimSpace(b.String()) + "\n\n"
}

// TestWhatClientsWrapAroundWordsIsTakenOff holds every shape to what is left of its last message: the words, and of long pastes of
// prose some of the paste beside them.
func TestWhatClientsWrapAroundWordsIsTakenOff(t *testing.T) {
	t.Parallel()
	const words = "My aunt Ottilie keeps her spare spectacles in the bread bin."
	for i, s := range shapes(t) {
		text := partsOf(t, s.Messages[len(s.Messages)-1].Content)
		left := utterance.Strip(filled(text, words, uint64(i)))
		require.Contains(t, left, words, "%s: %q", s.Client, left)
		if !strings.Contains(s.Client, "of prose") {
			require.Equal(t, []string{words}, left, s.Client)
		}
		require.LessOrEqual(t, len(left), 7, s.Client)
	}
}

// partsOf is the text of a content, its parts a paragraph each.
func partsOf(t testing.TB, content json.RawMessage) string {
	t.Helper()
	var one string
	if json.Unmarshal(content, &one) == nil {
		return one
	}
	var parts []struct{ Text string }
	require.NoError(t, json.Unmarshal(content, &parts))
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}
