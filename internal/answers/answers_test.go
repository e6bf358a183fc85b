package answers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/answers"
)

// price in micro-dollars a million tokens: 1 micro-dollar a token in, 2 a token out.
var price = budget.Price{In: 1_000_000, CachedIn: 1_000_000, Out: 2_000_000}

var catalog = inference.Table{
	"p/model": {
		Name:     "p/model",
		Provider: "p",
		Wire:     "model",
		Price:    &price,
		JSON:     inference.JSONSchema,
	},
	"p/vectors": {
		Name:     "p/vectors",
		Provider: "p",
		Wire:     "vectors",
		Price:    &price,
		Embeds:   true,
	},
	"p/free": {
		Name:     "p/free",
		Provider: "p",
		Wire:     "free",
		Price:    &budget.Price{},
		JSON:     inference.JSONSchema,
	},
	"p/unpriced": {Name: "p/unpriced", Provider: "p", Wire: "unpriced"},
}

// script is a model whose n-th answer differs from all others, so that a replayed answer is known by its text.
type script struct {
	mu       sync.Mutex
	requests []inference.Request
	embedded [][]string
	keys     []string
	space    string            // of its vectors; empty: "p/vectors/2"
	fail     error             // of the next calls; nil for none
	usage    *budget.Tokens    // of each answer; nil: what was served
	logProb  *float64          // of each answer
	pieces   []string          // of each answer; nil: five words
	during   func(piece int)   // called after each piece
	seen     inference.Request // the last
}

var errNoTurn = errors.New("the script was called although everything is recorded")

func (s *script) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys)
}

func (s *script) Generate(ctx context.Context, r inference.Request, token func(string) bool) (inference.Answer, error) {
	s.mu.Lock()
	s.requests, s.keys, s.seen = append(s.requests, r), append(s.keys, r.Key), r
	n, fail := len(s.requests), s.fail
	s.mu.Unlock()
	if fail != nil {
		return inference.Answer{}, fail
	}
	pieces := s.pieces
	if pieces == nil {
		pieces = []string{"answer", fmt.Sprintf(" %d", n), " to", " you", "."}
	}
	a := inference.Answer{
		Finish:    inference.Stopped,
		UsageFrom: inference.ByProvider,
		Effective: r.Sampling.String(),
		Provider:  fmt.Sprintf("id-%d", n),
		Model:     "model-2",
		LogProb:   s.logProb,
		Tokens:    budget.Tokens{In: 1000},
	}
	for i, piece := range pieces {
		if ctx.Err() != nil {
			a.Finish, a.UsageFrom = inference.Cut, inference.ByCount
			return a, fmt.Errorf("cut: %w", context.Cause(ctx))
		}
		a.Text, a.Visible = a.Text+piece, i+1
		a.Tokens.Out++
		if !token(piece) {
			a.Finish, a.UsageFrom = inference.Halted, inference.ByCount
			break
		}
		if s.during != nil {
			s.during(i)
		}
	}
	if s.usage != nil {
		a.Tokens = *s.usage
	}
	return a, nil
}

func (s *script) Embed(_ context.Context, _ string, texts []string, key string) (inference.Vectors, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embedded, s.keys = append(s.embedded, texts), append(s.keys, key)
	if s.fail != nil {
		return inference.Vectors{}, s.fail
	}
	v := inference.Vectors{Space: "p/vectors/2", UsageFrom: inference.ByProvider}
	if s.space != "" {
		v.Space = s.space
	}
	for _, text := range texts {
		sum := fnv.New32a()
		sum.Write([]byte(text))
		v.V = append(v.V, []float32{float32(sum.Sum32()), float32(len(s.embedded))})
		v.Tokens.In += int64(len(text))
	}
	return v, nil
}

func openAt(t *testing.T, path string, most budget.Micros) *answers.Log {
	t.Helper()
	l, err := answers.Open(path, most)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func newPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "answers.jsonl")
}

func request(text string) inference.Request {
	return inference.Request{
		Model: "p/model", MaxTokens: 10, Key: "step#1",
		Messages: []inference.Message{{Role: "user", Content: text}},
	}
}

