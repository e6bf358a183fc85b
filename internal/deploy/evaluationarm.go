package deploy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/eval"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	questions "github.com/seed-56a03226/oneiros/internal/probe"
	"github.com/seed-56a03226/oneiros/internal/recall"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/starter"
)

// armFolder is where an arm is played; it is removed afterwards.
const armFolder = "arm"

// Progress is how far an arm is.
type Progress struct {
	Arm   string
	Day   int // counted from 1
	Days  int
	Night string // the outcome of a dream; empty on days without one
}

// armRun is one arm as it is played.
type armRun struct {
	*Evaluation
	name       string
	deployment *Deployment
	engine     Engine // nil in arms without dreams
	clock      *chronicleClock
	days       [][]dream.Item
	nights     map[int]bool
	result     eval.Arm
	originals  map[string]string       // by id of an entry that is left out, the one that it copies
	atSplit    map[string]*dream.Claim // by id, as they stood when the judging days began
}

// Play plays an arm from its beginning. Answers of models that are recorded already cost nothing again.
func (e *Evaluation) Play(ctx context.Context, arm string, progress func(Progress)) (result eval.Arm, err error) {
	dir := filepath.Join(e.Dir, armFolder)
	if err := os.RemoveAll(dir); err != nil {
		return result, fmt.Errorf("empty the folder of an arm: %w", err)
	}
	if err := folder(dir); err != nil {
		return result, err
	}
	h, err := e.build(ctx, dir, knobsOf(arm, e.config.Dream))
	if err != nil {
		return result, err
	}
	h.model = e.log.Model(h.model, h.config)
	h.guard.Model = h.model
	r := &armRun{
		Evaluation: e, name: arm, deployment: h, clock: &chronicleClock{now: e.history.days[0]},
		result: eval.Arm{Name: arm}, nights: map[int]bool{},
	}
	h.Clock = r.clock.get
	defer func() {
		if r.engine == nil {
			err = errors.Join(err, h.store.Close())
		} else {
			err = errors.Join(err, r.engine.Stop())
		}
		if err == nil {
			err = os.RemoveAll(dir)
		}
	}()
	if err := r.prepare(ctx); err != nil {
		return result, err
	}
	for day := range r.days {
		if err := r.live(ctx, day); err != nil {
			return result, fmt.Errorf("arm %s, %s: %w", arm, e.history.days[day].Format(time.DateOnly), err)
		}
		night := ""
		if r.nights[day] {
			night = r.result.Nights[len(r.result.Nights)-1].Outcome
		}
		progress(Progress{Arm: arm, Day: day + 1, Days: len(r.days), Night: night})
	}
	return r.result, r.judge(ctx)
}

// prepare stores the agent, makes the days of this arm and starts what its dreams need.
func (r *armRun) prepare(ctx context.Context) error {
	if err := r.deployment.store.PutAgent(ctx, r.agent()); err != nil {
		return err
	}
	r.days = r.daysOfArm()
	if !eval.Dreams(r.name) {
		return nil
	}
	nights, err := eval.Spread(r.Plan.Days, r.Plan.Nights, r.Plan.JudgingDays)
	if err != nil {
		return err
	}
	for _, day := range nights {
		r.nights[day] = true
	}
	r.engine, err = r.process.ForOneDream(ctx, r.deployment, func(string, ...any) {})
	return err
}

// agent is the agent as an arm has it. It dreams the nights of the plan and no others.
func (e *Evaluation) agent() dream.Agent {
	a := e.history.agent
	all := e.night * budget.Micros(e.Plan.Nights+1) // all nights are dreamt within a day; one more for embeddings
	a.Caps = dream.Caps{Dream: e.night, Day: all, Month: all}
	a.Auto = false
	a.Triggers = nil
	a.Feed = ""
	return a
}

// daysOfArm are the days as this arm lives them. The days that judge are the same in all arms.
func (r *armRun) daysOfArm() [][]dream.Item {
	past := r.pastDays()
	days := slices.Clone(r.history.items)
	switch r.name {
	case eval.Dedupe:
		kept, originals := withoutCopies(days[:past])
		copy(days, kept)
		r.originals = originals
	case eval.Placebo:
		copy(days, shuffledDays(days[:past], r.Plan.Seed))
	}
	return days
}

func (r *armRun) pastDays() int { return r.Plan.Days - r.Plan.JudgingDays }

