package rooms_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// An agent leaves a noisy room to people, and one of them gets an answer at once.
func TestScenarioAnAgentRetreatsFromNoise(t *testing.T) {
	t.Parallel()
	r := newRig(t, "helper", "teacher", "coder")
	r.hall("helper", "teacher", "coder")
	r.minds.answer = answers(nil)
	noise := func(rounds int) {
		for i := range rounds {
			r.say(ada, []string{"teacher", "coder"}[i%2], "One more thought on that.")
			r.pass(20 * time.Second)
		}
	}
	noise(22)
	saidBefore := len(r.minds.callsOf("helper"))
	require.Positive(t, saidBefore, "an active agent is called by the noise")

	done := r.say(ada, "helper", "@self dormant human-only")
	require.Equal(t, "Going dormant (human-only). Mention me or use @self awake to wake me.", done.Self)
	statements := r.transcript()
	require.Equal(t, "* helper is now dormant (human-only). Mention them or use @self awake to wake.", statements[len(statements)-1])
	view, err := r.Show(t.Context(), ada, "hall")
	require.NoError(t, err)
	for _, m := range view.Members {
		require.Equal(t, m.Name == "helper", m.Dormancy != nil, "everybody sees who is dormant: %s", m.Name)
	}

	r.pass(time.Hour)
	noise(6)
	require.Len(t, r.minds.callsOf("helper"), saidBefore, "agents go on, and the agent stays silent")
	skip := r.last("helper")
	require.Equal(t, room.Skipped, skip.Outcome)
	require.Equal(t, "level", skip.Reason)
	require.Equal(t, dormancy.HumanOnly, skip.Level, "each skip is recorded with the level")
	require.Contains(t, r.minds.statements, "id-helper heard One more thought on that.", "it sees what it does not answer")

	r.minds.answer = answers(map[string]string{"helper": "Sure, show me."})
	r.say(ada, "", "@helper I need help with the build")
	statements = r.transcript()
	require.Equal(t, "helper: Sure, show me.", statements[len(statements)-1])
	require.Equal(t, dormancy.HumanOnly, r.level("helper"), "a mention leaves the level as it is")
	r.say(client, "", "Anybody else?")
	require.Equal(t, room.Replied, r.last("helper").Outcome, "people need no mention")
}

// An agent steps back for two hours, and its timer brings it back.
func TestScenarioATimeOfRest(t *testing.T) {
	t.Parallel()
	r := newRig(t, "teacher", "coder")
	r.hall("teacher", "coder")
	r.minds.answer = answers(map[string]string{"teacher": "Here."})
	done := r.say(ada, "teacher", "@self dormant mention-only for 2h")
	require.Equal(t, "Going dormant (mention-only) until 3:45 PM. Mention me or use @self awake to wake me.", done.Self)
	require.Contains(t, r.transcript(), "* teacher is dormant (mention-only) until 3:45 PM")

	r.say(ada, "", "Good afternoon.")
	require.Empty(t, r.minds.callsOf("teacher"), "it sees all and stays quiet")
	r.say(ada, "", "@teacher are you there?")
	require.Len(t, r.minds.callsOf("teacher"), 1)
	require.Equal(t, sunday.Add(2*time.Hour), r.attend("teacher"), "the timer is what is due")

	r.pass(2*time.Hour - time.Second)
	r.attend("teacher")
	require.Equal(t, dormancy.MentionOnly, r.level("teacher"))
	r.pass(time.Second)
	require.Zero(t, r.attend("teacher"))
	require.Equal(t, dormancy.Active, r.level("teacher"))
	statements := r.transcript()
	require.Equal(t, "* teacher is awake and active again! (auto-woke after timer)", statements[len(statements)-1])
	r.say(ada, "", "Good evening.")
	require.Len(t, r.minds.callsOf("teacher"), 2)
}

