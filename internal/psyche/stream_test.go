package psyche_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// written is a log that may be read while it is written.
type written struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// upstream replaces the provider by a real gateway to a server.
func upstream(t testing.TB, model string, serve http.HandlerFunc) func(*psyche.Ports, *psyche.Options) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	profile, err := openaigw.ProfileOf("")
	require.NoError(t, err)
	g, err := openaigw.New(openaigw.Options{
		Name:    "p",
		BaseURL: server.URL + "/v1",
		APIKey:  "secret-of-the-server",
		Catalog: catalogue(),
		Profile: profile,
	})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return func(p *psyche.Ports, o *psyche.Options) {
		p.Relay, o.Talker = inference.Relays{Catalog: catalogue(), Providers: map[string]inference.Relay{"p": g}}, model
	}
}

const (
	chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}],\"usage\":null}\n\n"
	final = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n"
	usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":3}}\n\n"
	done  = "data: [DONE]\n\n"
)

func streaming(text string) string {
	return fmt.Sprintf(`{"model":"echo","stream":true,"messages":[{"role":"user","content":%q}]}`, text)
}

func (r *rig) rows() []spend.Row {
	r.t.Helper()
	rows, err := r.store.Ledger().Rows(r.t.Context(), spend.Query{})
	require.NoError(r.t, err)
	return rows
}

// TestTheProviderGetsJSONsContentTypeWhateverTheClientSent -d calls every body a form, and providers refuse JSON with
// that content type.
func TestTheProviderGetsJSONsContentTypeWhateverTheClientSent(t *testing.T) {
	t.Parallel()
	var kinds []string
	r := setup(t, upstream(t, "p/dear", func(w http.ResponseWriter, q *http.Request) {
		kinds = append(kinds, q.Header.Get("Content-Type")+" "+q.Header.Get("Traceparent"))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chunk+final+usage+done)
	}))
	for _, h := range []http.Header{
		nil,
		{"Traceparent": {"mine"}, "X-Forwarded-User": {"ann"}},
		{"Content-Type": {"application/x-www-form-urlencoded"}},
		{"Content-Type": {"text/plain; charset=utf-8"}},
	} {
		q := turn(ann, streaming("Hi"))
		q.Header = h
		r.talk(q)
		r.settle()
	}
	require.Equal(t, []string{"application/json ", "application/json mine", "application/json ", "application/json "},
		kinds)
}

// A paid stream is asked for its usage, and the client sees nothing of that.
func TestAPaidStreamIsSettledByUsageThatTheClientDidNotAskFor(t *testing.T) {
	t.Parallel()
	var questions []string
	r := setup(t, upstream(t, "p/dear", func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		questions = append(questions, string(body))
		if q.Header.Get("Authorization") != "Bearer secret-of-the-server" || q.Header.Get("X-Oneiros-Agent") != "" {
			w.WriteHeader(http.StatusTeapot)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chunk+chunk+chunk+final+usage+done)
	}))
	for i, c := range []struct{ body, sent, got string }{
		{
			streaming("Hi"),
			`{"max_tokens":8192,"stream_options":{"include_usage":true},"model":"dear-model","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
			chunk + chunk + chunk + final + done,
		},
		{
			`{"model":"echo","stream":true,"stream_options":{"x":1},"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"dear-model","stream":true,"stream_options":{"include_usage":true,"x":1},"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
			chunk + chunk + chunk + final + done,
		},
		{
			`{"model":"echo","stream":true,"stream_options":{},"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"dear-model","stream":true,"stream_options":{"include_usage":true},"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
			chunk + chunk + chunk + final + done,
		},
		{
			`{"model":"echo","stream":true,"stream_options":{"include_usage":false},"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"dear-model","stream":true,"stream_options":{"include_usage":true},"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
			chunk + chunk + chunk + final + done,
		},
		{
			`{"model":"echo","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
			`{"model":"dear-model","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
			chunk + chunk + chunk + final + usage + done,
		},
	} {
		q := turn(ann, c.body)
		q.Header.Set("Authorization", "Bearer the-callers-own")
		q.Header.Set("X-Oneiros-Agent", "echo")
		got, _ := r.talk(q)
		require.Equal(t, c.sent, questions[i])
		require.Equal(t, c.got, got)
		r.settle()
		row := r.rows()[i]
		require.Equal(t, spend.Settled, row.State)
		require.Equal(t, budget.Micros(26), row.Counted)
		require.Equal(t, "talk", row.Phase)
		require.True(t, strings.HasPrefix(row.Step, "talk/ag_echo/"))
		require.Equal(t, "2026-11-20", row.Day)
	}
}

func TestTheSieveRemovesUsageHoweverTheBytesAreCut(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"\n\n", "\r\n\r\n"} {
		all := strings.ReplaceAll(chunk+final+usage+done, "\n\n", event)
		want := strings.ReplaceAll(chunk+final+done, "\n\n", event)
		for _, cut := range []func(io.Reader) io.Reader{
			iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
			func(r io.Reader) io.Reader { return r },
		} {
			r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Talker = "p/dear" })
			r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
				return 200, "text/event-stream", io.NopCloser(cut(strings.NewReader(all)))
			}
			got, _ := r.talk(turn(ann, streaming("Hi")))
			require.Equal(t, want, got)
		}
	}
}

