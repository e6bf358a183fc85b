package psyche_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

func pad(p, a, d float64) mood.PAD { return mood.PAD{Pleasure: p, Arousal: a, Dominance: d} }

func faulty(t testing.TB, err error, status int, code string) {
	t.Helper()
	var f *psyche.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, status, f.Status, f.Message)
	require.Equal(t, code, f.Code)
	require.NotEmpty(t, f.Message)
	require.NotEmpty(t, f.Type)
	if code == "agent_not_found" {
		require.Equal(t, "agent", f.Param)
	}
}

func role(r access.Role, agents ...string) psyche.Caller {
	return psyche.Caller{Key: access.Key{ID: "key_r", Role: r, Agents: agents}}
}

func TestSayHoldsAConversation(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var pieces []string
	answer, report, err := r.Say(t.Context(), ann, "echo", "c1", "Hello", func(p string) { pieces = append(pieces, p) })
	require.NoError(t, err)
	require.Equal(t, "Yes.", answer)
	require.Equal(t, "Yes.", strings.Join(pieces, ""))
	require.True(t, report.Woke)
	require.Equal(t, "c1", report.Conversation)
	answer, _, err = r.Say(t.Context(), ann, "echo", "c1", "And then?", nil)
	require.NoError(t, err)
	require.Equal(t, "Yes.", answer)
	sent := messages(t, r.provider.last(t))
	require.Len(t, sent, 3)
	require.Equal(t, "Hello", sent[0].Content)
	require.Equal(t, "Yes.", sent[1].Content)
	_, _, err = r.Say(t.Context(), caller("key_a", "bob"), "echo", "c1", "And then?", nil)
	require.NoError(t, err)
	require.Len(t, messages(t, r.provider.last(t)), 1, "another's conversation of the same name")
	_, _, err = r.Say(t.Context(), ann, "echo", "c1", "", nil)
	faulty(t, err, 400, "out_of_range")
	_, _, err = r.Say(t.Context(), ann, "nobody", "c1", "x", nil)
	faulty(t, err, 404, "agent_not_found")
}

func TestAMemoryIsStoredOnceAndRecalledByItsOwner(t *testing.T) {
	t.Parallel()
	r := setup(t)
	id, err := r.Remember(t.Context(), ann, "echo", "The key lies under the stone.", .8)
	require.NoError(t, err)
	again, err := r.Remember(t.Context(), ann, "echo", " The key lies under the stone. ", .1)
	require.NoError(t, err)
	require.Equal(t, id, again)
	found, err := r.Recall(t.Context(), ann, "echo",
		psyche.RecallRequest{Query: "under which stone lies the key", Limit: 5})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, id, found[0].ID)
	require.Equal(t, dream.FromAgent, found[0].Taint)
	require.Positive(t, found[0].Score)
	found, err = r.Recall(t.Context(), caller("key_b", "ann"), "echo",
		psyche.RecallRequest{Query: "under which stone lies the key", Limit: 5})
	require.NoError(t, err)
	require.Equal(t, []psyche.Memory{}, found)
	for _, wrong := range []func() error{
		func() error {
			_, err := r.Recall(t.Context(), ann, "echo", psyche.RecallRequest{Query: "x", Limit: 0})
			return err
		},
		func() error {
			_, err := r.Recall(t.Context(), ann, "echo", psyche.RecallRequest{Query: "x", Limit: 51})
			return err
		},
		func() error {
			_, err := r.Recall(t.Context(), ann, "echo", psyche.RecallRequest{Query: " ", Limit: 1})
			return err
		},
		func() error { _, err := r.Remember(t.Context(), ann, "echo", "", .5); return err },
		func() error { _, err := r.Remember(t.Context(), ann, "echo", "x", 1.5); return err },
		func() error {
			_, err := r.Remember(t.Context(), ann, "echo", strings.Repeat("x", 5000), .5)
			return err
		},
	} {
		faulty(t, wrong(), 400, "out_of_range")
	}
}

