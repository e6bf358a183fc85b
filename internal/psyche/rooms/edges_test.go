package rooms_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/admission/chatter"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func says(text string) (psyche.CallAnswer, error) {
	return psyche.CallAnswer{WakeAnswer: prompt.WakeAnswer{Response: text}, Cost: 7}, nil
}

// An agent falls asleep by its own answer, while a person and an agent have named it anew.
func TestAnAgentThatFallsAsleepInItsReply(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall("echo", "iris")
	_, err := r.Subscribe(t.Context(), ada, "hall", "iris", false)
	require.NoError(t, err)
	requested, reply := make(chan bool), make(chan bool)
	first := true
	r.minds.answer = func(string, psyche.Call) (psyche.CallAnswer, error) {
		if first {
			first = false
			requested <- true
			<-reply
			return says("Good night.\n@self dormant sleep because it is late")
		}
		return says("Yes, ada.")
	}
	post := func(c psyche.Caller, as, body string) {
		_, err := r.Post(r.ctx, c, rooms.PostRequest{Room: "hall", As: as, Body: body})
		require.NoError(t, err)
	}
	post(ada, "", "@echo still up?")
	<-requested
	post(client, "", "@echo and tomorrow?")
	reply <- true
	r.settle()
	require.Equal(t, dormancy.Sleep, r.level("echo"))
	require.Contains(t, r.transcript(), "* echo is now dormant (sleep). Mention them or use @self awake to wake.")
	calls := r.minds.callsOf("echo")
	require.Len(t, calls, 2, "what a person asked before is answered still")
	require.Equal(t, "guest", calls[1].Wake.Caller.Author)
	post(ada, "iris", "@echo one more thing")
	r.settle()
	require.Len(t, r.minds.callsOf("echo"), 2)
	require.Equal(t, room.Queued, r.last("echo").Outcome)
	states, err := r.Dormancy(t.Context(), client, "echo")
	require.NoError(t, err)
	require.Equal(t, "it is late", states[0].Reason)
}

func TestANewLevelTakesOverTheOldTimer(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	r.say(ada, "echo", "@self dormant sleep for 1h")
	r.say(ada, "echo", "@self dormant mention-only for 3h")
	r.pass(time.Hour)
	require.Equal(t, sunday.Add(3*time.Hour), r.attend("echo"))
	require.Equal(t, dormancy.MentionOnly, r.level("echo"))
	r.say(ada, "echo", "@self dormant human-only")
	r.pass(3 * time.Hour)
	require.Zero(t, r.attend("echo"), "a level without an end has no timer")
	require.Equal(t, dormancy.HumanOnly, r.level("echo"))
}

func TestAnAgentGoesDormantAgainAndAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	for range 3 {
		require.Contains(t, r.say(ada, "echo", "@self dormant sleep").Self, "Going dormant (sleep)")
		require.Equal(t, dormancy.Sleep, r.level("echo"))
		r.say(ada, "", "@echo good morning")
		require.Equal(t, dormancy.Active, r.level("echo"))
	}
}

// The timer of one process and a person's command reach the same state at once: it ends once, and a sleep that follows
// is not touched by the timer of the former one.
func TestATimerAndAWakeAtOnce(t *testing.T) {
	t.Parallel()
	for range 3 {
		r := newRig(t, "echo")
		r.hall("echo")
		r.say(ada, "echo", "@self dormant sleep for 1h")
		r.pass(time.Hour)
		other := r.another("there")
		var both sync.WaitGroup
		both.Go(func() {
			_, err := other.Attend(r.ctx, "id-echo")
			require.NoError(t, err)
		})
		both.Go(func() {
			_, err := r.Awaken(r.ctx, ada, rooms.AwakenRequest{Agents: []string{"echo"}})
			require.NoError(t, err)
		})
		both.Wait()
		r.settle()
		require.Equal(t, dormancy.Active, r.level("echo"))
		announced := 0
		for _, line := range r.transcript() {
			if strings.Contains(line, "awake and active") {
				announced++
			}
		}
		require.Equal(t, 1, announced, "%q", r.transcript())
		_, err := r.SetDormancy(r.ctx, ada, "echo", rooms.DormancyRequest{Level: dormancy.Sleep, For: "1h"})
		require.NoError(t, err)
		r.attend("echo")
		require.Equal(t, dormancy.Sleep, r.level("echo"))
	}
}

func TestWakingAnActiveAgentTellsNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	done, err := r.Awaken(t.Context(), ada, rooms.AwakenRequest{Agents: []string{"echo"}})
	require.NoError(t, err)
	require.Equal(t, rooms.Awoken{Success: true, Woken: []string{"echo"}}, done)
	_, err = r.SetDormancy(t.Context(), ada, "echo", rooms.DormancyRequest{Level: dormancy.Active})
	require.NoError(t, err)
	require.Empty(t, r.transcript())
	require.Equal(t, "I'm awake and active again!", r.say(ada, "echo", "@self awake").Self)
	require.Equal(t, []string{"echo: @self awake", "echo: I'm awake and active again!"}, r.transcript())
	require.Equal(t, "Active - responding to all messages", r.say(ada, "echo", "@self status").Self)
}

func TestWhatIsNoCommandChangesNoLevel(t *testing.T) {
	t.Parallel()
	const usage = "Usage: @self dormant [mention-only|human-only|sleep] [for <duration>]"
	for _, c := range []struct {
		name, as, body string
		want           string // part of the answer; empty for none
	}{
		{"for nothing", "echo", "@self dormant sleep for 0m", usage},
		{"too long", "echo", "@self dormant sleep for 99999999999999999999h", usage},
		{"past", "echo", "@self dormant sleep until 2026-02-28 09:00", "is past"},
		{"no level", "echo", "@self dormant", usage},
		{"no such level", "echo", "@self dormant deeply", usage},
		{"said by a person", "", "@self dormant sleep", ""},
		{"in code", "echo", "Write `@self dormant sleep` then.", ""},
		{"in a block of code", "echo", "```\n@self dormant sleep\n```", ""},
		{"in a quote", "echo", "> @self dormant sleep\nHe said that.", ""},
		{"within a line", "echo", "I could say @self dormant sleep", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "echo")
			r.hall("echo")
			done := r.say(ada, c.as, c.body)
			require.Contains(t, done.Self, c.want)
			require.Equal(t, c.want == "", done.Self == "")
			require.Equal(t, dormancy.Active, r.level("echo"))
		})
	}
}

func TestAProgrammersLevelIsChecked(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	for _, c := range []struct {
		request rooms.DormancyRequest
		want    string
	}{
		{rooms.DormancyRequest{Level: "deep"}, "must be active, mention-only, human-only or sleep"},
		{rooms.DormancyRequest{}, "must be active"},
		{rooms.DormancyRequest{Level: dormancy.Sleep, For: "0m"}, "above zero"},
		{rooms.DormancyRequest{Level: dormancy.Sleep, For: "-1h"}, "above zero"},
		{rooms.DormancyRequest{Level: dormancy.Sleep, For: "99999999999999h"}, "must be a duration"},
		{rooms.DormancyRequest{Level: dormancy.Sleep, Until: sunday}, "which is past"},
		{rooms.DormancyRequest{Level: dormancy.Sleep, For: "1h", Until: sunday.Add(time.Hour)}, "either"},
		{rooms.DormancyRequest{Level: dormancy.Sleep, Reason: "a\nb"}, "one line"},
		{rooms.DormancyRequest{Level: dormancy.Sleep, Room: "nowhere"}, "nowhere"},
	} {
		_, err := r.SetDormancy(t.Context(), ada, "echo", c.request)
		require.ErrorContains(t, err, c.want, c.request)
	}
	_, err := r.SetDormancy(t.Context(), ada, "nobody", rooms.DormancyRequest{Level: dormancy.Sleep})
	require.ErrorContains(t, err, `There is no agent "nobody"`)
	_, err = r.SetDormancy(t.Context(), client, "echo", rooms.DormancyRequest{Level: dormancy.Sleep})
	require.ErrorContains(t, err, "role")
	require.Equal(t, dormancy.Active, r.level("echo"))
	set, err := r.SetDormancy(t.Context(), ada, "echo", rooms.DormancyRequest{Level: dormancy.Sleep, For: "17520h"})
	require.NoError(t, err, "programs may go beyond a year")
	require.Equal(t, sunday.Add(17520*time.Hour), set.Until)
}

