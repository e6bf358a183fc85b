package console_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func TestAnAgentIsAddedEditedAndFoundAgain(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(
		t,
		exit.OK,
		d.run(
			80,
			"agents",
			"add",
			"echo",
			"--persona",
			"A companion.",
			"--interest",
			"tides",
			"--cap-dream",
			"0.10",
			"--model",
			"observer=house/small",
		),
		d.err.String(),
	)
	a, err := d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	require.Equal(t, "Europe/Berlin", a.Zone, "the machine's own zone")
	require.Equal(t, dream.Hardened, a.Tier)
	require.Equal(t, dream.DefaultCaps.Day, a.Caps.Day)
	require.EqualValues(t, 100_000, a.Caps.Dream)
	require.Equal(t, "house/small", a.Models[dream.Observer])

	require.Equal(t, exit.OK, d.run(80, "agents", "edit", "echo", "--tier", "core", "--model", "observer="))
	a, err = d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	require.Equal(t, "A companion.", a.Persona, "what is not named stays")
	require.Equal(t, dream.Core, a.Tier)
	require.Empty(t, a.Models)

	require.Equal(t, exit.Usage, d.run(80, "agents", "add", "echo"))
	require.Contains(t, d.err.String(), "belongs to agent echo already")
	require.Equal(t, exit.Usage, d.run(80, "agents", "edit", "echo", "--cap-dream", "5", "--zone", "Mars"))
	require.Contains(t, d.err.String(), "cap of one dream ($5.00) is above the cap of a day")
	require.Contains(t, d.err.String(), `zone "Mars"`)
	require.Equal(t, exit.Usage, d.run(80, "agents", "edit", "echo", "--model", "observer=nobody/knows"))
	require.Contains(t, d.err.String(), "not configured")
	require.Equal(t, exit.NotFound, d.run(80, "agents", "show", "nobody"))

	require.Equal(t, exit.OK, d.run(80, "agents", "edit", "echo", "--handle", "murmur"), d.err.String())
	_, err = d.store.NextDream(t.Context(), a.ID)
	require.NoError(t, err)
	require.Equal(t, exit.Usage, d.run(0, "agents", "edit", "murmur", "--handle", "echo"))
	require.Equal(
		t,
		"oneiros: agent murmur keeps its name: it has dreamt or was woken, and its workflow, its dreams and their costs carry the name\nSee oneiros agents edit --help.\n",
		d.err.String(),
	)
	require.Equal(t, exit.OK, d.run(80, "agents", "edit", "murmur", "--handle", "murmur", "--persona", "Murmur."),
		d.err.String())
}

func TestWrongCommandLinesExitWithTwoAndOneClearSentence(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for line, want := range map[string]string{
		"agnets list":                          `knows no command "agnets"; did you mean agents?`,
		"memory lst":                           `oneiros memory knows no command "lst"; did you mean list?`,
		"memory list --agnet echo":             "unknown flag: --agnet; did you mean --agent?",
		"memory show":                          "oneiros memory show lacks ID; it is used as \"oneiros memory show ID\"",
		"memory list":                          "several agents are known (echo, tally); say which one with --agent",
		"memory list -a echo -k dreams":        "--kind dreams is unknown",
		"memory list -a echo --since tomorrow": `"tomorrow" is no time such as`,
		"memory list -a echo --limit=-1":       "must not be negative",
		"spend --by colour":                    "--by colour is unknown",
		"dream --tier soft":                    "--tier soft must be core or hardened",
		"dream --budget=-1 --seed x":           "is not a number of dollars",
	} {
		require.Equal(t, exit.Usage, d.run(80, strings.Fields(line)...), line)
		require.Contains(t, d.err.String(), want, line)
		require.Empty(t, d.out.String(), line)
	}
}

func TestErrorsAreJSONWhenJSONIsAskedFor(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.NotFound, d.run(0, "dreams", "show", "dream/echo/0099", "--json"))
	var result struct {
		Error string
		Code  int
	}
	require.NoError(t, json.Unmarshal(d.err.Bytes(), &result))
	require.Equal(t, exit.NotFound, result.Code)
	require.Contains(t, result.Error, "dream/echo/0099")
}

func TestEveryListIsJSONWhenAskedFor(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for line, length := range map[string]int{
		"agents list": 2, "memory list -a echo": 9, "memory search -a echo rope -n 4": 4,
		"predictions list -a echo": 1, "fragments list -a echo": 2,
		"journal -a echo": 1, "dreams list -a echo": 1, "dreams list -a tally": 0, "memory show e-0001 --revisions": 1,
	} {
		require.Equal(t, exit.OK, d.run(0, append(strings.Fields(line), "--json")...), "%s: %s", line,
			d.err.String())
		var list []any
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &list), line)
		require.Len(t, list, length, line)
		require.Empty(t, d.err.String(), line)
	}
	for _, line := range []string{
		"agents show echo", "memory show e-0001", "dreams show 1 -a echo", "spend",
		"config show", "config check", "playbook export -a echo", "version",
	} {
		require.Equal(t, exit.OK, d.run(0, append(strings.Fields(line), "--json")...), "%s: %s", line,
			d.err.String())
		var object map[string]any
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &object), line)
	}
}