func TestAnAgentAppraisesEventsAndCalmsDown(t *testing.T) {
	t.Parallel()
	r := setup(t)
	e, err := r.Emotion(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Equal(t, mood.Calm, e.Word)
	require.Zero(t, e.Intensity)
	e, err = r.Feel(t.Context(), ann, "echo", "threat", 1)
	require.NoError(t, err)
	require.InDelta(t, -.256, e.Valence, 1e-9)
	require.Equal(t, "event/threat", e.Cause)
	require.Positive(t, e.Intensity)
	require.NotEqual(t, mood.Calm, e.Word)
	for range 100 {
		e, err = r.Feel(t.Context(), ann, "echo", "threat", 1)
		require.NoError(t, err)
		require.GreaterOrEqual(t, e.Pleasure, -mood.Bound-1e-9)
	}
	deep := e.Intensity
	r.clock.pass(mood.PleasureHalf)
	e, err = r.Emotion(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Less(t, e.Intensity, deep)
	_, err = r.store.Commit(t.Context(),
		memory.Write{
			Agent: r.agent.ID, Cause: "x",
			Affect: &dream.Affect{PAD: pad(.5, 0, 0), Since: r.clock.now(), Cause: "dream"},
		})
	require.NoError(t, err)
	e, err = r.Feel(t.Context(), ann, "echo", "joy", .5)
	require.NoError(t, err)
	require.Greater(t, e.Pleasure, .5, "a dream has moved it meanwhile")
	_, err = r.Feel(t.Context(), ann, "echo", "triumph", 1)
	faulty(t, err, 400, "unknown_event")
	_, err = r.Feel(t.Context(), ann, "echo", "joy", 0)
	faulty(t, err, 400, "out_of_range")
}

func TestStatusShowsOperatorsTheProgressOfEmbedding(t *testing.T) {
	t.Parallel()
	r := setup(t, func(p *psyche.Ports, _ *psyche.Options) { p.Jobs = p.Memory.(memory.EmbedQueue) })
	s, err := r.Status(t.Context(), role(access.Operator), "echo")
	require.NoError(t, err)
	require.Nil(t, s.Embedding)
	j := memory.EmbedJob{
		Agent:     r.agent.ID,
		Requested: dawn,
		Holder:    "server",
		Until:     dawn.Add(time.Hour),
		Began:     dawn.Add(-20 * time.Second),
		Done:      1000,
		Total:     4000,
	}
	_, err = r.store.PutEmbedJob(t.Context(), j, dawn)
	require.NoError(t, err)
	s, err = r.Status(t.Context(), role(access.Operator), "echo")
	require.NoError(t, err)
	require.Equal(t, &psyche.Embedding{Done: 1000, Total: 4000, Left: 60_000}, s.Embedding)
	s, err = r.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Nil(t, s.Embedding)
}

func TestStatusShowsEachRoleWhatItMaySee(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.plant(lived("ep_1", "a"), &dream.Fragment{Head: dreamtHead("fr_1", dream.KindFragment), Content: "f"})
	s, err := r.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	fresh, err := json.Marshal(s.Emotion)
	require.NoError(t, err)
	require.NotContains(t, string(fresh), "since", "nothing has moved it, and the year 1 is no answer")
	require.Equal(t, "sleeping", s.State)
	require.Equal(t, map[string]int{"episode": 1}, s.Memories)
	s, err = r.Status(t.Context(), role(access.Operator), "ag_echo")
	require.NoError(t, err)
	require.Equal(t, map[string]int{"episode": 1, "fragment": 1}, s.Memories)
	_, err = r.store.TakeSlot(t.Context(), r.agent.ID,
		memory.Slot{Fence: memory.Fence{Dream: "d", Run: "r"}, Since: dawn}, memory.Fence{})
	require.NoError(t, err)
	s, err = r.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Equal(t, "dreaming", s.State)
	session, err := r.Open(t.Context(), ann, "echo", "", 0)
	require.NoError(t, err)
	require.True(t, session.Woke)
	require.Equal(t, dawn.Add(time.Minute), session.Until)
	s, err = r.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Equal(t, "waking", s.State)
	require.NoError(t, r.store.FreeSlot(t.Context(), r.agent.ID, memory.Fence{Dream: "d", Run: "r"}))
	s, err = r.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Equal(t, "awake", s.State)
	require.Equal(t, 1, s.Leases)
	require.NotNil(t, s.Digest)
}

func TestASessionHoldsTheAgentUntilItIsLeft(t *testing.T) {
	t.Parallel()
	r := setup(t)
	s, err := r.Open(t.Context(), ann, "echo", "mine", time.Hour)
	require.NoError(t, err)
	require.Equal(t, "mine", s.ID)
	r.clock.pass(59 * time.Minute)
	status, err := r.nights.Status(t.Context(), r.agent.ID)
	require.NoError(t, err)
	require.Len(t, status.Leases, 1)
	require.Equal(t, "session/key_a/mine", status.Leases[0].Client)
	require.NoError(t, r.Leave(t.Context(), caller("key_b", ""), "echo", "mine"))
	status, err = r.nights.Status(t.Context(), r.agent.ID)
	require.NoError(t, err)
	require.Len(t, status.Leases, 1, "another's session of the same name")
	require.NoError(t, r.Leave(t.Context(), ann, "echo", "mine"))
	require.NoError(t, r.Leave(t.Context(), ann, "echo", "mine"))
	status, err = r.nights.Status(t.Context(), r.agent.ID)
	require.NoError(t, err)
	require.Empty(t, status.Leases)
	for _, ttl := range []time.Duration{time.Millisecond, 2 * time.Hour, -1} {
		_, err = r.Open(t.Context(), ann, "echo", "mine", ttl)
		faulty(t, err, 400, "out_of_range")
	}
	_, err = r.Open(t.Context(), ann, "echo", "../x", 0)
	faulty(t, err, 400, "invalid_id")
}

func TestARequestWithinASessionHoldsTheAgentNoLonger(t *testing.T) {
	t.Parallel()
	r := setup(t)
	leases := func() []presence.Lease {
		status, err := r.nights.Status(t.Context(), r.agent.ID)
		require.NoError(t, err)
		return status.Leases
	}
	_, err := r.Open(t.Context(), ann, "echo", "mine", time.Minute)
	require.NoError(t, err)
	within := turn(ann, chat("Good evening."))
	within.Session = "mine"
	r.talk(within)
	require.Len(t, leases(), 1)
	require.NoError(t, r.Leave(t.Context(), ann, "echo", "mine"))
	require.Empty(t, leases())

	r.talk(turn(ann, chat("Are you there?")))
	require.Len(t, leases(), 1, "without a session a request holds it by itself")
}

func TestJournalAndPlaybookNeedAnOperator(t *testing.T) {
	t.Parallel()
	r := setup(t, func(p *psyche.Ports, _ *psyche.Options) {
		p.Render = func(existing []*dream.Playbook, tried []*dream.Hypothesis) string {
			return existing[0].Content + "/" + tried[0].Claim
		}
	})
	r.plant(
		&dream.Journal{Head: dreamtHead("jo_1", dream.KindJournal), Content: "j", Significance: .5},
		&dream.Playbook{Head: dreamtHead("pb_1", dream.KindPlaybook), Content: "do", Confidence: .8},
		&dream.Hypothesis{Head: dreamtHead("hy_1", dream.KindHypothesis), Claim: "c", Status: dream.HypothesisStaged},
	)
	_, err := r.Journal(t.Context(), ann, "echo", 5)
	faulty(t, err, 403, "role_required")
	_, err = r.Playbook(t.Context(), ann, "echo")
	faulty(t, err, 403, "role_required")
	entries, err := r.Journal(t.Context(), role(access.Operator), "echo", 5)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	text, err := r.Playbook(t.Context(), role(access.Owner), "echo")
	require.NoError(t, err)
	require.Equal(t, "do/c", text)
	_, err = r.Journal(t.Context(), role(access.Operator), "echo", 0)
	faulty(t, err, 400, "out_of_range")
}

func TestAnAgentOutOfReachIsAsIfItWereNotThere(t *testing.T) {
	t.Parallel()
	r := setup(t)
	far := role(access.Owner, "others")
	_, err := r.Chat(t.Context(), turn(far, chat("x")))
	faulty(t, err, 404, "agent_not_found")
	_, err = r.Emotion(t.Context(), far, "ag_echo")
	faulty(t, err, 404, "agent_not_found")
	var out, removed *psyche.Fault
	require.ErrorAs(t, err, &out)
	_, err = r.Emotion(t.Context(), far, "ag_nobody")
	require.ErrorAs(t, err, &removed)
	require.Equal(t, strings.ReplaceAll(out.Message, "ag_echo", "x"),
		strings.ReplaceAll(removed.Message, "ag_nobody", "x"))
	agents, err := r.Agents(t.Context(), far)
	require.NoError(t, err)
	require.Empty(t, agents)
	agents, err = r.Agents(t.Context(), ann)
	require.NoError(t, err)
	require.Len(t, agents, 1)
	require.Zero(t, r.nights.woken(), "nobody was woken")
	_, err = r.Chat(t.Context(), turn(psyche.Caller{Key: access.Key{ID: "k"}}, chat("x")))
	faulty(t, err, 403, "role_required")
}

func TestEmbeddingsGoToTheAgentsEmbedderAndWakeNobody(t *testing.T) {
	t.Parallel()
	r := setup(t, func(p *psyche.Ports, _ *psyche.Options) { p.Relay = localmodel.New() })
	e := turn(ann, `{"model":"echo","input":"hello","encoding_format":"base64"}`)
	e.Path = "/embeddings"
	reply, err := r.Embeddings(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, 200, reply.Status)
	require.NoError(t, reply.Body.Close())
	require.Zero(t, r.nights.woken())
}

func TestAProviderWithoutAPlaceIsAFullServer(t *testing.T) {
	t.Parallel()
	q := fairqueue.New(fairqueue.Options{Places: 1})
	r := setup(t, func(p *psyche.Ports, _ *psyche.Options) {
		p.Relay = fairqueue.Limit(localmodel.New(), q).(inference.Relay)
	})
	e := turn(ann, `{"model":"echo","input":"hello"}`)
	e.Path = "/embeddings"
	dream, err := q.Join(fairqueue.Request{Class: fairqueue.Dream})
	require.NoError(t, err)
	_, err = r.Embeddings(t.Context(), e)
	faulty(t, err, 503, "overloaded")
	var fault *psyche.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, time.Second, fault.Retry)
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	_, err = r.Embeddings(gone, e)
	require.Error(t, err)
	dream.Leave()
	reply, err := r.Embeddings(t.Context(), e)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
}

func TestAStoreThatDoesNotAnswerIsReported(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.nights.fails = errors.Join(errors.New("no route"), memory.ErrAway)
	_, err := r.Chat(t.Context(), turn(ann, chat("x")))
	faulty(t, err, 503, "store_away")
}

// without is a catalogue from which a model was removed.
type without struct {
	inference.Catalog
	model string
}

func (w without) Lookup(model string) (inference.Spec, error) {
	if model == w.model {
		return inference.Spec{}, &inference.Failure{Kind: inference.Unknown, Message: model + " has gone"}
	}
	return w.Catalog.Lookup(model)
}

func TestAMemoryIsSearchedByTheEmbedderOfItsSpaceUntilItIsEmbeddedAnew(t *testing.T) {
	t.Parallel()
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) {
		o.Models = map[dream.Role]string{dream.Embedder: localmodel.Static}
	})
	r.plant(lived("ep_1", "a lantern in the harbour"))
	found, err := r.Recall(t.Context(), ann, "echo", psyche.RecallRequest{Query: "the harbour lantern", Limit: 1})
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestAMemoryThatCannotBeAskedSaysWhy(t *testing.T) {
	t.Parallel()
	h := &held{gate: make(chan struct{}), err: memory.ErrAway}
	close(h.gate)
	r := setup(t, func(p *psyche.Ports, _ *psyche.Options) { h.Store, p.Memory = p.Memory, h })
	r.plant(lived("ep_1", "a lantern"))
	_, err := r.Recall(t.Context(), ann, "echo", psyche.RecallRequest{Query: "lantern", Limit: 1})
	faulty(t, err, 503, "store_away")
	h.err = errors.New("torn page")
	_, err = r.Recall(t.Context(), ann, "echo", psyche.RecallRequest{Query: "lantern", Limit: 1})
	faulty(t, err, 500, "internal_error")
	require.NotContains(t, err.(*psyche.Fault).Message, "torn")
	other := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		o.Models = map[dream.Role]string{dream.Embedder: "p/free"}
		p.Guard = &spend.Guard{
			Ledger: p.Guard.Ledger, Model: p.Guard.Model,
			Catalog: without{p.Guard.Catalog, localmodel.Lexical}, Now: p.Guard.Now,
		}
	})
	other.plant(lived("ep_1", "a lantern"))
	_, err = other.Recall(t.Context(), ann, "echo", psyche.RecallRequest{Query: "lantern", Limit: 1})
	faulty(t, err, 409, "other_space")
	_, report := other.talk(turn(ann, chat("lantern")))
	require.Equal(t, 1, report.Recalled, report.Skipped)
	require.Equal(t, psyche.WordsSpace, report.WordsOnly)
	require.EqualValues(t, 1, other.Recalls(other.agent.ID).WordsOnly[psyche.WordsSpace])
}

func TestAnAlarmThatHoldsASleeperLeavesItAsleepForClientsToo(t *testing.T) {
	t.Parallel()
	r := setup(t)
	_, err := r.store.Arrive(t.Context(), presence.Visit{
		Agent:  r.agent.ID,
		Client: "alarm/harbour/price",
		Cause:  presence.Alarm,
		Now:    r.clock.now(),
		For:    time.Minute,
	})
	require.NoError(t, err)
	status, err := r.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Equal(t, "sleeping", status.State)
	require.Zero(t, status.Until)
	r.talk(turn(ann, chat("Hi")))
	status, err = r.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Equal(t, "awake", status.State)
}
