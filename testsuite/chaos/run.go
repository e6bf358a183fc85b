package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/purse"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/stage"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

// Run is many randomised dreams with faults and kills. Everything random follows from the seed, but for the order in
// which concurrent calls arrive.
type Run struct {
	Seed    uint64
	Dreams  int
	AtOnce  int     // as many agents, each with one dream at a time
	Workers int     // processes
	Share   float64 // of calls that go wrong
	Kill    int     // a kill about every so many calls; 0 for none
	Edit    func(*stage.Play)
}

// sampleEvery is how many calls pass between two looks at ledger and till while the run is on.
const sampleEvery = 40

// faults that calls meet, with their weights. The final ones, which end a dream, and the silent ones, which cost a
// second each, are rare.
func faults() []provider.Fault {
	var list []provider.Fault
	for _, fault := range provider.Faults {
		weight := 6
		switch fault {
		case provider.Quota, provider.Payment, provider.NoSampling, provider.HangFirst, provider.HangMiddle:
			weight = 1
		}
		for range weight {
			list = append(list, fault)
		}
	}
	return list
}

// performance is a run that is on.
type performance struct {
	run     Run
	till    *provider.Server
	company *stage.Company
	crew    *Crew
	moments Moments
	fair    budget.Micros // what a whole night without faults and caps costs

	mu      sync.Mutex
	faults  []error
	samples int
}

// Perform plays the run on a server of its own and gives the evidence. What went wrong while it was on is in the error.
func (r Run) Perform(ctx context.Context, t testing.TB) (Evidence, Figures, error) {
	t.Helper()
	began := time.Now()
	server := temporal.Start(t, temporal.InMemory())
	p := &performance{run: r}
	var err error
	p.till, err = provider.Start(provider.Options{
		Seed: r.Seed, First: 5 * time.Millisecond, Each: time.Millisecond, RetryAfter: 200 * time.Millisecond,
		Plan: p.moments.Plan(p.plan(provider.Seeded(r.Seed, r.Share, faults()...))),
	})
	if err != nil {
		return Evidence{}, Figures{}, err
	}
	defer p.till.Close()
	play := stage.Play{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace, Queue: server.TaskQueue,
		Provider: p.till.URL, Model: "script", Knobs: knobs(),
	}
	if r.Edit != nil {
		r.Edit(&play)
	}
	if p.company, err = stage.Open(ctx, play, server.Dial(t)); err != nil {
		return Evidence{}, Figures{}, err
	}
	defer p.company.Close()
	if p.crew, err = Muster(play, r.Workers); err != nil {
		return Evidence{}, Figures{}, err
	}
	defer p.crew.End()
	defer func() {
		if t.Failed() {
			t.Logf("the workers said: %s", p.crew.Said())
		}
	}()
	if err := p.measure(ctx); err != nil {
		return Evidence{}, Figures{}, err
	}
	p.dream(ctx)
	e, err := Gather(ctx, p.company, p.till.Till)
	f := p.figures(e)
	f.Wall = time.Since(began)
	p.crew.End()
	return e, f, errors.Join(err, p.crew.Trouble(), errors.Join(p.faults...))
}

// knobs keep a provider's silence short: the shortest that a deployment may configure.
func knobs() dream.Knobs {
	k := dream.DefaultKnobs()
	k.IdleToken, k.CallTimeout = time.Second, 8*time.Second
	return k
}

// plan lets the measured dream, the first of its agent, meet no fault.
func (p *performance) plan(rest provider.Plan) provider.Plan {
	return func(a provider.Arrival) provider.Fault {
		if c, ok := ReadKey(a.Key); ok && c.Dream == "dream/"+measured+"/0001" {
			return provider.None
		}
		return rest(a)
	}
}

func (p *performance) fault(err error) {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = append(p.faults, err)
	}
}

// measured is the agent whose night is undisturbed.
const measured = "measure"

// measure dreams one night without faults, kills and caps, from which the budgets of the others are drawn.
func (p *performance) measure(ctx context.Context) error {
	agent, err := p.company.Hire(ctx, 1, measured)
	if err != nil {
		return err
	}
	seed := p.run.Seed
	begun, err := p.company.Starter.Begin(ctx, starter.Wish{Agent: agent.Handle, Tier: dream.Hardened, Seed: &seed, AsOf: stage.Night})
	if err != nil {
		return err
	}
	result, err := p.company.Result(ctx, begun.Dream)
	if err != nil {
		return err
	}
	if result.Outcome != dream.Completed {
		return fmt.Errorf("the undisturbed night ended as %s: %s", result.Outcome, result.Reason)
	}
	p.fair = p.till.Till.Total()
	return nil
}

// dream lets all agents dream, while workers are killed and the books are compared.
func (p *performance) dream(ctx context.Context) {
	around, stop := context.WithCancel(ctx)
	var beside, lanes sync.WaitGroup
	beside.Go(func() { p.kill(around) })
	beside.Go(func() { p.sample(around) })
	for lane := range p.run.AtOnce {
		lanes.Go(func() { p.fault(p.lane(ctx, lane)) })
	}
	lanes.Wait()
	stop()
	beside.Wait()
}

// kill ends worker processes at calls drawn from the seed, sometimes two at once, and starts others in their place.
func (p *performance) kill(ctx context.Context) {
	if p.run.Kill == 0 {
		return
	}
	dice := rand.New(rand.NewPCG(p.run.Seed, 1))
	for at := len(p.till.Till.Calls()); ; {
		at += p.run.Kill/2 + dice.IntN(p.run.Kill)
		select {
		case <-ctx.Done():
			return
		case <-p.moments.Count(at):
		}
		victims := dice.Perm(p.run.Workers)[:1+dice.IntN(5)/4]
		for _, i := range victims {
			p.crew.Kill(i)
		}
		p.compare(ctx)
		for _, i := range victims {
			p.fault(p.crew.Replace(i))
		}
		at = max(at, len(p.till.Till.Calls()))
	}
}