// A client that hangs up stops the provider, and what was reserved counts.
func TestAClientThatHangsUpStopsTheProviderAndItsReservationCounts(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	r := setup(t, upstream(t, "p/dear", func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chunk)
		w.(http.Flusher).Flush()
		<-q.Context().Done()
		close(stopped)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reply, err := r.Chat(ctx, turn(ann, streaming("Remember that my cat is called Tom and eats fish on Friday.")))
	require.NoError(t, err)
	_, err = io.ReadFull(reply.Body, make([]byte, len(chunk)))
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close(), "closing is hanging up")
	<-stopped
	r.settle()
	rows := r.rows()
	require.Len(t, rows, 1)
	require.Equal(t, spend.Partial, rows[0].State)
	require.Equal(t, rows[0].Reserved, rows[0].Counted)
	require.Len(t, r.episodes(), 1, "what the user said is remembered, half a reply is not")
}

func TestTwoHundredStreamsThatAreDroppedLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	var open sync.WaitGroup
	r := setup(t, upstream(t, "p/free", func(w http.ResponseWriter, q *http.Request) {
		open.Add(1)
		defer open.Done()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chunk)
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	}))
	var clients sync.WaitGroup
	for i := range 200 {
		clients.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			reply, err := r.Chat(ctx, turn(caller("key", fmt.Sprint(i)), streaming("Hi")))
			if err != nil {
				t.Error(err)
				cancel()
				return
			}
			_, _ = reply.Body.Read(make([]byte, 10))
			cancel()
			_, _ = io.ReadAll(reply.Body)
			_ = reply.Body.Close()
		})
	}
	clients.Wait()
	open.Wait()
	r.settle()
}

func TestAProvidersRefusalKeepsItsStatusAndShape(t *testing.T) {
	t.Parallel()
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Talker = "p/dear" })
	const refusal = `{"error":{"message":"slow down","type":"rate_limit","code":"x"}}`
	r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
		return 429, "application/json", io.NopCloser(strings.NewReader(refusal))
	}
	reply, err := r.Chat(t.Context(), turn(ann, streaming("Hi")))
	require.NoError(t, err)
	require.Equal(t, 429, reply.Status)
	require.Empty(t, reply.Header.Get("Openai-Organization"), "the account is the server's own business")
	require.Equal(t, "application/json", reply.Header.Get("Content-Type"))
	body, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.Equal(t, refusal, string(body))
	require.NoError(t, reply.Body.Close())
	r.settle()
	require.Equal(t, spend.Refused, r.rows()[0].State)
	require.Empty(t, r.episodes())
}