// Only a handle calls: no display name, no part of another handle.
func TestOnlyAHandleCalls(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		"@helper2 can you?":             {"helper2"},
		"@helper can you?":              {"helper"},
		"@HELPER can you?":              {"helper"},
		"@helper and @helper2":          {"helper", "helper2"},
		"helper, can you?":              nil,
		"@\"Helper AI\" can you?":       nil,
		"mail helper@helper.example":    nil,
		"`@helper`":                     nil,
		"> @helper\nwas asked":          nil,
		"@help @helpers @elper @helper": {"helper"},
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "helper", "helper2")
			r.hall("helper", "helper2")
			r.minds.answer = answers(nil)
			_, err := r.Join(t.Context(), ada, rooms.JoinRequest{Room: "hall", Person: "guest", Name: "Helper AI"})
			require.NoError(t, err)
			for _, handle := range []string{"helper", "helper2"} {
				_, err := r.SetDormancy(t.Context(), ada, handle, rooms.DormancyRequest{Level: dormancy.MentionOnly})
				require.NoError(t, err)
			}
			r.say(ada, "", body)
			called := []string(nil)
			for _, handle := range []string{"helper", "helper2"} {
				if len(r.minds.callsOf(handle)) > 0 {
					called = append(called, handle)
				}
			}
			require.Equal(t, want, called)
		})
	}
}

func TestUnknownNamesAreAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "away")
	r.hall("echo")
	r.minds.answer = answers(nil)
	done := r.say(ada, "", "@nobody, @away and @echo")
	require.Equal(t, []string{"nobody", "away"}, done.Absent)
	require.Len(t, done.Reached, 1)
	for _, try := range []func() error{
		func() error {
			_, err := r.Post(r.ctx, ada, rooms.PostRequest{Room: "nowhere", Body: "hello"})
			return err
		},
		func() error {
			_, err := r.Post(r.ctx, ada, rooms.PostRequest{Room: "hall", Body: "hello", ReplyTo: "hall/99"})
			return err
		},
		func() error {
			_, err := r.Edit(r.ctx, ada, rooms.EditRequest{Post: "hall/99", Revision: 1, Body: "hello"})
			return err
		},
		func() error {
			_, err := r.Delete(r.ctx, ada, "hall/99", "")
			return err
		},
		func() error {
			_, err := r.Call(r.ctx, ada, "nobody", rooms.CallRequest{Trigger: room.OnDirect, Message: "hello"})
			return err
		},
		func() error {
			_, err := r.Dormancy(r.ctx, ada, "nobody")
			return err
		},
	} {
		var fault *psyche.Fault
		require.ErrorAs(t, try(), &fault)
		require.Equal(t, 404, fault.Status, fault)
	}
	next, err := r.Attend(t.Context(), "id-nobody")
	require.NoError(t, err, "an agent that was removed needs nothing")
	require.Zero(t, next)
}

// send puts a message of iris into the inbox of echo, past the guards.
func (r *rig) send(key string, expires time.Time) {
	r.Helper()
	_, err := r.store.Rooms().Send(r.ctx, room.Direct{
		Agent:    "id-echo",
		Key:      key,
		Trigger:  room.OnDirect,
		From:     room.AgentID("id-iris"),
		Priority: chatter.AgentPriority,
		Message:  &room.Text{Body: key, Name: "iris", Taint: dream.FromAgent},
		Expires:  expires,
		Now:      r.now(),
	}, nil)
	require.NoError(r, err)
}

func TestWhatWaitsIsAnsweredByPriorityAndArrival(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall("echo", "iris")
	r.minds.answer = answers(nil)
	r.say(ada, "echo", "@self dormant sleep")
	r.send("first", time.Time{})
	r.send("second", time.Time{})
	r.send("first", time.Time{}) // the same once more
	_, err := r.Awaken(t.Context(), ada, rooms.AwakenRequest{Agents: []string{"echo"}, Message: "urgent"})
	require.NoError(t, err)
	r.settle()
	require.Zero(t, r.attend("echo"))
	var statements []string
	for _, call := range r.minds.callsOf("echo") {
		statements = append(statements, call.Wake.Caller.Text)
	}
	require.ElementsMatch(t, []string{"urgent", "first", "second"}, statements, "each once")
	require.Less(t, indexOf(statements, "first"), indexOf(statements, "second"))
}

