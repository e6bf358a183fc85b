package activities

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

// told is a fact that a person or an agent said, and that nobody has forgotten or corrected.
type told struct{ id, text string }

// life is one agent's life: what happens to it, one thing after the other, on a real store and with real activities.
type life struct {
	*rig
	at     time.Time
	nights []string
	facts  []told
	number int
	old    bool // archive by the rule of before: by age alone
}

func (l *life) fact(kind dream.Kind, taint dream.Taint, age time.Duration) {
	l.number++
	f := told{fmt.Sprintf("f%03d", l.number), fmt.Sprintf("Cousin %[1]s is allergic to %[1]sine and lives in %[1]sburg", letters(l.number))}
	h := dream.Head{ID: f.id, Agent: "a", Kind: kind, At: l.at.Add(-age), State: dream.Live, Taint: taint}
	var item dream.Item = &dream.Episode{Head: h, Content: f.text, Salience: .5}
	if kind == dream.KindSemantic {
		item = &dream.Semantic{Head: h, Content: f.text, Strength: .5, Due: h.At.Add(time.Hour)}
	}
	vector := memory.Vector{Item: f.id, Space: space, V: vectorOf(f.text)}
	_, err := l.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{item}, Vectors: []memory.Vector{vector}})
	require.NoError(l.t, err)
	if taint == dream.FromHuman || taint == dream.FromAgent {
		l.facts = append(l.facts, f)
	}
}

func (l *life) night() {
	ctx := context.Background()
	o := l.order(len(l.nights)+1, l.at)
	s := l.lie(o)
	replay := &Replay{l.ports}
	_, err := replay.LastLook(ctx, step(s, .8))
	require.NoError(l.t, err)
	if l.old {
		l.oldArchive(s, o)
	}
	_, err = (&Awakening{l.ports}).Settle(ctx, SettleRequest{Sitting: s})
	require.NoError(l.t, err)
	l.rise(s)
	l.nights = append(l.nights, s.Dream)
}

// oldArchive is the rule of before, the negative control: what has faded below the threshold is archived, gist or no gist.
func (l *life) oldArchive(s Sitting, o Order) {
	replay := &Replay{l.ports}
	all, err := replay.entries(context.Background(), o)
	require.NoError(l.t, err)
	var w memory.Write
	for _, e := range all {
		if !replay.due(o, e, 0).After(o.AsOf) {
			e.State = dream.Archived
			w.Change = append(w.Change, e)
		}
	}
	require.NoError(l.t, l.ports.write(context.Background(), s, w))
}

// lost is the first fact that recall does not find any more.
func (l *life) lost() string {
	for _, f := range l.facts {
		near := memory.Near{Agent: "a", Space: space, V: vectorOf(f.text), Limit: 1000, Filter: memory.Filter{Kinds: recall.Kinds, Dreamt: memory.NoneDreamt}}
		hits, err := l.store.Near(context.Background(), near)
		require.NoError(l.t, err)
		if !slices.ContainsFunc(hits, func(hit memory.Hit) bool { return hit.Item == f.id }) {
			return f.id
		}
	}
	return ""
}

// livesThrough lets ten to twenty things happen, and answers the first fact that one of them lost.
func livesThrough(t *testing.T, draw *rapid.T, old bool) string {
	l := &life{rig: newRig(t), at: tonight, old: old}
	l.gistsOf(repeated("somebody by the sea likes warm soup", 20)...)
	kinds := []dream.Kind{dream.KindEpisode, dream.KindSemantic}
	taints := []dream.Taint{dream.FromHuman, dream.FromAgent, dream.FromWeb}
	steps := rapid.IntRange(8, 14).Draw(draw, "steps")
	for range steps {
		switch rapid.IntRange(0, 5).Draw(draw, "what") {
		case 0, 1:
			age := time.Duration(rapid.IntRange(0, 400).Draw(draw, "days")) * 24 * time.Hour
			l.fact(rapid.SampledFrom(kinds).Draw(draw, "kind"), rapid.SampledFrom(taints).Draw(draw, "taint"), age)
		case 2, 3:
			l.night()
		case 4:
			l.at = l.at.Add(time.Duration(rapid.IntRange(1, 200).Draw(draw, "leap")) * 24 * time.Hour)
		case 5:
			if len(l.nights) > 0 {
				_, err := l.store.Undo(context.Background(), "a", rapid.SampledFrom(l.nights).Draw(draw, "undone"))
				require.NoError(t, err)
			}
		}
		if lost := l.lost(); lost != "" {
			return lost
		}
	}
	return ""
}

func TestNoSequenceOfEventsLosesWhatPeopleSaid(t *testing.T) {
	t.Parallel()
	for seed := range 30 {
		require.Empty(t, rapid.Custom(func(draw *rapid.T) string { return livesThrough(t, draw, false) }).Example(seed), "seed %d", seed)
	}
}

func TestTheOldRuleLosesWhatPeopleSaid(t *testing.T) {
	t.Parallel()
	for seed := range 30 {
		if rapid.Custom(func(draw *rapid.T) string { return livesThrough(t, draw, true) }).Example(seed) != "" {
			return
		}
	}
	require.Fail(t, "the negative control lost nothing in 30 lives")
}
