package answers_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/inference/inferencetest"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/answers"
	"github.com/seed-56a03226/oneiros/internal/anthropicgw"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

func serve(t *testing.T, o provider.Options) (*provider.Server, *openaigw.Gateway) {
	t.Helper()
	s, err := provider.Start(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	g, err := openaigw.New(openaigw.Options{Name: "p", BaseURL: s.URL, Catalog: s.Catalog("p")})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return s, g
}

func TestRecordingKeepsThePromisesOfAModel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"script", "script-prompt", "thinker"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inferencetest.Run(t, func(t *testing.T) inferencetest.Stage {
				s, g := serve(t, provider.Options{})
				return inferencetest.Stage{
					Model:    openAt(t, newPath(t), budget.Dollar).Model(g, s.Catalog("p")),
					Spec:     s.Catalog("p")["p/"+name],
					Embedder: "p/vectors",
					Unpriced: "p/unpriced",
					Calls:    func() int { return len(s.Billing.Calls()) },
					Break:    func() { s.Next(provider.ServerError) },
				}
			})
		})
	}
}

// Each test of the suite runs twice on a file of its own. In the second run everything comes from the file, except for
// the call that the suite cuts, which is no answer.
func TestReplayKeepsThePromisesOfAModel(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, g := serve(t, provider.Options{})
	catalog := s.Catalog("p")
	suite := func(t *testing.T) {
		inferencetest.Run(t, func(t *testing.T) inferencetest.Stage {
			l := openAt(t, filepath.Join(folder, path.Base(t.Name())), budget.Dollar)
			return inferencetest.Stage{Model: l.Model(g, catalog), Spec: catalog["p/script"], Embedder: "p/vectors"}
		})
	}
	t.Run("recorded", suite)
	recorded := len(s.Billing.Calls())
	require.Greater(t, recorded, 25)
	t.Run("replayed", suite)
	require.Len(t, s.Billing.Calls(), recorded+1)
}