func TestAPageInPlaceOfAnAnswerIsAFaultThatSaysWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	for _, body := range []string{streaming("Hi"), chat("Hi")} {
		r := setup(t, upstream(t, "p/free", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>Sign in</html>")
		}))
		_, err := r.Chat(t.Context(), turn(ann, body))
		faulty(t, err, 502, "malformed")
		var f *psyche.Fault
		require.ErrorAs(t, err, &f)
		require.Equal(t, "upstream_error", f.Type)
		require.Contains(t, f.Message, `provider "p" answered HTTP 200 with a page (text/html)`)
		r.settle()
		require.Empty(t, r.episodes())
	}
}

func TestAProviderThatDoesNotAnswerIsAFaultOfItsOwn(t *testing.T) {
	t.Parallel()
	r := setup(t, upstream(t, "p/dear", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	_, err := r.Chat(t.Context(), turn(ann, streaming("Hi")))
	faulty(t, err, 502, "broken")
	require.Equal(t, spend.Lost, r.rows()[0].State, "nobody knows what was billed")
}

// The agent's day and month, the fleet and the key each refuse what would exceed them, before a byte is sent.
func TestEveryCapRefusesATurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*psyche.Options, *psyche.Caller, *dream.Agent)
		scope  string
		says   string
	}{
		{
			"the agent's day",
			func(_ *psyche.Options, _ *psyche.Caller, a *dream.Agent) { a.Caps = dream.Caps{Month: 1000} },
			"day:ag_echo/2026-11-20", "$0.00 a day that the agent has",
		},
		{
			"the fleet", func(o *psyche.Options, _ *psyche.Caller, _ *dream.Agent) { o.FleetDay = 10 },
			"fleet:2026-11-20", "$0.00001 a day that all agents have together",
		},
		{
			"the deployment's for keys",
			func(o *psyche.Options, _ *psyche.Caller, _ *dream.Agent) { o.KeyDay = new(budget.Micros) },
			"key:key_a/2026-11-20", "$0.00 a day that this key has",
		},
		{
			"the key's own",
			func(_ *psyche.Options, c *psyche.Caller, _ *dream.Agent) { c.Key.Day = new(budget.Micros) },
			"key:key_a/2026-11-20", "$0.00 a day that this key has",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			who := ann
			var o psyche.Options
			var a dream.Agent
			r := setup(t, func(_ *psyche.Ports, options *psyche.Options) {
				options.Talker = "p/dear"
				c.change(options, &who, &a)
				o = *options
			})
			if a.Caps != (dream.Caps{}) {
				r.agent.Caps = a.Caps
				require.NoError(t, r.store.PutAgent(t.Context(), r.agent))
			}
			_, err := r.Chat(t.Context(), turn(who, chat("Hi")))
			faulty(t, err, 429, "insufficient_quota")
			over, ok := spend.AsOverCap(err)
			require.True(t, ok)
			require.Equal(t, c.scope, over.Scope)
			var result *psyche.Fault
			require.ErrorAs(t, err, &result)
			require.Contains(t, result.Message, c.says)
			require.Contains(t, result.Message, "max_tokens")
			require.Empty(t, r.provider.bodies)
			require.NotEmpty(t, o.Talker)
		})
	}
}

