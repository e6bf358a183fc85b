package psyche_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

func TestATurnWakesTheAgentAndPassesTheBodyOnWithTheProvidersModel(t *testing.T) {
	t.Parallel()
	r := setup(t)
	text, report := r.talk(turn(ann, `{"model":"echo" , "messages":[{"role":"user","content":"Hello"}],"x":1.50}`))
	require.Contains(t, text, "Yes.")
	require.Equal(t, `{"model":"wire-model" , "messages":[{"role":"user","content":"Hello"}],"x":1.50}`,
		r.provider.last(t))
	require.True(t, report.Woke)
	require.EqualValues(t, 1, report.Epoch)
	require.Equal(t, "echo", report.Agent)
	require.Equal(t, "p/free", report.Model)
	require.Equal(t, psyche.SkippedNothing, report.Skipped)
	_, again := r.talk(turn(ann, chat("Hello again")))
	require.False(t, again.Woke)
	require.Equal(t, 1, r.nights.woken(), "the lease is fresh")
	r.settle()
	require.Zero(t, r.provider.unclosed())
}

func TestALeaseIsRenewedWhenAThirdOfItsTimeIsOver(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.talk(turn(ann, chat("Hello")))
	r.clock.pass(20 * time.Second)
	r.talk(turn(ann, chat("Hello")))
	require.Equal(t, 1, r.nights.woken())
	r.clock.pass(time.Second)
	r.talk(turn(ann, chat("Hello")))
	require.Equal(t, 2, r.nights.woken())
}

func TestWhatWasSaidComesToMindLater(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.talk(turn(ann, chat("Please remember that my dog is called Rex and sleeps in the harbour.")))
	r.settle()
	kept, err := r.store.Find(t.Context(), memory.Query{Agent: r.agent.ID})
	require.NoError(t, err)
	require.Len(t, kept, 1)
	e := kept[0].(*dream.Episode)
	require.Equal(t, dream.FromHuman, e.Taint)
	require.Equal(t, ann.Owner(), e.Origin)
	_, report := r.talk(turn(ann, chat("Where does my dog Rex sleep?")))
	require.Equal(t, 1, report.Recalled)
	require.Empty(t, report.Skipped)
	require.Contains(t, r.provider.last(t), "> Please remember that my dog is called Rex")
	_, report = r.talk(turn(caller("key_a", "bob"), chat("Where does my dog Rex sleep?")))
	require.Zero(t, report.Recalled, "another user's")
}
