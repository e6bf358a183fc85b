package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

const who = "agent:echo" // with a colon, which keys escape

var dusk = time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)

// After any history, every order, set and vector agrees with the rows.
func TestEveryIndexAgreesWithTheRows(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	h := &randomHistory{Rand: rand.New(rand.NewPCG(seed, 1)), s: openAlone(t)}
	for round := range 25 {
		for range 12 {
			h.live(t)
		}
		require.Equal(t, h.derived(t), h.indexes(t), "seed %d, round %d", seed, round)
		for range 20 {
			h.findUnsettled(t)
		}
	}
	require.Greater(t, h.done, 120, "most operations were refused, seed %d", seed)
	require.Positive(t, h.found, "queries by status found nothing, seed %d", seed)
}

// An older program wrote no order of what was replaced: its revisions are found by a look at all.
func TestWhatAnOlderProgramReplacedIsTrimmed(t *testing.T) {
	t.Parallel()
	s, ctx := openAlone(t), t.Context()
	e := &dream.Semantic{
		Head: dream.Head{
			ID:    "s",
			Agent: who,
			Kind:  dream.KindSemantic,
			At:    dusk,
			Taint: dream.FromHuman,
			State: dream.Live,
		},
		Content: "tides",
	}
	_, err := s.Commit(ctx, memory.Write{Agent: who, Cause: "import", Add: []dream.Item{e}})
	require.NoError(t, err)
	for _, strength := range []float64{.1, .2, .3} {
		changed := *e
		changed.Strength = strength
		_, err := s.Commit(ctx, memory.Write{Agent: who, Cause: "import", Change: []dream.Item{&changed}})
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, s.client.Del(ctx, s.key(who, replacedOrder)).Val())
	later := time.Now().Add(time.Hour)
	n, err := s.TrimRevisions(ctx, who, later, 2)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = s.TrimRevisions(ctx, who, later, 2)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Zero(t, s.client.Exists(ctx, s.key(who, replacedOrder)).Val())
}

