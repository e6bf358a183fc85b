package psyche_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// voice is a model that gives set answers in turn, the last one again and again, and counts what it was asked.
type voice struct {
	inference.Model
	mu        sync.Mutex
	says      []string
	requested []string // names of models
	prompt    string   // the last one
}

func (v *voice) Generate(_ context.Context, r inference.Request, _ func(string) bool) (inference.Answer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := v.says[min(len(v.requested), len(v.says)-1)]
	v.requested, v.prompt = append(v.requested, r.Model), r.Messages[1].Content
	return inference.Answer{
		Text: text, Finish: "stop", UsageFrom: inference.ByProvider, Tokens: budget.Tokens{In: 600, Out: 40},
	}, nil
}

func inRoom(id string) psyche.Caller { return psyche.Caller{Key: access.Key{Principal: "room:" + id}} }

func called(step, room, text string) psyche.Call {
	return psyche.Call{
		Step:    "call/echo/" + step,
		Owner:   inRoom(room),
		Client:  "room/" + room,
		Session: "room/" + room,
		Query:   text,
		Wake: prompt.WakeInput{
			Trigger: prompt.ByMention, Caller: prompt.Speech{Author: "Ada", Text: text}, Room: room,
		},
		Statements: []psyche.Statement{{Text: text, Taint: dream.FromHuman, Speaker: "Ada"}},
	}
}

// voiced is a rig whose agent talks by a dear model with these answers.
func voiced(t *testing.T, says ...string) (*rig, *voice) {
	v := &voice{says: says}
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		v.Model = p.Guard.Model
		p.Guard.Model, o.Talker = v, "p/dear"
	})
	return r, v
}

const (
	answers = `{"should_respond":true,"response":"The tide turns at noon, Ada.","emotion":"happy"}`
	silent  = `{"should_respond":false,"response":"","emotion":""}`
)

func TestACallIsAnsweredPaidAndRemembered(t *testing.T) {
	t.Parallel()
	r, v := voiced(t, answers)
	c := called("1", "hall", "@echo the ferry to the island leaves at seven on Sundays.")
	c.Accounts = []budget.Account{{Scope: "calls:ag_echo", Limit: 1_000_000}}
	before, err := r.Emotion(t.Context(), ann, "echo")
	require.NoError(t, err)
	got, err := r.Called(t.Context(), "echo", c)
	require.NoError(t, err)
	require.Equal(t, "The tide turns at noon, Ada.", got.Response)
	require.EqualValues(t, 680, got.Cost, "600 tokens in at $1 and 40 out at $2 per million")
	require.Greater(t, got.Estimate, got.Cost)
	require.True(t, got.Woke)
	after, err := r.Emotion(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Greater(t, after.Pleasure, before.Pleasure, "the word happy moves the mood")
	balance, err := r.store.Ledger().Balance(t.Context(), "calls:ag_echo")
	require.NoError(t, err)
	require.EqualValues(t, 680, balance.Spent)

	again, err := r.Called(t.Context(), "echo", c)
	require.NoError(t, err)
	require.Equal(t, got.Response, again.Response)
	require.Len(t, v.requested, 1, "the same step is bought once")

	r.settle()
	_, err = r.Called(t.Context(), "echo", called("2", "hall", "When does the ferry to the island leave?"))
	require.NoError(t, err)
	require.Contains(t, v.prompt, "leaves at seven on Sundays")
	_, err = r.Called(t.Context(), "echo", called("3", "cellar", "When does the ferry to the island leave?"))
	require.NoError(t, err)
	require.NotContains(t, v.prompt, "seven on Sundays", "what was said in another room stays there")
	r.talk(turn(ann, chat("When does the ferry to the island leave?")))
	require.NotContains(t, r.provider.last(t), "seven on Sundays", "and out of talks")
}

func TestACallMayBeMetWithSilence(t *testing.T) {
	t.Parallel()
	r, _ := voiced(t, silent)
	got, err := r.Called(t.Context(), "echo", called("1", "hall", "@echo?"))
	require.NoError(t, err)
	require.True(t, got.Silent)
	require.NotZero(t, got.Cost, "silence is paid for, too")
}

func TestAnUnreadableAnswerIsRepairedOnce(t *testing.T) {
	t.Parallel()
	r, v := voiced(t, "I would say yes.", answers)
	got, err := r.Called(t.Context(), "echo", called("1", "hall", "@echo?"))
	require.NoError(t, err)
	require.Equal(t, "The tide turns at noon, Ada.", got.Response)
	require.EqualValues(t, 1360, got.Cost)
	require.Len(t, v.requested, 2)

	r, v = voiced(t, "I would say yes.")
	_, err = r.Called(t.Context(), "echo", called("1", "hall", "@echo?"))
	require.ErrorContains(t, err, "no answer that can be read")
	require.Len(t, v.requested, 2)
}

func TestACallThatACapForbidsIsNotMade(t *testing.T) {
	t.Parallel()
	r, v := voiced(t, answers)
	c := called("1", "hall", "@echo?")
	c.Accounts = []budget.Account{{Scope: "calls:ag_echo", Limit: 10}}
	_, err := r.Called(t.Context(), "echo", c)
	var fault *psyche.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "insufficient_quota", fault.Code)
	require.Contains(t, fault.Message, "rooms.agent_day")
	require.Empty(t, v.requested)
}

func TestAGateKeepsTheDearModelFromWhatNobodyAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says      []string
		gated     bool
		requested []string
		quiet     bool
	}{
		"the gate says no":        {[]string{silent}, true, []string{"p/thinker"}, true},
		"the gate says yes":       {[]string{answers}, true, []string{"p/thinker", "p/dear"}, false},
		"the gate makes no sense": {[]string{"perhaps", answers}, true, []string{"p/thinker", "p/dear"}, false},
		"a person asked":          {[]string{answers}, false, []string{"p/dear"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &voice{says: c.says}
			r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
				v.Model = p.Guard.Model
				p.Guard.Model, o.Talker, o.Gate = v, "p/dear", "p/thinker"
			})
			call := called("1", "hall", "the kettle boils")
			call.Gated = c.gated
			got, err := r.Called(t.Context(), "echo", call)
			require.NoError(t, err)
			require.Equal(t, c.requested, v.requested)
			require.Equal(t, c.quiet, got.Silent)
			require.EqualValues(t, 680*len(c.requested), got.Cost)
		})
	}
}

func TestTheKeyThatCallsPaysWithinTheCapOfKeys(t *testing.T) {
	t.Parallel()
	v, little := &voice{says: []string{answers}}, budget.Micros(10)
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		v.Model = p.Guard.Model
		p.Guard.Model, o.Talker, o.KeyDay = v, "p/dear", &little
	})
	c := called("1", "hall", "@echo?")
	c.Payer = ann
	_, err := r.Called(t.Context(), "echo", c)
	require.ErrorContains(t, err, "that this key has")
	require.Empty(t, v.requested)
}
