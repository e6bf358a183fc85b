package ui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/react"
)

// A screen that was changed step by step shows what a new one shows that begins with the same state: no drawing that is
// kept is ever stale.
func TestIncrementalEqualsFullRedraw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		m := newModel(context.Background(), Settings{
			Agent: "iris", Workspace: "/w", Wire: NewWire(), Now: func() time.Time { return clock },
			Talk: Talk{Loop: react.New(react.Settings{Model: silent{}, Tools: silent{}}, react.AskFirst, nil)},
		}, false)
		m.take(tea.WindowSizeMsg{Width: 80, Height: 24})
		text := rapid.SampledFrom([]string{
			"a short line", "**bold** and `code`\n\n", "```go\nx := 1\n", "```\n\n", "- one\n- two\n", "漢字かな", "\n\n", "| a | b |\n|---|---|\n| 1 | 2 |\n",
			strings.Repeat("word ", 60), "العربية", "\x1b[31mred", "1. first\n\n   still first\n",
		})
		for i := range rapid.IntRange(1, 25).Draw(r, "steps") {
			switch rapid.IntRange(0, 7).Draw(r, "step") {
			case 0:
				m.grow(text.Draw(r, "piece"))
			case 1:
				m.event(react.Replied{Reply: message.Reply{Message: message.Message{
					Content: text.Draw(r, "answer"),
					Calls:   []message.Call{{ID: fmt.Sprint(i), Name: "run", Arguments: `{"command":"ls"}`}},
				}}})
			case 2:
				m.event(react.Done{Call: message.Call{ID: fmt.Sprint(i - 1)}, Result: message.Result{Text: text.Draw(r, "result")}})
			case 3:
				m.take(tea.WindowSizeMsg{Width: rapid.IntRange(30, 130).Draw(r, "width"), Height: rapid.IntRange(8, 40).Draw(r, "height")})
			case 4:
				m.transcript.scroll(rapid.IntRange(-30, 30).Draw(r, "scroll"), m.talkHeight())
			case 5:
				m.press("ctrl+o")
			case 6:
				m.tell(text.Draw(r, "note"), i%2 == 0)
			case 7:
				m.take(tea.BackgroundColorMsg{})
			}
			lines, _ := drawing{m}.frame()
			if len(lines) != m.height {
				r.Fatalf("the screen has %d lines, not %d", len(lines), m.height)
			}
			for _, line := range lines {
				if w := ansi.StringWidth(line); w > m.width {
					r.Fatalf("a line has %d columns of %d: %q", w, m.width, line)
				}
			}
		}
		before, _ := drawing{m}.frame()
		for _, i := range m.transcript.items {
			i.look, i.drawn = look{}, nil // the paragraphs of a growing answer stay as they were settled
		}
		m.transcript.md = nil
		after, _ := drawing{m}.frame()
		if a, b := strings.Join(before, "\n"), strings.Join(after, "\n"); a != b {
			r.Fatalf("kept:\n%s\nanew:\n%s", ansi.Strip(a), ansi.Strip(b))
		}
	})
}

// What a terminal shows after many small changes is the frame, cell by cell.
func TestATerminalShowsTheFrame(t *testing.T) {
	t.Parallel()
	const width, height = 80, 24
	terminal := vt.NewSafeEmulator(width, height)
	go func() { _, _ = io.Copy(io.Discard, terminal) }() // its answers to questions
	m := shown(t, width, height, func(s *Settings) { s.Talk.Entries = conversation() })
	in, typing := io.Pipe()
	defer typing.Close()
	p := tea.NewProgram(observed{m}, tea.WithInput(in), tea.WithOutput(cooked{terminal}), tea.WithWindowSize(width, height),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignals(), tea.WithFPS(120))
	ended := make(chan error, 1)
	go func() { _, err := p.Run(); ended <- err }()
	same := func() bool {
		want := make(chan string, 1)
		p.Send(askFrame{want})
		return trimmed(terminal.String()) == trimmed(<-want)
	}
	for i := range 60 {
		switch i % 6 {
		case 0, 1, 2:
			p.Send(pieceMsg{fmt.Sprintf("piece %d 漢字 **bold** ", i)})
		case 3:
			p.Send(eventMsg{react.Replied{Reply: message.Reply{Message: message.Message{Content: strings.Repeat("An answer. ", i)}}}})
		case 4:
			p.Send(press("pgup"))
		case 5:
			p.Send(press("ctrl+end"))
		}
		if i%10 == 9 {
			if !assert.Eventually(t, same, 3*time.Second, 5*time.Millisecond) {
				want := make(chan string, 1)
				p.Send(askFrame{want})
				t.Fatalf("%s\n=======\n%s", terminal.String(), <-want)
			}
		}
	}
	p.Quit()
	require.NoError(t, <-ended)
}