func indexOf(lines []string, line string) int {
	for i, l := range lines {
		if l == line {
			return i
		}
	}
	return -1
}

func TestAFullInboxRefusesAgentsAndNoPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall("echo", "iris")
	r.minds.answer = answers(nil)
	r.say(ada, "echo", "@self dormant sleep")
	for i := range chatter.MostWaiting {
		r.send(fmt.Sprint(i), sunday.Add(chatter.Lifetime))
	}
	r.say(ada, "iris", "@echo have you a minute?")
	require.Equal(t, "full", r.last("echo").Reason)
	require.Equal(t, room.Skipped, r.last("echo").Outcome)

	r.pass(chatter.Lifetime)
	require.Zero(t, r.attend("echo"), "they end unread")
	items, err := r.Inbox(t.Context(), ada, "echo", 0, 0)
	require.NoError(t, err)
	require.Empty(t, items)
	calls, err := r.Calls(t.Context(), ada, "echo", 0, 0)
	require.NoError(t, err)
	for _, wake := range calls {
		require.Equal(t, room.Skipped, wake.Outcome)
		require.NotEmpty(t, wake.Reason)
	}
	r.say(ada, "", "@echo have you a minute?")
	require.Len(t, r.minds.callsOf("echo"), 1)
}

func TestARepeatedRequestIsDoneOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	ask := rooms.PostRequest{Body: "@echo ready?", Key: "k1"}
	require.Equal(t, r.post(ada, ask).Post, r.post(ada, ask).Post)
	require.Len(t, r.minds.callsOf("echo"), 1)

	hush := rooms.PostRequest{As: "echo", Body: "@self dormant sleep", Key: "k2"}
	r.post(ada, hush)
	_, err := r.Awaken(t.Context(), ada, rooms.AwakenRequest{Agents: []string{"echo"}})
	require.NoError(t, err)
	require.Equal(t, "Going dormant (sleep). Mention me or use @self awake to wake me.", r.post(ada, hush).Self)
	require.Equal(t, dormancy.Active, r.level("echo"), "a repeated command is not obeyed again")
	ask.Body = "@echo something else"
	_, err = r.Post(t.Context(), ada, rooms.PostRequest{Room: "hall", Body: ask.Body, Key: "k1"})
	require.ErrorContains(t, err, "another content")
}

func TestAnEditCallsWhomThePostDidNotCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall()
	for _, handle := range []string{"echo", "iris"} {
		_, err := r.Join(t.Context(), ada, rooms.JoinRequest{Room: "hall", Agent: handle})
		require.NoError(t, err)
	}
	r.minds.answer = answers(map[string]string{"echo": "echo", "iris": "iris"})
	p := r.say(ada, "", "@echo look").Post
	edit := func(revision int, body string) {
		_, err := r.Edit(r.ctx, ada, rooms.EditRequest{Post: p.ID, Revision: revision, Body: body})
		require.NoError(t, err)
		r.settle()
	}
	edit(1, "@echo and @iris look")
	edit(2, "@echo and @iris look again")
	require.Equal(t, []string{"id-echo", "id-iris"}, r.minds.agentsCalled())
	require.Equal(t, []string{"ada: @echo and @iris look again", "echo: echo", "iris: iris"}, r.transcript())
	_, err := r.Edit(r.ctx, ada, rooms.EditRequest{Post: p.ID, Revision: 1, Body: "stale"})
	require.ErrorContains(t, err, "revision")
	_, err = r.Edit(r.ctx, client, rooms.EditRequest{Post: p.ID, Revision: 3, Body: "@echo not mine"})
	require.Error(t, err)
	_, err = r.Delete(r.ctx, ada, p.ID, "")
	require.NoError(t, err)
	_, err = r.Edit(r.ctx, ada, rooms.EditRequest{Post: p.ID, Revision: 4, Body: "@echo back"})
	require.Error(t, err)
}

