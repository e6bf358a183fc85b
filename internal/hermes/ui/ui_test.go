package ui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/react"
)

var update = flag.Bool("update", false, "write the golden files anew")

// silent is a model that is never asked, and a toolbox without tools.
type silent struct{}

func (silent) Chat(context.Context, message.Request, func(string)) (message.Reply, error) {
	return message.Reply{}, errors.New("nobody answers here")
}
func (silent) Tools() []message.Tool { return nil }
func (silent) Preview(message.Call) (message.Preview, error) {
	return message.Preview{}, nil
}

func (silent) Run(context.Context, <-chan struct{}, message.Call) message.Result {
	return message.Result{}
}

var clock = time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)

// shown is a screen of a size, without a terminal.
func shown(t *testing.T, width, height int, change func(*Settings)) *model {
	t.Helper()
	s := Settings{
		Agent:     "iris",
		Workspace: "/home/anna/lighthouse",
		Wire:      NewWire(),
		Talk:      Talk{ID: "20261128-090000-1a2b3c4d", Loop: react.New(react.Settings{Model: silent{}, Tools: silent{}}, react.AskFirst, nil)},
		Now:       func() time.Time { return clock },
		Files: func(int) []string {
			return []string{"README.md", "lamp/lens.go", "lamp/lens_test.go", "keeper/log.md"}
		},
		Views: []View{{Name: "journal", Says: "the dream journal", Load: func(context.Context, string) (Page, error) {
			return Page{Title: "The dream journal", Draw: func(width, _ int) []string {
				var lines []string
				for i := range 40 {
					lines = append(lines, fmt.Sprintf("%2d  The harbour was a clock, and every boat an hour.", i+1))
				}
				return lines
			}}, nil
		}}},
	}
	if change != nil {
		change(&s)
	}
	m := newModel(t.Context(), s, false)
	m.take(tea.WindowSizeMsg{Width: width, Height: height})
	m.take(presenceMsg{Text: "awake", Awake: true})
	return m
}

func (m *model) press(keys ...string) {
	for _, k := range keys {
		m.take(press(k))
	}
}

func press(key string) tea.KeyPressMsg {
	switch key {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "tab":
		return tea.KeyPressMsg{Code: tea.KeyTab}
	case "shift+tab":
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	case "up":
		return tea.KeyPressMsg{Code: tea.KeyUp}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	case "pgup":
		return tea.KeyPressMsg{Code: tea.KeyPgUp}
	case "pgdown":
		return tea.KeyPressMsg{Code: tea.KeyPgDown}
	case "ctrl+c", "ctrl+o", "ctrl+d", "ctrl+j":
		return tea.KeyPressMsg{Code: rune(key[5]), Mod: tea.ModCtrl}
	case "ctrl+end":
		return tea.KeyPressMsg{Code: tea.KeyEnd, Mod: tea.ModCtrl}
	}
	r := []rune(key)[0]
	return tea.KeyPressMsg{Code: r, Text: key}
}

func (m *model) typed(text string) {
	for _, r := range text {
		m.take(press(string(r)))
	}
}

// pump runs a command and takes what it returns.
func (m *model) pump(cmd tea.Cmd) {
	if cmd != nil {
		if msg := cmd(); msg != nil {
			m.take(msg)
		}
	}
}

// frameText is the screen without colours.
func frameText(m *model) string {
	lines, cursor := drawing{m}.frame()
	text := ansi.Strip(strings.Join(lines, "\n"))
	if cursor != nil {
		text += fmt.Sprintf("\n[cursor %d,%d]", cursor.X, cursor.Y)
	}
	return text + "\n"
}

