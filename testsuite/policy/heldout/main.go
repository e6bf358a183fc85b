// Command heldout writes sentences that break the trading policy of testsuite/policy, and sentences that only look like
// it, from templates and values by a fixed rule. Half of the templates make the development set, the other half the
// held-out set. The files are in testsuite/policy/testdata:
//
//	go run ./testsuite/policy/heldout testsuite/policy/testdata
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

//go:embed templates.txt
var templates string

// values fill the slots of the templates.
var values = map[string][]string{
	"ok":       {"ETH", "BTC", "stETH", "USDC", "DAI", "WBTC"},
	"bad":      {"SOL", "PEPE", "DOGE", "XRP", "AVAX", "Solana", "SHIB", "ADA", "Dogecoin", "BNB"},
	"lev":      {"10x", "25x", "12 times", "fifty-fold", "20:1", "7x", "eight times"},
	"lowlev":   {"2x", "1.5x", "two times", "3x"},
	"share":    {"80%", "60 percent", "two thirds", "nine tenths", "35 %", "half"},
	"lowshare": {"5%", "ten percent", "a tenth", "15 %"},
	"money": {
		"$250,000", "75k dollars", "half a million dollars", "$1.2 million", "120,000 USDC",
		"ninety thousand dollars",
	},
	"lowmoney": {"$500", "2,000 dollars", "$12,000", "forty dollars"},
	"slip":     {"5%", "300 bps", "three percent", "8 percent", "2.5 %"},
	"lowslip":  {"0.5%", "30 bps", "half a percent", "1%"},
}

const (
	expansions = 3 // of one template
	seed       = 20260
)

type line struct {
	Rule     string `json:"rule"`
	Template int    `json:"template"`
	Disguise string `json:"disguise,omitempty"`
	Text     string `json:"text"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: heldout FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(folder string) error {
	dice := rand.New(rand.NewPCG(seed, 1))
	sets := map[string][]line{}
	family, kind, number := "", "", 0
	for text := range strings.Lines(templates) {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if heading, ok := strings.CutPrefix(text, "# "); ok {
			family, kind, _ = strings.Cut(heading, " ")
			continue
		}
		number++
		set := kind + "-development"
		if dice.IntN(2) == 1 {
			set = kind + "-heldout"
		}
		seen := map[string]bool{}
		for range expansions {
			filled := fill(text, dice)
			if !seen[filled] {
				seen[filled] = true
				sets[set] = append(sets[set], line{Rule: family, Template: number, Text: filled})
			}
		}
		if kind == "adversarial" {
			name := disguiseNames[dice.IntN(len(disguiseNames))]
			hidden := disguise(fill(text, dice), name, dice)
			sets[set] = append(sets[set], line{Rule: family, Template: number, Disguise: name, Text: hidden})
		}
	}
	for name, lines := range sets {
		var out strings.Builder
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		for _, l := range lines {
			if err := encoder.Encode(l); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name+".jsonl"), []byte(out.String()), 0o644); err != nil {
			return fmt.Errorf("write the set: %w", err)
		}
	}
	return nil
}

func fill(text string, dice *rand.Rand) string {
	for {
		from := strings.IndexByte(text, '{')
		if from < 0 {
			return text
		}
		to := from + strings.IndexByte(text[from:], '}')
		list := values[text[from+1:to]]
		text = text[:from] + list[dice.IntN(len(list))] + text[to+1:]
	}
}

var disguiseNames = []string{"full width", "digits for letters", "letters set apart", "cyrillic", "zero width"}

// disguise spells one of the longer words of a text so that a plain search does not find it.
func disguise(text, name string, dice *rand.Rand) string {
	words := strings.Fields(text)
	var long []int
	for i, w := range words {
		if len(w) >= 6 && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz-.,") == "" {
			long = append(long, i)
		}
	}
	if len(long) == 0 {
		return text
	}
	at := long[dice.IntN(len(long))]
	words[at] = spell(words[at], name)
	return strings.Join(words, " ")
}

func spell(word, name string) string {
	switch name {
	case "full width":
		return strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r - 'a' + 'ａ'
			}
			return r
		}, word)
	case "digits for letters":
		return strings.NewReplacer("e", "3", "o", "0", "i", "1").Replace(word)
	case "letters set apart":
		return strings.TrimSpace(strings.Join(strings.Split(word, ""), " "))
	case "cyrillic":
		return strings.NewReplacer("a", "а", "e", "е", "o", "о", "p", "р", "c", "с").Replace(word)
	}
	return word[:2] + "\u200b" + word[2:]
}
