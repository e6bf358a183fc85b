package activities_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/replay"
)

// knows adds entries of knowledge that faded long ago, k00, k01, ….
func (r *rig) knows(n int, taint dream.Taint) {
	r.t.Helper()
	w := memory.Write{Agent: "a", Cause: "import"}
	for i := range n {
		at := tonight.Add(-4000 * time.Hour)
		w.Add = append(w.Add, &dream.Semantic{
			Head: dream.Head{
				ID:    fmt.Sprintf("k%02d", i),
				Agent: "a",
				Kind:  dream.KindSemantic,
				At:    at,
				State: dream.Live,
				Taint: taint,
			},
			Content: fmt.Sprintf("the keeper of the lighthouse likes soup and also %c", 'a'+i%26), Strength: .5,
			Due: tonight.Add(time.Duration(i-100) * time.Hour),
		})
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
}

// looks runs a dream that consists of a last look.
func (r *rig) looks(night int) activities.StepResult {
	r.t.Helper()
	s := r.begin(r.spec(night, tonight.Add(time.Duration(night-1)*24*time.Hour)))
	result, err := (&replay.Replay{Ports: r.ports}).LastLook(context.Background(), step(s, .8))
	require.NoError(r.t, err)
	r.finish(s)
	return result
}

// archived counts the archived entries, and requires that a live item has replaced each.
func (r *rig) archived() int {
	r.t.Helper()
	ctx := context.Background()
	items, err := r.store.Find(ctx,
		memory.Query{Agent: "a", Kinds: []dream.Kind{dream.KindSemantic}, States: []dream.State{dream.Archived}})
	require.NoError(r.t, err)
	for _, e := range memory.As[*dream.Semantic](items) {
		gist, err := memory.One[*dream.Gist](ctx, r.store, "a", e.NewerID)
		require.NoError(r.t, err)
		require.Equal(r.t, dream.Live, gist.State)
		require.Equal(r.t, e.Taint, gist.Taint, "a gist has the taint of its source")
		require.NotEqual(r.t, e.Content, gist.Content)
	}
	return len(items)
}

// gistsOf lets the model answer these gists of r1, r2, ….
func (r *rig) gistsOf(texts ...string) {
	answers := make([]string, len(texts))
	for i, text := range texts {
		answers[i] = fmt.Sprintf(`{"source":"r%d","gist":%q}`, i+1, text)
	}
	r.model.say["gists"] = `{"gists":[` + strings.Join(answers, ",") + `]}`
}

func repeated(text string, n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = text
	}
	return texts
}

func TestFadedKnowledgeIsReplacedByItsGist(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(3)
	r.knows(50, dream.FromWeb)
	r.gistsOf(repeated("somebody by the sea likes warm soup", 20)...)
	for night, want := range []int{20, 40, 50, 50} {
		r.looks(night + 1)
		require.Equal(t, want, r.archived(), "night %d", night+1)
	}
	var result event.ItemArchived
	require.Equal(t, 50, r.count("ItemArchived", &result))
	require.Equal(t, event.Faded, result.Reason)
	require.Equal(t, "gist/"+result.Item, result.Newer)
}

func TestALastLookThatGivesNoGistArchivesNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no answer for any":       `{"gists":[]}`,
		"the words of the source": "",
		"nothing but figures":     `{"gists":[{"source":"r1","gist":"42 on 3 May"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.live(3)
			r.knows(3, dream.FromWeb)
			r.model.say["gists"] = text
			if text == "" {
				r.gistsOf("the keeper of the lighthouse likes soup and also a",
					"The keeper of the lighthouse likes soup, and also b.",
					"the keeper of the lighthouse likes soup and also c")
			}
			require.Empty(t, r.looks(1).Made)
			require.Zero(t, r.archived())
			require.Empty(t, r.find(activities.Stretch{}, dream.KindGist), "no gist repeats a source that stays")
		})
	}
}

func TestKnowledgeFromPeopleAndAgentsIsNeverArchived(t *testing.T) {
	t.Parallel()
	for _, taint := range []dream.Taint{dream.FromHuman, dream.FromAgent} {
		r := newRig(t)
		r.live(3)
		r.knows(5, taint)
		r.gistsOf(repeated("somebody by the sea likes warm soup", 5)...)
		require.True(t, r.looks(1).CallOutcome.NoCall, "no call is made for it")
		require.Zero(t, r.archived())
	}
}

func TestTheGistOfAnUndoneDreamDoesNotReplaceItsSource(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(3)
	r.knows(1, dream.FromWeb)
	r.gistsOf("somebody by the sea likes warm soup")
	r.looks(1)
	require.Equal(t, 1, r.archived())
	_, err := r.store.Undo(context.Background(), "a", "dream/a/0001")
	require.NoError(t, err)
	require.Zero(t, r.archived())
	r.looks(2)
	require.Equal(t, 1, r.archived(), "its second gist is live")
}