// scenes are what the screen can show.
var scenes = map[string]func(t *testing.T, width, height int) *model{
	"new": func(t *testing.T, width, height int) *model { return shown(t, width, height, nil) },
	"talk": func(t *testing.T, width, height int) *model {
		m := shown(t, width, height, func(s *Settings) { s.Talk.Entries = conversation() })
		m.Price, m.Priced, m.Window = message.Price{Input: 3e-6, Output: 15e-6}, true, 128_000
		return m
	},
	"asks": func(t *testing.T, width, height int) *model {
		m := shown(t, width, height, func(s *Settings) { s.Talk.Entries = conversation() })
		call := message.Call{ID: "9", Name: "edit_file", Arguments: `{"path":"lamp/lens.go","old":"a","new":"b"}`}
		m.working, m.began = true, clock.Add(-12*time.Second)
		m.event(react.Iteration{N: 3, Max: 25})
		m.event(react.Replied{Reply: message.Reply{Message: message.Message{Calls: []message.Call{call}}}})
		m.take(askMsg{ask: react.Ask{Call: call, Effect: message.Writes, Preview: message.Preview{
			Title: "edit lamp/lens.go (1 line)",
			Body:  "@@ -12,3 +12,3 @@\n func turn(l *Lens) {\n-\tl.angle += 3\n+\tl.angle += 6 // twice an hour\n }\n",
		}}, answer: make(chan react.Decision, 1)})
		return m
	},
	"works": func(t *testing.T, width, height int) *model {
		m := shown(t, width, height, func(s *Settings) { s.Talk.Entries = conversation() })
		m.working, m.began, m.queued = true, clock.Add(-75*time.Second), 1
		m.event(react.Iteration{N: 2, Max: 25})
		m.grow("The lens turns **once** an hour.\n\n```go\nl.angle += 3\n```\n\nI look whether the")
		return m
	},
	"complete": func(t *testing.T, width, height int) *model {
		m := shown(t, width, height, nil)
		m.typed("/re")
		return m
	},
	"help": func(t *testing.T, width, height int) *model {
		m := shown(t, width, height, nil)
		m.slash("help", "")
		return m
	},
	"page": func(t *testing.T, width, height int) *model {
		m := shown(t, width, height, nil)
		m.pump(m.slash("journal", ""))
		m.press("pgdown")
		return m
	},
	"rewind": func(t *testing.T, width, height int) *model {
		var talk []message.Message
		for _, e := range conversation() {
			talk = append(talk, *e.Message)
		}
		m := shown(t, width, height, func(s *Settings) {
			s.Talk.Entries = conversation()
			s.Talk.Loop = react.New(react.Settings{Model: silent{}, Tools: silent{}}, react.AskFirst, talk)
		})
		m.press("esc", "esc")
		return m
	},
}

func conversation() []message.Entry {
	var all []message.Entry
	for _, m := range []message.Message{
		{Role: message.User, Content: "Why does the lamp turn so slowly? 灯台のランプ, مصباح"},
		{Role: message.Assistant, Content: "I look at the lens.", Calls: []message.Call{
			{ID: "1", Name: "read_file", Arguments: `{"path":"lamp/lens.go"}`},
			{ID: "2", Name: "run", Arguments: `{"command":"go test ./lamp"}`},
		}},
		{Role: message.FromTool, CallID: "1", Content: strings.Repeat("line of the lens\n", 12)},
		{Role: message.FromTool, CallID: "2", Content: "ok  \tlighthouse/lamp\t0.01s\n"},
		{Role: message.Assistant, Content: "# What I found\n\nIt turns by **3 degrees** a minute:\n\n- `lens.go` line 14\n- the test agrees\n\n| where | what |\n|---|---|\n| lens.go | 3 |\n| log.md | 6 |\n"},
		{Role: message.User, Content: "Then make it 6."},
	} {
		all = append(all, message.Entry{Message: &m})
	}
	return all
}

func TestFrames(t *testing.T) {
	t.Parallel()
	for name, scene := range scenes {
		for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 30}, {200, 50}} {
			t.Run(fmt.Sprintf("%s-%d", name, size[0]), func(t *testing.T) {
				t.Parallel()
				m := scene(t, size[0], size[1])
				lines, _ := drawing{m}.frame()
				require.Len(t, lines, size[1], "the screen is filled exactly")
				for _, line := range lines {
					require.LessOrEqual(t, ansi.StringWidth(line), size[0], "%q", ansi.Strip(line))
				}
				golden(t, fmt.Sprintf("%s-%d.txt", name, size[0]), frameText(m))
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
