package review_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

const observer = "house/observer"

// outcome is what a scripted answer says of one prediction.
type outcome struct {
	Ref       string `json:"ref"`
	Verdict   string `json:"verdict"`
	Memory    string `json:"memory"`
	Quotation string `json:"quotation"`
}

// scripted is a model that answers by a script, and counts what a provider would bill.
type scripted struct {
	sync.Mutex
	price    budget.Price
	answer   func(r inference.Request) (string, error)
	requests []inference.Request
	billed   budget.Micros
}

func (m *scripted) Generate(_ context.Context, r inference.Request, _ func(string) bool) (inference.Answer, error) {
	m.Lock()
	m.requests = append(m.requests, r)
	m.Unlock()
	text, err := m.answer(r)
	in := 0
	for _, message := range r.MessagesFor(inference.JSONSchema) {
		in += len(message.Content)
	}
	a := inference.Answer{
		Text:      text,
		Finish:    inference.Stopped,
		Tokens:    budget.Tokens{In: int64(in)/4 + 1, Out: int64(min(len(text)/4+1, r.MaxTokens))},
		UsageFrom: inference.ByProvider,
	}
	m.Lock()
	defer m.Unlock()
	m.billed += m.price.Cost(a.Tokens)
	return a, err
}

func (m *scripted) Embed(context.Context, string, []string, string) (inference.Vectors, error) {
	return inference.Vectors{}, errors.New("it does not embed")
}

func (m *scripted) calls() int {
	m.Lock()
	defer m.Unlock()
	return len(m.requests)
}

// says is an answer with these outcomes.
func says(outcomes ...outcome) func(inference.Request) (string, error) {
	return func(inference.Request) (string, error) {
		body, err := json.Marshal(map[string]any{"outcomes": outcomes})
		return string(body), err
	}
}

// courtroom is a scene with a judge.
type courtroom struct {
	*scene
	review.Judge
	model  *scripted
	ledger spend.Ledger
}

func (l *scene) court(price budget.Price) *courtroom {
	c := &courtroom{scene: l, model: &scripted{price: price}}
	switch s := l.store.(type) {
	case *sqlitestore.Store:
		c.ledger = s.Ledger()
	case *redisstore.Store:
		c.ledger = s.Ledger()
	}
	l.Rules = dream.PredictionRules{JudgeDaily: 20_000}
	l.agent.Caps = dream.Caps{Day: budget.Dollar, Month: budget.Dollar, Dream: budget.Dollar}
	c.Judge = c.of(l.store, c.ledger, "first")
	return c
}

// of is a judge of a process over a store and a ledger.
func (c *courtroom) of(store memory.DreamStore, ledger spend.Ledger, holder string) review.Judge {
	resolver := c.scene.Resolver
	resolver.Memory = store
	return review.Judge{
		Resolver: resolver,
		Guard: &spend.Guard{
			Ledger: ledger,
			Model:  c.model,
			Now:    func() time.Time { return c.now },
			Catalog: inference.Table{
				observer: {
					Name:           observer,
					Provider:       "house",
					Wire:           "observer",
					Price:          &c.model.price,
					Context:        8000,
					MaxTemperature: 2,
					JSON:           inference.JSONSchema,
					Judges:         true,
				},
				"builtin/associative": {
					Name: "builtin/associative", BuiltIn: true, Price: &budget.Price{}, JSON: inference.JSONSchema,
				},
			},
		},
		Model:    observer,
		AutoPaid: true,
		Holder:   holder,
		Accounts: func(a dream.Agent, day string) []budget.Account {
			return []budget.Account{{Scope: "day:" + a.ID + "/" + day, Limit: a.Caps.Day}}
		},
	}
}

// claims adds a prediction in prose, due in a week.
func (c *courtroom) claims(claim string) string {
	c.Helper()
	c.now = evening
	p, _, err := c.scene.AddPrediction(c.Context(), c.agent, review.PredictionRequest{
		Claim:      claim,
		Criterion:  "Somebody says so.",
		Horizon:    evening.Add(7 * day),
		Confidence: .3,
		By:         dream.ByPerson,
	})
	require.NoError(c, err)
	return p.ID
}

