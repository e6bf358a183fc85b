package hermes_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/hermes"
)

// request is what a test reads of a request to the model.
type request struct {
	Messages []struct{ Role, Content string }
	Tools    []struct{ Function struct{ Name string } }
}

// explorations are the requests of an agent's idle explorations.
func (m *machine) explorations() (all []request) {
	m.Helper()
	for _, each := range m.worker.Requests() {
		text, err := json.Marshal(each)
		require.NoError(m, err)
		var r request
		require.NoError(m, json.Unmarshal(text, &r))
		own := strings.Contains(string(text), "You are "+m.agent+".")
		if own && strings.Contains(string(text), "The person is away") {
			all = append(all, r)
		}
	}
	return all
}

// idling lets the agent look around, within bounds, and tells what it found.
func idling(m *machine) {
	dir := m.folder(m.agent)
	require.NoError(m, os.WriteFile(filepath.Join(dir, "lens.go"), []byte(lens), 0o644))
	env := append(m.apart(), "HERMES_IDLE_AFTER=1s")
	term := m.open(m.T, 120, 24, env, "--workspace", dir, "--approval", "auto")
	term.shows("idling  awake")
	term.says("Task after")
	term.shows("While you were away (3 calls, 2 looks; it had seen enough):", "The lens of lens.go is slow.")
	require.NoFileExists(m, filepath.Join(dir, "away.md"))
	all := m.explorations()
	require.Len(m, all, 3)
	for _, r := range all {
		var names []string
		for _, tool := range r.Tools {
			names = append(names, tool.Function.Name)
		}
		require.ElementsMatch(m, []string{"read_file", "list_files", "search_files"}, names)
	}
	term.says("Task lens")
	term.shows("It turns three degrees.")
	next := m.lastSaid("Task lens")
	require.Contains(m, next, "The lens of lens.go is slow.")
	require.NotContains(m, next, "The person is away")
	m.eventually("the talk is kept", func() bool {
		return strings.Contains(m.must("memory", "list", "--agent", m.agent), "It turns three degrees")
	})
	kept := m.must("memory", "list", "--agent", m.agent)
	for _, text := range []string{"The person is away", "The lens of lens.go is slow", "Found by you"} {
		require.NotContains(m, kept, text)
	}
	term.says("/quit")
	term.leaves(0)

	before := len(m.explorations())
	term = m.open(m.T, 120, 24, append(env, "HERMES_IDLE_CALLS=2"), "--workspace", dir)
	term.shows("idling  awake")
	term.says("Task after")
	term.shows("(2 calls, 2 looks; 2 calls were made): Nothing worth telling.")
	require.Len(m, m.explorations(), before+2)
}

// A model that costs something is not asked while a person is away, unless they want that; and a key stops it.
func TestIdlenessCostsNothingByItself(t *testing.T) {
	t.Parallel()
	m := buildWith(t, map[string][]hermes.Step{
		"Task after":         {says("We went on.")},
		"The person is away": {slowly("I look around")},
	}, paid, "consent: {auto_paid: true}", "up")
	env := append(m.apart(), "HERMES_IDLE_AFTER=1s")
	open := func(agent string, args ...string) (*machine, *pane) {
		m := m.with(t, agent)
		term := m.open(t, 80, 24, env, append([]string{"--workspace", m.folder(agent)}, args...)...)
		term.shows(agent + "  awake")
		term.says("Task after")
		term.shows("We went on.", "> Say something")
		return m, term
	}
	thrifty, still := open("thrifty")
	curious, term := open("curious", "--explore", "on")
	term.shows("looks around while you are away; any key stops it")
	curious.eventually("it asks the model", func() bool { return len(curious.explorations()) == 1 })
	term.press("Left")
	term.hides("any key stops it")
	term.shows("While you were away (1 call, 0 looks", "the person was back")
	require.Empty(t, thrifty.explorations(), "it was left alone for longer")
	require.NotContains(t, still.screen(), "away")
}
