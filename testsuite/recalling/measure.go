package recalling

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

// Embedder makes vectors of texts, as the importer and recall use it.
type Embedder func(ctx context.Context, texts []string) (vectors [][]float32, space string, err error)

// Bench is one dialogue in an agent's memory.
type Bench struct {
	Store    memory.Store
	Agent    dream.Agent
	Embed    Embedder
	Space    inference.Calibration
	Dialogue Dialogue

	episodes []*dream.Episode
	turns    map[string][]string // of each episode, by id
	placed   map[string][]float32
	now      time.Time // an hour after the last turn
}

// Load imports a dialogue by the product's importer, without the turns that drop names.
func Load(
	ctx context.Context, store memory.Store, agent dream.Agent, embed Embedder, space inference.Calibration,
	d Dialogue, drop func(turn string) bool,
) (*Bench, error) {
	b := &Bench{
		Store:    store,
		Agent:    agent,
		Embed:    embed,
		Space:    space,
		Dialogue: d,
		turns:    map[string][]string{},
		placed:   map[string][]float32{},
	}
	body, err := os.ReadFile(d.File)
	if err != nil {
		return nil, err
	}
	if drop != nil {
		body, err = without(body, d.Name, drop)
		if err != nil {
			return nil, err
		}
	}
	file := importer.File{
		Name: filepath.Base(d.File), Size: int64(len(body)), ModTime: time.Now(),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(body))), nil },
	}
	opts := importer.Options{Format: formats.LoCoMo, Dialogue: d.Name, Embed: importer.Embed(embed)}
	if _, err := importer.Import(ctx, store, agent, []importer.File{file}, opts); err != nil {
		return nil, err
	}
	return b, b.read(ctx)
}

func (b *Bench) read(ctx context.Context) error {
	items, err := b.Store.Find(ctx,
		memory.Query{Agent: b.Agent.ID, Kinds: []dream.Kind{dream.KindEpisode}, Sort: memory.Oldest})
	if err != nil {
		return err
	}
	b.episodes = memory.As[*dream.Episode](items)
	for _, e := range b.episodes {
		b.turns[e.ID] = turnsOf(e.Origin)
		b.now = e.At.Add(time.Hour)
		v, _, err := b.Embed(ctx, []string{e.Content})
		if err != nil {
			return err
		}
		b.placed[e.ID] = unit(v[0])
	}
	return nil
}

// Ranking returns the ids of what a question finds, best first.
type Ranking func(ctx context.Context, question string) ([]string, error)

// Recall is the ranking that conversations use.
func (b *Bench) Recall(ctx context.Context, question string) ([]string, error) {
	answer, err := recall.Find(ctx, b.Store, b.Question(question))
	return idsOf(answer), err
}

// Without is Recall of a memory that lacks some episodes.
func (b *Bench) Without(removed func(episode string) bool) Ranking {
	var except []string
	for _, e := range b.episodes {
		if removed(e.ID) {
			except = append(except, e.ID)
		}
	}
	return func(ctx context.Context, question string) ([]string, error) {
		q := b.Question(question)
		q.Filter.Except = except
		answer, err := recall.Find(ctx, b.Store, q)
		return idsOf(answer), err
	}
}

func idsOf(answer recall.Answer) []string {
	ids := make([]string, len(answer.Memories))
	for i, m := range answer.Memories {
		ids[i] = m.Item.Header().ID
	}
	return ids
}

// Question is the question as a conversation asks it.
func (b *Bench) Question(text string) recall.Question {
	return recall.Question{
		Agent: b.Agent.ID, Text: text, Limit: 10,
		Filter: memory.Filter{
			Kinds: recall.Kinds, Owners: []string{"", "talk/bench/reader"},
			Dreamt: memory.PromotedDreamt,
		},
		Embed: func(ctx context.Context, text string) ([]float32, string, error) {
			v, space, err := b.Embed(ctx, []string{text})
			if err != nil {
				return nil, "", err
			}
			return v[0], space, nil
		},

		Calibration: b.Space,
		Now:         b.now,
	}
}

// Fusion is a way to combine words and meaning that the product does not use, or uses with other numbers.
type Fusion struct {
	Blend   rank.Blend
	Ranks   float64       // reciprocal rank fusion with this k, weighted by Blend; 0: the scores themselves are added
	Context float64       // of the best score of a nearby turn, how much is added
	Within  time.Duration // what nearby means
}