// The three lines at the top of a report are fields of its JSON.
func TestAReportGivesItsSummaryAsFields(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.file = "my own.yaml"
	require.Equal(t, exit.OK, d.run(0, "dreams", "show", "1", "-a", "echo"), d.err.String())
	lines := strings.Split(d.out.String(), "\n")
	require.Equal(t, exit.OK, d.run(0, "dreams", "show", "1", "-a", "echo", "--json"), d.err.String())
	var report struct{ Summary screen.Summary }
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &report))
	s := report.Summary
	require.Equal(t, "oneiros predictions list -a echo --dream 0001 --config 'my own.yaml'", s.Command)
	require.Equal(t, 1, s.Counts.Open)
	require.Equal(t, "Changed   "+s.Changed, lines[0])
	require.Equal(t, "Archived  "+s.Archived, lines[1])
	require.Equal(t, "Next      "+s.Next, lines[2]+" "+strings.TrimSpace(lines[3]), "the command has its own line")
}

func TestADreamIsNamedByIdByNumberOrAsTheLast(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for _, line := range []string{
		"dreams show dream/echo/0001", "dreams show 1 -a echo", "dreams show last -a echo",
		"dreams show #1",
	} {
		require.Equal(t, exit.OK, d.run(80, strings.Fields(line)...), "%s: %s", line, d.err.String())
		require.Contains(t, d.out.String(), "A rope remembers every knot", line)
	}
	require.Equal(t, exit.NotFound, d.run(80, "dreams", "show", "last", "-a", "tally"))
	require.Contains(t, d.err.String(), "tally has not dreamt yet")
}

// erased is the JSON of memory forget.
type erased struct {
	DryRun    bool                             `json:"dry_run"`
	Forgotten int                              `json:"forgotten"`
	Scrubbed  int                              `json:"scrubbed"`
	Erase     []struct{ ID, Kind, Why string } `json:"erase"`
	Scrub     []struct {
		ID, Kind string
		Fields   []string
	} `json:"scrub"`
	Left   []string `json:"left"`
	Absent []string `json:"absent"`
}

func (d *fixture) forget(args ...string) erased {
	d.Helper()
	require.Equal(d, exit.OK, d.run(0, append([]string{"memory", "forget", "-a", "echo", "--json"}, args...)...),
		d.err.String())
	var e erased
	require.NoError(d, json.Unmarshal(d.out.Bytes(), &e))
	return e
}

func TestForgettingAsksAndErasesForGood(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.file = "my own.yaml"
	require.Equal(t, exit.Refused, d.run(80, "memory", "forget", "e-0002", "-a", "echo"))
	require.Contains(t, d.err.String(), "add --yes to agree")
	require.Contains(t, d.err.String(), "--derived erases these too")
	require.Equal(t, exit.OK, d.run(80, "memory", "show", "e-0002"), "nothing was erased")
	require.Equal(t, exit.OK, d.run(80, "memory", "forget", "e-0002", "-a", "echo", "--yes"))
	require.Contains(t, d.out.String(), "forgotten for good.\n")
	require.Contains(t, d.out.String(),
		"nothing leads there any more. To erase that too:\noneiros memory forget -a echo ")
	require.Regexp(t, `(?m)^oneiros memory forget -a echo .* --config 'my own.yaml'$`, d.out.String())
	require.Equal(t, exit.NotFound, d.run(80, "memory", "show", "e-0002"))
	again := d.forget("e-0002", "--yes")
	require.Zero(t, again.Forgotten)
	require.Equal(t, []string{"e-0002"}, again.Absent, "what is gone may be asked for again")
}

func TestForgettingOnlyListsWhereThatIsAsked(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	dry := d.forget("e-0002", "--dry-run")
	require.True(t, dry.DryRun)
	require.NotEmpty(t, dry.Left)
	require.Equal(t, "e-0002", dry.Erase[len(dry.Erase)-1].ID)
	require.Equal(t, exit.OK, d.run(80, "memory", "forget", "e-0002", "-a", "echo", "--dry-run"))
	require.Contains(t, d.out.String(), "Nothing was changed.")
	require.Equal(t, exit.OK, d.run(80, "memory", "show", "e-0002"))
}