func generate(t *testing.T, m inference.Model, r inference.Request) inference.Answer {
	t.Helper()
	var pieces []string
	a, err := m.Generate(t.Context(), r, func(p string) bool { pieces = append(pieces, p); return true })
	require.NoError(t, err)
	require.Equal(t, a.Text, strings.Join(pieces, ""))
	return a
}

func TestRecordedAnswersAreGivenAgainWithoutACall(t *testing.T) {
	t.Parallel()
	path, next := newPath(t), &script{logProb: ptr(-.25)}
	l := openAt(t, path, budget.Dollar)
	m := l.Model(next, catalog)
	schema := request("a")
	schema.Schema = &inference.Schema{Name: "s", JSON: json.RawMessage(`{ "type": "object" }`)}
	var first []inference.Answer
	for _, r := range []inference.Request{request("a"), request("b"), request("a"), schema} {
		first = append(first, generate(t, m, r))
	}
	require.Equal(t, 4, next.calls())
	spent := l.Spent()
	require.Equal(t, answers.Spent{Paid: 4 * (1000 + 5*2), Calls: 4}, spent)
	require.NoError(t, l.Close())

	l = openAt(t, path, 0) // no money, no model: nothing is needed for what is recorded
	m = l.Model(&script{fail: errNoTurn}, catalog)
	for i, r := range []inference.Request{request("a"), request("b"), request("a"), schema} {
		r.Key, r.IdleToken = "another", 7
		require.Equal(t, first[i], generate(t, m, r))
	}
	require.Equal(t, answers.Spent{Paid: spent.Paid, Reused: 4}, l.Spent())
	_, err := m.Generate(t.Context(), request("a"), nil)
	refused(t, err, inference.NoMoney)
}

func ptr[T any](v T) *T { return &v }

func refused(t *testing.T, err error, kind inference.Kind) *inference.Failure {
	t.Helper()
	f, ok := inference.AsFailure(err)
	require.True(t, ok, "%v is no failure", err)
	require.Equal(t, kind, f.Kind, f)
	require.False(t, f.Billed)
	require.False(t, f.Again())
	return f
}

// Arms that ask the same see the same draws in the same order, whatever else they ask.
func TestArmsShareAnswers(t *testing.T) {
	t.Parallel()
	next := &script{}
	l := openAt(t, newPath(t), budget.Dollar)
	one, other := l.Model(next, catalog), l.Model(next, catalog)
	a1, a2 := generate(t, one, request("a")), generate(t, one, request("a"))
	require.NotEqual(t, a1.Text, a2.Text)
	generate(t, other, request("b"))
	require.Equal(t, a1, generate(t, other, request("a")))
	require.Equal(t, a2, generate(t, other, request("a")))
	a3 := generate(t, other, request("a"))
	require.Equal(t, a3, generate(t, one, request("a")))
	require.Equal(t, 4, next.calls())
	require.Equal(t, 3, l.Spent().Reused)
}

