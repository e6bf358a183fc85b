package hermes_test

import (
	"encoding/json"
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
