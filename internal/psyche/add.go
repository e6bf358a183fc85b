package psyche

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// byHand is the cause of what a person adds on the command line.
const byHand = "operator"

// addedSalience is the salience of an added memory, the same as of something the agent is asked to remember.
const addedSalience = .75

// mostNewest is how many of the owner's newest memories are compared, beside the nearest ones.
const mostNewest = 50

// EmbedFunc embeds texts in the space of an agent's embedder.
type EmbedFunc func(ctx context.Context, texts []string) (vectors [][]float32, space string, err error)

// Addition is what a person adds to an agent's memory.
type Addition struct {
	Owner Owner // the owner of the words; a single user
	Text  string
	At    time.Time // since when it holds
}

// Added is the result of an addition.
type Added struct {
	Episode  *dream.Episode
	Existing bool     // the same words of the same owner were remembered already
	Replaced []string // ids of what it corrects
}

// Add stores a text as the words of an owner, as if they were said in a talk: it corrects what that owner said
// before. When the text cannot be embedded it is stored without a vector, which it gets when the memory is embedded
// anew.
func Add(ctx context.Context, store memory.Store, embed EmbedFunc, agent string, a Addition) (Added, error) {
	text := strings.TrimSpace(a.Text)
	if err := checkStatement(text); err != nil {
		return Added{}, err
	}
	origin := Caller{Key: access.Key{ID: a.Owner.Principal, Principal: a.Owner.Principal}, User: a.Owner.User}.Owner()
	id, err := freeID(ctx, store, agent, origin, idOf(agent, origin, "user", text), a.At)
	if err != nil {
		return Added{}, err
	}
	e := &dream.Episode{
		Head: dream.Head{
			ID:      id,
			Agent:   agent,
			Kind:    dream.KindEpisode,
			At:      a.At.UTC(),
			State:   dream.Live,
			Taint:   dream.FromHuman,
			Derived: []string{"salience", "surprise"},
		},
		Content:  text,
		Salience: addedSalience,
		Origin:   origin,
		Speaker:  "user",
	}
	near, err := nearTo(ctx, store, embed, e)
	if err != nil {
		return Added{}, err
	}
	if existing := (&comparison{near: [][]nearby{near}}); existing.isRemembered(0, text) {
		return Added{Episode: e, Existing: true}, nil
	}
	surprises, err := wordSurprise(ctx, store, agent, origin, text)
	if err != nil {
		return Added{}, err
	}
	e.Surprise = surprises[0]
	newest, err := newestOf(ctx, store, agent, origin)
	if err != nil {
		return Added{}, err
	}
	for _, item := range newest {
		near = append(near, nearby{item: item})
	}
	changed, err := correct(ctx, store, e, near)
	if err != nil {
		return Added{}, err
	}
	added := Added{Episode: e}
	for _, c := range changed {
		added.Replaced = append(added.Replaced, c.Header().ID)
	}
	w := memory.Write{Agent: agent, Cause: byHand, Add: []dream.Item{e}, Change: changed}
	if v, space, err := embed(ctx, []string{e.Text()}); err == nil && len(v) == 1 {
		w.Vectors = []memory.Vector{{Item: e.ID, Space: space, V: v[0]}}
	}
	if err := newKnownOwners(store, time.Now).note(ctx, agent, origin); err != nil {
		return Added{}, err
	}
	receipt, err := store.Commit(ctx, w)
	if errors.Is(err, memory.ErrSpace) && w.Vectors != nil {
		w.Vectors = nil
		receipt, err = store.Commit(ctx, w)
	}
	added.Existing = err == nil && receipt.Existing > 0
	return added, err
}

func checkStatement(text string) error {
	text = strings.TrimSpace(text)
	if text == "" || !utf8.ValidString(text) || utf8.RuneCountInString(text) > longestKept {
		return fmt.Errorf("the text has %d characters; it must be UTF-8 of 1 to %d", utf8.RuneCountInString(text),
			longestKept)
	}
	return nil
}

// nearTo returns the owner's own memories near to the addition; none when it cannot be embedded.
func nearTo(ctx context.Context, store memory.Store, embed EmbedFunc, e *dream.Episode) ([]nearby, error) {
	v, space, err := embed(ctx, []string{e.Content})
	if err != nil || len(v) != 1 {
		return nil, nil // it is stored even so
	}
	hits, err := store.Near(ctx, memory.Near{
		Agent: e.Agent, Space: space, V: v[0], Limit: mostNear,
		Filter: memory.Filter{Kinds: []dream.Kind{dream.KindEpisode}, Owners: []string{e.Origin}},
	})
	if errors.Is(err, memory.ErrSpace) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []nearby
	for _, hit := range hits {
		items, err := store.Get(ctx, e.Agent, hit.Item)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			out = append(out, nearby{item, hit.Cosine})
		}
	}
	return out, nil
}
