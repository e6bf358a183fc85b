package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/fabric/fabrictest"
	"github.com/seed-56a03226/oneiros/activities/port/inference/inferencetest"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/presence/presencetest"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/activities/port/spend/spendtest"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

func TestTheStoreKeepsTheContractOfDreams(t *testing.T) {
	t.Parallel()
	memorytest.RunDreams(t, func(*testing.T) memory.DreamStore { return NewStore() })
}

func TestTheStoreKeepsTheContractOfPresence(t *testing.T) {
	t.Parallel()
	presencetest.Run(t, func(*testing.T) presencetest.Store { return NewStore() })
}

func TestTheStoreKeepsTheContractOfEvents(t *testing.T) {
	t.Parallel()
	fabrictest.Run(t, func(*testing.T) fabrictest.Announcer {
		s := NewStore()
		return fabrictest.Announcer{Log: s, Store: s}
	})
}

func TestTheLedgerKeepsTheContract(t *testing.T) {
	t.Parallel()
	spendtest.RunLedger(t, func(*testing.T) spend.Ledger { return NewLedger() })
}

func TestTheLocalWakeBusKeepsTheContract(t *testing.T) {
	t.Parallel()
	presencetest.RunWakeBus(t, func(*testing.T) (here, there presence.WakeBus) { return &presence.LocalBus{}, nil })
}

func TestTheModelKeepsTheContract(t *testing.T) {
	t.Parallel()
	inferencetest.Run(t, func(*testing.T) inferencetest.Stage {
		return inferencetest.Stage{Model: Model{}, Spec: Catalog()[Writer], Embedder: Embedder}
	})
}

func TestADreamRunsToItsEnd(t *testing.T) {
	t.Parallel()
	server := temporal.Start(t, temporal.InMemory())
	result, store, err := Dream(t.Context(), server.Dial(t), server.TaskQueue)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	record, err := memory.One[*dream.Record](t.Context(), store, "echo", result.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, record.Outcome)
	made := map[dream.Kind]int{}
	items, err := store.Find(t.Context(), memory.Query{Agent: "echo", Dream: result.Dream, States: dream.States})
	require.NoError(t, err)
	for _, item := range items {
		made[item.Header().Kind]++
	}
	t.Log("the dream made", made)
	require.Positive(t, made[dream.KindFragment])
	status, err := store.Status(t.Context(), "echo", time.Now())
	require.NoError(t, err)
	require.Zero(t, status.Epoch, "nobody woke the agent")
	slots, err := store.Slots(t.Context())
	require.NoError(t, err)
	require.Empty(t, slots)
}