// Two arms that make one request at the same time buy one answer.
func TestArmsThatAskAtOnceBuyOnce(t *testing.T) {
	t.Parallel()
	next := &script{}
	l := openAt(t, newPath(t), budget.Dollar)
	const arms = 12
	var group sync.WaitGroup
	generated, vectors := make([]inference.Answer, arms), make([]inference.Vectors, arms)
	errs := make([]error, 2*arms)
	for i := range arms {
		m := l.Model(next, catalog)
		group.Go(func() { generated[i], errs[i] = m.Generate(t.Context(), request("a"), nil) })
		group.Go(func() {
			texts := []string{"x", "y", "z"}
			vectors[i], errs[arms+i] = m.Embed(t.Context(), "p/vectors", append(texts[i%3:], texts[:i%3]...), "")
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	for i := range arms {
		require.Equal(t, generated[0], generated[i])
		require.Equal(t, vectors[0].V[0], vectors[i].V[(3-i%3)%3])
	}
	require.Len(t, next.requests, 1)
	texts := map[string]bool{}
	for _, call := range next.embedded {
		for _, text := range call {
			require.False(t, texts[text], "%s is embedded once", text)
			texts[text] = true
		}
	}
}

// A waiting arm buys for itself when the call that it waits for fails.
func TestAnArmBuysWhenTheCallItWaitsForFails(t *testing.T) {
	t.Parallel()
	began, fail := make(chan struct{}), make(chan struct{})
	failing := model(func() (inference.Answer, error) {
		close(began)
		<-fail
		return inference.Answer{}, &inference.Failure{Kind: inference.Unavailable, Billed: true}
	})
	next := &script{}
	l := openAt(t, newPath(t), budget.Dollar)
	var group sync.WaitGroup
	group.Go(func() {
		_, err := l.Model(failing, catalog).Generate(t.Context(), request("a"), nil)
		require.Error(t, err)
	})
	<-began
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	_, err := l.Model(next, catalog).Generate(ctx, request("a"), nil)
	require.ErrorIs(t, err, enough)
	group.Go(func() { generate(t, l.Model(next, catalog), request("a")) })
	close(fail)
	group.Wait()
	require.Equal(t, 1, next.calls())
}

// model is a Model of one function.
type model func() (inference.Answer, error)

func (m model) Generate(context.Context, inference.Request, func(string) bool) (inference.Answer, error) {
	return m()
}

func (m model) Embed(context.Context, string, []string, string) (inference.Vectors, error) {
	_, err := m()
	return inference.Vectors{}, err
}

// Whatever decides an answer makes another request; what does not, does not.
func TestTheCatalogDecidesAnswersToo(t *testing.T) {
	t.Parallel()
	next := &script{}
	l := openAt(t, newPath(t), budget.Dollar)
	generate(t, l.Model(next, catalog), request("a"))
	spec := catalog["p/model"]
	spec.Price, spec.Context, spec.Tokenizer = &budget.Price{In: 5, CachedIn: 5, Out: 5}, 5, "o200k_base"
	generate(t, l.Model(next, inference.Table{"p/model": spec}), request("a"))
	require.Equal(t, 1, next.calls(), "a price decides no answer")
	spec.Wire = "model-3"
	generate(t, l.Model(next, inference.Table{"p/model": spec}), request("a"))
	require.Equal(t, 2, next.calls())
}

func TestTextsAreEmbeddedOnce(t *testing.T) {
	t.Parallel()
	path, next := newPath(t), &script{}
	l := openAt(t, path, budget.Dollar)
	embed := func(m inference.Model, texts ...string) inference.Vectors {
		t.Helper()
		v, err := m.Embed(t.Context(), "p/vectors", texts, "step#1")
		require.NoError(t, err)
		require.Len(t, v.V, len(texts))
		return v
	}
	first := embed(l.Model(next, catalog), "one", "three", "one")
	require.Equal(t, [][]string{{"one", "three"}}, next.embedded, "a text is sent once")
	require.EqualValues(t, 3+5+3, first.Tokens.In)
	second := embed(l.Model(next, catalog), "eleven", "three", "two")
	require.Equal(t, []string{"eleven", "two"}, next.embedded[1])
	require.Equal(t, first.V[1], second.V[1])
	require.EqualValues(t, 6+5+3, second.Tokens.In)
	require.Equal(t, answers.Spent{Paid: 8 + 9, Calls: 2}, l.Spent())
	require.NoError(t, l.Close())

	l = openAt(t, path, 0)
	again := l.Model(&script{fail: errNoTurn}, catalog)
	require.Equal(t, first, embed(again, "one", "three", "one"))
	require.Equal(t, second, embed(again, "eleven", "three", "two"))
	require.Equal(t, answers.Spent{Paid: 17, Reused: 2}, l.Spent())
	_, err := again.Embed(t.Context(), "p/vectors", nil, "")
	refused(t, err, inference.BadRequest)
}

func TestVectorsOfTwoSpacesAreNotMixed(t *testing.T) {
	t.Parallel()
	next := &script{}
	m := openAt(t, newPath(t), budget.Dollar).Model(next, catalog)
	_, err := m.Embed(t.Context(), "p/vectors", []string{"a"}, "")
	require.NoError(t, err)
	next.space = "p/vectors/3"
	_, err = m.Embed(t.Context(), "p/vectors", []string{"a", "b"}, "")
	require.ErrorContains(t, err, "p/vectors/2")
	require.ErrorContains(t, err, "p/vectors/3")
	refused(t, err, inference.BadRequest)
}

// A halted answer is an answer: it ends at the same piece when it is given again.
func TestHaltedAnswersAreGivenAgain(t *testing.T) {
	t.Parallel()
	path, next := newPath(t), &script{pieces: []string{"a", "\xc3", "\xa9b", "", "c"}}
	l := openAt(t, path, budget.Dollar)
	halt := func(m inference.Model, r inference.Request, at int) (inference.Answer, []string) {
		t.Helper()
		var pieces []string
		a, err := m.Generate(t.Context(), r, func(p string) bool {
			pieces = append(pieces, p)
			return len(pieces) < at
		})
		require.NoError(t, err)
		require.Equal(t, strings.Join(pieces, ""), a.Text)
		return a, pieces
	}
	halted, _ := halt(l.Model(next, catalog), request("halted"), 3)
	require.Equal(t, "aéb", halted.Text)
	require.Equal(t, inference.Halted, halted.Finish)
	whole, pieces := halt(l.Model(next, catalog), request("whole"), 9)
	require.Equal(t, next.pieces, pieces)
	require.NoError(t, l.Close())

	l = openAt(t, path, 0)
	again := func(text string, at int) (inference.Answer, []string) {
		t.Helper()
		return halt(l.Model(&script{fail: errNoTurn}, catalog), request(text), at)
	}
	for _, at := range []int{3, 9} {
		a, pieces := again("halted", at)
		require.Equal(t, halted, a)
		require.Equal(t, next.pieces[:3], pieces)
	}
	a, pieces := again("whole", 9)
	require.Equal(t, whole, a)
	require.Equal(t, next.pieces, pieces)
	for at := 1; at <= 5; at++ {
		a, pieces := again("whole", at)
		require.Equal(t, inference.Halted, a.Finish)
		require.Equal(t, next.pieces[:at], pieces)
		require.Equal(t, at, a.Visible)
		require.Equal(t, inference.ByCount, a.UsageFrom, "no provider counted this part")
		require.Equal(t, whole.Tokens, a.Tokens)
	}
}

// A call whose context ended is counted in full, and asked again.
func TestCutCallsAreNoAnswers(t *testing.T) {
	t.Parallel()
	next, wake := &script{}, errors.New("a client connects")
	l := openAt(t, newPath(t), budget.Dollar)
	m := l.Model(next, catalog)
	ctx, cancel := context.WithCancelCause(t.Context())
	next.during = func(piece int) {
		if piece == 1 {
			cancel(wake)
		}
	}
	a, err := m.Generate(ctx, request("a"), nil)
	require.ErrorIs(t, err, wake)
	require.Equal(t, inference.Cut, a.Finish)
	require.Equal(t, 2, a.Visible)
	most := spend.GenerationCost(catalog["p/model"], request("a"))
	require.Equal(t, max(most, 1004), l.Spent().Paid)

	next.during = nil
	whole := generate(t, m, request("a"))
	require.Equal(t, "answer 2 to you.", whole.Text)
	ctx, cancel = context.WithCancelCause(t.Context())
	var pieces []string
	other := l.Model(next, catalog)
	a, err = other.Generate(ctx, request("a"), func(p string) bool {
		pieces = append(pieces, p)
		if len(pieces) == 3 {
			cancel(wake)
		}
		return true
	})
	require.ErrorIs(t, err, wake, "a replay is cut as well")
	require.Equal(t, inference.Cut, a.Finish)
	require.Equal(t, "answer 2 to", a.Text)
	require.Len(t, pieces, 3)
	require.Equal(t, whole, generate(t, other, request("a")), "what was cut is given again")
	require.Equal(t, 2, next.calls())
}

func TestFailuresAreNotRecordedAsAnswers(t *testing.T) {
	t.Parallel()
	next := &script{}
	l := openAt(t, newPath(t), budget.Dollar)
	m := l.Model(next, catalog)
	most := spend.GenerationCost(catalog["p/model"], request("a"))
	vectors := spend.EmbeddingCost(catalog["p/vectors"], spend.EmbeddingRequest("p/vectors", []string{"a"}))
	for _, failure := range []*inference.Failure{
		{Kind: inference.RateLimited, Status: 429},
		{Kind: inference.Broken, Billed: true},
		{Kind: inference.NoMoney, Status: 402},
	} {
		next.fail = failure
		before := l.Spent()
		_, err := m.Generate(t.Context(), request("a"), nil)
		require.ErrorIs(t, err, failure)
		_, err = m.Embed(t.Context(), "p/vectors", []string{"a"}, "")
		require.ErrorIs(t, err, failure)
		counts := budget.Micros(0)
		if failure.Billed {
			counts = most + vectors
		}
		require.Equal(t, before.Paid+counts, l.Spent().Paid, failure.Kind)
		require.Zero(t, l.Spent().Open)
	}
	next.fail = nil
	require.Equal(t, "answer 4 to you.", generate(t, m, request("a")).Text)
	require.Equal(t, "answer 4 to you.", generate(t, l.Model(next, catalog), request("a")).Text)
}

func TestWhatTheProviderDidNotCountCostsTheReservation(t *testing.T) {
	t.Parallel()
	for name, usage := range map[string]budget.Tokens{"too few": {In: 0, Out: 5}, "too many": {In: 1000, Out: 5000}} {
		next := &script{usage: &usage}
		l := openAt(t, newPath(t), budget.Dollar)
		generate(t, l.Model(next, catalog), request("a"))
		want := max(spend.GenerationCost(catalog["p/model"], request("a")), price.Cost(usage))
		require.Equal(t, want, l.Spent().Paid, name)
	}
}

func TestACallBeyondTheCapIsNotSent(t *testing.T) {
	t.Parallel()
	path, next := newPath(t), &script{usage: &budget.Tokens{In: 90, Out: 5}}
	most := spend.GenerationCost(catalog["p/model"], request("a"))
	l := openAt(t, path, most+100)
	m := l.Model(next, catalog)
	generate(t, m, request("a"))
	generate(t, m, request("a"))
	f := refused(t, second(m.Generate(t.Context(), request("a"), nil)), inference.NoMoney)
	over, ok := spend.AsOverCap(f)
	require.True(t, ok)
	require.Equal(t, &spend.OverCap{Scope: answers.Scope, Limit: most + 100, Counted: 200, Asks: most}, over)
	require.Contains(t, f.Message, path)
	require.Contains(t, f.Message, over.Error())
	require.Contains(t, f.Remedy, (most + 100).String())
	refused(t, second(m.Embed(t.Context(), "p/vectors", []string{strings.Repeat("long ", 100)}, "")), inference.NoMoney)
	free := request("a")
	free.Model = "p/free"
	generate(t, m, free)
	require.Equal(t, 3, next.calls())
	require.NoError(t, l.Close())

	l = openAt(t, path, most+200)
	generate(t, l.Model(next, catalog), request("b"))
	require.NoError(t, l.Close())
	l = openAt(t, path, 100)
	generate(t, l.Model(next, catalog), free)
	refused(t, second(l.Model(next, catalog).Generate(t.Context(), request("c"), nil)), inference.NoMoney)
	_, err := answers.Open(newPath(t), -1)
	require.ErrorContains(t, err, "the cap is -1 micro-dollars; it must not be negative")
}

func second[T any](_ T, err error) error { return err }

func TestUnknownAndUnpricedModelsAreRefused(t *testing.T) {
	t.Parallel()
	next := &script{}
	m := openAt(t, newPath(t), budget.Unlimited).Model(next, catalog)
	for name, kind := range map[string]inference.Kind{"p/none": inference.Unknown, "p/unpriced": inference.Unpriced} {
		r := request("a")
		r.Model = name
		refused(t, second(m.Generate(t.Context(), r, nil)), kind)
		refused(t, second(m.Embed(t.Context(), name, []string{"a"}, "")), kind)
	}
	r := request("a")
	r.Schema = &inference.Schema{JSON: json.RawMessage(`{`)}
	generate(t, m, r) // no JSON, but a text like any other
	r.Steering = &inference.Steering{Alpha: nan}
	refused(t, second(m.Generate(t.Context(), r, nil)), inference.BadRequest)
	require.Equal(t, 1, next.calls())
}

var nan = func() float64 { zero := 0.0; return zero / zero }()

// No two calls of any file send the same idempotency key, and the caller's own key is not sent.
func TestCallsHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	next := &script{}
	paths := []string{newPath(t), newPath(t)}
	for round := range 3 {
		for _, path := range paths {
			l := openAt(t, path, budget.Dollar)
			m := l.Model(next, catalog)
			next.fail = &inference.Failure{Kind: inference.Unavailable}
			require.Error(t, second(m.Generate(t.Context(), request(fmt.Sprint(round)), nil)))
			next.fail = nil
			generate(t, m, request(fmt.Sprint(round)))
			require.NoError(t, l.Close())
		}
	}
	seen := map[string]bool{"step#1": true, "": true}
	for _, key := range next.keys {
		require.False(t, seen[key], key)
		seen[key] = true
	}
	require.Len(t, next.keys, 2*3*2)
}

func TestVectorsThatAreIncompleteAreAFailure(t *testing.T) {
	t.Parallel()
	l := openAt(t, newPath(t), budget.Dollar)
	empty := model(func() (inference.Answer, error) { return inference.Answer{}, nil })
	_, err := l.Model(empty, catalog).Embed(t.Context(), "p/vectors", []string{"a"}, "")
	f, ok := inference.AsFailure(err)
	require.True(t, ok)
	require.Equal(t, inference.Malformed, f.Kind)
	require.Positive(t, l.Spent().Paid)
}

func TestNumbersThatJSONLacksAreLeftOut(t *testing.T) {
	t.Parallel()
	next := &script{logProb: &nan}
	l := openAt(t, newPath(t), budget.Dollar)
	a := generate(t, l.Model(next, catalog), request("a"))
	require.Nil(t, a.LogProb)
	require.Equal(t, a, generate(t, l.Model(next, catalog), request("a")))
	require.Equal(t, 1, next.calls())
}

func TestAClosedFileIsFreeAlthoughAStartingProgramInheritedIt(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	l := openAt(t, path, budget.Dollar)
	folder, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var numbers []int // all before one is copied: a copy takes the number of a file that was closed meanwhile
	for _, each := range folder {
		to, err := os.Readlink(filepath.Join("/proc/self/fd", each.Name()))
		if err != nil || to != path {
			continue
		}
		number, err := strconv.Atoi(each.Name())
		require.NoError(t, err)
		numbers = append(numbers, number)
	}
	require.Len(t, numbers, 1)
	inherited, err := syscall.Dup(numbers[0])
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Close(inherited)) }()
	require.NoError(t, l.Close())
	require.NoError(t, openAt(t, path, budget.Dollar).Close())
}