// A person wakes a sleeper by command and gives it a message, which it answers before all that waits.
func TestScenarioAPersonWakesASleeper(t *testing.T) {
	t.Parallel()
	r := newRig(t, "helper", "coder")
	r.hall("helper", "coder")
	r.minds.answer = answers(map[string]string{"helper": "On my way."})
	r.say(ada, "helper", "@self dormant sleep")
	r.say(ada, "coder", "@helper have a look when you can")
	require.Empty(t, r.minds.callsOf("helper"))

	done, err := r.Awaken(t.Context(), ada, rooms.AwakenRequest{
		Agents: []string{"helper"}, Message: "Urgent: the build is broken", Key: "k",
	})
	require.NoError(t, err)
	require.Equal(t, rooms.Awoken{Success: true, Woken: []string{"helper"}}, done)
	r.settle()
	require.Equal(t, []string{"id-helper"}, r.waker.woken)
	require.Contains(t, r.transcript(), "* helper is awake and active again!")
	calls := r.minds.callsOf("helper")
	require.Len(t, calls, 1)
	require.Equal(t, prompt.Directly, calls[0].Wake.Trigger)
	require.Equal(t, prompt.Speech{Author: "ada", Text: "Urgent: the build is broken"}, calls[0].Wake.Caller)
	require.Equal(t, room.Replied, r.last("helper").Outcome)

	require.Zero(t, r.attend("helper"))
	calls = r.minds.callsOf("helper")
	require.Len(t, calls, 2, "then what had waited")
	require.Equal(t, "@helper have a look when you can", calls[1].Wake.Caller.Text)

	_, err = r.Awaken(t.Context(), ada, rooms.AwakenRequest{
		Agents: []string{"helper"}, Message: "Urgent: the build is broken", Key: "k",
	})
	require.NoError(t, err)
	r.settle()
	require.Len(t, r.minds.callsOf("helper"), 2, "a repeated request sends no second message")
}

// A person wakes all that are dormant, whatever their levels, and no others.
func TestScenarioAPersonWakesAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, "helper", "teacher", "coder", "iris")
	r.hall("helper", "teacher", "coder", "iris")
	r.minds.answer = answers(nil)
	r.say(ada, "helper", "@self dormant sleep")
	r.say(ada, "teacher", "@self dormant mention-only for 2h")
	r.say(ada, "coder", "@self dormant human-only here")
	done, err := r.Awaken(t.Context(), ada, rooms.AwakenRequest{All: true})
	require.NoError(t, err)
	require.True(t, done.Success)
	require.ElementsMatch(t, []string{"helper", "teacher", "coder"}, done.Woken)
	for _, handle := range []string{"helper", "teacher", "coder"} {
		require.Equal(t, dormancy.Active, r.level(handle))
		require.Contains(t, r.transcript(), "* "+handle+" is awake and active again!")
	}
	require.NotContains(t, r.transcript(), "* iris is awake and active again!")
	done, err = r.Awaken(t.Context(), ada, rooms.AwakenRequest{All: true})
	require.NoError(t, err)
	require.Equal(t, rooms.Awoken{Success: true, Woken: []string{}}, done, "nobody is dormant any more")

	done, err = r.Awaken(t.Context(), ada, rooms.AwakenRequest{})
	require.ErrorContains(t, err, "Must specify an agent or --all")
	require.Equal(t, rooms.Awoken{Woken: []string{}, Error: "Must specify an agent or --all"}, done)
	_, err = r.Awaken(t.Context(), ada, rooms.AwakenRequest{All: true, Agents: []string{"helper"}})
	require.Error(t, err, "one or the other")
	_, err = r.Awaken(t.Context(), ada, rooms.AwakenRequest{Agents: []string{"nobody"}})
	require.ErrorContains(t, err, `There is no agent "nobody"`, "an unknown one is answered, not skipped")
	_, err = r.Awaken(t.Context(), client, rooms.AwakenRequest{Agents: []string{"helper"}})
	require.ErrorContains(t, err, "role")
}

// A post that names one agent: it sees the post and its author, and neither a thread nor others.
func TestExampleOneIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	r.post(ada, rooms.PostRequest{
		Body: "What do you make of it, @echo?", Meta: map[string]string{"categories": "dreams, night", "score": "0.75"},
	})
	call := r.minds.callsOf("echo")[0]
	require.Equal(t, prompt.WakeInput{
		Trigger: prompt.ByMention, Caller: prompt.Speech{Author: "ada", Text: "What do you make of it, @echo?"},
		Room: "hall", Categories: []string{"dreams", "night"}, Score: "0.75",
	}, call.Wake)
	require.Equal(t, "room:hall", call.Owner.Key.Principal)

	r.pass(47*time.Hour + 30*time.Minute)
	r.say(ada, "", "@echo and now?")
	call = r.minds.callsOf("echo")[1]
	require.Equal(t, "1 day, since Sunday 13:45", call.Wake.Silent, "the gap is shown")
	require.Len(t, call.Wake.Chain, 2, "what was said before, its own reply too")
}

