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

// statedFact is a fact that a person or an agent said, and that nobody has forgotten or corrected.
type statedFact struct{ id, text string }

// A life is told to, corrected and asked to forget by one person.
const owner = dream.TalkOrigin + "laptop/anna"

// simulatedAgent is one agent's life: what happens to it, one thing after the other, on a real store and with real
// activities.
type simulatedAgent struct {
	*rig
	at     time.Time
	nights []string
	facts  []statedFact
	number int
	old    bool // archive by the rule of before: by age alone
}

func (l *simulatedAgent) fact(kind dream.Kind, taint dream.Taint, age time.Duration) {
	l.number++
	f := statedFact{fmt.Sprintf("f%03d", l.number), factText(l.number)}
	h := dream.Head{
		ID:    f.id,
		Agent: "a",
		Kind:  kind,
		At:    l.at.Add(-age),
		State: dream.Live,
		Taint: taint,
	}
	var item dream.Item = &dream.Episode{Head: h, Content: f.text, Salience: .5}
	if kind == dream.KindSemantic {
		item = &dream.Semantic{Head: h, Content: f.text, Strength: .5, Due: h.At.Add(time.Hour)}
	}
	l.commit("import", item)
	if taint == dream.FromHuman || taint == dream.FromAgent {
		l.facts = append(l.facts, f)
	}
}

// talk is a few facts that a person says in one talk, seconds apart.
func (l *simulatedAgent) talk(n int) {
	session := fmt.Sprintf("talk-%d", l.number)
	for i := range n {
		l.number++
		f := statedFact{fmt.Sprintf("f%03d", l.number), factText(l.number)}
		at := l.at.Add(time.Duration(i) * time.Second)
		l.commit("talk", &dream.Episode{
			Head: dream.Head{
				ID:    f.id,
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    at,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content:  f.text,
			Salience: .5,
			Session:  session,
			Origin:   owner,
			Speaker:  "anna",
		})
		l.facts = append(l.facts, f)
	}
}

// correct puts a newer fact in the place of one that was said, which is not owed any more.
func (l *simulatedAgent) correct(i int) {
	old := l.facts[i]
	l.facts = slices.Delete(l.facts, i, i+1)
	l.talk(1)
	items, err := l.store.Get(context.Background(), "a", old.id)
	require.NoError(l.t, err)
	h := items[0].Header()
	h.State, h.NewerID = dream.Superseded, l.facts[len(l.facts)-1].id
	_, err = l.store.Commit(context.Background(), memory.Write{Agent: "a", Cause: "talk", Change: items})
	require.NoError(l.t, err)
}

// forget erases a fact, which is not owed any more.
func (l *simulatedAgent) forget(i int) {
	_, err := l.store.Forget(context.Background(), "a", l.facts[i].id)
	require.NoError(l.t, err)
	l.facts = slices.Delete(l.facts, i, i+1)
}

func (l *simulatedAgent) commit(cause string, item dream.Item) {
	vector := memory.Vector{Item: item.Header().ID, Space: space, V: vectorOf(item.Text())}
	w := memory.Write{Agent: "a", Cause: cause, Add: []dream.Item{item}, Vectors: []memory.Vector{vector}}
	_, err := l.store.Commit(context.Background(), w)
	require.NoError(l.t, err)
}

func factText(n int) string {
	return fmt.Sprintf("Cousin %[1]s is allergic to %[1]sine and lives in %[1]sburg", letters(n))
}

func (l *simulatedAgent) record() {
	ctx := context.Background()
	o := l.spec(len(l.nights)+1, l.at)
	s := l.begin(o)
	replay := &Replay{l.ports}
	_, err := replay.LastLook(ctx, step(s, .8))
	require.NoError(l.t, err)
	if l.old {
		l.oldArchive(s, o)
	}
	_, err = (&Awakening{l.ports}).Settle(ctx, SettleRequest{Stretch: s})
	require.NoError(l.t, err)
	l.finish(s)
	l.nights = append(l.nights, s.Dream)
}

// oldArchive is the rule of before, the negative control: what has faded below the threshold is archived, gist or no
// gist.
func (l *simulatedAgent) oldArchive(s Stretch, o Spec) {
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

// lost is the first fact that recall does not answer first when it is asked for by its own words, as a talk of its
// owner asks.
func (l *simulatedAgent) lost() string {
	for _, f := range l.facts {
		answer, err := recall.Find(context.Background(), l.store, recall.Question{
			Agent: "a", Text: f.text, Limit: 6,
			Filter: memory.Filter{Kinds: recall.Kinds, Owners: []string{"", owner}, Dreamt: memory.PromotedDreamt},
		})
		require.NoError(l.t, err)
		if len(answer.Memories) == 0 || answer.Memories[0].Item.Header().ID != f.id {
			return f.id
		}
	}
	return ""
}

// survives lets ten to twenty things happen, and answers the first fact that one of them lost.
func survives(t *testing.T, draw *rapid.T, old bool) string {
	l := &simulatedAgent{rig: newRig(t), at: tonight, old: old}
	l.gistsOf(repeated("somebody by the sea likes warm soup", 20)...)
	kinds := []dream.Kind{dream.KindEpisode, dream.KindSemantic}
	taints := []dream.Taint{dream.FromHuman, dream.FromAgent, dream.FromWeb}
	steps := rapid.IntRange(8, 14).Draw(draw, "steps")
	for range steps {
		switch rapid.IntRange(0, 7).Draw(draw, "what") {
		case 0, 1:
			age := time.Duration(rapid.IntRange(0, 400).Draw(draw, "days")) * 24 * time.Hour
			l.fact(rapid.SampledFrom(kinds).Draw(draw, "kind"), rapid.SampledFrom(taints).Draw(draw, "taint"), age)
		case 2, 3:
			l.record()
		case 4:
			l.at = l.at.Add(time.Duration(rapid.IntRange(1, 200).Draw(draw, "leap")) * 24 * time.Hour)
		case 5:
			if len(l.nights) > 0 {
				_, err := l.store.Undo(context.Background(), "a", rapid.SampledFrom(l.nights).Draw(draw, "undone"))
				require.NoError(t, err)
			}
		case 6:
			l.talk(rapid.IntRange(1, 3).Draw(draw, "facts"))
		case 7:
			if len(l.facts) == 0 {
				continue
			}
			i := rapid.IntRange(0, len(l.facts)-1).Draw(draw, "which")
			if rapid.Bool().Draw(draw, "corrected") {
				l.correct(i)
			} else {
				l.forget(i)
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
		require.Empty(t, rapid.Custom(func(draw *rapid.T) string { return survives(t, draw, false) }).Example(seed),
			"seed %d", seed)
	}
}

func TestTheOldRuleLosesWhatPeopleSaid(t *testing.T) {
	t.Parallel()
	for seed := range 30 {
		if rapid.Custom(func(draw *rapid.T) string { return survives(t, draw, true) }).Example(seed) != "" {
			return
		}
	}
	require.Fail(t, "the negative control lost nothing in 30 lives")
}
