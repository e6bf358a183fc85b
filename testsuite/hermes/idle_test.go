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

// What a model that costs nothing finds while the person is away is told to both, and remembered by nobody.
func TestAFreeModelLooksAroundWhileThePersonIsAway(t *testing.T) {
	t.Parallel()
	m := build(t, map[string][]hermes.Step{
		"Task after": {says("We went on.")},
		"The person is away": {
			does(call("read_file", "path", "lens.go")),
			does(call("write_file", "path", "mine.md", "content", "mine\n")),
			says("The lens turns three degrees, and the page says six."),
		},
		"Task next": {says("So it does.")},
	}, "", "up")
	dir := m.folder(m.agent)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lens.go"), []byte(lens), 0o644))
	env := append(m.apart(), "HERMES_IDLE_AFTER=1s")
	term := m.open(t, 80, 24, env, "--workspace", dir, "--approval", "auto")
	term.shows("iris  awake")
	term.says("Task after")
	term.shows("We went on.", "While you were away (3 calls, 2 looks", "the page says six.")
	require.NoFileExists(t, filepath.Join(dir, "mine.md"), "it may only read, whatever the mode")
	all := m.explorations()
	require.Len(t, all, 3, "at most as many calls as the default bounds allow, and no second time")
	for _, each := range all {
		var names []string
		for _, tool := range each.Tools {
			names = append(names, tool.Function.Name)
		}
		require.ElementsMatch(t, []string{"read_file", "list_files", "search_files"}, names)
	}
	term.says("Task next")
	term.shows("So it does.")
	require.Contains(t, m.lastSaid("Task next"), "the page says six", "the model knows what it found")
	kept := func() string { return m.must("--json", "memory", "list", "--agent", m.agent) }
	m.eventually("the talk is kept", func() bool { return strings.Contains(kept(), "Task next") })
	for _, text := range []string{"The person is away", "the page says six", "mine.md"} {
		require.NotContains(t, kept(), text)
	}
}