// A post that names two: each knows that the other was called, and one that fails stops neither the other nor the post.
func TestExampleTwoAreNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "null")
	r.hall("echo", "null")
	r.minds.answer = answers(map[string]string{"echo": "I am echo.", "null": "I am null."})
	r.say(ada, "", "Let me hear @null and @echo on that")
	echo, null := r.minds.callsOf("echo"), r.minds.callsOf("null")
	require.Equal(t, []string{"null"}, echo[0].Wake.Others)
	require.Equal(t, []string{"echo"}, null[0].Wake.Others)
	require.Equal(t, echo[0].Wake.Caller, null[0].Wake.Caller)
	require.Equal(t, []string{"ada: Let me hear @null and @echo on that", "null: I am null.", "echo: I am echo."},
		r.transcript(), "in the order of the post")
}

// A reply in a thread that names one: it sees what the thread hangs on and the replies before, and answers there.
func TestExampleOneIsNamedInAThread(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall("echo", "iris")
	r.minds.answer = answers(map[string]string{"echo": "Of both."})
	root := r.say(client, "", "What is attention made of?").Post.ID
	r.say(client, "", "Something else meanwhile")
	first := r.post(ada, rooms.PostRequest{As: "iris", Body: "Of what we leave out.", Thread: root}).Post.ID
	before := len(r.minds.callsOf("echo"))
	requested := r.post(ada, rooms.PostRequest{Body: "@echo and you?", Thread: root, ReplyTo: first}).Post.ID
	calls := r.minds.callsOf("echo")
	require.Len(t, calls, before+1)
	wake := calls[before].Wake
	require.Equal(t, &prompt.Speech{Author: "guest", Text: "What is attention made of?"}, wake.Root)
	require.Contains(t, wake.Chain, prompt.Speech{Author: "iris", Agent: true, Text: "Of what we leave out."})
	require.Equal(t, prompt.Speech{Author: "ada", Text: "@echo and you?"}, wake.Caller)
	for _, speech := range wake.Chain {
		require.NotEqual(t, "Something else meanwhile", speech.Text, "another conversation of the room")
	}
	page, err := r.History(t.Context(), owner, room.Query{Room: "hall", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "Of both.", page.Posts[0].Body)
	require.Equal(t, root, page.Posts[0].Thread)
	require.Equal(t, requested, page.Posts[0].ReplyTo)
}

func TestOneModelThatFailsStopsNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "null", "iris")
	r.hall("echo", "null", "iris")
	_, err := r.Subscribe(t.Context(), ada, "hall", "null", false)
	require.NoError(t, err)
	working := answers(map[string]string{"echo": "echo", "null": "null", "iris": "iris"})
	r.minds.answer = func(agent string, c psyche.Call) (psyche.CallAnswer, error) {
		if agent == "id-null" {
			return psyche.CallAnswer{}, psyche.Refuse(503, "provider_unavailable", "", "The provider is down.")
		}
		return working(agent, c)
	}
	r.say(ada, "", "@iris, @null and @echo, go on")
	require.Equal(t, []string{"ada: @iris, @null and @echo, go on", "iris: iris", "echo: echo"}, r.transcript())
	require.Equal(t, room.Queued, r.last("null").Outcome)
	require.Contains(t, r.looked, "null", "somebody goes on with it")

	require.Equal(t, sunday.Add(5*time.Second), r.attend("null"), "after a pause")
	r.pass(5 * time.Second)
	require.Equal(t, r.now().Add(10*time.Second), r.attend("null"), "each longer than the one before")
	r.pass(10 * time.Second)
	require.Zero(t, r.attend("null"))
	last := r.last("null")
	require.Equal(t, room.Failed, last.Outcome)
	require.Equal(t, "failed: provider_unavailable", last.Reason)
	require.Len(t, r.minds.callsOf("null"), 3)

	r.minds.mu.Lock()
	r.minds.answer = working
	r.minds.mu.Unlock()
	r.say(ada, "", "@null once more")
	require.Equal(t, room.Replied, r.last("null").Outcome)
}
