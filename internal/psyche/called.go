package psyche

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Call is a call of an agent outside of a talk: a post of a room names it, somebody sends it a message, or a set time
// has come.
type Call struct {
	Step       string // of the paid answer: a call with the same step returns what was bought
	Owner      Caller // what it may recall, and to whom belongs what is remembered of it
	Payer      Caller // whose key pays for it too; the zero Caller: nobody\'s
	Client     string // names the lease that holds the agent awake
	Session    string // where it was said, as memories tell
	Wake       prompt.WakeInput
	Query      string           // for which memory is searched
	Accounts   []budget.Account // that pay beside the agent's
	Statements []Statement      // what is remembered of it
	Gated      bool             // Options.Gate is asked first whether the agent answers
}

// Statement is something that was said where the agent could hear it.
type Statement struct {
	Text    string
	Taint   dream.Taint
	Speaker string
}

// CallAnswer is what an agent made of a call.
type CallAnswer struct {
	prompt.WakeAnswer
	Model    string
	Estimate budget.Micros // the most that the call could cost
	Cost     budget.Micros
	Woke     bool // the call woke the agent, or ended its dream
}

// Limits of a call.
const (
	callTokens = 1024 // of an answer: what a post of a room holds on a screen
	callIdle   = time.Minute
)

// Called wakes an agent as a client does, recalls what bears on the call, and asks its model for a post or for silence.
// What was said is remembered afterwards.
func (s *Service) Called(ctx context.Context, agent string, c Call) (CallAnswer, error) {
	caller := fairqueue.Request{Key: c.Client}
	if c.Wake.Caller.Agent || c.Wake.Trigger == prompt.AtSetTimes {
		caller.Class = fairqueue.Program
	}
	ctx = fairqueue.As(ctx, caller)
	a, err := s.findAgent(ctx, agent)
	if err != nil {
		return CallAnswer{}, err
	}
	spec, err := s.talkModel(ctx, &a)
	if err != nil {
		return CallAnswer{}, err
	}
	lease, woken, err := s.leases.connect(ctx, a.ID, c.Client)
	if err != nil {
		return CallAnswer{}, err
	}
	defer s.leases.release(lease)
	on := s.switched(&a, Switches{})
	seen := s.talks.seenForgettings(a.ID)
	taints := []dream.Taint{dream.FromAgent}
	for _, h := range c.Statements {
		taints = append(taints, h.Taint)
	}
	if on.recall {
		for i, m := range s.recalledFor(ctx, a, c) {
			c.Wake.Memory = append(c.Wake.Memory, prompt.Line{Ref: fmt.Sprintf("m%d", i+1), Text: clipped(m.Content,
				longestQuote)})
			taints = append(taints, m.Taint)
		}
	}
	c.Wake.Self = prompt.Self{Handle: a.Handle, Persona: a.Persona, Interests: a.Interests}
	if on.affect {
		felt, err := s.emotion(ctx, a)
		if err != nil {
			return CallAnswer{}, err
		}
		c.Wake.Mood = felt.Word
	}
	answer, err := s.gatedCall(ctx, &a, &c, &spec)
	if err != nil {
		return answer, err
	}
	answer.Woke = woken.Raised
	if pad, existing := mood.OfWord(answer.Emotion); existing && on.affect {
		e := mood.Event{Name: "called/" + answer.Emotion, Move: mood.PAD{}.Toward(pad, feltShare)}
		if _, err := s.feel(ctx, a, e, 1); err != nil {
			s.Log.WarnContext(ctx, "a call moved no mood", "agent", a.Handle, "error", err)
		}
	}
	if on.store {
		statements := c.Statements
		if !answer.Silent {
			statements = append(statements, Statement{answer.Response, dream.LeastTrusted(taints...), a.Handle})
		}
		s.keepStatements(ctx, a, c.Owner, c.Session, statements, seen)
	}
	return answer, nil
}

// recalledFor finds what bears on a call, within the budget of a turn.
func (s *Service) recalledFor(ctx context.Context, a dream.Agent, c Call) []Memory {
	if strings.TrimSpace(c.Query) == "" {
		return nil
	}
	within := s.within(ctx, a)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	found, _, err := s.search(ctx, a, c.Owner, RecallRequest{Query: clipped(c.Query, longestKept), Limit: s.o.Items},
		nil,
		within-within/4)
	if err != nil {
		s.Log.WarnContext(ctx, "a call goes on without memories", "agent", a.Handle, "error", err)
		return nil
	}
	s.used(ctx, a, found)
	return found
}

// gateTokens bound what the gate says: whether the agent answers, and nothing else that is read.
const gateTokens = 60

