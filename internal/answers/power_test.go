package answers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// disk is a file that loses at a power cut what was not synced.
type disk struct {
	data   []byte
	synced int
	lazy   bool // the control: Sync does nothing
	full   int  // bytes that fit; 0: no limit
	bad    bool // Sync fails
	onSync func()
}

func (d *disk) ReadAt(p []byte, at int64) (int, error) { return bytes.NewReader(d.data).ReadAt(p, at) }

func (d *disk) Write(p []byte) (int, error) {
	if d.full > 0 && len(d.data)+len(p) > d.full {
		n := d.full - len(d.data)
		d.data = append(d.data, p[:n]...)
		return n, errDisk
	}
	d.data = append(d.data, p...)
	return len(p), nil
}

var errDisk = errors.New("no space left on device")

func (d *disk) Sync() error {
	if d.bad {
		return errDisk
	}
	if d.onSync != nil {
		d.onSync()
	}
	if !d.lazy {
		d.synced = len(d.data)
	}
	return nil
}

func (d *disk) Truncate(size int64) error {
	d.data = d.data[:size]
	d.synced = min(d.synced, len(d.data))
	return nil
}

func (d *disk) Close() error { return nil }

// afterPowerCut is what may be left.
func (d *disk) afterPowerCut(draw *rapid.T) []byte {
	return bytes.Clone(d.data[:rapid.IntRange(d.synced, len(d.data)).Draw(draw, "left")])
}

// A token costs 1 micro-dollar.
var testCatalog = inference.Table{
	"p/m": {Name: "p/m", Wire: "m", Price: &budget.Price{In: 1e6, CachedIn: 1e6, Out: 1e6}},
	"p/v": {Name: "p/v", Wire: "v", Price: &budget.Price{In: 1e6, CachedIn: 1e6, Out: 1e6}, Embeds: true},
}

// unsteady is a model that fails in every way, and a power cut may come while it answers. It bills for all that it may.
type unsteady struct {
	how    func() string // the next call ends
	billed budget.Micros
	calls  int
}

var ends = []string{"answer", "answer", "answer", "uncounted", "refused", "broken", "cut", "power cut"}

// powerCut is thrown in the middle of a call.
type powerCut struct{}

// serve bills a call and says how it ends.
func (u *unsteady) serve(tokens budget.Tokens) (int, inference.UsageFrom, error) {
	u.calls++
	how := u.how()
	if how != "refused" {
		u.billed += budget.Micros(tokens.In + tokens.Out)
	}
	switch how {
	case "power cut":
		panic(powerCut{})
	case "refused":
		return 0, "", &inference.Failure{Kind: inference.RateLimited}
	case "broken":
		return 0, "", &inference.Failure{Kind: inference.Broken, Billed: true}
	case "cut":
		return 0, "", fmt.Errorf("cut: %w", context.Canceled)
	case "uncounted":
		return u.calls, inference.ByCount, nil
	}
	return u.calls, inference.ByProvider, nil
}

func (u *unsteady) Generate(_ context.Context, r inference.Request, token func(string) bool) (inference.Answer, error) {
	tokens := budget.Tokens{In: int64(len(r.Messages[0].Content)), Out: int64(r.MaxTokens)}
	n, from, err := u.serve(tokens)
	if err != nil {
		return inference.Answer{}, err
	}
	text := fmt.Sprint("answer ", n)
	token(text)
	return inference.Answer{
		Text:      text,
		Finish:    inference.Stopped,
		Tokens:    tokens,
		UsageFrom: from,
		Visible:   1,
	}, nil
}

func (u *unsteady) Embed(_ context.Context, _ string, texts []string, _ string) (inference.Vectors, error) {
	tokens := budget.Tokens{In: int64(len(strings.Join(texts, "")))}
	n, from, err := u.serve(tokens)
	if err != nil {
		return inference.Vectors{}, err
	}
	v := inference.Vectors{Space: "s", Tokens: tokens, UsageFrom: from}
	for range texts {
		v.V = append(v.V, []float32{float32(n)})
	}
	return v, nil
}

// run is one process after another on the same disk; each is ended by a power cut.
type run struct {
	draw  *rapid.T
	model unsteady
	most  budget.Micros
	left  []byte            // on the disk after the last power cut
	given map[string]string // answers that an arm was given, by request and number
}

// process opens the file and asks, until a power cut. It returns what was wrong.
func (r *run) process(lazy bool) (fault string) {
	d := &disk{data: r.left, synced: len(r.left), lazy: lazy}
	defer func() {
		if thrown := recover(); thrown != nil && thrown != any(powerCut{}) {
			panic(thrown) // rapid's own, or a bug
		}
		r.left = d.afterPowerCut(r.draw)
	}()
	l, err := open(d, int64(len(d.data)), "memory", r.most)
	if err != nil {
		return err.Error()
	}
	spent := l.Spent()
	if counted := spent.Paid + spent.Open; counted < r.model.billed || counted > r.most {
		return fmt.Sprintf("counted %d, billed %d, cap %d", counted, r.model.billed, r.most)
	}
	m, nth := l.Model(&r.model, testCatalog), map[string]int{}
	for range rapid.IntRange(0, 8).Draw(r.draw, "requests") {
		kind := rapid.SampledFrom([]string{"generate", "embed"}).Draw(r.draw, "kind")
		text := rapid.SampledFrom([]string{"a", "bb", "ccc"}).Draw(r.draw, "text")
		given, err := ask(context.Background(), m, kind, text)
		if err != nil {
			continue
		}
		about := kind + text
		if kind == "generate" {
			about += fmt.Sprint(nth[text])
			nth[text]++
		}
		before, found := r.given[about]
		if found && before != given {
			return fmt.Sprintf("%s was answered %s and then %s", about, before, given)
		}
		r.given[about] = given
	}
	return ""
}

