package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestTheScreensOfAllAgentsFit(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for _, screen := range []struct {
		name, line string
		code       int
	}{
		{"dreams-list-all", "dreams list --all", exit.OK},
		{"spend-all", "spend --all", exit.OK},
		{"health-problems", "health --problems", exit.Unwell},
	} {
		require.Equal(t, screen.code, d.run(80, strings.Fields(screen.line)...), d.err.String())
		d.golden(screen.name + "-80")
		for _, line := range strings.Split(d.out.String(), "\n") {
			require.LessOrEqual(t, len([]rune(line)), 80, line)
		}
	}
}

// sleepers puts agents that have each dreamt twice, an hour apart.
func (d *fixture) sleepers(handles ...string) {
	d.Helper()
	for i, handle := range handles {
		a := dream.Agent{
			ID:      handle,
			Handle:  handle,
			Zone:    "UTC",
			Caps:    dream.DefaultCaps,
			Created: now.AddDate(0, 0, -3),
		}
		require.NoError(d, d.store.PutAgent(d.Context(), a))
		for n := range 2 {
			h := head(dream.KindRecord, fmt.Sprintf("dream/%s/%04d", handle, n+1),
				now.Add(time.Duration(n-10)*time.Hour+time.Duration(i)*time.Minute), true)
			h.Agent = handle
			r := &dream.Record{
				Head:    h,
				Tier:    dream.Core,
				Outcome: dream.Completed,
				Run:     "r",
				Ended:   h.At.Add(time.Minute),
			}
			r.Phases = []dream.Tally{{Phase: dream.Onset, Kept: 1}}
			_, err := d.store.Commit(d.Context(), memory.Write{Agent: handle, Cause: h.ID, Add: []dream.Item{r}})
			require.NoError(d, err)
		}
	}
}

func TestAgentsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var want []string
	for n := range 7 {
		want = append(want, fmt.Sprint("agent-", n))
	}
	d.sleepers(want...)
	var got []string
	after := ""
	for {
		require.Equal(t, exit.OK, d.run(0, "agents", "list", "--json", "-n", "3", "--after", after), d.err.String())
		var page []struct {
			Handle string `json:"handle"`
			Last   struct {
				ID string `json:"id"`
			} `json:"last_dream"`
		}
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &page))
		if len(page) == 0 {
			break
		}
		for _, a := range page {
			got = append(got, a.Handle)
			require.Equal(t, "dream/"+a.Handle+"/0002", a.Last.ID)
		}
		after = page[len(page)-1].Handle
	}
	require.Equal(t, want, got)
	require.Equal(t, exit.OK, d.run(80, "agents", "list", "-n", "2"))
	require.Contains(t, d.err.String(), "2 of 7 are shown; --limit 0 shows all, --after agent-1 the next.")
	require.Equal(t, exit.Usage, d.run(80, "agents", "list", "-n", "-1"))
	require.Contains(t, d.err.String(), "--limit is -1")
}

func TestDreamsOfAllAgentsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.sleepers("ada", "bo", "cy")
	ids := func(args ...string) (ids []string) {
		require.Equal(t, exit.OK, d.run(0, append([]string{"dreams", "list", "--json"}, args...)...), d.err.String())
		var page []struct {
			ID string `json:"id"`
		}
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &page))
		for _, n := range page {
			ids = append(ids, n.ID)
		}
		return ids
	}
	all := []string{
		"dream/cy/0002", "dream/bo/0002", "dream/ada/0002", "dream/cy/0001", "dream/bo/0001", "dream/ada/0001",
	}
	require.Equal(t, all, ids("--all", "--limit", "0"))
	require.Equal(t, all[:2], ids("--all", "--limit", "2"))
	require.Equal(t, all[2:4], ids("--all", "--limit", "2", "--after", all[1]))
	require.Equal(t, all[3:], ids("--all", "--until", "2026-11-19T21:30"))
	require.Empty(t, ids("--all", "--status", "aborted"))
	for want, args := range map[string][]string{
		"needs --all":               {"--after", all[0], "-a", "ada"},
		"leave --agent and":         {"--all", "-a", "ada"},
		"must be a dream's whole":   {"--all", "--after", "0002"},
		"there is no agent \"dee\"": {"--all", "--after", "dream/dee/0001"},
		"dreams list --all names":   {"--all", "--after", "dream/ada/0009"},
	} {
		require.NotEqual(t, exit.OK, d.run(80, append([]string{"dreams", "list"}, args...)...))
		require.Contains(t, d.err.String(), want)
	}
}

func TestProblemsAreFoundWhereTheyAre(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.sleepers("ada", "bo", "cy", "dee", "eve")
	require.Equal(t, exit.OK, d.run(200, "health", "--problems"), d.err.String())
	require.NotContains(t, d.out.String(), "ada")
	require.Contains(t, d.err.String(), "5 agents looked at, 0 of them closely.")

	put := func(item dream.Item, agent string) {
		item.Header().Agent = agent
		_, err := d.store.Commit(t.Context(), memory.Write{Agent: agent, Cause: "import", Add: []dream.Item{item}})
		require.NoError(t, err)
	}
	failed := &dream.Record{
		Head:    head(dream.KindRecord, "dream/bo/0003", now.Add(-time.Hour), true),
		Outcome: dream.Aborted,
		Run:     "r",
		Ended:   now,
	}
	put(failed, "bo")
	late := &dream.Prediction{Head: head(dream.KindPrediction, "p", now.AddDate(0, 0, -2), false)}
	late.Claim, late.Status, late.Horizon = "it rains", dream.PredictionOpen, now.Add(-time.Hour)
	put(late, "cy")
	stuck := &dream.Record{
		Head:    head(dream.KindRecord, "dream/dee/0003", now.Add(-2*time.Hour), true),
		Outcome: dream.Dreaming, Run: "r",
	}
	put(stuck, "dee")
	waiting := &dream.Hypothesis{Head: head(dream.KindHypothesis, "h", now, false), Claim: "so it is"}
	waiting.State, waiting.Status = dream.Proposed, dream.HypothesisStaged
	put(waiting, "eve")

	d.run(200, "health", "--problems", "--json")
	var found struct {
		Lines []struct{ Agent, Name, State string } `json:"lines"`
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &found), d.err.String())
	var got []string
	for _, l := range found.Lines {
		require.NotEqual(t, "fine", l.State)
		if l.Agent != "" {
			got = append(got, l.Agent+" "+l.Name)
		}
	}
	for _, want := range []string{"bo outcomes", "cy predictions", "eve review"} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, strings.Join(got, " "), "ada")
	d.run(200, "health", "--problems")
	require.Contains(t, d.err.String(), "4 of them closely")
}

func TestTheBalancesOfAllAgentsKnowNoGroups(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.Usage, d.run(80, "spend", "--all", "--by", "day"))
	require.Contains(t, d.err.String(), "leave --by out")
	require.Equal(t, exit.OK, d.run(0, "spend", "--all", "--json", "--day", "2026-11-20"))
	require.Contains(t, d.out.String(), `"agents": 2`)
}
