package psyche

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

// Limits of requests.
const (
	mostRecalled = 50
	mostJournal  = 200
	recallFor    = 10 * time.Second
)

// Recall returns the memories nearest to a query.
func (b *Service) Recall(ctx context.Context, c Caller, agent string, r RecallRequest) ([]Memory, error) {
	a, err := b.reach(ctx, c, agent, access.Client)
	if err != nil {
		return nil, err
	}
	if r.Limit < 1 || r.Limit > mostRecalled {
		return nil, invalidRequest("out_of_range", "n", "n is %d; it must be 1 to %d.", r.Limit, mostRecalled)
	}
	query := strings.TrimSpace(r.Query)
	if query == "" || !utf8.ValidString(query) {
		return nil, invalidRequest("out_of_range", "query", "The query must be a text that is not empty.")
	}
	ctx, cancel := context.WithTimeout(ctx, recallFor)
	defer cancel()
	found, byWords, err := b.search(ctx, a, c, RecallRequest{clipped(query, longestKept), r.Limit, r.Dreamt}, nil,
		recallFor/2)
	if errors.Is(byWords, memory.ErrSpace) {
		err = byWords
	}
	if errors.Is(err, memory.ErrSpace) {
		return nil, &Fault{
			Status:  409,
			Type:    badRequest,
			Code:    "other_space",
			Message: "The agent's memories are placed by another embedder than the one that is configured; `oneiros memory embed` places them anew.",
			Err:     err,
		}
	}
	if err != nil {
		return nil, recallFault(ctx, err)
	}
	if byWords != nil {
		b.counts.wordsOnly(a.ID, whyWords(byWords))
	}
	b.used(ctx, a.ID, found)
	if found == nil {
		found = []Memory{}
	}
	return found, nil
}

// Remember stores a memory of the caller's. Its id derives from its content.
func (b *Service) Remember(ctx context.Context, c Caller, agent, content string, importance float64) (string, error) {
	a, err := b.reach(ctx, c, agent, access.Client)
	if err != nil {
		return "", err
	}
	content = strings.TrimSpace(content)
	if content == "" || !utf8.ValidString(content) || utf8.RuneCountInString(content) > longestKept {
		return "", invalidRequest("out_of_range", "content", "The content must be text of 1 to %d characters.", longestKept)
	}
	if !(importance >= 0 && importance <= 1) || math.IsNaN(importance) {
		return "", invalidRequest("out_of_range", "importance", "The importance is %v; it must lie between 0 and 1.", importance)
	}
	if err := b.checkQuota(ctx, a, c); err != nil {
		if full(err) {
			return "", quotaFault()
		}
		return "", storeFault("count the caller's memories", err)
	}
	affect, err := b.Memory.Affect(ctx, a.ID)
	if err != nil {
		return "", storeFault("read how the agent feels", err)
	}
	l := line{content, dream.FromAgent, "client"} // written by some program
	placed, err := b.place(ctx, a, c, []line{l})
	if err != nil {
		return "", storeFault("look for the content in memory", err)
	}
	now := b.now()
	e := &dream.Episode{
		Head: dream.Head{
			ID:      idOf(a.ID, c.Owner(), l.speaker, l.text),
			Agent:   a.ID,
			Kind:    dream.KindEpisode,
			At:      now.UTC(),
			State:   dream.Live,
			Taint:   l.by,
			Derived: []string{"surprise", "affect"},
		},
		Content: l.text, Salience: importance, Surprise: placed.novelty[0],
		Affect: mood.Settled(affect.PAD, b.o.Baseline, now.Sub(affect.Since)),
		Origin: c.Owner(), Speaker: l.speaker,
	}
	w := memory.Write{Agent: a.ID, Cause: rememberedBy, Add: []dream.Item{e}}
	if placed.v != nil {
		w.Vectors = []memory.Vector{{Item: e.ID, Space: placed.space, V: placed.v[0]}}
	}
	if err := b.keepTalk(ctx, a, c, w); err != nil {
		return "", storeFault("keep the memory", err)
	}
	return e.ID, nil
}