// live lives a day: its entries are stored, what was foretold is compared with them, and its night is dreamt.
func (r *armRun) live(ctx context.Context, day int) error {
	r.clock.set(r.history.evening(day))
	agent := r.history.agent
	if err := r.store(ctx, r.days[day]); err != nil {
		return err
	}
	if _, err := r.deployment.ports().Resolver().LookUp(ctx, agent.ID); err != nil {
		return fmt.Errorf("compare the day with what was foretold: %w", err)
	}
	if r.nights[day] {
		if err := r.dream(ctx, day); err != nil {
			return err
		}
		if _, err := r.deployment.ports().Resolver().LookUp(ctx, agent.ID); err != nil { // predictions become claims
			return err
		}
	}
	if day+1 == r.pastDays() {
		return r.split(ctx)
	}
	return nil
}

// store adds the entries of a day with their vectors.
func (r *armRun) store(ctx context.Context, items []dream.Item) error {
	if len(items) == 0 {
		return nil
	}
	w := memory.Write{Agent: r.history.agent.ID, Cause: "import"}
	var texts []string
	for _, item := range items {
		w.Add = append(w.Add, item)
		texts = append(texts, item.Text())
	}
	vectors, space, err := r.deployment.embed(ctx, r.history.agent, "", texts)
	if err != nil {
		return fmt.Errorf("embed the entries: %w", err)
	}
	for i, v := range vectors {
		w.Vectors = append(w.Vectors, memory.Vector{Item: items[i].Header().ID, Space: space, V: v})
	}
	_, err = r.deployment.store.Commit(ctx, w)
	return err
}

// dream dreams the night of a day.
func (r *armRun) dream(ctx context.Context, day int) error {
	seed := r.Plan.Seed + uint64(day) + 1
	record, err := r.deployment.dreamNight(ctx, r.engine, starter.DreamRequest{
		Agent: r.history.agent.ID, Seed: &seed, AsOf: r.history.evening(day), Budget: &r.night,
	})
	if err != nil {
		return err
	}
	in, out, err := r.tokensOf(ctx, record.ID)
	if err != nil {
		return err
	}
	r.result.Nights = append(r.result.Nights, eval.Night{
		Day: r.history.days[day].Format(time.DateOnly), Outcome: string(record.Outcome), Reason: record.Reason,
		Spent: record.Spent, In: in, Out: out,
	})
	r.result.Spent += record.Spent
	return nil
}

// tokensOf counts the tokens of a dream's calls, those of embedders left out.
func (r *armRun) tokensOf(ctx context.Context, dreamID string) (in, out int64, err error) {
	rows, err := r.deployment.guard.Ledger.Rows(ctx, spend.Query{Dream: dreamID})
	if err != nil {
		return 0, 0, fmt.Errorf("read what %s has called: %w", dreamID, err)
	}
	for _, row := range rows {
		model, err := r.deployment.guard.Catalog.Lookup(row.Model)
		if err != nil {
			return 0, 0, err
		}
		if !model.Embeds {
			in, out = in+row.Tokens.In, out+row.Tokens.Out
		}
	}
	return in, out, nil
}

// split asks the questions of recall and notes the claims, before the days that judge.
func (r *armRun) split(ctx context.Context) error {
	entries := r.history.items
	if r.name == eval.Placebo { // it has never lived what the others are asked about
		entries = r.days
	}
	for _, q := range questionsAbout(entries[:r.pastDays()], r.Plan.Questions, r.Plan.Seed) {
		place, err := r.place(ctx, q)
		if err != nil {
			return err
		}
		r.result.Answers = append(r.result.Answers, eval.Recalled{Question: q.ID, Place: place})
	}
	all, err := review.Claims(ctx, r.deployment.store, r.history.agent.ID)
	if err != nil {
		return err
	}
	r.atSplit = map[string]*dream.Claim{}
	for _, c := range all {
		r.atSplit[c.ID] = c
	}
	return nil
}

// place is where the memory that a question is about stands among the first ten; 0 when it is not there. A memory with
// the same words stands for it, since one of two copies may have been archived, and so does what standsFor names.
func (r *armRun) place(ctx context.Context, q questions.Question) (int, error) {
	wanted, err := r.deployment.store.Get(ctx, r.history.agent.ID, q.ID)
	if err != nil {
		return 0, err
	}
	same, err := r.standsFor(ctx, q.ID)
	if err != nil {
		return 0, err
	}
	found, err := recall.Find(memory.SteadySearches(ctx), r.deployment.store, recall.Question{
		Agent: r.history.agent.ID, Text: strings.Join(q.Words, " "), Limit: questions.First,
		Filter: memory.Filter{Kinds: recall.Kinds, Dreamt: memory.NoneDreamt},
	})
	if err != nil {
		return 0, fmt.Errorf("ask for a memory: %w", err)
	}
	for i, m := range found.Memories {
		if slices.Contains(same, m.Item.Header().ID) || len(wanted) == 1 && m.Item.Text() == wanted[0].Text() {
			return i + 1, nil
		}
	}
	return 0, nil
}