func ask(ctx context.Context, m inference.Model, kind, text string) (string, error) {
	if kind == "generate" {
		a, err := m.Generate(ctx, inference.Request{
			Model: "p/m", MaxTokens: 9, Messages: []inference.Message{{Role: "user", Content: text}},
		}, nil)
		return a.Text, err
	}
	v, err := m.Embed(ctx, "p/v", []string{text}, "")
	return fmt.Sprint(v.V), err
}

// powerCuts says what was wrong in one run; empty when nothing was.
func powerCuts(draw *rapid.T, lazy bool) string {
	r := &run{
		draw:  draw,
		model: unsteady{how: func() string { return rapid.SampledFrom(ends).Draw(draw, "how") }},
		most:  budget.Micros(rapid.IntRange(0, 600).Draw(draw, "most")),
		given: map[string]string{},
	}
	for range rapid.IntRange(1, 6).Draw(draw, "processes") {
		if fault := r.process(lazy); fault != "" {
			return fault
		}
	}
	if fault := r.process(lazy); fault != "" {
		return fault
	}
	if r.model.billed > r.most {
		return fmt.Sprintf("billed %d of %d", r.model.billed, r.most)
	}
	return ""
}

// A power cut at any moment, in which all is lost that was not synced, makes nothing counted below what was billed, and
// loses no answer that was given.
func TestAPowerCutLosesNoMoneyAndNoAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(draw *rapid.T) { require.Empty(draw, powerCuts(draw, false)) })
}

// The proof sees a log that does not sync.
func TestAPowerCutSpoilsALogThatDoesNotSync(t *testing.T) {
	t.Parallel()
	spoiled := 0
	for seed := range 100 {
		if rapid.Custom(func(draw *rapid.T) string { return powerCuts(draw, true) }).Example(seed) != "" {
			spoiled++
		}
	}
	require.Greater(t, spoiled, 20)
}

// Where the disk is full nothing is sent, what was paid stays counted, and the file opens again.
func TestAFullDiskStopsTheLog(t *testing.T) {
	t.Parallel()
	sentNothing, kept := 0, 0
	for full := 100; full < 1200; full += 7 {
		d := &disk{full: full}
		l, err := open(d, 0, "memory", budget.Dollar)
		if err != nil {
			require.ErrorIs(t, err, errDisk)
			continue
		}
		calls := 0
		next := &unsteady{how: func() string { calls++; return ends[(full+calls)%(len(ends)-1)] }}
		m := l.Model(next, testCatalog)
		for i := range 12 {
			before := next.calls
			_, err := ask(t.Context(), m, []string{"generate", "embed"}[i%2], strings.Repeat("x", i+1))
			if errors.Is(err, errDisk) && next.calls == before {
				sentNothing++
			}
		}
		d.full = 0
		again, err := open(d, int64(len(d.data)), "memory", budget.Dollar)
		require.NoError(t, err)
		spent := again.Spent()
		require.GreaterOrEqual(t, spent.Paid+spent.Open, next.billed)
		kept++
	}
	require.Greater(t, sentNothing, 100)
	require.Greater(t, kept, 50)
}

func TestAFailedSyncStopsTheLog(t *testing.T) {
	t.Parallel()
	d := &disk{}
	l, err := open(d, 0, "memory", budget.Dollar)
	require.NoError(t, err)
	d.bad = true
	next := &unsteady{}
	_, err = ask(t.Context(), l.Model(next, testCatalog), "generate", "a")
	require.ErrorIs(t, err, errDisk)
	d.bad = false
	_, err = ask(t.Context(), l.Model(next, testCatalog), "embed", "a")
	require.ErrorIs(t, err, errDisk, "what a failed sync left is not known")
	f, failed := inference.AsFailure(err)
	require.True(t, failed)
	require.False(t, f.Again())
	require.Zero(t, next.calls)
}

// A call whose context ends while its reservation is written is not sent and costs nothing.
func TestACallThatEndsBeforeItIsSentCostsNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"generate", "embed"} {
		d, next := &disk{}, &unsteady{how: func() string { return "answer" }}
		l, err := open(d, 0, "memory", budget.Dollar)
		require.NoError(t, err)
		m := l.Model(next, testCatalog)
		ctx, cancel := context.WithCancel(t.Context())
		d.onSync = cancel
		_, err = ask(ctx, m, kind, "a")
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, next.calls)
		require.Zero(t, l.Spent())
		_, err = ask(t.Context(), m, kind, "a")
		require.NoError(t, err)
		require.Equal(t, 1, next.calls)
		require.Equal(t, Spent{Paid: next.billed, Calls: 1}, l.Spent())
	}
}
