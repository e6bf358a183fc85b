package hypnagogia_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

const speech = "The tide table hangs beside the ledger, and both of them count what leaves. I turn a page and the harbour is empty."

// Too deep means semantically incoherent, repeating, or of tokens that the model itself finds unlikely.
func TestWhyAThoughtIsIncoherent(t *testing.T) {
	t.Parallel()
	far, near := -5.2, -1.3
	loop := strings.Repeat("the bell the rope ", 8)
	for _, c := range []struct {
		name      string
		text      string
		coherence float64
		logProb   *float64
		want      string
	}{
		{"natural speech", speech, .9, nil, ""},
		{"natural speech with likely tokens", speech, .9, &near, ""},
		{"the observer finds it incoherent", speech, .1, nil, hypnagogia.LostIncoherent},
		{"at the limit it is coherent", speech, .3, nil, ""},
		{"a loop", loop, .9, nil, hypnagogia.LostRepeating},
		{"a loop is reported first", loop, .1, &far, hypnagogia.LostRepeating},
		{"unlikely tokens", speech, .9, &far, hypnagogia.LostUnlikely},
		{"one word", "Rope.", .8, nil, ""},
		{"nothing", "", 0, nil, hypnagogia.LostIncoherent},
	} {
		require.Equal(t, c.want, hypnagogia.SenseOf(c.text, c.coherence, c.logProb).Lost(), c.name)
	}
}

func TestACycleCollapsesWhenMostThoughtsAreIncoherent(t *testing.T) {
	t.Parallel()
	good, mad, loop := hypnagogia.Sense{Coherence: .9, Fresh: 1}, hypnagogia.Sense{Coherence: .1, Fresh: 1},
		hypnagogia.Sense{Coherence: .9, Fresh: .2}
	for _, c := range []struct {
		cycle []hypnagogia.Sense
		want  string
	}{
		{nil, ""},
		{[]hypnagogia.Sense{mad}, ""},
		{[]hypnagogia.Sense{mad, good}, ""},
		{[]hypnagogia.Sense{mad, mad, good, good}, ""},
		{[]hypnagogia.Sense{mad, mad, loop, good}, hypnagogia.LostIncoherent},
		{[]hypnagogia.Sense{loop, loop, mad, good}, hypnagogia.LostRepeating},
		{[]hypnagogia.Sense{mad, mad}, hypnagogia.LostIncoherent},
		{[]hypnagogia.Sense{good, good, good, good}, ""},
	} {
		require.Equal(t, c.want, hypnagogia.Collapsed(c.cycle), "%v", c.cycle)
	}
}

// External readings are let in by a share that falls with depth, to zero at the peak.
func TestTheGateClosesWithDepth(t *testing.T) {
	t.Parallel()
	world := strings.Split("abcdefghijkl", "")
	for stage, want := range map[dream.Stage]int{
		"": 12, dream.Shallow: 8, dream.Transitional: 4, dream.Peak: 0,
		dream.TooDeep: 0,
	} {
		let := hypnagogia.Admit(world, hypnagogia.Gate(stage))
		require.Len(t, let, want, stage)
		require.Equal(t, world[:want], let)
	}
	require.Len(t, hypnagogia.Admit(world[:1], hypnagogia.Gate(dream.Shallow)), 0, "never more than the share")
	require.Empty(t, hypnagogia.Admit([]string(nil), 1))
}
