// Package keeping checks what is remembered of a conversation against frozen sets of sentences: what people say, what
// is no fact, corrections, pairs that look like corrections, and request bodies in the formats in which clients wrap
// a person's words.
package keeping

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

//go:embed testdata
var testdata embed.FS

// Text is one text of a set.
type Text struct{ Kind, Lang, Text string }

// Correction is a statement, the one that replaces it, and a question that the later one answers.
type Correction struct {
	Lang, Earlier, Later, Ask, Value, Old string
	SameTalk                              bool `json:"same_talk"`
}

// Pair is two statements that both stay.
type Pair struct {
	Lang, First, Second string
	SameTalk            bool `json:"same_talk"`
}

// Shape is a request as a client sends it, with places for words and for pasted text.
type Shape struct {
	Client   string
	Messages []Message
}

// Message is one message of a shape.
type Message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// Read reads a set by the name of its file, a value a line.
func Read[T any](name string) (all []T, err error) {
	raw, err := testdata.ReadFile("testdata/" + name)
	if err != nil {
		return nil, err
	}
	for s := bufio.NewScanner(bytes.NewReader(raw)); s.Scan(); {
		var each T
		if into, ok := any(&each).(*Text); ok && strings.HasSuffix(name, ".tsv") {
			into.Lang, into.Text, _ = strings.Cut(s.Text(), "\t")
		} else if err := json.Unmarshal(s.Bytes(), &each); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, each)
	}
	return all, nil
}

// Shapes reads the shapes of requests.
func Shapes() (all []Shape, err error) {
	raw, err := testdata.ReadFile("testdata/wrapped.json")
	if err != nil {
		return nil, err
	}
	return all, json.Unmarshal(raw, &all)
}

// Filled is a message with words and pasted text inserted.
func (m Message) Filled(words string, seed uint64) (Message, error) {
	var one string
	if json.Unmarshal(m.Content, &one) == nil {
		raw, err := json.Marshal(filled(one, words, seed))
		return Message{m.Role, raw}, err
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return Message{}, err
	}
	for i := range parts {
		parts[i].Text = filled(parts[i].Text, words, seed)
	}
	raw, err := json.Marshal(parts)
	return Message{m.Role, raw}, err
}

// Text is the text of a message, its parts a paragraph each.
func (m Message) Text() string {
	var one string
	if json.Unmarshal(m.Content, &one) == nil {
		return one
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(m.Content, &parts)
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}

var place = regexp.MustCompile(`\{\{(\w+)(?::(\d+))?\}\}`)

// filled inserts words and pasted text.
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
				fmt.Fprintf(&b,
					"func step%d(n int) (int, error) {\n\tif n > %d {\n\t\treturn 0, errLimit\n\t}\n\tfor i := 0; i < n; i++ {\n\t\ttotal += i * %d\n\t}\n\treturn total, nil\n}\n\n",
					dice.IntN(1000), dice.IntN(100), dice.IntN(9))
			case "LOG":
				fmt.Fprintf(&b, "2026-03-%02dT10:%02d:%02dZ INFO  request served path=/v1/items/%d took=%dms\n",
					1+dice.IntN(28), dice.IntN(60), dice.IntN(60), dice.IntN(900), dice.IntN(90))
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
	things := strings.Fields(
		"harbour quay warehouse crane pilot tide ledger customs rope lantern barge cargo winter storm channel dredger")
	verbs := strings.Fields("served kept carried measured crossed sheltered counted supplied outlived guarded")
	var b strings.Builder
	for range 4 + dice.IntN(4) {
		fmt.Fprintf(&b, "The %s of the %s %s the %s in the year %d, as the %s had done before. ",
			things[dice.IntN(16)], things[dice.IntN(16)], verbs[dice.IntN(10)],
			things[dice.IntN(16)], 1700+dice.IntN(200), things[dice.IntN(16)])
	}
	return strings.TrimSpace(b.String()) + "\n\n"
}
