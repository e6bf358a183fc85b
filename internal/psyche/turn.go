package psyche

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/ratelimit"
)

// Chat is one turn: wake, recall, pass on. What was said is stored after the answer has passed.
func (s *Service) Chat(ctx context.Context, t Turn) (*Reply, error) {
	u := &turn{service: s, Turn: t}
	ctx = asks(ctx, &t.Caller)
	var err error
	var worst spend.Worst
	var r inference.RelayRequest
	prepares(len(t.Body.raw), func() {
		err = u.begin(ctx)
		if err == nil {
			worst, r = u.request(ctx)
		}
	})
	if err != nil {
		return nil, err
	}
	reply, err := u.run(ctx, worst, r)
	if err != nil {
		s.leases.release(u.lease)
		return nil, err
	}
	return reply, nil
}

// asks says of a context whose turn its calls of models are for.
func asks(ctx context.Context, c *Caller) context.Context {
	r := fairqueue.Request{Key: c.Key.SpeaksAs()}
	if c.Key.Program {
		r.Class = fairqueue.Program
	}
	return fairqueue.As(ctx, r)
}

// turn is one request under way.
type turn struct {
	Turn
	service *Service
	from    context.Context // its values, such as its trace, go on in what is done after it
	agent   dream.Agent
	spec    inference.Spec
	ceiling costBound                  // of a paid model
	lease   *clientLease               // holds the agent awake during the turn
	woken   func() (WakeResult, error) // waits until the agent is awake
	on      turnSteps
	report  TurnReport
	left    ratelimit.State // of the key's tokens, before the turn
	talk    *talk
	seen    memory.SeenForgettings // before anything was recalled

	added  int         // bytes of background
	lines  []line      // that may be remembered
	taint  dream.Taint // the least trusted label among what stands in the prompt, which the answer carries
	sent   int         // bytes that the provider is asked with
	hidden bool        // the client did not ask for the usage that the provider is asked for
}

// onOwnStack runs a function on a goroutine of its own and waits for it. Parsing a large body and reading a store grow a
// stack, which the goroutine of a stream would keep for as long as the stream lasts.
func onOwnStack(do func()) { beside(do)() }

// readOnOwnStack is onOwnStack for a function that reads something.
func readOnOwnStack[T any](read func() (T, error)) (value T, err error) {
	onOwnStack(func() { value, err = read() })
	return value, err
}

// smallBody is how many bytes a body has that is prepared on the goroutine of its request: a second goroutine would
// take longer than reading it.
const smallBody = 16 << 10

// prepares runs what parses a body of so many bytes.
func prepares(size int, do func()) {
	if size <= smallBody {
		do()
		return
	}
	onOwnStack(do)
}

// beside runs a function on a goroutine of its own. wait, which is called once, waits for it and panics as it did.
func beside(do func()) (wait func()) {
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		do()
	}()
	return func() {
		if p := <-panicked; p != nil {
			panic(p)
		}
	}
}

// begin resolves the agent that the caller names and the model that it talks with, bounds the cost of the answer, and
// takes the client's lease. The conversation is resolved by request.
func (t *turn) begin(ctx context.Context) error {
	s := t.service
	var err error
	t.agent, err = s.reach(ctx, t.Caller, t.Agent, access.Client)
	if err != nil {
		return err
	}
	t.seen = s.talks.seenForgettings(t.agent.ID)
	if !t.Body.chat {
		return invalidRequest("invalid_type", "messages", "The body has no array of messages.")
	}
	t.spec, err = s.talkModel(ctx, &t.agent)
	if err != nil {
		return err
	}
	t.ceiling, err = t.Body.costBound(t.limits())
	if err != nil {
		return err
	}
	t.left, err = s.tokensLeft(&t.Caller.Key)
	if err != nil {
		return err
	}
	t.lease, t.woken, err = s.leases.connecting(ctx, t.agent.ID, t.client())
	if err != nil {
		return err
	}
	t.on, t.from = s.switched(&t.agent, t.Switches), context.WithoutCancel(ctx)
	return nil
}

// run passes the request on. While its provider is asked, what may be remembered of it is noted, and a lease that needs
// no renewal is looked up.
func (t *turn) run(ctx context.Context, worst spend.Worst, r inference.RelayRequest) (*Reply, error) {
	var charge spend.Charge
	if !t.free() {
		charge = t.service.charge(&t.agent, &t.Caller)
	}
	noted := func() {}
	if t.on.store {
		noted = beside(func() { t.lines = t.spoken() })
	}
	res, err := t.service.relay(ctx, &t.Caller, charge, r, worst)
	noted()
	woken, asleep := t.woken()
	switch {
	case err != nil:
		return nil, asSent(t.Body, relayFaultOf(ctx, err, mostName(t.Body)), r.Body)
	case asleep != nil:
		t.service.settled(res.Body)
		return nil, asleep
	}
	t.report.Epoch, t.report.Woke, t.report.Degraded = woken.Epoch, woken.Raised, woken.Degraded
	return t.reply(res), nil
}