// judges makes one pass as of some days after the evening.
func (c *courtroom) judges(days float64) review.Judgement {
	c.Helper()
	c.now = evening.Add(time.Duration(days * float64(day)))
	done, err := c.Once(c.Context(), c.agent, false)
	require.NoError(c, err)
	return done
}

func (c *courtroom) read(id string) *dream.Prediction {
	c.Helper()
	p, err := memory.One[*dream.Prediction](c.Context(), c.store, "a1", id)
	require.NoError(c, err)
	return p
}

// refOf is the reference of the prediction whose claim begins so.
func refOf(l *scene, r inference.Request, claim string) string {
	l.Helper()
	m := regexp.MustCompile(`\[(p\d)\] made 2026-03-20, due 2026-03-27: ` + claim).FindStringSubmatch(r.Messages[1].Content)
	require.NotNil(l, m, r.Messages[1].Content)
	return m[1]
}

func TestAModelResolvesProseByASentenceThatStandsThere(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{In: 150_000, Out: 600_000})
		sinks := c.claims("The old boat sinks in the harbour.")
		dry := c.claims("It stays cold in the harbour.")
		c.lives("ep_1", 1, dream.FromHuman, "It was cold. The old boat sank in the harbour last night! We watched.")
		c.model.answer = func(r inference.Request) (string, error) {
			return says(
				outcome{refOf(l, r, "The old boat"), "correct", "e1", "The old boat sank in  the harbour last night!"},
				outcome{refOf(l, r, "It stays"), "open", "", ""},
			)(r)
		}
		done := c.judges(2)
		require.Len(l, done.Decided, 1)
		require.Equal(l, 2, done.Compared)
		require.Equal(l, 1, done.Calls)
		require.Zero(l, done.Left)
		require.Empty(l, done.Reason)
		p := c.read(sinks)
		require.Equal(l, dream.PredictionRight, p.Status)
		require.Equal(l, "judge/"+observer, p.ResolvedBy)
		require.Equal(l, `"The old boat sank in the harbour last night!" (ep_1)`, p.Evidence)
		require.InDelta(l, .7, *p.Residual, 1e-9)
		require.Equal(l, dream.PredictionOpen, c.read(dry).Status)
		require.Zero(l, *c.model.requests[0].Sampling.Temperature)

		rows, err := c.ledger.Rows(l.Context(), spend.Query{Agent: "a1", Phase: review.JudgePhase})
		require.NoError(l, err)
		require.Len(l, rows, 1)
		require.Equal(l, done.Cost, rows[0].Counted)
		for _, scope := range []string{review.JudgeScope("a1", "2026-03-22"), "day:a1/2026-03-22"} {
			b, err := c.ledger.Balance(l.Context(), scope)
			require.NoError(l, err)
			require.Equal(l, done.Cost, b.Spent, scope)
		}

		require.Zero(l, c.judges(2.5).Calls, "each episode is shown with a prediction once")
		c.lives("ep_2", 3, dream.FromHuman, "It is warm in the harbour, nothing stays cold.")
		c.model.answer = says(outcome{"p1", "incorrect", "e1", "It is warm in the harbour, nothing stays cold."})
		require.Equal(l, 1, c.judges(4).Calls)
		require.Equal(l, dream.PredictionWrong, c.read(dry).Status)
		notes, err := c.store.Notes(l.Context(), "a1", "", "judge")
		require.NoError(l, err)
		require.Empty(l, notes, "nothing is open any more")
	})
}