func TestAFileIsOpenOnce(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	l := openAt(t, path, budget.Dollar)
	_, err := answers.Open(path, budget.Dollar)
	require.ErrorContains(t, err, path+": another process has the file open; wait until it has ended")
	require.NoError(t, l.Close())
	require.NoError(t, openAt(t, path, budget.Dollar).Close())
	m := l.Model(&script{}, catalog)
	require.ErrorContains(t, second(m.Generate(t.Context(), request("a"), nil)), "the file is closed")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestAnotherFileIsRefusedAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"prose":             "Dear diary,\ntoday I slept.\n",
		"a line of prose":   "Dear diary",
		"JSON lines":        `{"id":"ep_1"}` + "\n" + `{"id":"ep_2"}` + "\n",
		"a long line":       strings.Repeat("x", 100_000),
		"only a line feed":  "\n",
		"another format":    `{"format":"other","version":1,"id":"x","crc":"00000000"}` + "\n",
		"a changed header":  `{"format":"oneiros-answers","version":1,"id":"x","crc":"00000000"}` + "\n",
		"no checksum":       `{"format":"oneiros-answers","version":1,"id":"x"}` + "\n",
		"the next version":  `{"format":"oneiros-answers","version":2,"id":"x","crc":"00000000"}` + "\n",
		"torn and not ours": `{"format":"oneiros-answers","version":2,`,
	} {
		path := newPath(t)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := answers.Open(path, budget.Dollar)
		require.ErrorContains(t, err, path+": line 1: ", name)
		if name == "the next version" {
			require.ErrorContains(t, err, "the file has version 2; this program reads version 1")
		}
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(left), name)
	}
	_, err := answers.Open(t.TempDir(), budget.Dollar)
	require.Error(t, err)
	_, err = answers.Open(os.DevNull, budget.Dollar)
	require.ErrorContains(t, err, "no regular file")
	_, err = answers.Open(filepath.Join(t.TempDir(), "no", "such"), budget.Dollar)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// recorded is a file with an answer, a failure, vectors and a reservation without an end, and the places where its