// The first one's model is the slowest: the others wait with their replies.
func TestRepliesStandInTheOrderOfThePost(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris", "null")
	r.hall()
	for _, handle := range []string{"echo", "iris", "null"} {
		_, err := r.Join(t.Context(), ada, rooms.JoinRequest{Room: "hall", Agent: handle})
		require.NoError(t, err)
	}
	var others sync.WaitGroup
	others.Add(2)
	r.minds.answer = func(agent string, _ psyche.Call) (psyche.CallAnswer, error) {
		if agent == "id-null" {
			others.Wait()
		} else {
			others.Done()
		}
		return says(strings.TrimPrefix(agent, "id-"))
	}
	r.say(ada, "", "@null, @iris, @echo: in this order")
	require.Equal(t, []string{"null: null", "iris: iris", "echo: echo"}, r.transcript()[1:])
}

// Two posts name two agents in different orders. Neither waits for ever.
func TestRepliesInTwoOrdersDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall()
	for _, handle := range []string{"echo", "iris"} {
		_, err := r.Join(t.Context(), ada, rooms.JoinRequest{Room: "hall", Agent: handle})
		require.NoError(t, err)
	}
	r.minds.answer = answers(map[string]string{"echo": "echo", "iris": "iris"})
	for range 10 {
		for _, body := range []string{"@echo and @iris", "@iris and @echo"} {
			_, err := r.Post(r.ctx, ada, rooms.PostRequest{Room: "hall", Body: body})
			require.NoError(t, err)
		}
		r.settle()
		r.pass(time.Minute)
	}
	for _, handle := range []string{"echo", "iris"} {
		require.Equal(t, room.Replied, r.last(handle).Outcome)
	}
}

func TestADreamIsInterruptedByPeopleOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall("echo", "iris")
	r.minds.answer = answers(map[string]string{"echo": "Awake now."})
	r.dreams("echo")
	r.say(ada, "iris", "@echo a question")
	require.Equal(t, room.Queued, r.last("echo").Outcome)
	require.Equal(t, "dreaming", r.last("echo").Reason)
	require.Equal(t, sunday.Add(30*time.Second), r.attend("echo"), "it is looked at again")
	r.say(ada, "", "@echo a question of mine")
	require.Len(t, r.minds.callsOf("echo"), 1)
	r.dreams()
	require.Zero(t, r.attend("echo"))
	require.Len(t, r.minds.callsOf("echo"), 2)
}

// A person wakes a sleeper in one room: what was held, and what waits from another room, is not forgotten.
func TestAMentionWakesInEveryRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall("echo", "iris")
	_, err := r.Create(t.Context(), ada, rooms.CreateRequest{ID: "garden", Join: []string{"echo", "iris"}})
	require.NoError(t, err)
	r.minds.answer = answers(nil)
	r.say(ada, "echo", "@self dormant sleep")
	require.True(t, r.say(ada, "echo", "Something I thought of.").Held)
	r.post(ada, rooms.PostRequest{Room: "garden", As: "iris", Body: "@echo here too"})
	r.looked = nil
	r.say(ada, "", "@echo good morning")
	require.Contains(t, r.looked, "echo", "somebody goes on with the rest")
	require.Zero(t, r.attend("echo"))
	require.Contains(t, r.transcript(), "echo: Something I thought of.")
	require.Len(t, r.minds.callsOf("echo"), 2)
	held, err := r.Held(t.Context(), ada, "echo", 0, 0)
	require.NoError(t, err)
	require.Empty(t, held)
}

// Who may only read is not called, and one whose right is taken while it thinks ends its item.
func TestAReaderAnswersNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	become := func(role room.Role) {
		_, err := r.Join(r.ctx, ada, rooms.JoinRequest{Room: "hall", Agent: "echo", Role: role, Subscribed: true})
		require.NoError(t, err)
	}
	r.minds.answer = func(string, psyche.Call) (psyche.CallAnswer, error) {
		become(room.Reader)
		return says("I may not.")
	}
	for range 2 {
		r.say(ada, "", "@echo well?")
		last := r.last("echo")
		require.Equal(t, room.Skipped, last.Outcome)
		require.Equal(t, "reader", last.Reason)
	}
	require.Len(t, r.minds.agentsCalled(), 1)
	require.Zero(t, r.attend("echo"))
}