func TestAModelThatThinksIsGivenRoomForIt(t *testing.T) {
	t.Parallel()
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Talker, o.Answer, o.Thinking = "p/thinker", 100, 1000 })
	r.talk(turn(ann, chat("Hi")))
	require.Contains(t, r.provider.last(t), `{"max_completion_tokens":1100,"model":"thinker"`)
	r.settle()
	r.talk(turn(ann, `{"model":"echo","max_tokens":10,"n":3,"messages":[{"role":"user","content":"Hi"}]}`))
	r.settle()
	in := func(body string) int64 { return int64(len(body) + 16) }
	rows := r.rows()
	require.Equal(t, dear.Worst(in(chat("Hi")), 1100+spend.Overrun), rows[0].Reserved)
	require.Equal(t,
		dear.Worst(in(`{"model":"echo","max_tokens":10,"n":3,"messages":[{"role":"user","content":"Hi"}]}`),
			3*1010+spend.Overrun), rows[1].Reserved)
}

// An open stream holds the agent awake for as long as it lasts, and a request for client_timeout after its end.
func TestAStreamHoldsTheAgentAwakeForAsLongAsItLasts(t *testing.T) {
	t.Parallel()
	// the service's own renewal does not run
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Hold = time.Hour })
	pipe, feed := io.Pipe()
	r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
		return 200, "text/event-stream", pipe
	}
	reply, err := r.Chat(t.Context(), turn(ann, streaming("Hi")))
	require.NoError(t, err)
	until := func() time.Time {
		s, err := r.nights.Status(t.Context(), r.agent.ID)
		require.NoError(t, err)
		return s.Until()
	}
	psyche.Tend(t.Context(), r.Service)
	require.Equal(t, 1, r.nights.woken(), "the lease is fresh")
	for range 10 {
		r.clock.pass(25 * time.Minute)
		psyche.Tend(t.Context(), r.Service)
		require.Equal(t, r.clock.now().Add(time.Hour), until())
	}
	r.clock.pass(time.Minute)
	go func() {
		_, _ = io.WriteString(feed, done)
		_ = feed.Close()
	}()
	_, err = io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	end := r.clock.now().Add(time.Hour)
	r.clock.pass(25 * time.Minute)
	psyche.Tend(t.Context(), r.Service)
	require.Equal(t, end, until(), "client_timeout after its end")
	wakes := r.nights.woken()
	r.clock.pass(50 * time.Minute)
	psyche.Tend(t.Context(), r.Service)
	require.Equal(t, wakes, r.nights.woken(), "nobody is there any more")
}

func TestALeaseThatAnOperatorEndedStaysEndedUntilTheClientAsks(t *testing.T) {
	t.Parallel()
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Hold = time.Hour })
	r.talk(turn(ann, chat("Hi")))
	r.clock.pass(10 * time.Minute)
	r.talk(turn(ann, chat("Hi")))
	_, err := r.store.Dismiss(t.Context(), r.agent.ID, r.clock.now())
	require.NoError(t, err)
	r.clock.pass(20 * time.Minute)
	psyche.Tend(t.Context(), r.Service)
	require.Equal(t, 1, r.nights.woken())
	_, report := r.talk(turn(ann, chat("Hi")))
	require.True(t, report.Woke)
}

func TestALeaseEndedElsewhereIsNoticedByTheNextTurn(t *testing.T) {
	t.Parallel()
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Hold = time.Hour })
	r.talk(turn(ann, chat("Hi")))
	_, report := r.talk(turn(ann, chat("Hi again")))
	require.Equal(t, 1, r.nights.woken(), "the lease is fresh and still held")
	require.False(t, report.Woke)
	ended := func() int64 {
		status, err := r.store.Dismiss(t.Context(), r.agent.ID, r.clock.now())
		require.NoError(t, err)
		return status.Epoch
	}
	r.Reread(presence.WakeNotice{Agent: r.agent.ID, Epoch: ended()})
	_, report = r.talk(turn(ann, chat("Hi once more")))
	require.Equal(t, 2, r.nights.woken(), "another process ended the lease, and told")
	require.True(t, report.Woke)

	r.talk(turn(ann, chat("How are you?")))
	ended()
	_, report = r.talk(turn(ann, chat("And now?")))
	require.False(t, report.Woke, "the notice was lost, and the store was asked a moment ago")
	r.clock.pass(time.Second)
	_, report = r.talk(turn(ann, chat("And now?")))
	require.True(t, report.Woke)
}

