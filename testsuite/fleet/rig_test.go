package fleet_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

const (
	// patience bounds one test; nothing is measured by it.
	patience = 3 * time.Minute
	// often is how often something that is awaited is looked at.
	often = 5 * time.Millisecond
)

// rig is a deployment of one agent with a paid model, a worker and a store that can be put back to an earlier state.
type rig struct {
	*testdeploy.Deployment
	t      *testing.T
	ctx    context.Context
	server *temporal.Server
	paid   *provider.Server
	agent  dream.Agent
	worker worker.Worker
	behind bool // Temporal was put back to an earlier state
}

// newRig opens a deployment on a store of its own: a file, or the Redis server.
func newRig(t *testing.T, on *redis.Server) *rig {
	t.Helper()
	skipShort(t)
	return newRigOn(t, temporal.Shared(t), on)
}

func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs on a real Temporal server; make test runs it")
	}
}

func newRigOn(t *testing.T, server *temporal.Server, on *redis.Server) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	paid, err := provider.Start(provider.Options{Seed: 1, Each: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(paid.Close)
	r := &rig{t: t, ctx: ctx, server: server, paid: paid}
	config := testdeploy.Config{
		Store:       filepath.Join(t.TempDir(), "memory.db"),
		Address:     r.server.Address,
		Namespace:   r.server.Namespace,
		Queue:       r.server.TaskQueue,
		Knobs:       dream.DefaultKnobs(),
		Model:       "script",
		Provider:    paid.URL,
		DropAnswers: true,
		ResumeTTL:   time.Hour,
		Settings: workflows.Settings{
			WakeLock: time.Millisecond, ClientTimeout: time.Minute, ResumeAfter: 24 * time.Hour,
		},
	}
	if on != nil {
		config.Redis, config.Prefix = on.URL, "first:"
	}
	r.open(config)
	t.Cleanup(func() { r.close() })
	r.agent, err = r.AddAgent(ctx, 1, "iris")
	require.NoError(t, err)
	return r
}

func (r *rig) open(config testdeploy.Config) {
	r.t.Helper()
	var err error
	r.Deployment, err = testdeploy.Open(r.ctx, config, r.server.Dial(r.t))
	require.NoError(r.t, err)
	r.worker, err = r.StartWorker()
	require.NoError(r.t, err)
}

func (r *rig) close() {
	r.worker.Stop()
	require.NoError(r.t, r.Close())
}

// export writes an archive as store export does.
func (r *rig) export() *bytes.Buffer {
	r.t.Helper()
	kept := new(bytes.Buffer)
	_, err := archive.Write(kept, r.Store.(memory.Movable).Export(r.ctx))
	require.NoError(r.t, err)
	return kept
}

// restore ends the worker, fills an empty store with an archive, and starts the worker on it.
func (r *rig) restore(kept *bytes.Buffer) {
	r.t.Helper()
	r.close()
	config := r.Config
	config.Store, config.Prefix = filepath.Join(r.t.TempDir(), "restored.db"), "restored:"
	empty, err := testdeploy.Open(r.ctx, config, r.server.Dial(r.t))
	require.NoError(r.t, err)
	_, err = empty.Store.(memory.Movable).Import(r.ctx, archive.Read(kept))
	require.NoError(r.t, err)
	require.NoError(r.t, empty.Close())
	r.open(config)
}

// begin starts a dream.
func (r *rig) begin() string {
	r.t.Helper()
	begun, err := r.Starter.Begin(r.ctx, starter.DreamRequest{Agent: r.agent.Handle, AsOf: testdeploy.Night})
	require.NoError(r.t, err)
	return begun.Dream
}

// dream runs a dream to its end, which must be that of its record.
func (r *rig) dream() string {
	r.t.Helper()
	id := r.begin()
	result, err := r.Result(r.ctx, id)
	require.NoError(r.t, err)
	require.Equal(r.t, dream.Completed, result.Outcome, result.Reason)
	require.Positive(r.t, result.Spent)
	record := r.record(id)
	require.Equal(r.t, result.Outcome, record.Outcome, "%s: %s", id, record.Reason)
	require.Equal(r.t, result.Spent, record.Spent, id)
	return id
}

func (r *rig) record(id string) *dream.Record {
	r.t.Helper()
	record, err := memory.One[*dream.Record](r.ctx, r.Store, r.agent.ID, id)
	require.NoError(r.t, err)
	return record
}

// paying waits until the running dream has bought so many calls, counted from now on.
func (r *rig) paying(id string, calls int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		rows, err := r.Store.Ledger().Rows(r.ctx, spend.Query{Dream: id})
		return err == nil && len(rows) >= calls
	}, patience, often, "%s buys nothing", id)
}

