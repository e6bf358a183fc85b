package serving_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// word is one that a single client says, to a single agent, in a single conversation.
type word struct {
	client, agent, talk int
	kind                byte // ofSecret or ofTurn
	n                   int  // which of its kind
}

// The kinds of words. A secret is to be remembered; a mark says which turn it is.
const (
	ofSecret = 's'
	ofTurn   = 'm'
)

// String has only the letters a to j for 0 to 9, because dreams are made of words.
func (w word) String() string {
	lettered := func(r rune) rune { return r - '0' + 'a' }
	return "zq" + strings.Map(lettered, fmt.Sprintf("%d%d%d", w.client, w.agent, w.talk)) + string(w.kind) +
		strings.Map(lettered, strconv.Itoa(w.n)) + "qz"
}

var (
	words      = regexp.MustCompile(`zq([a-j])([a-j])([a-j])([sm])([a-j]+)qz`)
	keySecrets = regexp.MustCompile(`oneiros_[A-Za-z0-9_-]{20,}`) // the secrets of keys
)

// wordsIn finds them in any text.
func wordsIn(text string) []word {
	var found []word
	for _, m := range words.FindAllStringSubmatch(text, -1) {
		number := func(i int) int {
			n, _ := strconv.Atoi(strings.Map(func(r rune) rune { return r - 'a' + '0' }, m[i]))
			return n
		}
		found = append(found, word{number(1), number(2), number(3), m[4][0], number(5)})
	}
	return found
}

// place is where a word was found.
type place string

// Where words are looked for: in what the provider is sent for a turn, and in what comes back.
const (
	quotedThere place = "the background that the provider was sent"
	saidThere   place = "the talk that the provider was sent"
	besideThere place = "the rest of what the provider was sent"
	answered    place = "the answer"
	headed      place = "the answer's header"
)

type sighting struct {
	word
	place
}

// passage is one request and every word that was found in it.
type passage struct {
	mark   word // of which client, with which agent, in which conversation
	way    string
	turn   bool // it is passed on to a provider, and its answer repeats the mark
	fault  string
	calls  int  // of the provider
	opened bool // the provider was sent the secret of a key
	seen   []sighting
}

// The faults that a passage may have.
var (
	errFailed  = errors.New("a request failed")
	errCrossed = errors.New("a word of another client or agent was sent")
	errMixed   = errors.New("two conversations of one client were mixed")
	errOpened  = errors.New("the provider was sent a key of this server")
	errCalls   = errors.New("the provider was not called exactly once, or its answer went elsewhere")
)

// judge returns the faults of passages, at most most of them.
func judge(all []passage, most int) error {
	var faults []error
	for _, p := range all {
		if len(faults) >= most {
			break
		}
		faults = append(faults, p.faults()...)
	}
	return errors.Join(faults[:min(most, len(faults))]...)
}

func (p passage) faults() []error {
	var faults []error
	wrong := func(err error, format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s %s: %w: %s", p.way, p.mark, err, fmt.Sprintf(format, args...)))
	}
	if p.fault != "" {
		wrong(errFailed, "%s", p.fault)
		return faults
	}
	own := false
	for _, s := range p.seen {
		switch {
		case s.client != p.mark.client || s.agent != p.mark.agent:
			wrong(errCrossed, "%s has %s", s.place, s.word)
		case s.place == saidThere && s.kind == ofTurn && s.talk != p.mark.talk:
			wrong(errMixed, "%s has %s", s.place, s.word)
		}
		own = own || s.word == p.mark && s.place == answered
	}
	if p.opened {
		wrong(errOpened, "anyone who reads it can use this server")
	}
	if p.turn && (p.calls != 1 || !own) {
		wrong(errCalls, "called %d times, its own mark in the answer: %t", p.calls, own)
	}
	return faults
}

func TestTheJudgeFindsEveryFlaw(t *testing.T) {
	t.Parallel()
	mine := word{1, 0, 1, ofTurn, 7}
	flawless := func() passage {
		return passage{
			mark:  mine,
			way:   "streamed",
			turn:  true,
			calls: 1,
			seen: []sighting{
				{mine, saidThere},
				{word{1, 0, 1, ofTurn, 6}, saidThere},
				{word{1, 0, 0, ofSecret, 3}, saidThere},
				{word{1, 0, 0, ofTurn, 2}, quotedThere},
				{word{1, 0, 0, ofSecret, 3}, quotedThere},
				{mine, answered},
				{word{1, 0, 0, ofSecret, 3}, answered},
			},
		}
	}
	require.NoError(t, judge([]passage{flawless(), {mark: mine, way: "looked"}}, 9))
	for name, c := range map[string]struct {
		spoil func(*passage)
		want  error
	}{
		"a request failed":                       {func(p *passage) { p.fault = "503" }, errFailed},
		"another's secret was recalled":          {func(p *passage) { p.seen[4].client = 0 }, errCrossed},
		"another's turn was recalled":            {func(p *passage) { p.seen[3].client = 3 }, errCrossed},
		"what another agent was told was":        {func(p *passage) { p.seen[4].agent = 1 }, errCrossed},
		"another's talk went with it":            {func(p *passage) { p.seen[1].client = 0 }, errCrossed},
		"another talk of one's own went with it": {func(p *passage) { p.seen[1].talk = 0 }, errMixed},
		"another's secret was answered":          {func(p *passage) { p.seen[6].client = 0 }, errCrossed},
		"another's secret stands in a header": {
			func(p *passage) { p.seen = append(p.seen, sighting{word{0, 0, 1, ofSecret, 1}, headed}) }, errCrossed,
		},
		"another's word stands beside the talk": {
			func(p *passage) { p.seen = append(p.seen, sighting{word{2, 0, 1, ofTurn, 1}, besideThere}) }, errCrossed,
		},
		"the answer is another turn's":            {func(p *passage) { p.seen[5].n = 8 }, errCalls},
		"the provider was called twice":           {func(p *passage) { p.calls = 2 }, errCalls},
		"the provider was never called":           {func(p *passage) { p.calls = 0 }, errCalls},
		"the provider was shown the caller's key": {func(p *passage) { p.opened = true }, errOpened},
	} {
		spoiled := flawless()
		c.spoil(&spoiled)
		require.ErrorIs(t, judge([]passage{flawless(), spoiled}, 9), c.want, name)
	}
	require.Equal(t, []word{mine, {3, 1, 0, ofSecret, 12}},
		wordsIn("zq1"+"zqqz "+mine.String()+`\n"zqdbasbcqz" zqdbaxbcqz zqdbscqz zqdbasqz`))
}