// request is the provider's request and the most it can cost.
func (t *turn) request(ctx context.Context) (spend.Worst, inference.RelayRequest) {
	conversation := t.conversation()
	t.report = TurnReport{
		Agent:        t.agent.Handle,
		AgentID:      t.agent.ID,
		Conversation: conversation,
		Model:        t.spec.Name,
		Tokens:       t.left,
	}
	t.talk = t.service.talks.of(t.Caller.Owner(), t.agent.ID, conversation, t.service.now())
	t.taint = dream.LeastTrusted(dream.FromAgent, t.Body.taint())
	changes := slices.Concat([]splice{t.Body.model(t.spec.Wire)}, t.sampling(ctx), t.persona(), t.background(ctx))
	t.taint = t.talk.labelled(t.taint, t.Body.answered())
	worst, more := t.worst()
	r := inference.RelayRequest{
		Method: http.MethodPost,
		Path:   t.Path,
		Header: providerHeader(t.Header),
		Body:   spliced(t.Body.raw, append(changes, more...)),
		Model:  t.spec.Name,
	}
	t.cached(&worst, &r)
	t.sent = len(r.Body)
	return worst, r
}

// reply is the provider's answer, with the reading of what it says.
func (t *turn) reply(res *inference.RelayResponse) *Reply {
	t.service.counts.turn(t.agent.ID, &t.report)
	answer := t.listen(res)
	t.Body, t.Header = nil, nil // a stream may last for long, and needs none of it
	return &Reply{
		Status: res.Status,
		Header: clientHeader(res.Header),
		Body:   answer,
		Report: t.report,
		Failed: answer.failed,
	}
}

// unreadable is why a body could not be read.
func unreadable(err error) error {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return invalidRequest("invalid_json", "", "The body must be one JSON object: %v.", err)
}

// charge names the accounts that pay: the agent's and the key's, under a step that no other request has.
func (b *core) charge(a *dream.Agent, c *Caller) spend.Charge {
	now := b.now()
	day, accounts := b.accounts(a, c, now)
	return spend.Charge{
		Step:        "talk/" + a.ID + "/" + strings.ToLower(rand.Text()),
		Agent:       a.ID,
		Phase:       "talk",
		Day:         day,
		Accounts:    accounts,
		RequestedAt: now,
	}
}

// Embeddings passes a body on to the agent's embedder.
func (s *Service) Embeddings(ctx context.Context, t Turn) (*Reply, error) {
	agent, err := s.reach(ctx, t.Caller, t.Agent, access.Client)
	if err != nil {
		return nil, err
	}
	spec, err := s.embedderOf(ctx, &agent)
	if err != nil {
		return nil, relayFault(ctx, err)
	}
	d, err := t.Body.places(&limits{spec: spec, free: costsNothing(&spec), allowed: s.allowed})
	if err != nil {
		return nil, err
	}
	left, err := s.tokensLeft(&t.Caller.Key)
	if err != nil {
		return nil, err
	}
	res, err := s.relay(asks(ctx, &t.Caller), &t.Caller, s.charge(&agent, &t.Caller), inference.RelayRequest{
		Method: http.MethodPost,
		Path:   t.Path,
		Header: providerHeader(t.Header),
		Body:   spliced(t.Body.raw, []splice{t.Body.model(spec.Wire)}),
		Model:  spec.Name,
	}, spend.Worst{In: d.in, Times: d.times})
	if err != nil {
		return nil, relayFault(ctx, err)
	}
	body := &closing{ReadCloser: res.Body, close: func() { s.settled(res.Body) }}
	return &Reply{
		Status: res.Status, Header: clientHeader(res.Header), Body: body,
		Report: TurnReport{Agent: agent.Handle, Model: spec.Name, Tokens: left},
	}, nil
}

// providerHeader is a request's header for the provider's gateway, which chooses what to send. The body was parsed as
// JSON, whatever its client called it (curl -d calls it a form), and providers refuse another content type.
func providerHeader(h http.Header) http.Header {
	out := make(http.Header, len(h)+1)
	maps.Copy(out, h)
	out.Set("Content-Type", "application/json")
	return out
}

// clientHeader is the part of an answer's header that a client gets: nothing of this server's account with the
// provider.
func clientHeader(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range []string{"Content-Type", "Cache-Control", "Retry-After", "Retry-After-Ms", "X-Should-Retry"} {
		if v := h.Values(name); len(v) > 0 {
			out[name] = v
		}
	}
	return out
}

// conversation names the talk: as the client does, else after its first user message, which stays the same from turn
// to turn, and its group. A group alone would be too coarse: many applications send one for all their talks.
func (t *turn) conversation() string {
	if t.Conversation != "" {
		return t.Conversation
	}
	for _, m := range t.Body.messages {
		if m.role == "user" {
			first := m.Of(t.Body.raw)
			if t.Body.native() { // kept items are written otherwise than clients do
				if text := t.Body.text(m); text != "" {
					first = []byte(text)
				}
			}
			if t.Group != "" {
				first = slices.Concat([]byte(t.Group), []byte{0}, first)
			}
			return "talk_" + shortOf(first)
		}
	}
	return "talk_" + short(time.Time{}.String())
}
