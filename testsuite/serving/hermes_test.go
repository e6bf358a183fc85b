package serving_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	hermes "github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/remote"
	"github.com/seed-56a03226/oneiros/internal/hermes/view"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// hermes is the terminal client's connection to the deployment.
func (h *deployment) hermes(agent, key string) *remote.Client {
	h.Helper()
	c, err := remote.New(remote.Settings{
		URL:          strings.TrimSuffix(h.base, "/v1"),
		Key:          key,
		Agent:        agent,
		Conversation: "terminal",
	})
	require.NoError(h, err)
	return c
}

// reads calls the tool "read", which is the terminal client's own.
func reads(a talker.Request) (name, arguments string) {
	if slices.Contains(a.Tools, "read") {
		return "read", `{"path":"notes.md"}`
	}
	return "", ""
}

func ask(text string, tools ...hermes.Tool) hermes.Request {
	return hermes.Request{Messages: []hermes.Message{{Role: hermes.User, Content: text}}, Tools: tools}
}

func TestHermesWakesADreamingAgentHoldsItAndSeesTheDreamToItsEnd(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{Call: reads}, provider.Options{Each: 3 * time.Millisecond, AtLeast: 40}, quick)
	h.must("agents", "add", "iris", "--persona", "a quiet research companion")
	h.must("memory", "import", "--agent", "iris", diary(t))
	h.begin("up")
	c := h.hermes("iris", "")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := c.Probe(ctx)
	require.NoError(t, err)
	require.Equal(t, remote.Oneiros, s.Kind)
	require.True(t, s.HasAgent)
	require.Zero(t, s.Ahead.Round(time.Minute))
	quality, err := c.Quality(ctx)
	require.NoError(t, err)
	require.Nil(t, quality, "no dream was measured yet")

	begun, err := c.BeginDream(ctx, remote.DreamRequest{Tier: "hardened", Theme: "the harbour"})
	require.NoError(t, err)
	night := view.NightOf(begun)
	events := make(chan api.Event, 1000)
	over := make(chan error, 1)
	go func() {
		over <- c.Events(ctx, remote.Filter{Dream: begun.ID, Text: true}, 0, func(e api.Event) { events <- e })
	}()
	until := func(eventType string) {
		t.Helper()
		for {
			select {
			case e := <-events:
				night = view.Follow(night, e)
				if e.Type == eventType {
					return
				}
			case <-ctx.Done():
				t.Fatalf("no %s came\n%s", eventType, &h.err)
			}
		}
	}
	until(event.DepthChanged{}.EventType())
	drawn := strings.Join(view.Dream(night, view.Sheet{Width: 100}), "\n")
	require.Contains(t, drawn, "iris · "+begun.Dream+" · dreaming")
	require.Contains(t, drawn, "theme “the harbour”")
	require.Regexp(t, `depth: (shallow|transitional|peak), H\d`, drawn)
	sofar, err := c.Past(ctx, remote.Filter{Dream: begun.ID})
	require.NoError(t, err)
	require.NotEmpty(t, sofar, "what there is of a dream that goes on")
	require.NotEqual(t, "DreamEnded", sofar[len(sofar)-1].Type)

	holding, letGo := context.WithCancel(ctx)
	defer letGo()
	held, released := make(chan api.Session, 1), make(chan error, 1)
	go func() {
		released <- c.Hold(holding, func(p remote.Holding) {
			if p.Presence == remote.Held {
				held <- p.Session
			}
		})
	}()
	require.True(t, (<-held).Woke, "a held session wakes the dreaming agent")
	until(event.DreamInterrupted{}.EventType())
	require.True(t, night.Waits)
	require.Contains(t, strings.Join(view.Dream(night, view.Sheet{Width: 100}), "\n"), "interrupted; it may go on")

	var pieces []string
	reply, err := c.Chat(ctx, ask("My boat is called Zephyrine, she is blue."),
		func(p string) { pieces = append(pieces, p) })
	require.NoError(t, err)
	require.Equal(t, "I heard: My boat is called Zephyrine, she is blue.", reply.Message.Content)
	require.Greater(t, len(pieces), 3)
	require.Positive(t, reply.Usage.Output)
	reply, err = c.Chat(ctx, ask("Read my notes.", hermes.Tool{Name: "read", Description: "reads a file"}), nil)
	require.NoError(t, err)
	require.Equal(t, []hermes.Call{{ID: "call_1", Name: "read", Arguments: `{"path":"notes.md"}`}}, reply.Message.Calls)
	status, err := c.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, "awake", status.State)
	require.Positive(t, status.Leases)
	for _, line := range c.Check(ctx) {
		require.Equal(t, api.OK, line.Level, "%+v", line)
	}

	letGo()
	require.ErrorIs(t, <-released, context.Canceled)
	until(event.DreamResumed{}.EventType())
	until(event.DreamEnded{}.EventType())
	require.NoError(t, <-over, "the stream of a dream ends with the dream")
	past, err := c.Dream(ctx, begun.ID)
	require.NoError(t, err)
	require.True(t, past.Over())
	seen := view.NightOf(past)
	log, err := c.Past(ctx, remote.Filter{Dream: past.ID, Text: true})
	require.NoError(t, err)
	for _, e := range log {
		seen = view.Follow(seen, e)
	}
	require.Equal(t, past.Outcome, seen.Dream.Outcome)
	require.Equal(t, night.Phases, seen.Phases, "what was followed live is what the record says")
	require.Equal(t, past.Record.Phases, seen.Phases)
	require.Len(t, seen.Breaks, 1)
	seen.Fragments, err = c.Fragments(ctx, past.ID)
	require.NoError(t, err)
	require.NotEmpty(t, seen.Fragments)
	seen.Scenarios, err = c.Scenarios(ctx, past.ID)
	require.NoError(t, err)
	seen.Insights, err = c.Insights(ctx, past.ID)
	require.NoError(t, err)
	drawn = strings.Join(view.Dream(seen, view.Sheet{Width: 100}), "\n")
	require.Contains(t, drawn, "‖", "where it was woken")
	require.Contains(t, drawn, "Noticed at the edge of sleep")
	require.Contains(t, drawn, "depth: the onset reached ")
	h.readAll(ctx, c)
	for range 4 { // they are measured from the fifth on
		h.dreamOnce(ctx, c)
	}
	quality, err = c.Quality(ctx)
	require.NoError(t, err)
	require.NotNil(t, quality)
	require.Equal(t, 5, quality.Dreams)
	require.Contains(t, strings.Join(view.Metrics(quality, view.Sheet{Width: 80}), "\n"), "fragment yield")
	h.end()
}