func TestNoInventedVerdictCounts(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{})
		made := evening
		other := dream.Agent{ID: "a2", Handle: "other", Zone: "UTC"}
		require.NoError(l, c.store.PutAgent(l.Context(), other))
		elsewhere := &dream.Episode{
			Head: dream.Head{
				ID:    "ep_elsewhere",
				Agent: "a2",
				Kind:  dream.KindEpisode,
				At:    made.Add(day),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: "The old boat sank far away from here.",
		}
		_, err := c.store.Commit(l.Context(), memory.Write{Agent: "a2", Cause: "test", Add: []dream.Item{elsewhere}})
		require.NoError(l, err)
		id := c.claims("The old boat sinks.")
		c.lives("ep_dream", 1, dream.FromDream, "The old boat sank below the moon.")
		c.lives("ep_own", 1.1, dream.FromAgent, "I believe that the old boat sank today.")
		c.lives("ep_web", 1.2, dream.FromWeb, "The old boat sank, says the paper.")
		c.lives("ep_past", -1, dream.FromHuman, "The old boat sank long ago.")
		for i := range 60 { // so that the words of the claim are rare
			c.lives(fmt.Sprintf("ep_filler_%d", i), 1.5, dream.FromHuman, "Soup "+strings.Repeat("x", i+1))
		}
		for i, hostile := range []outcome{
			{"p1", "correct", "e1", "The old boat sank at noon."},                      // false
			{"p1", "correct", "e1", "the old boat sank."},                              // truncated: its beginning denies it
			{"p1", "correct", "e1", "I never said that … sank."},                       // elided
			{"p1", "correct", "e1", "I never said that..."},                            // elided
			{"p1", "correct", "e1", "old boat"},                                        // too few words
			{"p1", "correct", "e1", ""},                                                // none
			{"p1", "incorrect", "", ""},                                                // silence
			{"p1", "incorrect", "e1", ""},                                              // silence
			{"p1", "correct", "e1", "The old boat sank below the moon."},               // of a dream
			{"p1", "correct", "e2", "The old boat sank below the moon."},               // and not shown
			{"p1", "correct", "ep_dream", "The old boat sank below the moon."},         // by its id
			{"p1", "correct", "e1", "I believe that the old boat sank today."},         // the agent's own
			{"p1", "correct", "e1", "The old boat sank, says the paper."},              // from the web
			{"p1", "correct", "e1", "The old boat sank long ago."},                     // before the prediction
			{"p1", "correct", "e1", "The old boat sank far away from here."},           // another agent's
			{"p1", "correct", "e0", "I never said that the old boat sank."},            // no reference
			{"p1", "correct", "e-1", "I never said that the old boat sank."},           // no reference
			{"p2", "correct", "e1", "I never said that the old boat sank."},            // another prediction
			{"p1", "certainly", "e1", "I never said that the old boat sank."},          // no verdict
			{"p1", "void", "e1", "I never said that the old boat sank."},               // not the judge's
			{"p1", "correct", "e1", "I never said that the old boat sank. It is mad."}, // more than stands there
		} {
			// each case gets an episode of its own, since no episode is shown twice
			c.lives(fmt.Sprintf("ep_%d", i), 2+float64(i)/100, dream.FromHuman,
				fmt.Sprintf("I never said that the old boat sank. Number %d.", i))
			before := c.model.calls()
			c.model.answer = says(hostile)
			done := c.judges(2.005 + float64(i)/100)
			require.Equal(l, before+1, c.model.calls(), "case %d", i)
			require.Empty(l, done.Decided, "case %d: %v", i, hostile)
			require.Equal(l, dream.PredictionOpen, c.read(id).Status, "case %d: %v", i, hostile)
			require.NotContains(l, c.model.requests[before].Messages[1].Content, "moon")
			require.NotContains(l, c.model.requests[before].Messages[1].Content, "long ago")
			require.NotContains(l, c.model.requests[before].Messages[1].Content, "far away")
		}
		c.lives("ep_both", 5, dream.FromHuman, "The old boat sank. The old boat floats again.")
		c.model.answer = says(outcome{"p1", "correct", "e1", "The old boat sank."},
			outcome{"p1", "incorrect", "e1", "The old boat floats again."})
		require.Empty(l, c.judges(5.1).Decided, "an answer that says both")
		c.lives("ep_true", 6, dream.FromTool, "The old boat sank.")
		c.model.answer = says(outcome{"p1", "correct", "e1", "The old boat sank."})
		require.Len(l, c.judges(6.1).Decided, 1, "the control")
	})
}