func TestForgettingTakesCopiesAlong(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	owned := func(id, owner, session, text string) *dream.Episode {
		return &dream.Episode{
			Head: dream.Head{
				ID:    id,
				Agent: "echo",
				Kind:  dream.KindEpisode,
				At:    now,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: text, Origin: owner, Session: session,
		}
	}
	next := owned("next", "", "s2", "Then it rained.")
	next.Context, next.Derived = "Anna had just said: “Quorvelant keeps the brass key at home”", []string{"context"}
	_, err := d.store.Commit(d.Context(), memory.Write{Agent: "echo", Cause: "import", Add: []dream.Item{
		owned("a1", "talk/k1/anna", "s1", "Quorvelant keeps the brass key at home"),
		owned("a2", "talk/k2/anna", "s2", "I like Wednesdays"),
		owned("b1", "talk/k1/ben", "s1", "I swim in winter"), next,
	}})
	require.NoError(t, err)
	ids := func(e erased) []string {
		var out []string
		for _, each := range e.Erase {
			out = append(out, each.ID)
		}
		return out
	}
	require.ElementsMatch(t, []string{"a1", "a2"}, ids(d.forget("--user", "anna", "--dry-run")))
	require.ElementsMatch(t, []string{"a1"}, ids(d.forget("--owner", "k1/anna", "--dry-run")))
	require.ElementsMatch(t, []string{"a1"}, ids(d.forget("--owner", "talk/k1/anna", "--dry-run")))
	require.ElementsMatch(t, []string{"a1", "b1"}, ids(d.forget("--session", "s1", "--dry-run")))
	require.ElementsMatch(t, []string{"a1"}, ids(d.forget("--session", "s1", "--user", "anna", "--dry-run")))
	require.Empty(t, ids(d.forget("--user", "anna", "--since", "2100-01-01", "--dry-run")))
	require.Empty(t, d.forget("a1", "--only", "--dry-run").Scrub)
	byText := d.forget("--text", "Quorvelant keeps the brass key", "--dry-run")
	require.Equal(t, []string{"a1"}, ids(byText), "nothing is left of it without")
	require.Len(t, byText.Scrub, 1)
	require.Equal(t, exit.OK, d.run(80, "memory", "forget", "-a", "echo", "--user", "nobody"),
		"there is nothing to ask")
	require.Contains(t, d.err.String(), "echo has nothing that fits.")
	done := d.forget("--user", "anna", "--yes")
	require.Equal(t, 2, done.Forgotten)
	require.Equal(t, 1, done.Scrubbed)
	require.Equal(t, []string{"context"}, done.Scrub[0].Fields)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"name what to forget", nil},
		{"--text is empty", []string{"--text", " "}},
		{"--since", []string{"--since", "tomorrow"}},
		{"is not before --until", []string{"--since", "2026-01-02", "--until", "2026-01-01"}},
		{"neither --derived nor --text", []string{"a1", "--only", "--derived"}},
	} {
		require.Equal(t, exit.Usage, d.run(80, append([]string{"memory", "forget", "-a", "echo"}, c.args...)...),
			c.args)
		require.Contains(t, d.err.String(), c.says)
	}
}