func TestALeaseCountsAsHeldWhileTheStoreDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Hold = time.Hour })
	r.talk(turn(ann, chat("Hi")))
	r.nights.statusFails(errors.New("the store is away"))
	r.talk(turn(ann, chat("Hi again")))
	require.Equal(t, 1, r.nights.woken())
}

// held is a store whose searches block until released.
type held struct {
	memory.Store
	gate  chan struct{}
	err   error
	agent string // whose searches; empty: everybody's
}

func (h *held) Near(ctx context.Context, q memory.Near) ([]memory.Hit, error) {
	if h.agent != "" && q.Agent != h.agent {
		return h.Store.Near(ctx, q)
	}
	select {
	case <-h.gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if h.err != nil {
		return nil, h.err
	}
	return h.Store.Near(ctx, q)
}

func (h *held) Search(ctx context.Context, q memory.Search) (memory.Found, error) {
	if h.agent != "" && q.Agent != h.agent {
		return h.Store.Search(ctx, q)
	}
	select {
	case <-h.gate:
	case <-ctx.Done():
		return memory.Found{}, ctx.Err()
	}
	if h.err != nil {
		return memory.Found{}, h.err
	}
	return h.Store.Search(ctx, q)
}

func TestATurnDoesNotWaitForMemoryBeyondItsBudget(t *testing.T) {
	t.Parallel()
	h := &held{gate: make(chan struct{})}
	var log written
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		h.Store, o.Within = p.Memory, time.Millisecond
		p.Memory = h
		p.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	r.plant(lived("ep_1", "The lighthouse keeper paints lanterns."))
	_, report := r.talk(turn(ann, chat("lighthouse keeper lanterns")))
	require.Equal(t, psyche.SkippedBudget, report.Skipped)
	require.EqualValues(t, 1, r.Recalls(r.agent.ID).Skipped[psyche.SkippedBudget])
	require.Contains(t, log.String(), "memory did not answer within its budget")
	status, err := r.Status(t.Context(), role(access.Operator), "echo")
	require.NoError(t, err)
	require.EqualValues(t, 1, status.Recall.Skipped[psyche.SkippedBudget])
	h.err = errors.New("torn page")
	close(h.gate)
	r.settle()
	slow := setup(t, func(p *psyche.Ports, _ *psyche.Options) { h.Store, p.Memory = p.Memory, h })
	slow.plant(lived("ep_1", "The lighthouse keeper paints lanterns."))
	_, report = slow.talk(turn(ann, chat("lighthouse keeper lanterns")))
	require.Equal(t, psyche.SkippedFailed, report.Skipped)
	q := turn(ann, chat("lighthouse"))
	q.Switches.Recall = no()
	_, report = slow.talk(q)
	require.Equal(t, psyche.SkippedOff, report.Skipped)
}

func TestATurnThatFindsTooManySearchesUnderWaySaysSo(t *testing.T) {
	t.Parallel()
	h := &held{gate: make(chan struct{})}
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		h.Store, o.Within = p.Memory, time.Millisecond
		p.Memory = h
	})
	defer close(h.gate)
	r.plant(lived("ep_1", "The lighthouse keeper paints lanterns."))
	for range psyche.MostSearches {
		_, report := r.talk(turn(ann, chat("lighthouse keeper lanterns")))
		require.Equal(t, psyche.SkippedBudget, report.Skipped)
	}
	_, report := r.talk(turn(ann, chat("lighthouse keeper lanterns")))
	require.Equal(t, psyche.SkippedBusy, report.Skipped)
	require.EqualValues(t, 1, r.Recalls(r.agent.ID).Skipped[psyche.SkippedBusy])
}

