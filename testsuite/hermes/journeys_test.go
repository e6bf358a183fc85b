package hermes_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/hermes"
)

// slowly is an answer of many words that takes long enough to be interrupted.
func slowly(words string) hermes.Step {
	return hermes.Step{Say: words + strings.Repeat(" and on", 2000), Pause: 20 * time.Millisecond}
}

// journeys are what the model does in the journeys.
var journeys = map[string][]hermes.Step{
	"Task markdown": {{
		Say:   "# The lamp\n\nIt is **lit** at dusk:\n\n- first the *oil*\n- then the wick\n\n```go\nfunc Light() {}\n```\n\nDone.",
		Pause: 5 * time.Millisecond,
	}},
	"Task lens": {does(call("read_file", "path", "lens.go")), says("It turns three degrees.")},
	"Task write": {
		does(call("write_file", "path", "one.md", "content", "one\n")),
		does(call("write_file", "path", "two.md", "content", "two\n")),
		says("Both were tried."),
	},
	"Task edit":  {does(call("edit_file", "path", "lens.go", "old", "return 3", "new", "return 6")), says("Edited it.")},
	"Task run":   {does(call("run", "command", "echo ran > ran.txt; echo a line of output")), says("It ran.")},
	"Task slow":  {slowly("Once upon a time")},
	"Task sleep": {does(call("run", "command", "echo begun; exec sleep 1000")), says("It slept.")},
	"Task gate":  {does(call("run", "command", "until [ -e open ]; do sleep 0.05; done; echo opened")), says("The gate is open.")},
	"Task after": {says("We went on.")},
	"Task lines": {{Say: strings.Repeat("A wave rolls in, and another one. ", 60) + "The end.", Pause: 5 * time.Millisecond}},
	"Task tide":  {does(call("harbour__tide", "place", "the pier")), says("The water is high.")},
}

func TestJourneys(t *testing.T) {
	t.Parallel()
	m := build(t, journeys, "", "up")
	all := []struct {
		agent string
		walk  func(m *machine)
	}{
		{"chat", chat},
		{"modes", modes},
		{"stopping", stopping},
		{"queueing", queueing},
		{"files", files},
		{"views", views},
		{"leaving", leaving},
		{"inline", inline},
		{"resizing", resizing},
		{"colours", colours},
		{"over-mcp", overMCP},
		{"servers", servers},
	}
	t.Run("each", func(t *testing.T) {
		for _, each := range all {
			t.Run(each.agent, func(t *testing.T) {
				t.Parallel()
				each.walk(m.with(t, each.agent))
			})
		}
	})
}

// at opens hermes at 80x24 in a folder with a file.
func (m *machine) at(args ...string) (*pane, string) {
	m.Helper()
	dir := m.folder(m.agent)
	require.NoError(m, os.WriteFile(filepath.Join(dir, "lens.go"), []byte(lens), 0o644))
	term := m.open(m.T, 80, 24, m.apart(), append([]string{"--workspace", dir}, args...)...)
	term.shows(m.agent+"  awake", "ask: asks before writing and running")
	return term, dir
}

// apart keeps the sessions of an agent apart from the others'.
func (m *machine) apart() []string {
	return []string{"HERMES_SESSIONS=" + filepath.Join(m.dir, "sessions", m.agent)}
}

