package retention_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

func TestMain(m *testing.M) {
	testdeploy.RunIfWorkerProcess()
	os.Exit(m.Run())
}

// nightFile holds what one night of the built-in model left, as TestRecordANight recorded it.
const nightFile = "testdata/night.json.gz"

// night is what one dream left in a store.
type night struct {
	Agent  string        `json:"agent"`
	Dream  string        `json:"dream"`
	At     time.Time     `json:"at"`
	Items  []nightItem   `json:"items"`
	Events []event.Event `json:"events"`
	Rows   []spend.Row   `json:"rows"`
}

type nightItem struct {
	Kind   string          `json:"kind"`
	Body   json.RawMessage `json:"body"`
	Vector []float32       `json:"vector,omitempty"`
}

// readNight reads the recorded night.
func readNight(t *testing.T) (n night) {
	t.Helper()
	f, err := os.Open(nightFile)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(z).Decode(&n))
	return n
}

// TestRecordANight dreams two nights on a real Temporal server and writes down what the second left: with RECORD set.
func TestRecordANight(t *testing.T) {
	if os.Getenv("RECORD") == "" {
		t.Skip("RECORD=1 records the night anew")
	}
	ctx := context.Background()
	server := temporal.Shared(t)
	deployment, err := testdeploy.Open(ctx, testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue, Knobs: dream.DefaultKnobs(), Model: "script", DropAnswers: true,
	}, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	worker, err := deployment.StartWorker()
	require.NoError(t, err)
	t.Cleanup(worker.Stop)
	agent, err := deployment.AddAgent(ctx, 0, "recorded")
	require.NoError(t, err)
	n := night{Agent: agent.ID}
	seed := uint64(7)
	for i := range 2 {
		begun, err := deployment.Starter.Begin(ctx,
			starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night.AddDate(0, 0, i)})
		require.NoError(t, err)
		_, err = deployment.Result(ctx, begun.Dream)
		require.NoError(t, err)
		n.Dream = begun.Dream
		seed++
	}
	items, err := deployment.Store.Find(ctx, memory.Query{Agent: agent.ID, Dream: n.Dream, States: dream.States})
	require.NoError(t, err)
	ids := make([]string, 0, len(items))
	for _, item := range items {
		ids = append(ids, item.Header().ID)
	}
	space, err := deployment.Store.Space(ctx, agent.ID)
	require.NoError(t, err)
	vectors, err := deployment.Store.Vectors(ctx, agent.ID, space, ids...)
	require.NoError(t, err)
	placed := map[string][]float32{}
	for _, v := range vectors {
		placed[v.Item] = v.V
	}
	for _, item := range items {
		body, err := json.Marshal(item)
		require.NoError(t, err)
		n.Items = append(n.Items, nightItem{string(item.Header().Kind), body, placed[item.Header().ID]})
	}
	record, err := memory.One[*dream.Record](ctx, deployment.Store, agent.ID, n.Dream)
	require.NoError(t, err)
	n.At = record.At
	all, err := deployment.Store.Events(ctx, agent.ID, 0, 0)
	require.NoError(t, err)
	for _, e := range all {
		if e.Dream == n.Dream {
			n.Events = append(n.Events, e)
		}
	}
	n.Rows, err = deployment.Store.Ledger().Rows(ctx, spend.Query{Dream: n.Dream})
	require.NoError(t, err)
	f, err := os.Create(nightFile)
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	require.NoError(t, json.NewEncoder(z).Encode(n))
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	t.Logf("%s: %d items, %d events, %d calls", n.Dream, len(n.Items), len(n.Events), len(n.Rows))
}