func TestCloseRemembersWhatWaitsAndDropsWhatComesAfter(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for i := range 100 {
		r.talk(
			turn(caller("key", fmt.Sprint(i)),
				chat(fmt.Sprintf("Remember that my number is %d and my street is Harbour Lane.", i))))
	}
	require.NoError(t, r.Close(t.Context()))
	require.Len(t, r.episodes(), 100)
	reply, err := r.Chat(t.Context(), turn(ann, chat("Remember that my name is Ann Holm.")))
	require.NoError(t, err)
	_, err = io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.EqualValues(t, 1, r.Counts()["dropped"])
	require.Zero(t, r.provider.unclosed())
}

func TestAQueueThatIsFullHoldsNoTurnUp(t *testing.T) {
	t.Parallel()
	h := &held{gate: make(chan struct{})}
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		h.Store, o.Queue = p.Memory, 4
		p.Memory = h
		o.Switches.Recall = no()
	})
	for i := range 20 {
		r.talk(turn(ann, chat(fmt.Sprintf("Remember that my number is %d and my street is Harbour Lane.", i))))
	}
	require.GreaterOrEqual(t, r.Counts()["dropped"], int64(15))
	close(h.gate)
	r.settle()
	require.NotEmpty(t, r.episodes())
}

// With one queue for all, a slow embedder filled it within seconds, and everybody's exchanges were dropped.
func TestASlowAgentDelaysOnlyTheAgentsOfItsWorker(t *testing.T) {
	t.Parallel()
	h := &held{gate: make(chan struct{}), agent: "ag_echo"}
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		h.Store, p.Memory = p.Memory, h
		o.Switches.Recall = no()
	})
	r.talk(turn(ann, chat("Remember that my number is 7 and my street is Harbour Lane.")))
	const others = 64
	for i := range others {
		agent := dream.Agent{
			ID:      fmt.Sprintf("ag_%d", i),
			Handle:  fmt.Sprintf("other-%d", i),
			Zone:    "UTC",
			Tier:    dream.Core,
			Caps:    dream.DefaultCaps,
			Created: dawn,
		}
		require.NoError(t, r.store.PutAgent(t.Context(), agent))
		answer := turn(ann, chat("Remember that my number is 7 and my street is Harbour Lane."))
		answer.Agent = agent.Handle
		r.talk(answer)
	}
	require.Eventually(t, func() bool { return r.Counts()["stored"] >= others/2 }, time.Minute, time.Millisecond,
		"most of them are remembered")
	require.Empty(t, r.episodes(), "and echo's is not, as yet")
	close(h.gate)
	r.settle()
	require.Len(t, r.episodes(), 1)
}

func TestManyTurnsAtOnceShareALease(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var all sync.WaitGroup
	woke := make(chan bool, 64)
	for i := range 64 {
		all.Go(func() {
			reply, err := r.Chat(context.Background(), turn(ann, chat(fmt.Sprintf("Hi %d", i))))
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.ReadAll(reply.Body)
			_ = reply.Body.Close()
			woke <- reply.Report.Woke
		})
	}
	all.Wait()
	close(woke)
	n := 0
	for w := range woke {
		if w {
			n++
		}
	}
	require.Equal(t, 1, n)
	require.Equal(t, 1, r.nights.woken())
	require.Equal(t, access.Client, ann.Key.Role)
}

// away is a store that does not answer.
type away struct {
	memory.Store
	down atomic.Bool
}

func (a *away) Agent(ctx context.Context, name string) (dream.Agent, error) {
	if a.down.Load() {
		return dream.Agent{}, memory.ErrAway
	}
	return a.Store.Agent(ctx, name)
}

func (a *away) Space(ctx context.Context, agent string) (string, error) {
	if a.down.Load() {
		return "", memory.ErrAway
	}
	return a.Store.Space(ctx, agent)
}

func (a *away) Search(ctx context.Context, q memory.Search) (memory.Found, error) {
	if a.down.Load() {
		return memory.Found{}, memory.ErrAway
	}
	return a.Store.Search(ctx, q)
}

