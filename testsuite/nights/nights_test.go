package nights_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/stage"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

func TestMain(m *testing.M) {
	stage.Perform()
	os.Exit(m.Run())
}

// What many nights may leave behind.
const (
	mostBytes      = 300_000 // a night an agent in the store; the goal is 100 kB
	mostDuplicates = .02     // of live items, those that say what another live one says
)

// nights is how many are dreamt: a month with PROVE=full.
func nights() int {
	if os.Getenv("PROVE") == "full" {
		return 30
	}
	return 4
}

func TestNightsLeaveLittleAndRepeatNothing(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"built-in", "script"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			dreamt(t, model)
		})
	}
}

func dreamt(t *testing.T, model string) {
	t.Helper()
	if testing.Short() {
		t.Skip("dreams on a real Temporal server; make test runs it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
	t.Cleanup(cancel)
	server := temporal.Shared(t)
	path := filepath.Join(t.TempDir(), "memory.db")
	play := stage.Play{
		Store: path, Address: server.Address, Namespace: server.Namespace, Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script", Forgets: true, // as a deployment does
	}
	if model == "script" {
		p, err := provider.Start(provider.Options{Seed: 1})
		require.NoError(t, err)
		t.Cleanup(p.Close)
		play.Provider = p.URL
	}
	company, err := stage.Open(ctx, play, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, company.Close()) })
	worker, err := company.Work()
	require.NoError(t, err)
	t.Cleanup(worker.Stop)
	agent, err := company.Hire(ctx, 0, "nights-"+model)
	require.NoError(t, err)
	before := sizes(t, path)
	seed := uint64(7)
	for n := range nights() {
		begun, err := company.Starter.Begin(ctx, starter.Wish{Agent: agent.Handle, Seed: &seed, AsOf: stage.Night.AddDate(0, 0, n)})
		require.NoError(t, err)
		result, err := company.Result(ctx, begun.Dream)
		require.NoError(t, err)
		require.NotEqual(t, dream.Aborted, result.Outcome, result.Reason)
		require.NotEqual(t, dream.Undone, result.Outcome, result.Reason)
		seed++
	}
	after := sizes(t, path)
	each := func(name string) int { return (after[name] - before[name]) / nights() }
	live, near := duplicates(t, ctx, company.Store, agent.ID)
	t.Logf("%s: %d nights, %d bytes a night; %d of %d live items repeat another", model, nights(), each("all"), near, live)
	for _, name := range slices.Sorted(keys(after)) {
		if each(name) > 500 {
			t.Logf("  %-40s %6d", name, each(name))
		}
	}
	for _, line := range kinds(t, path) {
		t.Log(line)
	}
	if keep := os.Getenv("KEEP"); keep != "" {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(keep+"/"+model+".db", body, 0o600))
	}
	require.LessOrEqual(t, each("all"), mostBytes)
	require.LessOrEqual(t, float64(near), mostDuplicates*float64(live))
}

func keys(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// sizes are the bytes of every table and index of the store's file, and of all together.
func sizes(t *testing.T, path string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for name, size := range query(t, path, `SELECT name, sum(pgsize) FROM dbstat GROUP BY name`) {
		out[name] = size
		out["all"] += size
	}
	return out
}

func query(t *testing.T, path, statement string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.Query(statement)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	out := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		require.NoError(t, rows.Scan(&name, &n))
		out[name] = n
	}
	require.NoError(t, rows.Err())
	return out
}

// kinds are the bytes of bodies by kind.
func kinds(t *testing.T, path string) []string {
	t.Helper()
	var lines []string
	for table, by := range map[string]string{"items": "kind", "revisions": "kind", "events": "type", "notes": "name", "answers": "step"} {
		body := map[string]string{"events": "data", "notes": "value", "answers": "answer"}[table]
		if body == "" {
			body = "body"
		}
		statement := fmt.Sprintf("SELECT %s || ' x' || count(*), sum(length(%s)) FROM %s GROUP BY %s", by, body, table, by)
		for name, size := range query(t, path, statement) {
			if size > 5000*nights()/4 {
				lines = append(lines, fmt.Sprintf("  %s %-34s %7d", table, name, size/nights()))
			}
		}
	}
	slices.SortFunc(lines, strings.Compare)
	return lines
}

// duplicates counts live items, and those of them that repeat one that was there before.
func duplicates(t *testing.T, ctx context.Context, s memory.Store, agent string) (live, near int) {
	t.Helper()
	items, err := s.Find(ctx, memory.Query{Agent: agent, Order: memory.Oldest})
	require.NoError(t, err)
	texts := map[string]string{}
	for _, item := range items {
		h := item.Header()
		if h.Kind == dream.KindNight || h.Kind == dream.KindMarker {
			continue
		}
		if p, ok := item.(*dream.Prediction); ok && p.Claim == "" { // what it says lies in the fragment that it names
			continue
		}
		live++
		text := strings.Join(strings.Fields(strings.ToLower(item.Text())), " ")
		if of, known := texts[text]; known {
			near++
			if near < 5 {
				t.Logf("  %s repeats %s", h.ID, of)
			}
		}
		texts[text] = h.ID
	}
	return live, near
}
