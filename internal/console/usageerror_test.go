package console_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestAWrongLineIsAnsweredInItsOwnWords(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for line, want := range map[string]string{
		"dream echo":                           "oneiros dream has no place for \"echo\"; an agent is named with --agent echo\nSee oneiros dream --help.\n",
		"events archve":                        "oneiros events knows no command \"archve\"; did you mean archive?\nSee oneiros events --help.\n",
		"dreams show 1 2":                      "oneiros dreams show has no place for \"2\"; it is used as \"oneiros dreams show [DREAM]\"\n",
		"feed push pier":                       "oneiros feed push lacks [METRIC=]VALUE...; it is used as \"oneiros feed push NAME [METRIC=]VALUE...\"\n",
		"predictions add X --confidence 60%":   "--confidence is \"60%\"; it must be a number\nSee oneiros predictions add --help.\n",
		"predictions list -n few":              "--limit is \"few\"; it must be a whole number\n",
		"predictions list --dream":             "--dream needs a value\n",
		"scenarios show -1":                    "unknown flag: -1\n",
		"wake -a echo --for soon":              "--for: \"soon\" must be a duration with its unit, such as 90s, 30m, 12h or 7d\n",
		"predictions list -a echo --state old": "--state old is unknown; states are live, superseded, archived, proposed\n",
		"predictions add X -a echo":            "--criterion is missing: what would show it true or false\n",
		"dream -a echo --theme \xff":           "--theme is not UTF-8 text: \"\\xff\"\n",
		"predictions add \xff -a echo --criterion Y --due 7d --confidence 0.5": "the claim is not UTF-8 text: \"\\xff\"\n",
	} {
		require.Equal(t, exit.Usage, d.run(80, strings.Fields(line)...), line)
		require.Contains(t, d.err.String(), want, line)
		require.NotContains(t, d.err.String(), "strconv", line)
	}
}

func TestAnErrorIsJSONEvenWhereTheLineCouldNotBeRead(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for _, line := range []string{
		"predictions list --json --colour", "predictions list --colour --json",
		"predictoins --json",
	} {
		require.Equal(t, exit.Usage, d.run(80, strings.Fields(line)...), line)
		var result struct {
			Code  int    `json:"code"`
			Error string `json:"error"`
		}
		require.NoError(t, json.Unmarshal(d.err.Bytes(), &result), "%s: %s", line, d.err.String())
		require.Equal(t, exit.Usage, result.Code)
	}
}

func TestAnErrorOnATerminalIsBrokenBetweenWords(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.terminal = true
	require.Equal(t, exit.Usage, d.run(40, "triggers", "add", "x", "-a", "echo"))
	for _, line := range strings.Split(d.err.String(), "\n") {
		require.LessOrEqual(t, len(line), 40, line)
	}
	require.Contains(t, flat(d.err.String()),
		"say when it calls with one of --schedule, --episodes, --event and --rule")
}

func TestNothingThatMatchesIsNotReportedAsNothingAtAll(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for line, want := range map[string]string{
		"predictions list -a echo --status correct": "echo has nothing that fits --status correct.\n",
		"predictions list -a tally":                 "tally has foretold nothing yet.\n",
		"memory list -a echo --kind gist":           "echo has nothing that fits --kind gist.\n",
		"memory list -a tally":                      "tally remembers nothing yet.\n",
		"journal -a echo --since 2026-11-20":        "",
		"journal -a echo --until 2020-01-01":        "echo has nothing that fits --until 2020-01-01.\n",
	} {
		d.ok(80, strings.Fields(line)...)
		require.Equal(t, want, d.err.String(), line)
	}
}

func TestAListOfADreamIsOfOneThatWasDreamt(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for _, list := range []string{"predictions list", "fragments list", "memory list", "journal", "review list"} {
		words := append(strings.Fields(list), "-a", "echo", "--dream")
		require.Equal(t, exit.NotFound, d.run(0, append(words, "77")...), list)
		require.Contains(t, d.err.String(), `no such dream: "77"; oneiros dreams list names them`, list)
	}
	d.ok(0, "fragments", "list", "-a", "echo", "--dream", "last")
	require.Contains(t, d.out.String(), "0001/f1")
	require.Equal(t, exit.NotFound, d.run(0, "fragments", "list", "-a", "tally", "--dream", "last"))
	require.Contains(t, d.err.String(), "tally has not dreamt yet")
}

func TestAnIdOfAnotherKindIsNamedAsThat(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.NotFound, d.run(0, "fragments", "explain", "0001/nrem/backward/1", "-a", "echo"))
	require.Contains(t, d.err.String(),
		dreamID+"/nrem/backward/1 is no fragment but a prediction; oneiros fragments list names them")
	require.Equal(t, exit.NotFound, d.run(0, "fragments", "show", "nowhere", "-a", "echo"))
	require.Contains(t, d.err.String(), `there is no fragment "nowhere"; oneiros fragments list names them`)
	require.Equal(t, exit.NotFound, d.run(0, "review", "show", "nowhere", "-a", "echo"))
	require.Contains(t, d.err.String(), `there is no "nowhere"; oneiros review list names what waits`)
}