func TestAnEmptyAnswerIsSilence(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	r.minds.answer = func(string, psyche.Call) (psyche.CallAnswer, error) { return says(" \n") }
	r.say(ada, "", "@echo well?")
	require.Equal(t, room.Silent, r.last("echo").Outcome)
}

// A call from outside that reaches a limit is refused, and nothing of it is left to be answered later.
func TestACallBeyondTheLimitIsNotMade(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	call := func(key string) error {
		_, err := r.Call(r.ctx, ada, "echo", rooms.CallRequest{Trigger: room.OnDirect, Message: "hello", Key: key})
		return err
	}
	most := chatter.Default.Person.Most
	for i := range most {
		require.NoError(t, call(fmt.Sprint(i)))
	}
	require.NoError(t, call("0"), "a repeated one gets its answer")
	requested := len(r.minds.agentsCalled())
	var fault *psyche.Fault
	require.ErrorAs(t, call("more"), &fault)
	require.Equal(t, 429, fault.Status)
	require.Zero(t, r.attend("echo"))
	r.pass(time.Minute)
	require.Zero(t, r.attend("echo"))
	require.Len(t, r.minds.agentsCalled(), requested)
	require.NoError(t, call("more"), "the same request may be made later")
}

// Agents are stopped until a person speaks, and it need not be to them.
func TestAPersonWhoCallsNobodyLiftsTheStop(t *testing.T) {
	t.Parallel()
	handles := []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"}
	r := newRig(t, handles...)
	r.hall()
	for _, handle := range handles {
		_, err := r.Join(t.Context(), ada, rooms.JoinRequest{Room: "hall", Agent: handle})
		require.NoError(t, err)
	}
	r.minds.answer = answers(nil)
	all := "@" + strings.Join(handles, " @")
	ask := func(as string) []string {
		r.pass(time.Minute)
		var reasons []string
		for _, reached := range r.say(ada, as, all).Reached {
			reasons = append(reasons, reached.Reason)
		}
		return reasons
	}
	ask("a1")
	require.Contains(t, ask("a2"), "limit alone")
	r.say(ada, "", "I am back.")
	require.NotContains(t, ask("a3"), "limit alone")
}

// A process that loses an item in the middle of its call says nothing more about it.
func TestALateAnswerIsNotPosted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	requested, reply := make(chan bool), make(chan bool)
	r.minds.answer = func(string, psyche.Call) (psyche.CallAnswer, error) {
		requested <- true
		<-reply
		return says("late")
	}
	_, err := r.Post(r.ctx, ada, rooms.PostRequest{Room: "hall", Body: "@echo one"})
	require.NoError(t, err)
	<-requested
	r.pass(2*time.Minute + time.Second)
	r.minds.mu.Lock()
	r.minds.answer = func(string, psyche.Call) (psyche.CallAnswer, error) { return says("in time") }
	r.minds.mu.Unlock()
	next, err := r.another("there").Attend(r.ctx, "id-echo")
	require.NoError(t, err)
	require.Zero(t, next)
	reply <- true
	r.settle()
	require.Equal(t, []string{"ada: @echo one", "echo: in time"}, r.transcript())
}

// A store that fails between a reply and the end of the other posts that it answers must not make it answer them again.
func TestOneReplyForSeveralPostsIsOneReply(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	long := strings.Repeat("long-room-", 6)
	_, err := r.Create(t.Context(), ada, rooms.CreateRequest{ID: long, Join: []string{"echo"}})
	require.NoError(t, err)
	requested, reply := make(chan bool), make(chan bool)
	calls := 0
	r.minds.answer = func(string, psyche.Call) (psyche.CallAnswer, error) {
		calls++
		if calls == 1 {
			requested <- true
			<-reply
		}
		return says("all of them")
	}
	broken := &brokenEnds{Store: r.store.Rooms()}
	s := rooms.New(rooms.Ports{
		Rooms:      broken,
		Agents:     r,
		Minds:      r.minds,
		Waker:      r.waker,
		Attendants: r,
		Now:        r.now,
	}, "broken", r.options)
	const posts = 20
	for i := range posts {
		_, err := s.Post(r.ctx, ada, rooms.PostRequest{Room: long, Body: "@echo look"})
		require.NoError(t, err)
		if i == 0 {
			<-requested
		}
	}
	broken.after = 2 // replies
	reply <- true
	require.NoError(t, s.Wait(r.ctx))
	broken.after = 0
	r.pass(2*time.Minute + time.Second)
	_, err = s.Attend(r.ctx, "id-echo")
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	page, err := r.History(r.ctx, owner, room.Query{Room: long})
	require.NoError(t, err)
	require.Len(t, page.Posts, posts+2)
	items, err := r.Inbox(r.ctx, ada, "echo", 0, 0)
	require.NoError(t, err)
	require.Empty(t, items)
}