func TestNothingIsAskedWithoutReasonMoneyOrConsent(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{In: 1, Out: 1})
		c.model.answer = says()
		id := c.claims("The old boat sinks.")
		require.Zero(l, c.judges(1).Calls, "nothing was lived")
		c.lives("ep_1", 1, dream.FromHuman, "Soup for dinner.")
		require.Zero(l, c.judges(2).Calls, "nothing that was lived is near")
		c.lives("ep_2", 2, dream.FromHuman, "The old boat sank.")
		idle := func(change func(j *review.Judge), requested bool, reason string) {
			l.Helper()
			j := c.Judge
			change(&j)
			done, err := j.Once(l.Context(), c.agent, requested)
			require.NoError(l, err)
			require.Contains(l, done.Reason, reason)
			require.Zero(l, c.model.calls())
		}
		c.now = evening.Add(3 * day)
		idle(func(j *review.Judge) { j.AutoPaid = false }, false, "consent.auto_paid is off")
		idle(func(j *review.Judge) { j.Rules.JudgeDaily = 0 }, true, "predictions.judge_daily is $0.00")
		idle(func(j *review.Judge) { j.Rules.JudgeDaily = 0 }, false, "predictions.judge_daily")
		idle(func(j *review.Judge) { j.Model = "builtin/associative" }, true, "cannot judge")
		idle(func(j *review.Judge) { j.Model = "nobody/knows" }, true, "not configured")
		idle(func(j *review.Judge) { j.Guard = nil }, true, "no models")
		j := c.Judge
		j.AutoPaid = false
		done, err := j.Once(l.Context(), c.agent, true)
		require.NoError(l, err)
		require.Equal(l, 1, done.Calls, "by hand")
		require.Equal(l, dream.PredictionOpen, c.read(id).Status)
	})
}

func TestTheCapOfTheJudgeHolds(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{In: 2_500_000, Out: 10_000_000})
		fail := 0
		c.model.answer = func(inference.Request) (string, error) {
			fail++
			if fail%3 == 0 {
				return strings.Repeat("x", 4000), &inference.Failure{Kind: inference.Broken, Billed: true}
			}
			return says()(inference.Request{})
		}
		for i := range 30 {
			c.claims(fmt.Sprintf("The old boat %d sinks.", i))
			c.lives(fmt.Sprintf("ep_%d", i), 1+float64(i)/1000, dream.FromHuman, fmt.Sprintf("The old boat %d sank.", i))
		}
		var last review.Judgement
		for i := range 40 {
			last = c.judges(2 + float64(i)/1000)
		}
		require.Contains(l, last.Reason, "cap judge:a1/2026-03-22 is $0.02")
		require.Positive(l, last.Left)
		require.Positive(l, c.model.billed)
		require.LessOrEqual(l, c.model.billed, budget.Micros(20_000), "what the provider bills in a day")
		spent := c.model.billed
		last = c.judges(3)
		require.Positive(l, last.Calls+len(last.Reason))
		require.Greater(l, c.model.billed, spent, "the next day pays anew")
		require.LessOrEqual(l, c.model.billed, spent+20_000)
	})
}

// errKilled is what a process that was killed answers.
var errKilled = errors.New("killed")

// mortal counts the writes of a process and kills it at one of them, before or after it is written.
type mortal struct {
	sync.Mutex
	at, writes int
	after      bool
	dead       bool
}

func (m *mortal) write(do func() error) error {
	m.Lock()
	defer m.Unlock()
	if m.dead {
		return errKilled
	}
	m.writes++
	if m.writes == m.at {
		m.dead = true
		if m.after {
			_ = do()
		}
		return errKilled
	}
	return do()
}

type mortalStore struct {
	memory.DreamStore
	*mortal
}

func (s mortalStore) Commit(ctx context.Context, w memory.Write) (r memory.Receipt, err error) {
	err = s.write(func() (err error) { r, err = s.DreamStore.Commit(ctx, w); return err })
	return r, err
}

func (s mortalStore) PutNote(ctx context.Context, agent string, f memory.Fence, key string, v []byte) (b []byte, err error) {
	err = s.write(func() (err error) { b, err = s.DreamStore.PutNote(ctx, agent, f, key, v); return err })
	return b, err
}

func (s mortalStore) DropNotes(ctx context.Context, agent, dreamID string, keys []string) error {
	return s.write(func() error { return s.DreamStore.DropNotes(ctx, agent, dreamID, keys) })
}

type mortalLedger struct {
	spend.Ledger
	*mortal
}

func (s mortalLedger) Reserve(ctx context.Context, a spend.Ask) (h spend.Hold, err error) {
	err = s.write(func() (err error) { h, err = s.Ledger.Reserve(ctx, a); return err })
	return h, err
}

func (s mortalLedger) Settle(ctx context.Context, h spend.Hold, b spend.Bill) error {
	return s.write(func() error { return s.Ledger.Settle(ctx, h, b) })
}

func TestAKillAtAnyStepOfJudgingLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for at := 1; at <= 9; at++ {
			name := fmt.Sprintf("before write %d", at)
			if after {
				name = fmt.Sprintf("after write %d", at)
			}
			t.Run(name, func(t *testing.T) { killsAt(t, at, after) })
		}
	}
}

var shownRef = regexp.MustCompile(`\[(p\d)\] made [^:]*: The (old|new) boat sinks\. .* Compare it with (e\d)`)

func killsAt(t *testing.T, at int, after bool) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{In: 150_000, Out: 600_000})
		ids := []string{c.claims("The old boat sinks."), c.claims("The new boat sinks.")}
		h := &dream.Hypothesis{
			Head: dream.Head{
				ID:      "h1",
				Agent:   "a1",
				Kind:    dream.KindHypothesis,
				At:      evening,
				State:   dream.Live,
				Taint:   dream.FromDream,
				Sources: ids,
			},
			Claim: "Boats sink.", Confidence: .3, Status: dream.HypothesisStaged,
		}
		_, err := c.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: "test", Add: []dream.Item{h}})
		require.NoError(l, err)
		c.lives("ep_1", 1, dream.FromHuman, "The old boat sank.\n\nThe new boat sank.")
		c.model.answer = func(r inference.Request) (string, error) {
			var all []outcome
			for _, m := range shownRef.FindAllStringSubmatch(r.Messages[1].Content, -1) {
				all = append(all, outcome{m[1], "correct", m[3], "The " + m[2] + " boat sank."})
			}
			return says(all...)(r)
		}
		m := &mortal{at: at, after: after}
		j := c.of(mortalStore{c.store, m}, mortalLedger{c.ledger, m}, "killed")
		c.now = evening.Add(2 * day)
		_, err = j.Once(l.Context(), c.agent, false)
		if m.dead {
			require.ErrorIs(l, err, errKilled)
		} else {
			require.NoError(l, err)
			require.GreaterOrEqual(l, at, 8, "the pass has fewer steps than the test kills at")
		}
		open, err := c.ledger.Rows(l.Context(), spend.Query{Agent: "a1", States: []spend.State{spend.Open}})
		require.NoError(l, err)

		// what comes meanwhile makes another call of it, unless the one that was planned is finished first
		c.lives("ep_2", 1.5, dream.FromHuman, "The old boat and the new boat are both gone.")
		next := c.of(c.store, c.ledger, "next")
		c.now = c.now.Add(6 * time.Minute)
		done, err := next.Once(l.Context(), c.agent, false)
		require.NoError(l, err)
		require.Zero(l, done.Left)
		for _, id := range ids {
			p := c.read(id)
			require.Equal(l, dream.PredictionRight, p.Status)
			require.Equal(l, 2, p.Revision, "it was resolved once")
		}
		require.LessOrEqual(l, c.model.calls(), 1+len(open), "only a call that nobody settled is made again")
		got, err := memory.One[*dream.Hypothesis](l.Context(), c.store, "a1", "h1")
		require.NoError(l, err)
		require.ElementsMatch(l, ids, got.Confirmed)
		require.InDelta(l, .5, got.Confidence, 1e-9)
		announced := 0
		events, err := l.store.(fabric.Log).Events(l.Context(), "a1", 0, 100)
		require.NoError(l, err)
		for _, e := range events {
			if e.Type == (event.PredictionResolved{}).EventType() {
				announced++
			}
		}
		require.Equal(l, 2, announced)
		notes, err := c.store.Notes(l.Context(), "a1", "", "judge")
		require.NoError(l, err)
		require.Empty(l, notes)
	})
}

func TestTwoProcessesBuyACallOnce(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{In: 150_000, Out: 600_000})
		id := c.claims("The old boat sinks.")
		c.lives("ep_1", 1, dream.FromHuman, "The old boat sank.")
		other := c.of(c.store, c.ledger, "other")
		c.model.answer = func(r inference.Request) (string, error) {
			done, err := other.Once(context.Background(), c.agent, false)
			require.NoError(l, err)
			require.Equal(l, "another process is asking", done.Reason)
			return says(outcome{"p1", "correct", "e1", "The old boat sank."})(r)
		}
		require.Len(l, c.judges(2).Decided, 1)
		require.Equal(l, 1, c.model.calls())
		require.Equal(l, dream.PredictionRight, c.read(id).Status)
	})
}

