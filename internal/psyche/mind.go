package psyche

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

// Limits of requests.
const (
	mostRecalled = 50
	mostJournal  = 200
	recallFor    = 10 * time.Second
)

// Recall returns the memories nearest to a query.
func (s *Service) Recall(ctx context.Context, c Caller, agent string, r RecallRequest) ([]Memory, error) {
	a, err := s.reach(ctx, c, agent, access.Client)
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
	found, byWords, err := s.search(ctx, a, c, RecallRequest{clipped(query, longestKept), r.Limit, r.Dreamt}, nil,
		recallFor/2)
	if errors.Is(byWords, memory.ErrSpace) {
		err = byWords
	}
	if errors.Is(err, memory.ErrSpace) {
		return nil, Refuse(409, "other_space", "",
			"The agent's memories are placed by another embedder than the one that is configured; `oneiros memory embed` places them anew.").From(err)
	}
	if err != nil {
		return nil, recallFault(ctx, err)
	}
	if byWords != nil {
		s.counts.wordsOnly(a.ID, whyWords(byWords))
	}
	s.used(ctx, a, found)
	if found == nil {
		found = []Memory{}
	}
	return found, nil
}

// Remember stores a memory of the caller's. Its id derives from its content.
func (s *Service) Remember(ctx context.Context, c Caller, agent, content string, importance float64) (string, error) {
	a, err := s.reach(ctx, c, agent, access.Client)
	if err != nil {
		return "", err
	}
	content = strings.TrimSpace(content)
	if content == "" || !utf8.ValidString(content) || utf8.RuneCountInString(content) > longestKept {
		return "", invalidRequest("out_of_range", "content", "The content must be text of 1 to %d characters.",
			longestKept)
	}
	if !(importance >= 0 && importance <= 1) || math.IsNaN(importance) {
		return "", invalidRequest("out_of_range", "importance", "The importance is %v; it must lie between 0 and 1.",
			importance)
	}
	if err := s.checkQuota(ctx, a, c); err != nil {
		if full(err) {
			return "", quotaFault()
		}
		return "", storeFault("count the caller's memories", err)
	}
	affect, err := s.Memory.Affect(ctx, a.ID)
	if err != nil {
		return "", storeFault("read how the agent feels", err)
	}
	l := line{content, dream.FromAgent, "client"} // written by some program
	compared, err := s.embedAndCompare(ctx, a, c, []line{l})
	if err != nil {
		return "", storeFault("look for the content in memory", err)
	}
	surprises, err := s.surprises(ctx, a.ID, c.Owner(), []line{l}, compared)
	if err != nil {
		return "", storeFault("compare the content with memory", err)
	}
	now := s.now()
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
		Content: l.text, Salience: importance, Surprise: surprises[0],
		Affect: mood.Settled(affect.PAD, s.o.Baseline, now.Sub(affect.Since)),
		Origin: c.Owner(), Speaker: l.speaker,
	}
	w := memory.Write{Agent: a.ID, Cause: rememberedBy, Add: []dream.Item{e}}
	if compared.v != nil {
		w.Vectors = []memory.Vector{{Item: e.ID, Space: compared.space, V: compared.v[0]}}
	}
	if err := s.keepTalk(ctx, a, c, w); err != nil {
		return "", storeFault("keep the memory", err)
	}
	return e.ID, nil
}