// brokenEnds is a store that ends no item without a reply once it has posted some.
type brokenEnds struct {
	room.Store
	after, posted int
}

func (b *brokenEnds) Finish(ctx context.Context, f room.Finish) (room.Finished, error) {
	if f.Reply != nil {
		b.posted++
	} else if b.after > 0 && b.posted >= b.after {
		return room.Finished{}, context.DeadlineExceeded
	}
	return b.Store.Finish(ctx, f)
}

// What agents remember of one person's message belongs to that person.
func TestTwoPeopleHaveTwoOwners(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	other := psyche.Caller{Key: access.Key{ID: "key_bob", Role: access.Operator, Principal: "bob"}}
	for _, c := range []psyche.Caller{ada, other} {
		_, err := r.Awaken(r.ctx, c, rooms.AwakenRequest{Agents: []string{"echo"}, Message: "from " + c.Key.Principal})
		require.NoError(t, err)
		r.settle()
	}
	calls := r.minds.callsOf("echo")
	require.Len(t, calls, 2)
	for i, name := range []string{"ada", "bob"} {
		require.Equal(t, name, calls[i].Owner.Key.Principal)
		require.Empty(t, calls[i].Wake.Chain)
		require.Len(t, calls[i].Statements, 1)
	}
}

// A notice asks for no answer, whoever writes it: it calls nobody, ends no sleep and lifts no limit. It is remembered.
func TestNobodyAnswersANotice(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo", "iris")
	r.hall("echo")
	_, err := r.Join(t.Context(), ada, rooms.JoinRequest{Room: "hall", Agent: "iris"})
	require.NoError(t, err)
	_, err = r.SetDormancy(t.Context(), ada, "iris", rooms.DormancyRequest{Level: dormancy.Sleep})
	require.NoError(t, err)
	for _, as := range []string{"", "echo"} {
		done := r.post(ada, rooms.PostRequest{As: as, Body: "The build is green, @iris and @echo.", Notice: true})
		require.NotEmpty(t, done.Reached)
		for _, each := range done.Reached {
			require.Equal(t, room.Skipped, each.Outcome)
			require.Equal(t, "notice", each.Reason)
		}
	}
	require.Empty(t, r.minds.agentsCalled())
	require.Equal(t, dormancy.Sleep, r.level("iris"))
	require.Equal(t, []string{"id-echo heard The build is green, @iris and @echo."}, r.minds.statements)
}

// What waits is read whole, however much it is.
func TestWhatWaitsIsReadInPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	_, err := r.SetDormancy(t.Context(), ada, "echo", rooms.DormancyRequest{Level: dormancy.Sleep})
	require.NoError(t, err)
	asks := room.MaxPage + 2
	for n := range asks {
		_, err := r.Post(t.Context(), ada, rooms.PostRequest{Room: "hall", As: "echo", Body: fmt.Sprint("thought ", n)})
		require.NoError(t, err)
	}
	first, err := r.Held(t.Context(), ada, "echo", 0, 0)
	require.NoError(t, err)
	require.Len(t, first, room.MaxPage)
	rest, err := r.Held(t.Context(), ada, "echo", first[len(first)-1].Number, 0)
	require.NoError(t, err)
	require.Len(t, rest, 2)
	_, err = r.SetDormancy(t.Context(), ada, "echo", rooms.DormancyRequest{Level: dormancy.Active})
	require.NoError(t, err)
	require.Zero(t, r.attend("echo"))
	rest, err = r.Held(t.Context(), ada, "echo", 0, 0)
	require.NoError(t, err)
	require.Empty(t, rest, "all were carried out at once")
}