// Status returns the state of an agent.
func (b *Service) Status(ctx context.Context, c Caller, agent string) (Status, error) {
	a, err := b.reach(ctx, c, agent, access.Client)
	if err != nil {
		return Status{}, err
	}
	s := Status{Agent: a.Handle, Memories: map[string]int{}, Digest: []Memory{}}
	s.Emotion, err = b.emotion(ctx, a)
	if err != nil {
		return Status{}, err
	}
	status, err := b.Dreams.Status(ctx, a.ID)
	if err != nil {
		return Status{}, storeFault("ask who holds the agent awake", err)
	}
	slots, err := b.Memory.Slots(ctx)
	if err != nil {
		return Status{}, storeFault("ask who dreams", err)
	}
	_, dreaming := slots[a.ID]
	state := status.State(dreaming, b.now())
	s.State = string(state)
	if state == circadian.Awake {
		s.Until = status.Until()
	}
	s.Leases = len(status.Leases)
	if err := b.counted(ctx, a, c, &s); err != nil {
		return Status{}, err
	}
	listeners, err := b.talkers.mayHear(ctx, c, a.ID, a.Handle, b.o.Shared)
	if err != nil {
		return Status{}, storeFault("ask whose talks the agent remembers", err)
	}
	if status.Last != nil && listeners && b.switched(&a, Switches{}).digest == journal.DigestMessage {
		items, err := b.Memory.Get(ctx, a.ID, status.Last.Digest...)
		if err != nil {
			return Status{}, storeFault("read the digest", err)
		}
		for _, j := range journal.Visible(memory.As[*dream.Journal](items)) {
			s.Digest = append(s.Digest, Memory{
				ID:      j.ID,
				Kind:    j.Kind,
				At:      j.At,
				Content: j.Content,
				Taint:   dream.FromDream,
				Score:   j.Significance,
				Dreamt:  true,
				Label:   journal.Label,
			})
		}
	}
	return s, nil
}

// counted adds the numbers of live items by kind that the caller may read, the caller's own quota, and the newest
// dream.
func (b *Service) counted(ctx context.Context, a dream.Agent, c Caller, s *Status) error {
	counts, err := b.quotas.read(ctx, a.ID)
	if err != nil {
		return storeFault("count the caller's memories", err)
	}
	s.Own = b.quotas.keptOf(counts, c)
	all := c.May(access.Operator, a.Handle)
	if all {
		recalls := b.counts.of(a.ID).counts()
		s.Recall = &recalls
		s.Embedding, err = b.embedding(ctx, a.ID)
		if err != nil {
			return storeFault("ask what is being embedded", err)
		}
	}
	for _, kind := range dream.Kinds {
		if !all && !slices.Contains(recall.Kinds, kind) {
			continue
		}
		n, err := b.Memory.Count(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{kind}})
		if err != nil {
			return storeFault("count memories", err)
		}
		if !all && kind == dream.KindEpisode { // what others said in their talks is hidden from the caller
			n = max(s.Own.Memories, n-counts.total()+s.Own.Memories)
		}
		if n > 0 {
			s.Memories[string(kind)] = n
		}
	}
	every := []dream.State{dream.Live, dream.Superseded, dream.Archived}
	nights, err := b.Memory.Count(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, States: every})
	if err != nil {
		return storeFault("count dreams", err)
	}
	s.Dreams = int64(nights)
	newest, err := b.Memory.Find(ctx,
		memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, States: every, Limit: 1})
	if err != nil {
		return storeFault("find the newest dream", err)
	}
	for _, n := range memory.As[*dream.Record](newest) {
		s.Dream, s.Outcome = n.ID, string(n.Outcome)
	}
	return nil
}

// embedding is the progress of embedding an agent's memories in the background; nil when none waits.
func (b *Service) embedding(ctx context.Context, agent string) (*Embedding, error) {
	if b.Jobs == nil {
		return nil, nil
	}
	j, err := b.Jobs.EmbedJob(ctx, agent)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	left, _ := j.Left(b.now())
	return &Embedding{Done: j.Done, Total: j.Total, Left: left.Milliseconds(), Failure: j.Failure}, nil
}

// Journal returns the newest entries.
func (b *Service) Journal(ctx context.Context, c Caller, agent string, limit int) ([]*dream.Journal, error) {
	a, err := b.reach(ctx, c, agent, access.Operator)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > mostJournal {
		return nil, invalidRequest("out_of_range", "limit", "limit is %d; it must be 1 to %d.", limit, mostJournal)
	}
	items, err := b.Memory.Find(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindJournal}, Limit: limit})
	if err != nil {
		return nil, storeFault("read the journal", err)
	}
	return memory.As[*dream.Journal](items), nil
}

// Playbook returns PLAYBOOK.md.
func (b *Service) Playbook(ctx context.Context, c Caller, agent string) (string, error) {
	a, err := b.reach(ctx, c, agent, access.Operator)
	if err != nil {
		return "", err
	}
	find := func(kind dream.Kind, states ...dream.State) ([]dream.Item, error) {
		return b.Memory.Find(ctx,
			memory.Query{Agent: a.ID, Kinds: []dream.Kind{kind}, States: states, Sort: memory.HighestScore})
	}
	entries, err := find(dream.KindPlaybook)
	if err != nil {
		return "", storeFault("read the playbook", err)
	}
	tried, err := find(dream.KindHypothesis, dream.Live, dream.Archived)
	if err != nil {
		return "", storeFault("read the hypotheses", err)
	}
	return b.Render(memory.As[*dream.Playbook](entries), memory.As[*dream.Hypothesis](tried)), nil
}

// rendered is a playbook in the plainest form, when no Render is configured.
func rendered(existing []*dream.Playbook) string {
	var b strings.Builder
	b.WriteString("# Playbook\n")
	for _, p := range existing {
		b.WriteString("\n- " + strings.Join(strings.Fields(p.Content), " ") + "\n")
	}
	return b.String()
}