// cooked is a terminal that begins a new line at its left, as one does that is no longer raw.
type cooked struct{ io.Writer }

func (c cooked) Write(p []byte) (int, error) {
	_, err := c.Writer.Write(bytes.ReplaceAll(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n")))
	return len(p), err
}

type askFrame struct{ answer chan string }

// observed tells the frame of a model.
type observed struct{ *model }

func (o observed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if ask, ok := msg.(askFrame); ok {
		lines, _ := drawing(o).frame()
		ask.answer <- ansi.Strip(strings.Join(lines, "\n"))
		return o, nil
	}
	_, cmd := o.model.Update(msg)
	return o, cmd
}

func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// What comes while a person reads further up moves nothing.
func TestStreamingDoesNotMoveWhatIsRead(t *testing.T) {
	t.Parallel()
	m := shown(t, 80, 24, func(s *Settings) {
		for range 20 {
			s.Talk.Entries = append(s.Talk.Entries, conversation()...)
		}
	})
	m.press("pgup", "pgup")
	before := m.transcript.visible(m.talkHeight())
	m.grow("an answer that comes")
	m.tell("a note", false)
	require.Equal(t, before[:len(before)-1], m.transcript.visible(m.talkHeight())[:len(before)-1])
	require.Contains(t, frameText(m), "2 new below (Ctrl+End)")
	m.press("ctrl+end")
	require.Contains(t, frameText(m), "a note")
	require.NotContains(t, frameText(m), "new below")
}

func TestScrollingReachesBothEnds(t *testing.T) {
	t.Parallel()
	m := shown(t, 60, 20, func(s *Settings) {
		for range 5 {
			s.Talk.Entries = append(s.Talk.Entries, conversation()...)
		}
	})
	all := m.transcript.from(0, 0, 1<<20)
	height := m.talkHeight()
	for range len(all) {
		m.transcript.scroll(-1, height)
	}
	require.Equal(t, all[:height], m.transcript.visible(height))
	for i := range len(all) - height {
		require.Equal(t, all[i:i+height], m.transcript.visible(height))
		m.transcript.scroll(1, height)
	}
	require.True(t, m.transcript.follows)
	require.Equal(t, all[len(all)-height:], m.transcript.visible(height))
}

func TestKeys(t *testing.T) {
	t.Parallel()
	t.Run("the mode is switched", func(t *testing.T) {
		t.Parallel()
		m := shown(t, 80, 24, nil)
		m.press("shift+tab")
		require.Equal(t, react.Edits, m.Talk.Loop.Mode())
		m.slash("mode", "read")
		require.Equal(t, react.ReadOnly, m.Talk.Loop.Mode())
		m.slash("mode", "")
		require.Equal(t, react.ReadOnly, m.Talk.Loop.Mode(), "asking changes nothing")
		require.Contains(t, frameText(m), "> read")
		m.slash("mode", "yolo")
		require.Contains(t, frameText(m), "must be read, ask, edit or auto")
	})
	t.Run("a file is completed", func(t *testing.T) {
		t.Parallel()
		m := shown(t, 80, 24, nil)
		m.typed("look at @lens")
		require.Contains(t, frameText(m), "@lamp/lens_test.go")
		m.press("down", "enter")
		require.Equal(t, "look at @lamp/lens_test.go ", m.input.Value())
	})
	t.Run("a command is completed", func(t *testing.T) {
		t.Parallel()
		m := shown(t, 80, 24, nil)
		m.typed("/jo")
		m.press("tab")
		require.Equal(t, "/journal ", m.input.Value())
	})
	t.Run("an unknown command is named", func(t *testing.T) {
		t.Parallel()
		m := shown(t, 80, 24, nil)
		m.typed("/jorunal")
		m.press("enter")
		require.Contains(t, frameText(m), "There is no command /jorunal")
	})
	t.Run("a path is no command", func(t *testing.T) {
		t.Parallel()
		_, _, ok := parse("/etc/hosts is what?")
		require.False(t, ok)
	})
	t.Run("what was said comes back", func(t *testing.T) {
		t.Parallel()
		m := shown(t, 80, 24, func(s *Settings) { s.History = []string{"older", "newer"} })
		m.typed("typing")
		m.press("up")
		require.Equal(t, "newer", m.input.Value())
		m.press("up", "up")
		require.Equal(t, "older", m.input.Value())
		m.press("down", "down")
		require.Equal(t, "typing", m.input.Value())
	})
	t.Run("ctrl+c leaves at the second time", func(t *testing.T) {
		t.Parallel()
		m := shown(t, 80, 24, nil)
		m.typed("half a sentence")
		require.Nil(t, m.key(press("ctrl+c")))
		require.Empty(t, m.input.Value())
		require.Nil(t, m.key(press("ctrl+c")))
		require.Contains(t, frameText(m), "Ctrl+C again leaves")
		require.NotNil(t, m.key(press("ctrl+c")))
	})
	t.Run("a small screen says so", func(t *testing.T) {
		t.Parallel()
		m := shown(t, 80, 24, nil)
		m.take(tea.WindowSizeMsg{Width: 20, Height: 5})
		require.Contains(t, m.View().Content, "Too small: 30 by")
	})
}

func TestApprovalOnTheScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys []string
		want react.Decision
	}{
		{[]string{"y"}, react.Decision{Allow: true}},
		{[]string{"a"}, react.Decision{Allow: true, ForSession: true}},
		{[]string{"n"}, react.Decision{}},
		{[]string{"esc"}, react.Decision{}},
		{[]string{"x", "enter", "e", "n", "o", "!", "enter"}, react.Decision{Reason: "no!"}},
		{[]string{"e", "y", "esc"}, react.Decision{}},
	} {
		m := shown(t, 80, 24, nil)
		answer := make(chan react.Decision, 1)
		m.take(askMsg{ask: react.Ask{Call: message.Call{ID: "1", Name: "run"}, Preview: message.Preview{Title: "run: ls"}}, answer: answer})
		m.press(c.keys...)
		require.Equal(t, c.want, <-answer, "%v", c.keys)
		require.Empty(t, m.asks)
		require.Empty(t, m.input.Value())
	}
}