func openAlone(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), redis.Shared(t).URL, Prefix(redis.Prefix(t)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

type randomHistory struct {
	*rand.Rand
	s     *Store
	done  int // operations that were not refused
	found int // items of queries by status
}

func (h *randomHistory) pick(of ...string) string { return of[h.IntN(len(of))] }

func (h *randomHistory) id() string { return fmt.Sprint("i", h.IntN(30)) }

func (h *randomHistory) item() dream.Item {
	head := dream.Head{
		ID:    h.id(),
		Agent: who,
		Kind:  dream.KindEpisode,
		At:    dusk.Add(time.Duration(h.IntN(5)) * time.Hour),
		Taint: dream.FromHuman,
		State: dream.State(h.pick("live", "live", "archived", "superseded")),
		Dream: h.pick("", "", "d1", "d2"),
	}
	for range h.IntN(3) {
		head.Sources = append(head.Sources, h.id())
	}
	text := strings.Repeat(h.pick("tide", "glass", "ünïcode \n{", ""), h.IntN(12))
	if head.ID < "i2" {
		return &dream.Episode{
			Head:     head,
			Content:  text,
			Salience: float64(h.IntN(5)) / 4,
			Session:  h.pick("", "s1", "s2"),
			Origin:   h.pick("", "book", "talk/k/ann", "talk/k/bob"),
		}
	}
	if head.ID > "i8" {
		head.Kind = dream.KindPrediction
		p := &dream.Prediction{
			Head:       head,
			Claim:      text,
			Confidence: .5,
			Status:     h.pick(dream.PredictionOpen, dream.PredictionOpen, dream.PredictionRight, dream.PredictionVoid),
		}
		if h.IntN(3) > 0 {
			p.Horizon = dusk.Add(time.Duration(h.IntN(3)) * time.Hour)
		}
		return p
	}
	if head.ID > "i6" {
		head.Kind = dream.KindHypothesis
		return &dream.Hypothesis{
			Head:   head,
			Claim:  text,
			Status: h.pick(dream.HypothesisStaged, dream.HypothesisPromoted, dream.HypothesisRefuted),
		}
	}
	head.Kind = dream.KindSemantic
	s := &dream.Semantic{Head: head, Content: text, Strength: float64(h.IntN(5)) / 4}
	if h.IntN(3) > 0 {
		s.Due = dusk.Add(time.Duration(h.IntN(3)) * time.Hour)
	}
	return s
}

// live does one random operation; expected refusals are ignored.
func (h *randomHistory) live(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	var err error
	switch h.IntN(12) {
	case 0:
		_, err = h.s.Forget(ctx, who, h.id(), h.id())
	case 1:
		_, err = h.s.Undo(ctx, who, h.pick("d1", "d2", "d3"))
	case 2:
		err = h.s.Collect(ctx, who, []memory.Vector{h.vector("there"), h.vector("there"), h.vector("third")})
	case 3:
		_, err = h.s.Move(ctx, who, h.pick("here", "there"))
	case 4:
		_, err = h.s.TrimRevisions(ctx, who, time.Now(), 1+h.IntN(9))
	default:
		w := memory.Write{Agent: who, Cause: h.pick("import", "d1", "d2", "d3")}
		for range h.IntN(5) {
			w.Add = append(w.Add, h.item())
		}
		for range h.IntN(3) {
			w.Change = append(w.Change, h.item())
		}
		if h.IntN(2) == 0 {
			w.Vectors = append(w.Vectors, h.vector("here"), h.vector("here"))
		}
		if space, _ := h.s.Space(ctx, who); space != "" {
			for i := range w.Vectors {
				w.Vectors[i].Space = space
			}
		}
		_, err = h.s.Commit(ctx, w)
	}
	if err == nil {
		h.done++
	} else {
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.NotContains(t, err.Error(), "script")
	}
}

// findUnsettled compares what the order by status finds with what reading every item does.
func (h *randomHistory) findUnsettled(t *testing.T) {
	t.Helper()
	q := memory.Query{
		Agent:    who,
		Kinds:    []dream.Kind{dream.KindPrediction},
		Statuses: []string{dream.PredictionOpen},
		States:   []dream.State{dream.Live, dream.Proposed, dream.Archived}[:h.IntN(4)],
		Limit:    h.IntN(4),
		Sort: memory.SortOrder(h.pick("", string(memory.Newest), string(memory.Oldest), string(memory.HighestScore),
			string(memory.SoonestDue))),
	}
	if h.IntN(3) == 0 {
		q.Kinds = []dream.Kind{dream.KindHypothesis}
		q.Statuses = []string{dream.HypothesisStaged, dream.HypothesisPromoted}[:1+h.IntN(2)]
	}
	if h.IntN(3) == 0 {
		q.DueBefore = dusk.Add(time.Duration(h.IntN(4)) * time.Hour)
	}
	if h.IntN(3) == 0 {
		q.Since = dusk.Add(time.Duration(h.IntN(4)) * time.Hour)
	}
	if h.IntN(3) == 0 {
		q.Until = dusk.Add(time.Duration(h.IntN(4)) * time.Hour)
	}
	require.True(t, onlyUnsettled(q))
	slow, err := planRead(q)
	require.NoError(t, err)
	want, err := h.s.fetch(t.Context(), who, slow, q.Sort)
	require.NoError(t, err)
	found, err := h.s.Find(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, want, found, "%+v", q)
	h.found += len(found)
	n, err := h.s.Count(t.Context(), q)
	require.NoError(t, err)
	q.Limit = 0
	slow, err = planRead(q)
	require.NoError(t, err)
	want, err = h.s.fetch(t.Context(), who, slow, q.Sort)
	require.NoError(t, err)
	require.Len(t, want, n, "%+v", q)
}

func (h *randomHistory) vector(space string) memory.Vector {
	return memory.Vector{Item: h.id(), Space: space, V: []float32{h.Float32(), h.Float32()}}
}

// indexes reads every order and set that the server keeps, and the flags of the vectors.
func (h *randomHistory) indexes(t *testing.T) map[string][]string {
	t.Helper()
	c, ctx, base := h.s.client, t.Context(), h.s.key(who, "")
	found := map[string][]string{}
	keys, err := c.Keys(ctx, strings.ReplaceAll(base, "%", `\%`)+"*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		name := strings.TrimPrefix(key, base)
		family, _, _ := strings.Cut(name, ":")
		switch family {
		case "by", "bare", "tides", "changes":
			found[name] = c.ZRange(ctx, key, 0, -1).Val()
		case "cause", "dream", "session", "owner", "refers", "live", "owners":
			found[name] = c.SMembers(ctx, key).Val()
		case "vectors":
			for id, v := range c.HGetAll(ctx, key).Val() {
				flag, _, _ := strings.Cut(v, "\n")
				found[name] = append(found[name], id+" "+flag)
			}
		}
		slices.Sort(found[name])
	}
	return found
}

// derived computes the same from the rows.
func (h *randomHistory) derived(t *testing.T) map[string][]string {
	t.Helper()
	c, ctx := h.s.client, t.Context()
	want := map[string][]string{}
	add := func(name, member string) {
		if !slices.Contains(want[name], member) {
			want[name] = append(want[name], member)
		}
	}
	spaces, err := h.s.Spaces(ctx, who)
	require.NoError(t, err)
	own, err := h.s.Space(ctx, who)
	require.NoError(t, err)
	ids := c.HKeys(ctx, h.s.key(who, "items")).Val()
	histories, err := h.s.histories(ctx, who, ids)
	require.NoError(t, err)
	older := 0
	for i, history := range histories {
		id, r := ids[i], history[len(history)-1]
		older += len(history) - 1
		placed := func(space string) bool { return c.HExists(ctx, h.s.key(who, "vectors:"+space), id).Val() }
		h.orders(r, own == "" || !placed(own), add)
		for _, old := range history {
			if old.marks.Cause != r.marks.Dream {
				add("cause:"+old.marks.Cause, id)
			}
			if old.marks.Dream != "" && old.marks.Dream != r.marks.Dream {
				add("cause:"+old.marks.Dream, id)
			}
			for _, other := range old.marks.Refers {
				if old.marks.Dream == "" || !strings.HasPrefix(other, old.marks.Dream+"/") {
					add("refers:"+other, id)
				}
			}
		}
		add("changes", id)
		for name, value := range map[string]string{
			"dream:": r.marks.Dream, "session:": r.marks.Session,
			"owner:": *r.marks.Owner,
		} {
			if value != "" {
				add(name+value, id)
			}
		}
		if owner := *r.marks.Owner; owner != "" && r.marks.State == dream.Live {
			add("live:"+owner, id)
			add("owners", owner)
		}
		if r.marks.State == dream.Live && len(history) > 1 {
			add(replacedOrder, id)
			replaced, err := time.Parse(timeFormat, history[1].marks.Changed)
			require.NoError(t, err)
			score := c.ZScore(ctx, h.s.key(who, replacedOrder), id).Val()
			require.LessOrEqual(t, score, float64(replaced.UnixMicro()), "the item would be trimmed late")
		}
		for space := range spaces {
			if placed(space) {
				add("tides:"+space, id)
				add("vectors:"+space,
					id+" "+map[bool]string{true: "1", false: "0"}[r.marks.State == dream.Live]+string(r.kind))
			}
		}
	}
	require.EqualValues(t, older, c.HLen(ctx, h.s.key(who, "revisions")).Val(), "revisions without an item are left")
	for _, list := range want {
		slices.Sort(list)
	}
	return want
}

func (h *randomHistory) orders(r row, bare bool, add func(name, member string)) {
	p, pair := r.places, string(r.kind)+":"+string(r.marks.State)
	newest := p[:12]
	oldest := p[12:24]
	salient := p[24:32]
	score := p[32:40]
	due := p[40:52]
	tail := p[52:] + r.id
	add("by:newest:"+pair, newest+tail)
	add("by:oldest:"+pair, oldest+tail)
	if r.kind == dream.KindEpisode {
		add("by:salient:"+pair, salient+newest+tail)
	}
	add("by:score:"+pair, score+newest+tail)
	if r.marks.Due != nil {
		add("by:due:"+pair, due+tail)
	}
	if slices.Contains(unsettled[r.kind], r.marks.Status) {
		add("by:status:"+r.marks.Status+":"+pair, newest+tail)
	}
	if bare {
		add("bare:"+pair, oldest+tail)
	}
}
