package screen_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

var attacks = map[string]string{
	"\x1b[2Jgone\x1b[31mred\x1b[0m":               "gonered",
	"\x1b]0;title\x07after":                       "after",
	"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\": "link",
	"a\x1bPq#0;secret\x1b\\b":                     "ab",
	"a\x1b(Bb\x1bcc":                              "abc",
	"a\u009b31mb\u009d0;t\u009cc":                 "abc",
	"over\rwrite\x08\x08\x7f\x00":                 "over write",
	"two\nlines\tand\vmore\u2028end":              "two lines and more end",
	"\u202egnp.exe\u202c \u2066x\u2069":           "gnp.exe x",
	"bad \xff\xfe utf8":                           "bad �� utf8",
	"unfinished \x1b[31":                          "unfinished",
	"unfinished \x1b]0;never ends":                "unfinished",
	"\x1b":                                        "",
	"\x1b\x1b[1mdouble":                           "double",
	"naïve café, 日本, e\u0301 – fine":              "naïve café, 日本, e\u0301 – fine",
}

func TestTextOfOthersCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range attacks {
		require.Equal(t, want, screen.Clean(text), "%q", text)
		r := night()
		r.Agent = text
		r.Record.Theme = text
		r.Record.Reason = text
		r.Record.ID = text
		r.Record.Models, r.Surfaced = []string{text}, []string{text}
		for _, f := range r.Fragments {
			f.Content, f.Reason = text, text
		}
		r.Predictions[0].Claim, r.Predictions[0].Criterion = text, text
		r.Scenarios[0].Content, r.Scenarios[0].Premise = text, text
		r.Hypotheses[0].Claim, r.Hypotheses[0].FirstStep, r.Hypotheses[0].Status = text, text, text
		r.Gists[0].Content, r.Playbook[0].Content = text, text
		r.Record.Phases[0] = dream.Tally{Phase: dream.Onset, State: "skipped", Reason: text}
		for _, outcome := range []dream.Outcome{dream.Completed, dream.Exhausted, dream.Outcome(text)} {
			r.Record.Outcome = outcome
			harmless(t, screen.Report(r, screen.Style{Width: 80}))
		}
		harmless(t, screen.Timeline(r.Record.Phases, screen.Style{Width: 48}))
		e := event.New(text, text, text, evening, event.DreamEnded{Outcome: dream.Outcome(text), Reason: text})
		harmless(t, screen.Line(e, screen.Style{Width: 80}))
		e.Type = text
		harmless(t, screen.Line(e, screen.Style{Width: 80}))
	}
}

func harmless(t *testing.T, drawn string) {
	t.Helper()
	require.True(t, utf8.ValidString(drawn))
	for _, r := range strings.ReplaceAll(drawn, "\n", "") {
		require.False(t, unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069, "%U in %q",
			r, drawn)
	}
}

func FuzzWhatIsCleanIsHarmlessAndStaysClean(f *testing.F) {
	for text := range attacks {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := screen.Clean(text)
		harmless(t, clean)
		require.NotContains(t, clean, "\n")
		require.Equal(t, clean, screen.Clean(clean))
		r := night()
		r.Gists[0].Content, r.Surfaced = text, []string{text}
		harmless(t, screen.Report(r, screen.Style{Width: 40}))
	})
}