// A server, a tool or a model cannot move the cursor, set a title or change colours.
func TestForeignTextIsHarmless(t *testing.T) {
	t.Parallel()
	evil := "\x1b]0;title\a\x1b[2J\x1b[31mred\x1b[0m\x9b2J\u202edoog\r\x08"
	m := shown(t, 80, 24, func(s *Settings) { s.Agent = "iris" })
	m.grow(evil)
	m.event(react.Replied{Reply: message.Reply{Message: message.Message{
		Content: evil, Calls: []message.Call{{ID: "1", Name: "run", Arguments: `{"command":"` + `\u001b[2J` + `"}`}},
	}}})
	m.event(react.Done{Call: message.Call{ID: "1"}, Result: message.Result{Text: evil}})
	m.take(presenceMsg{Text: "awake"})
	m.tell(evil, true)
	m.take(askMsg{ask: react.Ask{Preview: message.Preview{Title: evil, Body: evil, Warning: evil}}, answer: make(chan react.Decision, 1)})
	lines, _ := drawing{m}.frame()
	all := strings.Join(lines, "\n")
	for _, bad := range []string{"\x1b]0", "\x1b[2J", "\x9b", "\u202e", "\r", "\x08", "\a"} {
		require.NotContains(t, all, bad)
	}
}

// --- the linear renderer ---

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// teller is a model that calls a tool once and then answers.
type teller struct{ n int }

func (m *teller) Chat(_ context.Context, _ message.Request, piece func(string)) (message.Reply, error) {
	m.n++
	if m.n == 1 {
		return message.Reply{Message: message.Message{Calls: []message.Call{{ID: "1", Name: "run", Arguments: `{"command":"date"}`}}}, Finish: "tool_calls"}, nil
	}
	piece("It is ")
	piece("morning.")
	return message.Reply{Message: message.Message{Content: "It is morning."}, Finish: "stop", Notes: message.Notes{Woke: true}}, nil
}