// A cached agent can be talked with while the store does not answer.
func TestWithoutTheStoreTalkWorksAndMemoryDoesNot(t *testing.T) {
	t.Parallel()
	a := &away{}
	r := setup(t, func(p *psyche.Ports, _ *psyche.Options) { a.Store, p.Memory = p.Memory, a })
	r.talk(turn(ann, chat("Hi")))
	r.clock.pass(10 * time.Second)
	a.down.Store(true)
	_, report := r.talk(turn(ann, chat("Hi again, tell me something")))
	require.Equal(t, psyche.SkippedFailed, report.Skipped)
	other := turn(ann, chat("Hi"))
	other.Agent = "ag_echo"
	_, err := r.Chat(t.Context(), other)
	faulty(t, err, 503, "store_away")
	a.down.Store(false)
	_, report = r.talk(other)
	require.Equal(t, "echo", report.Agent)
}

func TestAStreamThatEndsWithoutSayingSoIsBroken(t *testing.T) {
	t.Parallel()
	const (
		torn   = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"wo"
		second = "data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
		fault  = "data: {\"error\":{\"message\":\"overloaded\"}}\n\n"
	)
	for _, c := range []struct {
		name, kind, body string
		broken           bool
	}{
		{"nothing", "text/event-stream", "", true},
		{"a piece", "text/event-stream; charset=utf-8", chunk, true},
		{"half a piece", "text/event-stream", chunk + torn, true},
		{"an error", "text/event-stream", chunk + fault, true},
		{"a usage alone", "text/event-stream", chunk + usage, true},
		{"a finish reason", "text/event-stream", chunk + final, false},
		{"a finish reason of another choice", "text/event-stream", chunk + second, false},
		{"the mark of the end", "text/event-stream", chunk + done, false},
		{"the mark without a line's end", "text/event-stream", chunk + "data: [DONE]", false},
		{"an event too long to be read", "text/event-stream", chunk + "data: " + strings.Repeat("x", 2<<20), false},
		{"no stream", "application/json", "{}", false},
	} {
		for _, model := range []string{"p/free", "p/dear"} {
			r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Talker = model })
			r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
				return 200, c.kind, io.NopCloser(strings.NewReader(c.body))
			}
			reply, err := r.Chat(t.Context(), turn(ann, streaming("Remember that my cat is called Tom.")))
			require.NoError(t, err)
			_, err = io.ReadAll(reply.Body)
			require.NoError(t, reply.Body.Close())
			require.Equal(t, c.broken, err != nil, "%s of %s: %v", c.name, model, err)
			if c.broken {
				f, ok := inference.AsFailure(err)
				require.True(t, ok)
				require.Equal(t, inference.Broken, f.Kind)
			}
		}
	}
}

