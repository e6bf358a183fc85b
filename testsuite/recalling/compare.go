package recalling

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Change is how the results of the questions differ between two measurements.
type Change struct {
	Lost, Gained int     // whose evidence was among the first ten only before, or only after
	Points       float64 // by which hit@10 changed
	Low, High    float64 // 95 % of bootstraps over sessions lie between

	LeastNet, MostNet int // likewise of the questions gained less those lost
}

// resamples is how many bootstraps bound a change.
const resamples = 4000

// Compare pairs the verdicts of one dialogue by question, and resamples whole sessions, because the questions of one
// session are not independent.
func (b *Bench) Compare(before, after []Verdict) Change {
	session := map[int]string{}
	for _, q := range b.Dialogue.Questions {
		if len(q.Evidence) > 0 {
			session[q.Number], _, _ = strings.Cut(q.Evidence[0], ":")
		}
	}
	later := map[int]bool{}
	for _, v := range after {
		later[v.Question] = v.Place > 0
	}
	var c Change
	type tally struct{ net, all int }
	bySession := map[string]tally{}
	for _, v := range before {
		net := 0
		switch had, has := v.Place > 0, later[v.Question]; {
		case had && !has:
			c.Lost++
			net = -1
		case has && !had:
			c.Gained++
			net = 1
		}
		t := bySession[session[v.Question]]
		bySession[session[v.Question]] = tally{t.net + net, t.all + 1}
	}
	var sessions []tally
	var names []string
	for name := range bySession {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		sessions = append(sessions, bySession[name])
	}
	c.Points = 100 * float64(c.Gained-c.Lost) / float64(max(1, len(before)))
	r := rand.New(rand.NewPCG(1, 2))
	drawn, nets := make([]float64, resamples), make([]int, resamples)
	for i := range drawn {
		sum := tally{}
		for range sessions {
			t := sessions[r.IntN(len(sessions))]
			sum.net, sum.all = sum.net+t.net, sum.all+t.all
		}
		nets[i] = sum.net
		drawn[i] = 100 * float64(sum.net) / float64(max(1, sum.all))
	}
	slices.Sort(drawn)
	slices.Sort(nets)
	c.LeastNet, c.MostNet = nets[resamples*25/1000], nets[resamples*975/1000]
	c.Low, c.High = drawn[resamples*25/1000], drawn[resamples*975/1000]
	return c
}

// Repeated is the share of the live items that recall may find, dreamt ones too, whose text is as near to another's
// as texts of the same words are.
func (b *Bench) Repeated(ctx context.Context, kinds []dream.Kind) (share float64, items int, err error) {
	live, err := b.Store.Find(ctx, memory.Query{Agent: b.Agent.ID, Kinds: kinds})
	if err != nil || len(live) == 0 {
		return 0, 0, err
	}
	repeated := 0
	for _, item := range live {
		v, space, err := b.Embed(ctx, []string{item.Text()})
		if err != nil {
			return 0, 0, err
		}
		hits, err := b.Store.Near(ctx, memory.Near{
			Agent:  b.Agent.ID,
			Space:  space,
			V:      v[0],
			Limit:  1,
			Filter: memory.Filter{Kinds: kinds, Except: []string{item.Header().ID}},
		})
		if err != nil {
			return 0, 0, err
		}
		if len(hits) > 0 && hits[0].Cosine >= b.Space.Same {
			repeated++
		}
	}
	return float64(repeated) / float64(len(live)), len(live), nil
}