// Status returns the state of an agent.
func (s *Service) Status(ctx context.Context, c Caller, agent string) (Status, error) {
	a, err := s.reach(ctx, c, agent, access.Client)
	if err != nil {
		return Status{}, err
	}
	answer := Status{Agent: a.Handle, Memories: map[string]int{}, Digest: []Memory{}}
	answer.Emotion, err = s.emotion(ctx, a)
	if err != nil {
		return Status{}, err
	}
	status, err := s.Waker.Status(ctx, a.ID)
	if err != nil {
		return Status{}, storeFault("ask who holds the agent awake", err)
	}
	slots, err := s.Memory.Slots(ctx)
	if err != nil {
		return Status{}, storeFault("ask who dreams", err)
	}
	_, dreaming := slots[a.ID]
	state := status.State(dreaming, s.now())
	answer.State = string(state)
	if state == circadian.Awake {
		answer.Until = status.Until()
	}
	answer.Leases = len(status.Leases)
	if err := s.counted(ctx, a, c, &answer); err != nil {
		return Status{}, err
	}
	maySee, err := s.knownOwners.maySeeDreams(ctx, c, a.ID, a.Handle, s.o.Shared)
	if err != nil {
		return Status{}, storeFault("ask whose talks the agent remembers", err)
	}
	if status.Last != nil && maySee && s.switched(&a, Switches{}).digest == journal.DigestMessage {
		items, err := s.Memory.Get(ctx, a.ID, status.Last.Digest...)
		if err != nil {
			return Status{}, storeFault("read the digest", err)
		}
		for _, j := range journal.Visible(memory.As[*dream.Journal](items)) {
			answer.Digest = append(answer.Digest, Memory{
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
	return answer, nil
}

// counted adds the numbers of live items by kind that the caller may read, the caller's own quota, and the newest
// dream.
func (s *Service) counted(ctx context.Context, a dream.Agent, c Caller, answer *Status) error {
	counts, err := s.quotas.read(ctx, a.ID)
	if err != nil {
		return storeFault("count the caller's memories", err)
	}
	answer.Own = s.quotas.keptOf(counts, c)
	all := c.May(access.Operator, a.Handle)
	if all {
		answer.Recall = s.counts.recalls(a.ID)
		answer.Embedding, err = s.embedding(ctx, a.ID)
		if err != nil {
			return storeFault("ask what is being embedded", err)
		}
	}
	for _, kind := range dream.Kinds {
		if !all && !slices.Contains(recall.Kinds, kind) {
			continue
		}
		n, err := s.Memory.Count(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{kind}})
		if err != nil {
			return storeFault("count memories", err)
		}
		if !all && kind == dream.KindEpisode { // what others said in their talks is hidden from the caller
			n = max(answer.Own.Memories, n-counts.total()+answer.Own.Memories)
		}
		if n > 0 {
			answer.Memories[kind.String()] = n
		}
	}
	every := []dream.State{dream.Live, dream.Superseded, dream.Archived}
	nights, err := s.Memory.Count(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, States: every})
	if err != nil {
		return storeFault("count dreams", err)
	}
	answer.Dreams = int64(nights)
	newest, err := s.Memory.Find(ctx,
		memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}, States: every, Limit: 1})
	if err != nil {
		return storeFault("find the newest dream", err)
	}
	for _, n := range memory.As[*dream.Record](newest) {
		answer.Dream, answer.Outcome = n.ID, string(n.Outcome)
	}
	return nil
}

// embedding is the progress of embedding an agent's memories in the background; nil when none waits.
func (s *Service) embedding(ctx context.Context, agent string) (*Embedding, error) {
	if s.Jobs == nil {
		return nil, nil
	}
	j, err := s.Jobs.EmbedJob(ctx, agent)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	left, _ := j.Left(s.now())
	return &Embedding{Done: j.Done, Total: j.Total, Left: left.Milliseconds(), Failure: j.Failure}, nil
}

// Journal returns the newest entries.
func (s *Service) Journal(ctx context.Context, c Caller, agent string, limit int) ([]*dream.Journal, error) {
	a, err := s.reach(ctx, c, agent, access.Operator)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > mostJournal {
		return nil, invalidRequest("out_of_range", "limit", "limit is %d; it must be 1 to %d.", limit, mostJournal)
	}
	items, err := s.Memory.Find(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindJournal}, Limit: limit})
	if err != nil {
		return nil, storeFault("read the journal", err)
	}
	return memory.As[*dream.Journal](items), nil
}

// Playbook returns PLAYBOOK.md.
func (s *Service) Playbook(ctx context.Context, c Caller, agent string) (string, error) {
	a, err := s.reach(ctx, c, agent, access.Operator)
	if err != nil {
		return "", err
	}
	find := func(kind dream.Kind, states ...dream.State) ([]dream.Item, error) {
		return s.Memory.Find(ctx,
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
	return s.Render(memory.As[*dream.Playbook](entries), memory.As[*dream.Hypothesis](tried)), nil
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