// lines end.
func recorded(t *testing.T) []byte {
	t.Helper()
	path, next := newPath(t), &script{}
	l := openAt(t, path, budget.Dollar)
	m := l.Model(next, catalog)
	generate(t, m, request("a"))
	next.fail = &inference.Failure{Kind: inference.RateLimited}
	require.Error(t, second(m.Generate(t.Context(), request("b"), nil)))
	next.fail = nil
	require.NoError(t, second(m.Embed(t.Context(), "p/vectors", []string{"a", "bc"}, "")))
	var text []byte
	killed := model(func() (inference.Answer, error) {
		var err error
		text, err = os.ReadFile(path) // what SIGKILL would leave now
		return inference.Answer{}, err
	})
	require.NoError(t, second(l.Model(killed, catalog).Generate(t.Context(), request("c"), nil)))
	return text
}

// A file that was cut off anywhere opens with all lines before the cut, and can be continued.
func TestATornFileIsContinued(t *testing.T) {
	t.Parallel()
	whole := recorded(t)
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	require.Len(t, lines, 1+2+2+4+1)
	for cut := range len(whole) + 1 {
		nearEnd := strings.Contains(string(whole[max(0, cut-2):min(len(whole), cut+2)]), "\n")
		if !nearEnd && cut%17 != 0 && cut < len(whole) {
			continue
		}
		path := newPath(t)
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o600))
		l, err := answers.Open(path, budget.Dollar)
		require.NoError(t, err, "cut at byte %d", cut)
		spent := l.Spent()
		require.NoError(t, l.Close())
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		kept := whole[:strings.LastIndex(string(whole[:cut]), "\n")+1]
		if len(kept) == 0 {
			require.Equal(t, 1, strings.Count(string(left), "\n"), "a new header")
			continue
		}
		require.Equal(t, string(kept), string(left))
		for i, before := 1, len(lines[0]); i < len(lines); i++ {
			reserved := strings.HasPrefix(lines[i], `{"reserve"`)
			before += len(lines[i])
			if reserved && before == len(kept) {
				require.Positive(t, spent.Open, "a reservation counts once it is in the file")
			}
		}
	}
	path := newPath(t)
	require.NoError(t, os.WriteFile(path, whole[:len(whole)-7], 0o600))
	next := &script{}
	l := openAt(t, path, budget.Dollar)
	generate(t, l.Model(next, catalog), request("c"))
	require.NoError(t, l.Close())
	l = openAt(t, path, budget.Dollar)
	generate(t, l.Model(next, catalog), request("c"))
	require.Equal(t, 1, next.calls())
}

