package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// Run is many randomised dreams with faults and kills. Everything random follows from the seed, except the order in
// which concurrent calls arrive.
type Run struct {
	Seed    uint64
	Dreams  int
	AtOnce  int     // as many agents, each with one dream at a time
	Workers int     // processes
	Share   float64 // of calls that go wrong
	Kill    int     // one kill in about so many calls; 0 for none
	Edit    func(*testdeploy.Config)
	// JudgeDaily lets the workers judge predictions, for at most so much a day and agent; 0: nobody judges them.
	JudgeDaily budget.Micros
}

// sampleEvery is how many calls pass between two comparisons of ledger and provider during the run.
const sampleEvery = 40

// faults that calls meet, with their weights. Rare are final faults, which end a dream, and silent ones, which cost a
// second each.
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

// execution is the state of a run.
type execution struct {
	run        Run
	upstream   *provider.Server
	deployment *testdeploy.Deployment
	crew       *Workers
	guard      *Webhook
	moments    Moments
	fair       budget.Micros // what a whole night without faults and caps costs

	mu      sync.Mutex
	faults  []error
	samples int
}

// Execute runs it on a server of its own and returns the evidence. The error has what went wrong during the run.
func (r Run) Execute(ctx context.Context, t testing.TB) (Evidence, Figures, error) {
	t.Helper()
	began := time.Now()
	server := temporal.Start(t, temporal.InMemory())
	p := &execution{run: r}
	var err error
	p.upstream, err = provider.Start(provider.Options{
		Seed: r.Seed, First: 5 * time.Millisecond, Each: time.Millisecond, RetryAfter: 200 * time.Millisecond,
		Plan: p.moments.Plan(p.plan(provider.Seeded(r.Seed, r.Share, faults()...))),
		Say:  sayOutcomes,
	})
	if err != nil {
		return Evidence{}, Figures{}, err
	}
	defer p.upstream.Close()
	p.guard = StartWebhook(r.Seed)
	defer p.guard.Close()
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue:    server.TaskQueue,
		Provider: p.upstream.URL, Model: "script", Knobs: knobs(),
	}
	p.guard.Configure(&config)
	if r.JudgeDaily > 0 {
		config.Judge = &testdeploy.Judging{
			Daily:   r.JudgeDaily,
			Started: began,
			Begin:   testdeploy.Night.Add(-20 * time.Hour),
			Speed:   60,
		}
	}
	if r.Edit != nil {
		r.Edit(&config)
	}
	p.deployment, err = testdeploy.Open(ctx, config, server.Dial(t))
	if err != nil {
		return Evidence{}, Figures{}, err
	}
	defer p.deployment.Close()
	p.crew, err = StartWorkers(config, r.Workers)
	if err != nil {
		return Evidence{}, Figures{}, err
	}
	defer p.crew.KillAll()
	defer func() {
		if t.Failed() {
			t.Logf("standard error of the workers: %s", p.crew.Stderr())
		}
	}()
	if err := p.measure(ctx); err != nil {
		return Evidence{}, Figures{}, err
	}
	p.dream(ctx)
	e, err := Gather(ctx, p.deployment, p.upstream.Billing)
	f := p.figures(e)
	f.Wall = time.Since(began)
	p.crew.KillAll()
	return e, f, errors.Join(err, p.crew.Panics(), errors.Join(p.faults...))
}

// knobs make the silence timeout the shortest that a deployment may configure.
func knobs() dream.Knobs {
	k := dream.DefaultKnobs()
	k.IdleToken, k.CallTimeout = time.Second, 8*time.Second
	return k
}

// plan lets the measured dream, the first of its agent, meet no fault.
func (p *execution) plan(rest provider.Plan) provider.Plan {
	return func(a provider.Arrival) provider.Fault {
		if c, ok := ReadKey(a.Key); ok && c.Dream == "dream/"+measured+"/0001" {
			return provider.None
		}
		return rest(a)
	}
}

func (p *execution) fault(err error) {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = append(p.faults, err)
	}
}

// measured is the agent whose dream is undisturbed.
const measured = "measure"

// measure dreams one night without faults, kills and caps, from which the budgets of the others are drawn.
func (p *execution) measure(ctx context.Context) error {
	agent, err := p.deployment.AddAgent(ctx, 1, measured)
	if err != nil {
		return err
	}
	seed := p.run.Seed
	begun, err := p.deployment.Starter.Begin(ctx,
		starter.DreamRequest{Agent: agent.Handle, Tier: dream.Hardened, Seed: &seed, AsOf: testdeploy.Night})
	if err != nil {
		return err
	}
	result, err := p.deployment.Result(ctx, begun.Dream)
	if err != nil {
		return err
	}
	if result.Outcome != dream.Completed {
		return fmt.Errorf("the undisturbed night ended as %s: %s", result.Outcome, result.Reason)
	}
	p.fair = p.upstream.Billing.Total()
	return nil
}

// dream lets all agents dream, while workers are killed and provider and ledger are compared.
func (p *execution) dream(ctx context.Context) {
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
func (p *execution) kill(ctx context.Context) {
	if p.run.Kill == 0 {
		return
	}
	dice := rand.New(rand.NewPCG(p.run.Seed, 1))
	for at := len(p.upstream.Billing.Calls()); ; {
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
		at = max(at, len(p.upstream.Billing.Calls()))
	}
}

// sample compares provider and ledger throughout the run.
func (p *execution) sample(ctx context.Context) {
	for at := 0; ; at = max(at, len(p.upstream.Billing.Calls())) {
		at += sampleEvery
		select {
		case <-ctx.Done():
			return
		case <-p.moments.Count(at):
			p.compare(ctx)
		}
	}
}

// compare reads the provider first and the ledger after it.
func (p *execution) compare(ctx context.Context) {
	book := p.upstream.Billing.Book()
	rows, err := p.deployment.Store.Ledger().Rows(ctx, spend.Query{})
	if err != nil {
		if ctx.Err() == nil {
			p.fault(err)
		}
		return
	}
	for _, f := range Covered(book, rows) {
		p.fault(fmt.Errorf("during the run: %w", f))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samples++
}

// lane runs one agent's dreams, one after another.
func (p *execution) lane(ctx context.Context, lane int) error {
	agent, err := p.deployment.AddAgent(ctx, lane%2, fmt.Sprintf("agent-%d", lane))
	if err != nil {
		return err
	}
	agent.Caps = p.caps(lane)
	if err := p.deployment.Store.PutAgent(ctx, agent); err != nil {
		return err
	}
	for i := lane; i < p.run.Dreams; i += p.run.AtOnce {
		if err := p.foretell(ctx, i, agent); err != nil {
			return err
		}
		if err := p.dreamOnce(ctx, lane, i, agent); err != nil {
			return err
		}
	}
	return nil
}