// A person sees an answer come as Markdown, and decides on each call.
func chat(m *machine) {
	term, dir := m.at()
	term.says("Task markdown")
	screen := term.shows("Done.")
	require.Contains(m, screen, "It is lit at dusk:")
	require.NotContains(m, screen, "**")
	term.says("Task lens")
	term.shows("It turns three degrees.", "read_file", "done")

	one, two := filepath.Join(dir, "one.md"), filepath.Join(dir, "two.md")
	term.says("Task write")
	term.shows("write one.md", "y allow")
	require.NoFileExists(m, one)
	term.press("y")
	term.shows("write two.md", "y allow")
	requireFile(m, one, "one\n")
	require.NoFileExists(m, two, "what is allowed once is allowed once")
	term.press("n")
	term.shows("Both were tried.")
	require.NoFileExists(m, two)
	term.says("Task edit")
	term.shows("-func Turn() int { return 3 }", "+func Turn() int { return 6 }", "y allow")
	term.press("e")
	term.shows("Why not?")
	term.says("seven is better")
	term.shows("Edited it.", "said: seven is better")
	requireFile(m, filepath.Join(dir, "lens.go"), lens)
	require.NoError(m, os.Remove(one))
	term.says("Task write")
	term.shows("write one.md", "y allow")
	term.press("a")
	term.until("two files by one permission", func(string) bool { return exists(two) })
	requireFile(m, one, "one\n")
	term.says("Task run")
	term.shows("run: echo ran", "y allow")
	require.NoFileExists(m, filepath.Join(dir, "ran.txt"), "leave to write is none to run")
	term.press("y")
	term.shows("It ran.", "a line of output")
	requireFile(m, filepath.Join(dir, "ran.txt"), "ran\n")
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func requireFile(m *machine, file, want string) {
	m.Helper()
	got, err := os.ReadFile(file)
	require.NoError(m, err)
	require.Equal(m, want, string(got))
}

// Shift+Tab switches what needs approval.
func modes(m *machine) {
	term, dir := m.at()
	term.press("BTab")
	term.shows("edit: edits without asking")
	term.says("Task write")
	term.shows("Both were tried.")
	requireFile(m, filepath.Join(dir, "two.md"), "two\n")
	term.says("Task run")
	term.shows("run: echo ran", "y allow")
	term.press("n")
	term.shows("It ran.", "the person did not allow it")
	term.press("BTab")
	term.shows(" auto")
	term.says("Task run")
	term.shows("a line of output")
	term.press("BTab")
	term.shows("read: reads only")
	term.says("Task edit")
	term.shows("Edited it.", "the person lets you read only")
	requireFile(m, filepath.Join(dir, "lens.go"), lens)
	term.press("BTab")
	term.shows("ask: asks before")
}

// What runs can be stopped at any time, and the conversation goes on.
func stopping(m *machine) {
	term, dir := m.at()
	goOn := func() {
		m.Helper()
		term.shows("Interrupted. What was done so far is kept.")
		term.says("/rewind 1")
		term.shows("You are back at this point.")
		term.press("C-u")
		term.says("Task after")
		term.shows("We went on.")
		term.says("/rewind 1")
		term.hides("We went on.")
		term.press("C-u")
	}
	term.says("Task slow")
	term.shows("Once upon a time and on and on", "iteration 1 of 25")
	term.press("Escape")
	goOn()
	term.says("Task sleep")
	term.shows("exec sleep 1000", "y allow")
	term.press("y")
	term.shows("runs")
	term.press("Escape")
	goOn()
	term.says("Task write")
	term.shows("write one.md", "y allow", "Ctrl+C interrupts")
	term.press("Escape")
	term.shows("write two.md", "the person did not allow it")
	term.press("C-c")
	goOn()
	require.NoFileExists(m, filepath.Join(dir, "one.md"))
	require.NoFileExists(m, filepath.Join(dir, "two.md"))
}

// What is said while it works is queued, can be taken back, and is said with the next request.
func queueing(m *machine) {
	term, dir := m.at()
	term.says("Task gate")
	term.shows("y allow")
	term.press("y")
	term.shows("runs")
	term.says("never mind")
	term.shows("1 queued (/queue takes back)")
	term.says("/queue")
	term.hides("1 queued")
	term.shows("> never mind")
	term.press("C-u")
	term.hides("never mind")
	term.says("Task after")
	term.shows("1 queued (/queue takes back)")
	require.NoError(m, os.WriteFile(filepath.Join(dir, "open"), nil, 0o644))
	screen := term.shows("> Task after", "We went on.", "opened")
	require.NotContains(m, screen, "The gate is open.", "the newest words are answered")
}

// Files are named by @, commands are a person's own by !, and what was done can be taken back.
func files(m *machine) {
	term, dir := m.at()
	term.types("@ens")
	term.shows("› @lens.go")
	term.press("Tab")
	term.shows("> @lens.go")
	term.says("Task after")
	term.shows("We went on.", "> @lens.go Task after")
	term.says("!echo mine; cat lens.go | wc -l")
	term.shows("mine", "done")
	term.says("Task edit")
	term.shows("y allow")
	term.press("y")
	term.shows("Edited it.")
	requireFile(m, filepath.Join(dir, "lens.go"), strings.Replace(lens, "return 3", "return 6", 1))
	require.Contains(m, m.lastSaid("Task edit"), "The person ran this command themselves: echo mine")
	term.says("/export talk.md")
	term.shows("Written to talk.md.")
	talk, err := os.ReadFile(filepath.Join(dir, "talk.md"))
	require.NoError(m, err)
	for _, part := range []string{"# Talk with files", "@lens.go Task after", "We went on.", "Calls `edit_file`", "echo mine"} {
		require.Contains(m, string(talk), part)
	}
	term.says("/restore")
	term.shows("Checkpoints, each from before")
	term.says("/restore 2")
	term.shows("Put back: lens.go.")
	requireFile(m, filepath.Join(dir, "lens.go"), lens)
	term.twice("Escape", "Esc again goes back", "Go back to before which")
	term.shows("2  Task edit")
	term.press("Enter")
	term.shows("> Task edit", "You are back at this point.")
	term.press("C-u")
	term.says("Task lens")
	term.shows("It turns three degrees.")
	var request struct {
		Messages []struct{ Role, Content string }
	}
	require.NoError(m, json.Unmarshal([]byte(m.lastSaid("Task lens")), &request))
	for _, each := range request.Messages {
		require.False(m, each.Role == "user" && strings.HasPrefix(each.Content, "Task edit"), "it was taken back")
	}
}

// lastSaid is the newest request from the machine's agent to its model that has these words, as JSON.
func (m *machine) lastSaid(words string) string {
	m.Helper()
	all := m.worker.Requests()
	for i := len(all) - 1; i >= 0; i-- {
		text, err := json.Marshal(all[i])
		require.NoError(m, err)
		if hasAll(string(text), []string{words, "You are " + m.agent + "."}) {
			return string(text)
		}
	}
	require.FailNow(m, "no request has "+words)
	return ""
}

// Each view opens and closes.
func views(m *machine) {
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		term := m.open(m.T, size[0], size[1], nil, "--workspace", m.folder("views"))
		term.shows("views  awake")
		term.says("/remember The bakery closes on Mondays.")
		term.shows("views keeps it, as your own words.")
		for command, texts := range map[string][]string{
			"/memory bakery": {"The bakery closes on Mondays."},
			"/status":        {"How the agent is"},
			"/journal":       {"The dream journal"},
			"/doctor":        {"Doctor", "sessions", "commands"},
			"/sessions":      {"Sessions; /resume ID goes on with one"},
			"/help":          {"Help", "Shift+Tab"},
			"/metrics":       {"What the dreams yield"},
			"/rooms":         {"Rooms"},
			"/claims":        {"What keeps coming true"},
			"/predictions":   {"What dreams foretold and is open"},
			"/morning":       {"What is new since then"},
			"/dreams":        {"Dreams, the newest first"},
			"/dream":         {"No dream yet"},
		} {
			term.says(command)
			term.until(command, func(s string) bool { return hasAll(s, append(texts, "Esc closes")) && !strings.Contains(s, "loading") })
			term.press("Escape")
			term.shows("> Say something")
		}
	}
}

// Who leaves is told how to go on, and finds the talk again.
func leaving(m *machine) {
	term, dir := m.at()
	term.says("Task after")
	term.shows("We went on.")
	term.twice("C-c", "Ctrl+C again leaves", left)
	screen := term.leaves(0)
	require.Contains(m, screen, "Go on with: oneiros hermes --resume ")
	require.NotContains(m, screen, "We went on.", "the screen is as it was before")
	hasty, _ := m.at()
	hasty.says("/quit")
	hasty.leaves(0)
	again := m.open(m.T, 80, 24, m.apart(), "--workspace", dir, "--continue")
	again.shows("> Task after", "We went on.")
	again.says("Task lens")
	again.shows("It turns three degrees.")
	require.Contains(m, m.lastSaid("Task lens"), "Task after")
	again.says("/quit")
	again.leaves(0)
}