// sample compares till and ledger all along.
func (p *performance) sample(ctx context.Context) {
	for at := 0; ; at = max(at, len(p.till.Till.Calls())) {
		at += sampleEvery
		select {
		case <-ctx.Done():
			return
		case <-p.moments.Count(at):
			p.compare(ctx)
		}
	}
}

// compare asks the till first and the ledger after it.
func (p *performance) compare(ctx context.Context) {
	book := p.till.Till.Book()
	rows, err := p.company.Store.Ledger().Rows(ctx, purse.Query{})
	if err != nil {
		if ctx.Err() == nil {
			p.fault(err)
		}
		return
	}
	for _, f := range Covered(book, rows) {
		p.fault(fmt.Errorf("while the run was on: %w", f))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samples++
}

// lane is one agent, whose dreams follow one another.
func (p *performance) lane(ctx context.Context, lane int) error {
	agent, err := p.company.Hire(ctx, lane%2, fmt.Sprintf("agent-%d", lane))
	if err != nil {
		return err
	}
	agent.Caps = p.caps(lane)
	if err := p.company.Store.PutAgent(ctx, agent); err != nil {
		return err
	}
	for i := lane; i < p.run.Dreams; i += p.run.AtOnce {
		if err := p.one(ctx, lane, i, agent); err != nil {
			return err
		}
	}
	return nil
}

// sorts of caps, by lane: which cap is tight.
const (
	tightDream = iota
	tightMonth
	tightDay
	tightFleet
	sorts
)

// caps of an agent: roomy, but for the one its lane is there to meet, which lets about the first half of its dreams pass.
func (p *performance) caps(lane int) dream.Caps {
	all := p.fair * budget.Micros(p.each())
	roomy := dream.Caps{Dream: 64 * p.fair, Day: 1000 * all, Month: 1000 * all}
	switch lane % sorts {
	case tightMonth:
		return dream.Caps{Dream: min(4*p.fair, all*2/5), Day: all * 2 / 5, Month: all * 2 / 5}
	case tightDay:
		roomy.Dream, roomy.Day = 4*p.fair, max(4*p.fair, all*3/2)
	}
	return roomy
}

// each is how many dreams an agent has.
func (p *performance) each() int { return (p.run.Dreams + p.run.AtOnce - 1) / p.run.AtOnce }

// budget draws what a dream may cost: two of five a quarter to twice of what an undisturbed night costs, too little for
// the reservations of its last phases, the others up to 64 times as much.
func (p *performance) budget(dice *rand.Rand) budget.Micros {
	doublings := 1 + 5*dice.Float64()
	if dice.IntN(5) < 2 {
		doublings = 3*dice.Float64() - 2
	}
	return budget.Micros(float64(p.fair) * math.Exp2(doublings))
}

// crowded is the day on which the fleet's cap is tight, and on which nobody else dreams.
var crowded = stage.Night.AddDate(0, 1, 0)

// one dreams the i-th dream of the run: tier, model, cycles, budget and day drawn from the seed.
func (p *performance) one(ctx context.Context, lane, i int, agent dream.Agent) error {
	dice := rand.New(rand.NewPCG(p.run.Seed, uint64(i)+2))
	s, w := *p.company.Starter, starter.Wish{Agent: agent.Handle, Tier: dream.Hardened}
	if dice.IntN(8) == 0 {
		w.Tier = dream.Core
	}
	amount, seed := min(agent.Caps.Dream, p.budget(dice)), dice.Uint64()>>1
	w.Budget, w.Seed, w.AsOf = &amount, &seed, stage.Night.AddDate(0, 0, i/p.run.AtOnce%10)
	k := p.company.Play.Knobs
	k.Cycles, k.Partials = 1+dice.IntN(3), 3+dice.IntN(3)
	if sort := lane % sorts; sort != tightDream || dice.IntN(2) == 0 { // shares that let an onset have what it wants
		k.Shares, k.BudgetFraction = budget.Shares{Onset: 60, NREM: 15, REM: 15, Integration: 5, Return: 5}, .65
	}
	switch lane % sorts {
	case tightDay:
		w.AsOf = stage.Night
	case tightFleet:
		crowd := (p.run.AtOnce + sorts - 1 - tightFleet) / sorts * p.each()
		w.AsOf, s.Options.FleetDay = crowded, p.fair*budget.Micros(crowd)*3/10
	}
	s.Options.Knobs = k
	s.Options.Models = map[dream.Role]string{}
	model := []string{"script", "script", "script-object", "script-prompt", "strict", "thinker"}[dice.IntN(6)]
	for role, name := range p.company.Starter.Options.Models {
		if s.Options.Models[role] = name; role != dream.Embedder {
			s.Options.Models[role] = "scripted/" + model
		}
	}
	begun, err := s.Begin(ctx, w)
	if errors.Is(err, starter.ErrUnreachable) && ctx.Err() == nil {
		return nil // every worker was dead for too long; its record says so, and the audit reads it
	}
	if err != nil {
		return fmt.Errorf("begin dream %d: %w", i, err)
	}
	if _, err := p.company.Result(ctx, begun.Dream); err != nil {
		return fmt.Errorf("wait for %s: %w", begun.Dream, err)
	}
	return nil
}