func TestWhatDreamsMadeOfAMemoryIsErasedWithItWhereThatIsAsked(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	plan, err := memory.PlanErasure(d.Context(), d.store, "echo", memory.Selection{IDs: []string{"e-0002"}})
	require.NoError(t, err)
	made := plan.Left
	require.NotEmpty(t, made)
	done := d.forget("e-0002", "--derived", "--yes")
	require.Empty(t, done.Left)
	require.GreaterOrEqual(t, done.Forgotten, len(made)+1)
	for _, item := range made {
		left, err := d.store.Get(d.Context(), "echo", item.Header().ID)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	night, err := d.store.Get(d.Context(), "echo", "dream/echo/0001")
	require.NoError(t, err)
	require.Len(t, night, 1, "that it dreamt stays on record")
}

func TestWhatStayedOfAMemoryCanBeErasedByTheIdsThatForgettingNamed(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	left := d.forget("e-0002", "--dry-run").Left
	require.Equal(t, exit.OK, d.run(0, "memory", "forget", "e-0002", "-a", "echo", "--yes"))
	_, line, _ := strings.Cut(strings.TrimSpace(d.out.String()), "oneiros ")
	require.Equal(t, exit.OK, d.run(0, append(strings.Fields(line), "--yes")...), d.err.String())
	got, err := d.store.Get(d.Context(), "echo", left...)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestADreamThatWaitsIsNotUndone(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	n := d.interrupt(now.Add(time.Hour))
	require.Equal(t, exit.Failure, d.run(200, "memory", "undo", n.ID, "--yes"))
	require.Contains(
		t,
		d.err.String(),
		"was woken and waits to go on; end it first with oneiros dreams cancel "+n.ID,
	)
	fresh, err := memory.One[*dream.Record](d.Context(), d.store, "echo", n.ID)
	require.NoError(t, err)
	require.Equal(t, dream.Live, fresh.State)
	require.Equal(
		t,
		exit.OK,
		d.run(
			200,
			"memory",
			"list",
			"-a",
			"echo",
			"-k",
			"dream_record",
			"--status",
			dream.RecordWaits,
		),
		d.err.String(),
	)
	require.Contains(t, d.out.String(), "waiting")
}

func TestADreamCanBeUndone(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(80, "memory", "undo", dreamID, "--yes"), d.err.String())
	require.Contains(t, d.out.String(), "is undone")
	require.Equal(t, exit.OK, d.run(80, "predictions", "list", "-a", "echo"))
	require.Contains(t, d.err.String(), "foretold nothing")
	require.Equal(t, exit.OK, d.run(200, "fragments", "list", "-a", "echo"))
	require.Contains(t, d.out.String(), "A rope remembers", "archived fragments stay readable")
}

func TestWhatIsExportedCanBeImportedAndAddsNothingTwice(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	path := filepath.Join(t.TempDir(), "echo.jsonl")
	require.Equal(t, exit.OK, d.run(80, "memory", "export", "-a", "echo", "-o", path), d.err.String())
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, strings.Split(strings.TrimSpace(string(body)), "\n"), 10)

	require.Equal(t, exit.OK, d.run(80, "memory", "import", path, "-a", "echo"), d.err.String())
	require.Contains(t, d.out.String(), "echo remembers 0 new")
	other := newFixture(t)
	require.Equal(t, exit.OK, other.run(80, "agents", "add", "echo"))
	require.Equal(t, exit.OK, other.run(80, "memory", "import", path), other.err.String())
	require.Equal(t, exit.OK, other.run(80, "memory", "search", "rope", "-n", "9"))
	require.NotContains(t, other.out.String(), "not experienced")
	require.Equal(t, exit.OK, other.run(120, "memory", "search", "rope", "-n", "9", "--dreamt"))
	require.Contains(t, other.out.String(), "fragment, dreamt, not experienced")
	require.Equal(t, exit.OK, other.run(80, "memory", "search", "rope", "-n", "9"))
	require.Contains(t, other.out.String(), "Mara rowed out")
}

func TestABadLineIsReportedAndTheRestImportedUnlessStrict(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "agents", "add", "echo"))
	path := filepath.Join(t.TempDir(), "m.jsonl")
	require.NoError(t,
		os.WriteFile(path,
			[]byte(
				"{\"kind\":\"episode\",\"content\":\"The tide turned.\",\"at\":\"2026-11-01T10:00:00Z\"}\n{broken\n",
			),
			0o600))
	require.Equal(t, exit.Failure, d.run(80, "memory", "import", path, "--strict"))
	require.Contains(t, d.err.String(), "m.jsonl:2")
	require.Contains(t, d.err.String(), "nothing was written")
	require.Equal(t, exit.OK, d.run(80, "memory", "import", path), d.err.String())
	require.Contains(t, d.err.String(), "m.jsonl:2")
	require.Contains(t, d.out.String(), "1 bad line left out")
	require.Equal(t, exit.NotFound, d.run(80, "memory", "import", "absent.jsonl"))
}

func TestTheShellCompletesAgents(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(0, "__complete", "memory", "list", "--agent", ""))
	require.Contains(t, d.out.String(), "echo\ntally\n")
	require.Equal(t, exit.OK, d.run(0, "completion", "bash"))
	require.Contains(t, d.out.String(), "__start_oneiros")
}

func TestTextOfOthersCannotPaintTheScreen(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "agents", "add", "echo", "--persona", "red \x1b[31mred\x07 and\nmore"))
	for _, line := range []string{"agents list", "agents show echo"} {
		require.Equal(t, exit.OK, d.run(80, strings.Fields(line)...))
		require.NotContains(t, d.out.String(), "\x1b")
		require.NotContains(t, d.out.String(), "\x07")
	}
}

func TestTheDoctorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "config", "check"))
	require.Equal(t, exit.OK, d.run(80, "config", "show", "--changed"))
	require.NotContains(t, d.out.String(), "dream.cycles")
}

func TestAnItemIsFoundByWhatAListShowsOfItsID(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for _, id := range []string{"…1/nrem/backward/1", "nrem/backward/1", "dream/echo/0001/nrem"} {
		require.Equal(t, exit.OK, d.run(80, "predictions", "show", id), "%s: %s", id, d.err.String())
		require.Contains(t, d.out.String(), "splice the rope")
	}
	require.Equal(t, exit.Usage, d.run(80, "memory", "show", "dream/echo/0001/"))
	require.Contains(t, d.err.String(), "is part of several ids")
	require.Equal(
		t,
		exit.NotFound,
		d.run(80, "fragments", "show", "nrem/backward/1"),
		"a prediction is no fragment",
	)
}
