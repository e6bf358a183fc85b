package steering

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed data/pairs.txt
var ownPairs []byte

//go:embed data/prompts.txt
var ownPrompts []byte

// Limits of a file of pairs. A single pair would give its own direction instead of a common one.
const (
	FewestPairs = 4
	mostPairs   = 2000
	longestLine = 4000
)

// Pair is a question with two answers that say the same in two styles.
type Pair struct {
	Ask        string
	Creative   string
	Analytical string
}

// Pairs are the built-in pairs.
func Pairs() []Pair {
	pairs, err := ReadPairs(bytes.NewReader(ownPairs))
	if err != nil {
		return nil // a test reads the file
	}
	return pairs
}

// Prompts are built-in questions that no pair uses.
func Prompts() []string {
	var out []string
	for line := range strings.Lines(string(ownPrompts)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// ReadPairs reads pairs of lines that begin with ? (the question), + (creative) and - (analytical), in this order.
// Empty lines and lines that begin with # are skipped. Errors name the line.
func ReadPairs(r io.Reader) ([]Pair, error) {
	var pairs []Pair
	var p Pair
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	n := 0
	for scan.Scan() {
		n++
		line := strings.TrimSpace(scan.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		text := strings.TrimSpace(line[1:])
		if text == "" || len(text) > longestLine {
			return nil,
				fmt.Errorf("line %d has %d characters behind its mark; there must be 1 to %d", n, len(text),
					longestLine)
		}
		want := p.next()
		if line[0] != want {
			return nil,
				fmt.Errorf(
					"line %d begins with %q where %q must stand; each pair is a line with ?, one with + and one with -",
					n, line[0], want)
		}
		switch want {
		case '?':
			p.Ask = text
		case '+':
			p.Creative = text
		default:
			p.Analytical = text
			pairs, p = append(pairs, p), Pair{}
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if p.Ask != "" {
		return nil, fmt.Errorf("the last pair ends after line %d; each has a line with ?, one with + and one with -", n)
	}
	if len(pairs) < FewestPairs || len(pairs) > mostPairs {
		return nil, fmt.Errorf("there are %d pairs; %d to %d are read", len(pairs), FewestPairs, mostPairs)
	}
	return pairs, nil
}

// next is the mark expected next.
func (p Pair) next() byte {
	switch {
	case p.Ask == "":
		return '?'
	case p.Creative == "":
		return '+'
	}
	return '-'
}