func TestAnUnreadableAnswerIsRepairedOnce(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{})
		id := c.claims("The old boat sinks.")
		c.lives("ep_1", 1, dream.FromHuman, "The old boat sank.")
		c.model.answer = func(r inference.Request) (string, error) {
			if len(r.Messages) == 2 {
				return "I think it is correct.", nil
			}
			return says(outcome{"p1", "correct", "e1", "The old boat sank."})(r)
		}
		require.Equal(l, 2, c.judges(2).Calls)
		require.Equal(l, dream.PredictionRight, c.read(id).Status)

		second := c.claims("The new boat sinks.")
		c.lives("ep_2", 3, dream.FromHuman, "The new boat sank.")
		c.model.answer = func(inference.Request) (string, error) { return "Yes.", nil }
		done := c.judges(4)
		require.Equal(l, dream.PredictionOpen, c.read(second).Status)
		require.Equal(l, "the answer could not be read, nor its repair", done.Ignored[0].Reason)
		require.Zero(l, c.judges(5).Calls, "it is not asked for ever")
	})
}

func TestTheClockWaitsForTheJudge(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{})
		id := c.claims("The old boat sinks.")
		c.now = evening.Add(7*day + 14*time.Minute)
		n, err := c.scene.ResolveOverdue(l.Context())
		require.NoError(l, err)
		require.Zero(l, n)
		c.now = evening.Add(7*day + 15*time.Minute)
		n, err = c.scene.ResolveOverdue(l.Context())
		require.NoError(l, err)
		require.Equal(l, 1, n)
		p := c.read(id)
		require.Equal(l, dream.PredictionVoid, p.Status)
		require.Equal(l, dream.ByHorizon, p.ResolvedBy)
	})
}

func TestOnlyThePredictionThatTheProviderRefusesIsLeftOut(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{In: 150_000, Out: 600_000})
		boats := []string{"blue", "red", "grey", "barred", "white", "old"}
		for i, boat := range boats {
			c.claims("The " + boat + " boat sinks.")
			c.lives(fmt.Sprintf("ep_%d", i), 1+float64(i)/100, dream.FromHuman, "The "+boat+" boat sank.")
		}
		refusals := 0
		c.model.answer = func(r inference.Request) (string, error) {
			if strings.Contains(r.Messages[1].Content, "The barred boat sinks.") {
				refusals++
				return "", &inference.Failure{Kind: inference.BadRequest, Status: 400, Message: "content filter"}
			}
			return says()(r)
		}
		done := c.judges(2)
		require.Equal(l, len(boats)-1, done.Compared)
		require.Equal(l, 1, done.Refused)
		require.Equal(l, 1, done.Left)
		require.Equal(l, observer+" refuses to be asked about them", done.Reason)
		require.Len(l, done.Ignored, 1)
		require.Equal(l, observer+": bad_request (HTTP 400): content filter", done.Ignored[0].Reason)
		require.Equal(l, "The barred boat sinks.", c.read(done.Ignored[0].Prediction).Claim)
		require.Greater(l, refusals, 1)
		planned, err := c.store.Notes(l.Context(), "a1", "", "judge/")
		require.NoError(l, err)
		require.Empty(l, planned)

		c.model.answer = says()
		done = c.judges(3)
		require.Equal(l, 1, done.Compared, "it is asked about again, and the others are not")
		require.Empty(l, done.Reason)
	})
}

func TestAProviderThatRefusesEverythingIsNotAskedForEver(t *testing.T) {
	onBoth(t, func(l *scene) {
		c := l.court(budget.Price{In: 150_000, Out: 600_000})
		for i := range 40 {
			c.claims(fmt.Sprintf("The old boat %d sinks.", i))
		}
		c.lives("ep_1", 1, dream.FromHuman, "The old boat sank.")
		c.model.answer = func(inference.Request) (string, error) {
			return "", &inference.Failure{Kind: inference.BadRequest, Status: 404, Message: "no such model"}
		}
		done := c.judges(2)
		require.Equal(l, 8, c.model.calls())
		require.Contains(l, done.Reason, "8 calls of one pass were refused, the last because "+observer)
		require.Contains(l, done.Reason, "no such model")
		require.Positive(l, done.Left)
	})
}