// visit connects a client, waits until the agent's workflow has recorded the wake, and lets the client leave.
func (r *rig) visit() {
	r.t.Helper()
	r.connect()
	require.NoError(r.t, r.Starter.Leave(r.ctx, r.agent.ID, "web"))
	require.Eventually(r.t, func() bool {
		state, err := r.Starter.AgentState(r.ctx, r.agent.Handle)
		return err == nil && state.State == workflows.Sleeping
	}, patience, often, "the agent does not fall asleep")
}

// connect connects a client and waits until the agent's workflow has recorded the wake.
func (r *rig) connect() {
	r.t.Helper()
	woken, err := r.Starter.Wake(r.ctx,
		starter.Connection{Agent: r.agent.ID, Client: "web", Cause: presence.Connect})
	require.NoError(r.t, err)
	require.True(r.t, woken.Raised)
	_, err = r.Starter.Recorded(r.ctx, r.agent.ID, woken.Epoch)
	require.NoError(r.t, err)
	require.Eventually(r.t, func() bool {
		status, err := r.Starter.Status(r.ctx, r.agent.ID)
		return err == nil && status.Recorded == woken.Epoch
	}, patience, often, "the agent's workflow does not record the wake")
	state, err := r.Starter.AgentState(r.ctx, r.agent.Handle)
	require.NoError(r.t, err)
	require.Equal(r.t, workflows.Awake, state.State)
	require.Equal(r.t, woken.Epoch, state.Epoch)
}

// requireTrue requires, after what has to be closed is closed, that every dream of the store has ended as its workflow
// says or waits to go on, that its books are equal, and that the store is whole.
func (r *rig) requireTrue() {
	r.t.Helper()
	executions := r.Starter.Executions()
	_, err := workers.Reconcile(r.ctx, r.Ports, executions)
	require.NoError(r.t, err)
	slots, err := r.Store.Slots(r.ctx)
	require.NoError(r.t, err)
	require.Empty(r.t, slots)
	open, err := r.Store.Ledger().OpenDreams(r.ctx)
	require.NoError(r.t, err)
	require.Empty(r.t, open, "reserved for ever")
	found, err := r.Store.Find(r.ctx,
		memory.Query{Agent: r.agent.ID, Kinds: []dream.Kind{dream.KindRecord}, States: dream.States})
	require.NoError(r.t, err)
	for _, record := range memory.As[*dream.Record](found) {
		require.Equal(r.t, r.spent(spend.Query{Dream: record.ID}), record.Spent, record.ID)
		if record.Resumable() {
			continue
		}
		require.NotEqual(r.t, dream.Dreaming, record.Outcome, record.ID)
		ended, err := executions.Ended(r.ctx, record.ID, record.Run)
		require.NoError(r.t, err)
		if r.behind && strings.Contains(ended.Reason, "Temporal does not know it") {
			continue
		}
		require.Equal(r.t, ended.Outcome, record.Outcome, "%s: %s", record.ID, record.Reason)
	}
	month := activities.DayAccounts(r.agent, testdeploy.Night.Format(time.DateOnly), budget.Unlimited)[1].Scope
	balance, err := r.Store.Ledger().Balance(r.ctx, month)
	require.NoError(r.t, err)
	require.Zero(r.t, balance.Reserved)
	require.Equal(r.t, r.spent(spend.Query{Agent: r.agent.ID}), balance.Spent, month)
	whole, err := r.Store.(memory.Verifier).Verify(r.ctx)
	require.NoError(r.t, err)
	require.Empty(r.t, whole.Faults)
	_, err = archive.Count(r.Store.(memory.Movable).Export(r.ctx))
	require.NoError(r.t, err, "the sums of the ledger")
}

// spent adds up rows of the ledger.
func (r *rig) spent(q spend.Query) (sum budget.Micros) {
	r.t.Helper()
	rows, err := r.Store.Ledger().Rows(r.ctx, q)
	require.NoError(r.t, err)
	for _, row := range rows {
		require.NotEqual(r.t, spend.Open, row.State, row.Step)
		sum += row.Counted
	}
	return sum
}

// counted is what the ledger counts at present: of calls that the archive shows as running what was reserved for them.
func (r *rig) counted() (sum budget.Micros) {
	r.t.Helper()
	rows, err := r.Store.Ledger().Rows(r.ctx, spend.Query{})
	require.NoError(r.t, err)
	for _, row := range rows {
		sum += row.Counted
	}
	return sum
}