// Many arms call at once under a cap that is too small for all of them, at a provider that fails in every way, on
// each wire.
func TestAProviderNeverBillsMoreThanTheCap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(9) {
		s, chat := serve(t, provider.Options{Seed: seed, Plan: provider.Seeded(seed, .3,
			provider.Limit, provider.ServerError, provider.CutMiddle, provider.BadChunk, provider.NoUsage,
			provider.LowUsage, provider.HighUsage)})
		g, catalog := inference.Model(chat), s.Catalog("p")
		switch seed % 3 {
		case 1:
			catalog = s.MessagesCatalog("p")
			g = speaking{messagesOf(t, s), chat}
		case 2:
			catalog = s.ResponsesCatalog("p")
			g = responsesOf(t, s)
		}
		one := spend.GenerationCost(catalog["p/script"], inferencetest.Story("p/script"))
		l := openAt(t, newPath(t), 20*one)
		billed := counting{next: g, catalog: catalog, log: l}
		var group sync.WaitGroup
		var mu sync.Mutex
		answered, noMoney := 0, 0
		for arm := range 8 {
			m := l.Model(&billed, catalog)
			group.Go(func() {
				for i := range 24 {
					r := inferencetest.Story("p/script")
					r.Messages[1].Content += fmt.Sprintf("\nThis is drift %d of %d.", i, arm%6)
					r.IdleToken = 10 * time.Second
					_, err := m.Generate(t.Context(), r, nil)
					_, embedErr := m.Embed(t.Context(), "p/vectors", []string{r.Messages[1].Content}, "")
					mu.Lock()
					for _, err := range []error{err, embedErr} {
						f, failed := inference.AsFailure(err)
						switch {
						case err == nil:
							answered++
						case failed && f.Kind == inference.NoMoney:
							noMoney++
						}
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		require.NoError(t, s.Billing.Quiet(t.Context()))
		spent := l.Spent()
		t.Logf("seed %d: %d answered, %d refused, billed %s, counted %s of %s", seed, answered, noMoney,
			s.Billing.Total(), spent.Paid, 20*one)
		require.Positive(t, answered)
		require.Positive(t, noMoney)
		require.Zero(t, spent.Open)
		require.LessOrEqual(t, s.Billing.Total(), spent.Paid)
		require.LessOrEqual(t, s.Billing.Total(), 20*one)
		require.NoError(t, errors.Join(billed.faults...))
		require.Empty(t, s.Billing.Repeated(), "idempotency keys")
		paths := map[string]bool{}
		for _, call := range s.Billing.Calls() {
			paths[call.Path] = true
		}
		require.True(t, paths[[]string{"/v1/chat/completions", "/v1/messages", "/v1/responses"}[seed%3]], "%v", paths)
	}
}

// speaking generates by one gateway and embeds by another: Messages has no embeddings.
type speaking struct{ generates, embeds inference.Model }

func (s speaking) Generate(ctx context.Context, r inference.Request, token func(string) bool) (inference.Answer,
	error,
) {
	return s.generates.Generate(ctx, r, token)
}

func (s speaking) Embed(ctx context.Context, model string, texts []string, key string) (inference.Vectors, error) {
	return s.embeds.Embed(ctx, model, texts, key)
}

func messagesOf(t *testing.T, s *provider.Server) inference.Model {
	t.Helper()
	g, err := anthropicgw.New(anthropicgw.Options{Name: "p", BaseURL: s.URL, Catalog: s.MessagesCatalog("p")})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

func responsesOf(t *testing.T, s *provider.Server) inference.Model {
	t.Helper()
	g, err := openaigw.New(openaigw.Options{
		Name: "p", BaseURL: s.URL, Responses: true, Catalog: s.ResponsesCatalog("p"),
	})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

// counting adds up the most that the calls of a model may cost while they run.
type counting struct {
	next    inference.Model
	catalog inference.Catalog
	log     *answers.Log

	mu     sync.Mutex
	faults []error
}

// check requires that the call that begins now is counted already.
func (c *counting) check() {
	spent := c.log.Spent()
	c.mu.Lock()
	defer c.mu.Unlock()
	if spent.Open <= 0 {
		c.faults = append(c.faults, fmt.Errorf("a call began while %s was reserved", spent.Open))
	}
}

func (c *counting) Generate(ctx context.Context, r inference.Request,
	token func(string) bool,
) (inference.Answer, error) {
	c.check()
	return c.next.Generate(ctx, r, token)
}

func (c *counting) Embed(ctx context.Context, model string, texts []string, key string) (inference.Vectors, error) {
	c.check()
	return c.next.Embed(ctx, model, texts, key)
}

// Below a spend guard, a recorded answer costs an arm what it cost the first, and the cap of the file refuses as a cap
// of the arm does.
func TestArmsPayForRecordedAnswers(t *testing.T) {
	t.Parallel()
	next := &script{usage: &budget.Tokens{In: 90, Out: 5}}
	most := spend.GenerationCost(catalog["p/model"], request("a"))
	l := openAt(t, newPath(t), most)
	for range 2 {
		store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "arm.db"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		arm := &spend.Guard{Ledger: store.Ledger(), Model: l.Model(next, catalog), Catalog: catalog, Now: time.Now}
		charge := spend.Charge{Step: "s1", Accounts: []budget.Account{{Scope: "arm", Limit: budget.Dollar}}}
		spent := func() budget.Micros {
			b, err := arm.Ledger.Balance(t.Context(), "arm")
			require.NoError(t, err)
			require.Zero(t, b.Reserved)
			return b.Spent
		}
		paid, err := arm.Generate(t.Context(), charge, request("a"), func(string) bool { return true })
		require.NoError(t, err)
		require.EqualValues(t, 100, paid.Cost)
		require.EqualValues(t, 100, spent())
		charge.Step = "s2"
		_, err = arm.Generate(t.Context(), charge, request("b"), func(string) bool { return true })
		over, ok := spend.AsOverCap(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, answers.Scope, over.Scope)
		require.EqualValues(t, 100, spent(), "what was not sent costs nothing")
	}
	require.Equal(t, 1, next.calls())
	require.EqualValues(t, 100, l.Spent().Paid)
}