// Usage is the provider's, or counted.
func TestUsageThatNoProviderReportsIsCounted(t *testing.T) {
	t.Parallel()
	const (
		named  = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word word\"}}]}\n\n"
		asks   = `{"model":"echo","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]}`
		plain  = `{"choices":[{"index":0,"message":{"content":"word } word"},"finish_reason":"stop"}],"x":{"y":1}}`
		result = `{"choices":[{"index":0,"message":{"content":"word"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
		broken = `{"choices":[{"index":0,"message":{"content":"wo`
	)
	in := func(question string) int {
		return (len(strings.Replace(question, `"echo"`, `"wire-model"`, 1)) + 3) / 4
	}
	counted := func(question string, out int) string {
		return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, in(question), out,
			in(question)+out)
	}
	for _, c := range []struct{ name, sent, answered, got string }{
		{
			"a stream", asks, named + final + done,
			named + final +
				"data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\",\"choices\":[]," +
				counted(asks, 3) + "}\n\n" + done,
		},
		{"a stream whose provider tells", asks, named + final + usage + done, named + final + usage + done},
		{"a stream that was not asked for it", streaming("Hi"), named + final + done, named + final + done},
		{"a stream whose end is not marked", asks, named + final, named + final},
		{"an answer", chat("Hi"), plain + "\n", strings.TrimSuffix(plain, "}") + "," + counted(chat("Hi"), 3) + "}\n"},
		{"an answer whose provider tells", chat("Hi"), result, result},
		{"an answer that broke", chat("Hi"), broken, broken},
		{"an error", chat("Hi"), `{"error":{"message":"x"}}`, `{"error":{"message":"x"}}`},
		{"no answer at all", chat("Hi"), "}", "}"},
	} {
		for _, cut := range []func(io.Reader) io.Reader{
			iotest.OneByteReader,
			func(r io.Reader) io.Reader { return r },
		} {
			r := setup(t)
			r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
				return 200, "text/event-stream", io.NopCloser(cut(strings.NewReader(c.answered)))
			}
			got, _ := r.talk(turn(ann, c.sent))
			require.Equal(t, c.got, got, c.name)
		}
	}
	r := setup(t)
	long := `{"choices":[{"message":{"content":"` + strings.Repeat("x", 3<<20) + `"}}]}`
	r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
		return 200, "application/json", io.NopCloser(strings.NewReader(long))
	}
	got, _ := r.talk(turn(ann, chat("Hi")))
	require.Equal(t, len(long), len(got), "what is too long to be looked at goes by")
}

// slowly is an embedder that hangs from some time on, and ignores deadlines.
type slowly struct {
	inference.Model
	gate  chan struct{}
	stuck atomic.Bool
}

func (s *slowly) Embed(ctx context.Context, model string, texts []string, key string) (inference.Vectors, error) {
	if s.stuck.Load() {
		<-s.gate
	}
	return s.Model.Embed(ctx, model, texts, key)
}

func TestAnEmbedderThatDoesNotAnswerLeavesRecallByWords(t *testing.T) {
	t.Parallel()
	s := &slowly{gate: make(chan struct{})}
	var log written
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		s.Model, p.Guard.Model, o.Within = p.Guard.Model, s, 400*time.Millisecond
		p.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	other := dream.Agent{
		ID:      "ag_other",
		Handle:  "other",
		Zone:    "UTC",
		Tier:    dream.Core,
		Caps:    dream.DefaultCaps,
		Created: dawn,
	}
	require.NoError(t, r.store.PutAgent(t.Context(), other))
	t.Cleanup(func() { close(s.gate) })
	r.plant(lived("ep_1", "The lighthouse keeper paints lanterns."))
	s.stuck.Store(true)
	_, report := r.talk(turn(ann, chat("Who paints the lanterns?")))
	require.Equal(t, 1, report.Recalled, report.Skipped)
	require.Equal(t, psyche.WordsBudget, report.WordsOnly)
	require.Contains(t, r.provider.last(t), "lighthouse keeper")
	require.EqualValues(t, 1, r.Recalls(r.agent.ID).WordsOnly[psyche.WordsBudget])
	require.Contains(t, log.String(), "memory is searched by words alone")
	require.Contains(t, log.String(), "why=budget")
	status, err := r.Status(t.Context(), role(access.Operator), "echo")
	require.NoError(t, err)
	require.EqualValues(t, 1, status.Recall.Recalled)
	require.EqualValues(t, 1, status.Recall.WordsOnly[psyche.WordsBudget])
	require.Zero(t, status.Recall.Skipped[psyche.SkippedBudget])
	status, err = r.Status(t.Context(), ann, "echo")
	require.NoError(t, err)
	require.Nil(t, status.Recall, "how others are served is not a client's to know of")
	status, err = r.Status(t.Context(), role(access.Operator), "other")
	require.NoError(t, err)
	require.Zero(t, status.Recall.Recalled, "each agent has counts of its own")
}