type clockBox struct{ silent }

func (clockBox) Tools() []message.Tool { return []message.Tool{{Name: "run", Effect: message.Runs}} }

func (clockBox) Preview(c message.Call) (message.Preview, error) {
	return message.Preview{Title: "run: date", Warning: "Commands are not confined here."}, nil
}

func (clockBox) Run(context.Context, <-chan struct{}, message.Call) message.Result {
	return message.Result{Text: "Sat Nov 28\n"}
}

func TestTheLinearRenderer(t *testing.T) {
	t.Parallel()
	var out buffer
	wire := NewWire()
	s := Settings{
		Agent: "iris", Workspace: "/w", Wire: wire, Notes: []string{"this server has no dreams"},
		Talk: Talk{Loop: react.New(react.Settings{
			Model: &teller{}, Tools: clockBox{}, Approve: wire.Approve, Notify: wire.Notify,
		}, react.AskFirst, nil)},
		Views: []View{{Name: "journal", Says: "the dream journal", Load: func(context.Context, string) (Page, error) {
			return Page{Title: "The dream journal", Draw: func(int, int) []string { return []string{"a boat"} }}, nil
		}}},
	}
	in, typing := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Linear(t.Context(), s, in, &out, 80, nil) }()
	say := func(text, until string) {
		_, err := io.WriteString(typing, text+"\n")
		require.NoError(t, err)
		require.Eventually(t, func() bool { return strings.Contains(out.String(), until) }, 20*time.Second, time.Millisecond, "%s", until)
	}
	say("What time \\", "")
	say("is it?", "n or n REASON refuses it.")
	say("perhaps", "Please answer")
	say("y", "It is morning.")
	say("/journal", "a boat")
	say("/mode edit", "approval mode edit")
	say("/rewind", "1: What time is it?")
	say("/nonsense", "There is no command /nonsense")
	say("/rewind 1", "you are back before: What time")
	require.NoError(t, typing.Close())
	require.NoError(t, <-ended)
	golden(t, "linear.txt", out.String())
	require.NotContains(t, out.String(), "\x1b")
}

// --- speed ---

// A session of 10,000 messages keeps no more drawings than a few screens of them, however far somebody scrolls.
func TestDrawingsThatAreOutOfSightAreForgotten(t *testing.T) {
	t.Parallel()
	m := shown(t, 80, 24, func(s *Settings) {
		for len(s.Talk.Entries) < 10_000 {
			s.Talk.Entries = append(s.Talk.Entries, conversation()...)
		}
	})
	drawn := func() (n int) {
		for _, i := range m.transcript.items {
			if i.drawn != nil {
				n++
			}
		}
		return n
	}
	for range 3 * keptDrawings {
		m.press("pgup")
		m.frameLines()
	}
	require.LessOrEqual(t, drawn(), keptDrawings)
	require.Positive(t, drawn())
	m.press("ctrl+end")
	require.Contains(t, frameText(m), "Then make it 6.")
}

func (m *model) frameLines() []string {
	lines, _ := drawing{m}.frame()
	return lines
}

// BenchmarkKeyToFrame measures from a key to the drawn frame in a session of 10,000 messages, and what it keeps in
// memory.
func BenchmarkKeyToFrame(b *testing.B) {
	var entries []message.Entry
	for len(entries) < 10_000 {
		entries = append(entries, conversation()...)
	}
	m := newModel(b.Context(), Settings{
		Agent: "iris", Workspace: "/w", Wire: NewWire(), Now: func() time.Time { return clock },
		Talk: Talk{Entries: entries, Loop: react.New(react.Settings{Model: silent{}, Tools: silent{}}, react.AskFirst, nil)},
	}, false)
	m.take(tea.WindowSizeMsg{Width: 120, Height: 50})
	var times []time.Duration
	keys := []string{"a", "b", "pgup", "c", "pgup", "pgdown", "d", "ctrl+o", "e", "ctrl+end"}
	i := 0
	for b.Loop() {
		begun := time.Now()
		m.take(press(keys[i%len(keys)]))
		_ = m.View()
		times = append(times, time.Since(begun))
		i++
		if i%500 == 0 {
			m.input.Reset()
		}
	}
	reportPercentiles(b, times)
}