// A changed, lost, repeated or exchanged line is found, and named.
func TestAChangedFileIsRefused(t *testing.T) {
	t.Parallel()
	whole := string(recorded(t))
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	open := func(text string) error {
		path := newPath(t)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		l, err := answers.Open(path, budget.Dollar)
		if err != nil {
			require.ErrorContains(t, err, path+": line ")
			return err
		}
		return l.Close()
	}
	require.NoError(t, open(whole))
	for at := range len(whole) - 1 {
		changed := []byte(whole)
		changed[at] ^= 1 + byte(at%100)
		require.Error(t, open(string(changed)), "byte %d", at)
	}
	for i := range len(lines) - 1 {
		lost := append(append([]string(nil), lines[:i]...), lines[i+1:]...)
		require.Error(t, open(strings.Join(lost, "")), "line %d lost", i+1)
		exchanged := append([]string(nil), lines...)
		exchanged[i], exchanged[i+1] = lines[i+1], lines[i]
		require.ErrorContains(t, open(strings.Join(exchanged, "")), fmt.Sprintf("line %d: ", i+1))
		doubled := append(append([]string(nil), lines[:i+1]...), lines[i:]...)
		require.ErrorContains(t, open(strings.Join(doubled, "")), fmt.Sprintf("line %d: ", i+2))
	}
}
