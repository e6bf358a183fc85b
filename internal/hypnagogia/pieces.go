package hypnagogia

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// Piece is a part of a memory, small enough to be shown out of order.
type Piece struct {
	Ref     string // the item's id, "#" and the part
	Item    string
	Part    string // context, action, outcome, or content; with "-1", "-2", … when the part was divided
	Text    string
	Session string
	At      time.Time
	// Recency is filled in by Rank. Salience and Surprise are the item's. All lie in [0, 1].
	Recency, Salience, Surprise float64
	Affect                      mood.PAD
}

// longest is the most characters of an episode's piece: about three short sentences.
const longest = 280

// Decompose divides a memory into pieces. An episode gives its context, action and outcome and the sentences of its
// content, without what an earlier piece already contains; any other item is one piece. No piece is blank. The
// salience of a knowledge entry is the strength it has lost, so that fading entries are preferred.
func Decompose(item dream.Item) []Piece {
	head, marks := item.Header(), item.Marks()
	blank := Piece{
		Item:     head.ID,
		Session:  marks.Session,
		At:       head.At,
		Salience: unit(marks.Salience),
		Surprise: unit(marks.Surprise),
	}
	switch it := item.(type) {
	case *dream.Episode:
		blank.Affect = it.Affect
		return episodePieces(it, blank)
	case *dream.Semantic:
		blank.Affect = it.Affect
		blank.Salience = unit(1 - it.Strength)
	}
	text := flatten(item.Text())
	if text == "" {
		return nil
	}
	return []Piece{blank.with("content", text)}
}

// mostPieces is the most pieces of one episode's content, so that a very long memory does not displace the others.
const mostPieces = 24

func episodePieces(e *dream.Episode, blank Piece) []Piece {
	var pieces []Piece
	values := map[string]bool{}
	add := func(part string, texts []string) {
		for i, text := range texts {
			name := part
			if len(texts) > 1 {
				name = fmt.Sprintf("%s-%d", part, i+1)
			}
			if key := wordKey(text); !values[key] {
				values[key] = true
				pieces = append(pieces, blank.with(name, text))
			}
		}
	}
	add("context", shorten([]string{flatten(e.Context)}))
	add("action", shorten([]string{flatten(e.Action)}))
	add("outcome", shorten([]string{flatten(e.Outcome)}))
	if content := flatten(e.Content); !values[wordKey(content)] {
		texts := shorten(sentence.Split(content))
		add("content", texts[:min(len(texts), mostPieces)])
	}
	return pieces
}

func (p Piece) with(part, text string) Piece {
	p.Ref, p.Part, p.Text = p.Item+"#"+part, part, text
	return p
}

// flatten makes one line of a text.
func flatten(text string) string { return strings.Join(strings.Fields(text), " ") }

// wordKey is a text without case, punctuation and spacing; the text itself when it has no letters or digits.
func wordKey(text string) string {
	if key := strings.Join(words(text), " "); key != "" {
		return key
	}
	return text
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// shorten drops blanks and splits long texts at the last clause or word that fits.
func shorten(texts []string) []string {
	var out []string
	for _, text := range texts {
		rest := []rune(text)
		for len(rest) > longest {
			cut := longest
			if at := lastSpace(rest[:longest]); at > 0 {
				cut = at
			}
			for i := cut - 1; i > longest/2; i-- {
				if strings.ContainsRune(",;:", rest[i]) && rest[i+1] == ' ' {
					cut = i + 1
					break
				}
			}
			out = append(out, strings.TrimSpace(string(rest[:cut])))
			rest = []rune(strings.TrimSpace(string(rest[cut:])))
		}
		if len(rest) > 0 {
			out = append(out, string(rest))
		}
	}
	return out
}

func lastSpace(runes []rune) int {
	for i := len(runes) - 1; i >= 0; i-- {
		if runes[i] == ' ' {
			return i
		}
	}
	return -1
}

// unit clamps to [0, 1]; NaN is 0.
func unit(v float64) float64 {
	if v > 0 {
		return min(v, 1)
	}
	return 0
}