// Fused ranks episodes alone by the product's index, by another fusion.
func (b *Bench) Fused(f Fusion) Ranking {
	byID := map[string]*dream.Episode{}
	for _, e := range b.episodes {
		byID[e.ID] = e
	}
	return func(ctx context.Context, question string) ([]string, error) {
		v, space, err := b.Embed(ctx, []string{question})
		if err != nil {
			return nil, err
		}
		found, err := b.Store.Search(ctx, memory.Search{
			Agent:  b.Agent.ID,
			Text:   question,
			Space:  space,
			V:      v[0],
			Blend:  f.Blend,
			Limit:  f.pool(len(b.episodes)),
			Filter: memory.Filter{Kinds: []dream.Kind{dream.KindEpisode}, Dreamt: memory.NoneDreamt},
		})
		if f.Ranks > 0 {
			f.reciprocal(found.Hits)
		}
		scores := map[string]float64{}
		for _, h := range found.Hits {
			near := 0.0
			for _, o := range found.Hits {
				one, other := byID[h.Item], byID[o.Item]
				if f.Context > 0 && h.Item != o.Item && one.Session == other.Session &&
					one.At.Sub(other.At).Abs() <= f.Within {
					near = max(near, o.Score)
				}
			}
			scores[h.Item] = h.Score + f.Context*near
		}
		slices.SortStableFunc(found.Hits,
			func(a, b rank.Hit) int { return cmp.Compare(scores[b.Item], scores[a.Item]) })
		var ids []string
		for _, h := range found.Hits[:min(10, len(found.Hits))] {
			ids = append(ids, h.Item)
		}
		return ids, err
	}
}

// pool is how many hits are considered: as many as recall does, or all where ranks count.
func (f Fusion) pool(all int) int {
	if f.Ranks > 0 {
		return all
	}
	return 40
}

// reciprocal gives hits their score by their ranks by words and by meaning alone.
func (f Fusion) reciprocal(hits []rank.Hit) {
	slices.SortStableFunc(hits, func(a, b rank.Hit) int { return cmp.Compare(b.Words, a.Words) })
	for i := range hits {
		hits[i].Score = 0
		if hits[i].Words > 0 {
			hits[i].Score = f.Blend.Words / (f.Ranks + float64(i+1))
		}
	}
	slices.SortStableFunc(hits, func(a, b rank.Hit) int { return cmp.Compare(b.Cosine, a.Cosine) })
	for i := range hits {
		hits[i].Score += f.Blend.Meaning / (f.Ranks + float64(i+1))
	}
}

// Embedded ranks episodes by their vectors alone.
func (b *Bench) Embedded(ctx context.Context, question string) ([]string, error) {
	v, _, err := b.Embed(ctx, []string{question})
	if err != nil {
		return nil, err
	}
	sought := unit(v[0])
	return b.top(func(e *dream.Episode) float64 {
		sum := 0.0
		for i, x := range b.placed[e.ID] {
			sum += float64(x) * float64(sought[i])
		}
		return sum
	}), nil
}

func (b *Bench) top(score func(*dream.Episode) float64) []string {
	type scored struct {
		id    string
		score float64
	}
	all := make([]scored, len(b.episodes))
	for i, e := range b.episodes {
		all[i] = scored{e.ID, score(e)}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var ids []string
	for _, s := range all[:min(10, len(all))] {
		ids = append(ids, s.id)
	}
	return ids
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := make([]float32, len(v))
	if sum == 0 {
		return out
	}
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return out
}

// Verdict is the rank at which a question's evidence was found; 0 when it was not among the first ten.
type Verdict struct {
	Question int
	Category int
	Place    int
	Found    int // how many of them were found at all
}

// Judge runs every question of the categories 1 to 4.
func (b *Bench) Judge(ctx context.Context, ranking Ranking) ([]Verdict, error) {
	var out []Verdict
	for _, q := range b.Dialogue.Questions {
		if q.Category == NeverSaid {
			continue
		}
		ids, err := ranking(ctx, q.Text)
		if err != nil {
			return nil, fmt.Errorf("question %d: %w", q.Number, err)
		}
		v := Verdict{Question: q.Number, Category: q.Category, Found: len(ids)}
		for i, id := range ids {
			if slices.ContainsFunc(b.turns[id], func(turn string) bool { return slices.Contains(q.Evidence, turn) }) {
				v.Place = i + 1
				break
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// Score is the share of questions whose evidence is among the first k.
func Score(verdicts []Verdict, category, k int) float64 {
	hits, all := 0, 0
	for _, v := range verdicts {
		if category != 0 && v.Category != category {
			continue
		}
		all++
		if v.Place > 0 && v.Place <= k {
			hits++
		}
	}
	if all == 0 {
		return math.NaN()
	}
	return float64(hits) / float64(all)
}