// standsFor are the ids of what stands for an entry: itself, what it copies and was left out for, and the gist that
// took its place. The probe of a dream counts a gist in the same way.
func (r *armRun) standsFor(ctx context.Context, id string) ([]string, error) {
	ids := []string{id}
	if original, copied := r.originals[id]; copied {
		ids = append(ids, original)
	}
	for at := id; ; {
		items, err := r.deployment.store.Get(ctx, r.history.agent.ID, at)
		if err != nil || len(items) == 0 {
			return ids, err
		}
		at = items[0].Header().NewerID
		if at == "" || slices.Contains(ids, at) {
			return ids, nil
		}
		ids = append(ids, at)
	}
}

// judge counts what the claims that were known brought on the days that judge.
func (r *armRun) judge(ctx context.Context) error {
	all, err := review.Claims(ctx, r.deployment.store, r.history.agent.ID)
	if err != nil {
		return err
	}
	for _, c := range all {
		before := r.atSplit[c.ID]
		if before == nil || before.Status != dream.ClaimPassed && before.Status != dream.ClaimTried {
			continue
		}
		r.result.Claims = append(r.result.Claims, eval.Claim{
			ID:          c.ID,
			Says:        c.Says,
			Status:      before.Status,
			When:        c.Check.When,
			Then:        c.Check.Then,
			Hits:        c.Hits - before.Hits,
			Trials:      c.Trials() - before.Trials(),
			DecoyHits:   c.DecoyHits - before.DecoyHits,
			DecoyTrials: c.DecoyHits + c.DecoyMisses - before.DecoyHits - before.DecoyMisses,
		})
	}
	return nil
}

// withoutCopies are days without the entries that are copies of earlier ones. originals names, for each entry that is
// left out, the one that it copies.
func withoutCopies(days [][]dream.Item) (kept [][]dream.Item, originals map[string]string) {
	var parts [][]string
	var ids []string
	for _, day := range days {
		for _, item := range day {
			ids = append(ids, item.Header().ID)
			parts = append(parts, []string{item.Text()}) // context and outcome quote the entries before and after it
		}
	}
	copies := hypnagogia.CopiesAmong(parts)
	kept, originals = make([][]dream.Item, len(days)), map[string]string{}
	for i, day := range days {
		for _, item := range day {
			if copies[0] < 0 {
				kept[i] = append(kept[i], item)
			} else {
				originals[item.Header().ID] = ids[copies[0]]
			}
			copies = copies[1:]
		}
	}
	return kept, originals
}

// shuffledDays are days in whose entries each longer word is exchanged with one of another day. What a dream reads is
// then as long and made of the same words, and nothing in it goes together but by chance.
func shuffledDays(days [][]dream.Item, seed uint64) [][]dream.Item {
	shuffled := make([][]dream.Item, len(days))
	var entries []eval.Entry
	for i, day := range days {
		for _, item := range day {
			shuffled[i] = append(shuffled[i], clone(item))
			var words []string
			for _, text := range textsOf(item) {
				words = append(words, longWord.FindAllString(*text, -1)...)
			}
			entries = append(entries, eval.Entry{Day: strconv.Itoa(i), Sentences: words})
		}
	}
	entries = eval.Shuffle(entries, seed)
	for _, day := range shuffled {
		for _, item := range day {
			words := entries[0].Sentences
			entries = entries[1:]
			for _, text := range textsOf(item) {
				*text = longWord.ReplaceAllStringFunc(*text, func(string) string {
					word := words[0]
					words = words[1:]
					return word
				})
			}
		}
	}
	return shuffled
}

// clone is a copy of an entry whose texts may be changed.
func clone(item dream.Item) dream.Item {
	switch i := item.(type) {
	case *dream.Episode:
		c := *i
		c.Replaces = nil
		return &c
	case *dream.Semantic:
		c := *i
		return &c
	}
	return item
}

// textsOf are the texts of an entry.
func textsOf(item dream.Item) []*string {
	switch i := item.(type) {
	case *dream.Episode:
		return []*string{&i.Content, &i.Context, &i.Action, &i.Outcome}
	case *dream.Semantic:
		return []*string{&i.Content}
	}
	return nil
}

// longWord is a word of four letters or more, which in most languages leaves the small words in their places.
var longWord = regexp.MustCompile(`\p{L}{4,}`)