// dreamOnce begins a short dream as soon as the agent may dream, and waits for its end.
func (h *deployment) dreamOnce(ctx context.Context, c *remote.Client) {
	h.Helper()
	var begun api.Dream
	require.Eventually(h, func() bool {
		var err error
		begun, err = c.BeginDream(ctx, remote.DreamRequest{Tier: "core"})
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	require.NoError(h, c.Events(ctx, remote.Filter{Dream: begun.ID}, 0, func(api.Event) {}))
}

// readAll reads every other resource and draws it.
func (h *deployment) readAll(ctx context.Context, c *remote.Client) {
	h.Helper()
	s := view.Sheet{Width: 80}
	added, err := c.Remember(ctx, "The ferry leaves at nine.")
	require.NoError(h, err)
	require.NotEmpty(h, added.ID)
	require.Eventually(h, func() bool {
		memories, err := c.Memories(ctx, "ferry", 5)
		return err == nil && strings.Contains(strings.Join(view.Memories("ferry", memories, s), " "),
			"The ferry leaves at nine.")
	}, 10*time.Second, 50*time.Millisecond)
	journal, err := c.Journal(ctx, 10)
	require.NoError(h, err)
	require.NotEmpty(h, journal)
	require.NotEmpty(h, view.Journal(journal, s))
	dreams, err := c.Dreams(ctx, 10)
	require.NoError(h, err)
	require.NotEmpty(h, dreams)
	require.Contains(h, strings.Join(view.Dreams(dreams, s), "\n"), "0001")
	claims, err := c.Claims(ctx, 10)
	require.NoError(h, err)
	for _, claim := range claims[:min(1, len(claims))] {
		explained, err := c.Claim(ctx, claim.ID)
		require.NoError(h, err)
		require.Equal(h, claim.Says, explained.Claim.Says)
		require.NotEmpty(h, view.ClaimExplanation(explained, s))
	}
	predictions, err := c.Predictions(ctx, "", 10)
	require.NoError(h, err)
	require.NotEmpty(h, predictions)
	news, err := c.Morning(ctx, time.Time{})
	require.NoError(h, err)
	require.Equal(h, "iris", news.Agent)
	h.must("rooms", "create", "academy", "--title", "The academy", "--with", "iris")
	h.must("say", "academy", "--notice", "The build is green.")
	rooms, err := c.Rooms(ctx)
	require.NoError(h, err)
	require.Len(h, rooms, 1)
	room, err := c.Room(ctx, "academy")
	require.NoError(h, err)
	posts, err := c.Posts(ctx, "academy", 20)
	require.NoError(h, err)
	text := strings.Join(view.Room(room, posts, s), "\n")
	require.Contains(h, text, "The build is green.")
	require.Contains(h, text, "iris")
}

func TestHermesSaysWhatAKeyLacks(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{}, provider.Options{}, onLoopback)
	h.must("agents", "add", "iris", "--persona", "a quiet research companion")
	h.begin("up")
	_, secret, _ := h.addKey("--role", "client")
	c := h.hermes("iris", secret)
	ctx := t.Context()
	require.Eventually(t, func() bool {
		_, err := h.hermes("iris", "").Probe(ctx)
		return err != nil
	}, 10*time.Second, 50*time.Millisecond, "the server has heard of the first key")
	_, err := h.hermes("iris", "").Probe(ctx)
	require.ErrorContains(t, err, "the server refuses the key: this server needs a key")
	_, err = h.hermes("iris", "oneiros_wrong").Chat(ctx, ask("hello"), nil)
	require.ErrorContains(t, err, "the server refuses the key: no key has this secret")
	s, err := c.Probe(ctx)
	require.NoError(t, err)
	require.True(t, s.HasAgent)
	_, err = c.Journal(ctx, 10)
	require.ErrorIs(t, err, api.ErrRole)
	require.ErrorContains(t, err, "operator")
	_, err = c.BeginDream(ctx, remote.DreamRequest{})
	require.ErrorIs(t, err, api.ErrRole)
	_, err = c.Morning(ctx, time.Time{})
	require.ErrorIs(t, err, api.ErrRole)
	_, err = c.Claim(ctx, "cl_none")
	require.ErrorIs(t, err, api.ErrRole)
	require.ErrorIs(t, c.Events(ctx, remote.Filter{Text: true}, 0, func(api.Event) {}), api.ErrRole)

	_, err = h.hermes("irs", secret).Chat(ctx, ask("hello"), nil)
	require.ErrorContains(t, err, `There is no agent "irs". This key reaches iris`)
	err = h.hermes("irs", secret).Hold(ctx, func(remote.Holding) {})
	require.ErrorContains(t, err, "irs")
	lines := c.Check(ctx)
	role := slices.IndexFunc(lines, func(l api.Line) bool { return l.Name == "role" })
	require.Equal(t, "the key has the role client: journal, claims, fragments and morning need the role operator",
		lines[role].Says)

	plain, err := remote.New(remote.Settings{URL: h.talker.URL, Agent: "talker"})
	require.NoError(t, err)
	_, err = plain.Dreams(ctx, 10)
	require.EqualError(t, err, "this server is no Oneiros: it has no dreams")
	reply, err := plain.Chat(ctx, ask("hello"), nil)
	require.NoError(t, err)
	require.Equal(t, "I heard: hello", reply.Message.Content)
	h.end()
}