// gatedCall asks a cheap model first whether the agent answers, where one is configured and the call is gated. A gate
// that fails lets the call pass: it saves money, and decides nothing else.
func (s *Service) gatedCall(ctx context.Context, a *dream.Agent, c *Call, spec *inference.Spec) (CallAnswer, error) {
	if !c.Gated || s.o.Gate == "" || s.o.Gate == spec.Name {
		return s.buyCall(ctx, a, c, spec)
	}
	gate, err := s.Guard.Catalog.Lookup(s.o.Gate)
	if err != nil {
		return CallAnswer{}, relayFault(ctx, err)
	}
	request := callRequest(c, &gate, gateTokens, s.o.Thinking)
	charge := s.charge(a, &c.Payer)
	charge.Step, charge.Phase = c.Step+"/gate", "gate"
	charge.Accounts = append(charge.Accounts, c.Accounts...)
	paid, err := s.Guard.Generate(ctx, charge, request, nil)
	if _, over := spend.AsOverCap(err); over || err != nil && ctx.Err() != nil {
		return CallAnswer{}, relayFault(ctx, err)
	}
	var says prompt.WakeAnswer
	if err == nil && inference.ReadJSON(paid.Text, &says) == nil && says.Silent {
		return CallAnswer{WakeAnswer: prompt.WakeAnswer{Silent: true}, Model: gate.Name, Cost: paid.Cost}, nil
	}
	answer, err := s.buyCall(ctx, a, c, spec)
	answer.Cost += paid.Cost
	return answer, err
}

// callRequest is what a model is sent for a call.
func callRequest(c *Call, spec *inference.Spec, tokens, thinking int) inference.Request {
	text := prompt.Wake(c.Wake)
	return inference.Request{
		Model: spec.Name,
		Messages: []inference.Message{
			{Role: "system", Content: text.System},
			{Role: "user", Content: text.User()},
		},
		MaxTokens: tokens,
		Reasoning: thinking,
		IdleToken: callIdle,
		Schema:    &inference.Schema{Name: text.Name, JSON: text.Schema},
	}
}

// buyCall asks the model, with one attempt at a repair of an answer that cannot be read.
func (s *Service) buyCall(ctx context.Context, a *dream.Agent, c *Call, spec *inference.Spec) (CallAnswer, error) {
	request := callRequest(c, spec, callTokens, s.o.Thinking)
	answer := CallAnswer{Model: spec.Name}
	if !costsNothing(spec) {
		answer.Estimate = spend.GenerationCost(*spec, request)
	}
	charge := s.charge(a, &c.Payer)
	charge.Step = c.Step
	charge.Phase = "call"
	charge.Accounts = append(charge.Accounts, c.Accounts...)
	for _, step := range []string{c.Step, c.Step + "/repair"} {
		charge.Step = step
		paid, err := s.Guard.Generate(ctx, charge, request, nil)
		if err != nil {
			return answer, relayFault(ctx, err)
		}
		answer.Cost += paid.Cost
		problem := inference.ReadJSON(paid.Text, &answer.WakeAnswer)
		if problem == nil {
			return answer, nil
		}
		request.Messages = append(request.Messages, inference.Repair(problem, paid.Text)...)
	}
	return answer, Refuse(502, "malformed", "",
		"The agent's model gave no answer that can be read, nor did its repair.")
}

// feltShare is the strength of the word by which an agent says how a call feels: a third of what the word means. An
// event that happens to an agent moves it more than its own remark.
const feltShare = .3

// Hear remembers what was said where an agent could hear it, without calling it.
func (s *Service) Hear(ctx context.Context, agent string, owner Caller, session string, statements []Statement) error {
	a, err := s.findAgent(ctx, agent)
	if err != nil {
		return err
	}
	if s.switched(&a, Switches{}).store {
		s.keepStatements(ctx, a, owner, session, statements, s.talks.seenForgettings(a.ID))
	}
	return nil
}

// keepStatements queues what was said for storing.
func (s *Service) keepStatements(ctx context.Context, a dream.Agent, owner Caller, session string,
	statements []Statement,
	seen memory.SeenForgettings,
) {
	lines := make([]line, len(statements))
	for i, h := range statements {
		lines[i] = line{clipped(h.Text, longestKept), h.Taint, cmp.Or(h.Speaker, "somebody")}
	}
	if len(lines) == 0 {
		return
	}
	now := s.now()
	s.enqueue(task{context.WithoutCancel(ctx), a, func(ctx context.Context) error {
		err := s.remember(ctx, a, owner, session, lines, nil, seen, now)
		if errors.Is(err, memory.ErrForgotten) {
			s.counts.add("forgotten", 1)
			return nil
		}
		return err
	}, "what was said in a room could not be remembered"})
}
