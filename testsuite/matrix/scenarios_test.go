package matrix_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// everywhere plays a scenario through the homeserver of the tests and, where there is one, through a real one.
func everywhere(t *testing.T, play func(t *testing.T, at place)) {
	t.Helper()
	if programs := os.Getenv("ONEIROS_DENDRITE"); programs != "" {
		play(t, dendrite(t, programs))
		return
	}
	t.Parallel()
	play(t, scripted(t))
}

// An agent leaves a noisy room to people, and one of them gets an answer at once.
func TestScenarioAnAgentRetreatsFromNoise(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		r := newRig(t, at, "helper", "teacher", "coder")
		r.will(nil)
		r.start()
		ada := r.person("ada")
		hall := ada.opens("helper", "teacher", "coder")
		native := r.native(hall)
		helper := r.somebody(r.user("helper"), r.options.Accounts[0].Token)
		agents := []*person{r.somebody(r.user("teacher"), r.options.Accounts[1].Token), r.somebody(r.user("coder"), r.options.Accounts[2].Token)}
		count := 0
		noise := func(rounds int) {
			for range rounds {
				count++
				text := fmt.Sprintf("One more thought, number %d.", count)
				agents[count%2].says(hall, text)
				r.comes(native, []string{"teacher", "coder"}[count%2]+": "+text)
				r.pass(20 * time.Second)
			}
		}
		noise(6)
		before := len(r.minds.callsOf("helper"))
		require.Positive(t, before, "an active agent is called by the noise")

		helper.says(hall, "@self dormant human-only")
		ada.receives(hall, "helper", "helper is now dormant (human-only). Mention them or use @self awake to wake.")
		r.showsBadge("helper", event.PresenceUnavailable, "Dormant (human-only) since 1:47 PM")
		require.Equal(t, dormancy.HumanOnly, r.level("helper"))

		r.pass(time.Hour)
		noise(4)
		require.Len(t, r.minds.callsOf("helper"), before, "agents go on, and the agent stays silent")
		skip := r.last("helper")
		require.Equal(t, room.Skipped, skip.Outcome)
		require.Equal(t, "level", skip.Reason)

		r.will(map[string]string{"helper": "Sure, show me."})
		question := ada.says(hall, "@helper I need help with the build")
		reply := messageOf(t, ada.receives(hall, "helper", "Sure, show me."))
		require.Equal(t, event.MsgNotice, reply.MsgType)
		require.Equal(t, question, reply.RelatesTo.GetThreadParent(), "it hangs on the question")
		require.Equal(t, question, reply.RelatesTo.GetNonFallbackReplyTo())
		require.Equal(t, dormancy.HumanOnly, r.level("helper"), "a mention leaves the level as it is")
	})
}

// An agent steps back for two hours, and its timer brings it back.
func TestScenarioATimeOfRest(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		r := newRig(t, at, "teacher", "coder")
		r.will(map[string]string{"teacher": "Here."})
		r.start()
		ada := r.person("ada")
		hall := ada.opens("teacher", "coder")
		native := r.native(hall)
		teacher := r.somebody(r.user("teacher"), r.options.Accounts[0].Token)
		teacher.says(hall, "@self dormant mention-only for 2h")
		ada.receives(hall, "teacher", "teacher is dormant (mention-only) until 3:45 PM")
		r.showsBadge("teacher", event.PresenceUnavailable, "Dormant (mention-only) since 1:45 PM until 3:45 PM")

		ada.says(hall, "Good afternoon.")
		r.comes(native, "ada: Good afternoon.")
		require.Empty(t, r.minds.callsOf("teacher"), "it sees all and stays quiet")
		ada.says(hall, "@teacher are you there?")
		ada.receives(hall, "teacher", "Here.")
		teacher.says(hall, "@self status")
		ada.receives(hall, "teacher", "Dormant (mention-only) since 1:45 PM until 3:45 PM")

		r.pass(2 * time.Hour)
		_, err := r.rooms.Attend(t.Context(), "id-teacher")
		require.NoError(t, err)
		ada.receives(hall, "teacher", "teacher is awake and active again! (auto-woke after timer)")
		r.showsBadge("teacher", event.PresenceOnline, "Active - responding to all messages")
		ada.says(hall, "Good evening.")
		r.comes(native, "ada: Good evening.")
		require.Len(t, r.minds.callsOf("teacher"), 2)
	})
}

// A person wakes a sleeper by command and gives it a message; a mention by a person wakes one, too.
func TestScenarioAPersonWakesASleeper(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		r := newRig(t, at, "helper", "coder")
		r.will(map[string]string{"helper": "On my way."})
		r.start()
		ada := r.person("ada")
		hall := ada.opens("helper", "coder")
		native := r.native(hall)
		helper := r.somebody(r.user("helper"), r.options.Accounts[0].Token)
		coder := r.somebody(r.user("coder"), r.options.Accounts[1].Token)
		helper.says(hall, "@self dormant sleep")
		ada.receives(hall, "helper", "helper is now dormant (sleep). Mention them or use @self awake to wake.")
		r.showsBadge("helper", event.PresenceOffline, "")
		coder.says(hall, "@helper have a look when you can")
		ada.receives(hall, "helper", "helper sleeps; what agents say to it waits until it wakes.")
		r.settle()
		require.Empty(t, r.minds.callsOf("helper"))

		done, err := r.rooms.Awaken(t.Context(), operator, rooms.AwakenRequest{
			Agents: []string{"helper"}, Message: "Urgent: the build is broken", Key: "k",
		})
		require.NoError(t, err)
		require.Equal(t, []string{"helper"}, done.Woken)
		ada.receives(hall, "helper", "helper is awake and active again!")
		r.settle()
		calls := r.minds.callsOf("helper")
		require.Len(t, calls, 1)
		require.Equal(t, prompt.Directly, calls[0].Wake.Trigger)
		_, err = r.rooms.Attend(t.Context(), "id-helper")
		require.NoError(t, err)
		require.Len(t, r.minds.callsOf("helper"), 2, "then what had waited")

		helper.says(hall, "@self dormant sleep")
		r.until("it sleeps", func() bool { return r.level("helper") == dormancy.Sleep })
		ada.says(hall, "@helper and now?")
		ada.receives(hall, "helper", "On my way.")
		r.comes(native, "ada: @helper and now?")
		require.Equal(t, dormancy.Active, r.level("helper"), "a person's mention ends sleep")
		r.showsBadge("helper", event.PresenceOnline, "Active - responding to all messages")
	})
}

// A person wakes all that are dormant, whatever their levels, and no others.
func TestScenarioAPersonWakesAll(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		handles := []string{"helper", "teacher", "coder", "iris"}
		r := newRig(t, at, handles...)
		r.will(nil)
		r.start()
		ada := r.person("ada")
		hall := ada.opens(handles...)
		r.native(hall)
		for i, command := range []string{"@self dormant sleep", "@self dormant mention-only for 2h", "@self dormant human-only here"} {
			r.somebody(r.user(handles[i]), r.options.Accounts[i].Token).says(hall, command)
			ada.awaits(hall, "it is told", func(e *event.Event) bool {
				body, _ := e.Content.Raw["body"].(string)
				return string(e.Sender) == r.user(handles[i]) && len(body) > 0 && body != command
			})
		}
		done, err := r.rooms.Awaken(t.Context(), operator, rooms.AwakenRequest{All: true})
		require.NoError(t, err)
		require.ElementsMatch(t, handles[:3], done.Woken)
		for _, handle := range handles[:3] {
			ada.receives(hall, handle, handle+" is awake and active again!")
		}
		require.NotContains(t, ada.messages(hall), "iris: iris is awake and active again!")
	})
}

// A post that names one agent: it sees the post and its author, and answers in a thread.
func TestExampleOneIsNamed(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		r := newRig(t, at, "echo", "null")
		r.options.Subscribe = false
		r.will(map[string]string{"echo": "A name."})
		r.start()
		ada := r.person("ada")
		hall := ada.opens("echo", "null")
		native := r.native(hall)
		ada.says(hall, "What do you make of it, @echo?")
		ada.receives(hall, "echo", "A name.")
		r.settle()
		call := r.minds.callsOf("echo")[0]
		require.Equal(t, prompt.ByMention, call.Wake.Trigger)
		require.Equal(t, prompt.Speech{Author: "ada", Text: "What do you make of it, @echo?"}, call.Wake.Caller)
		require.Equal(t, native, call.Wake.Room)
		require.Empty(t, call.Wake.Chain)
		require.Empty(t, call.Wake.Others)
		require.Empty(t, r.minds.callsOf("null"))
	})
}

// A post that names two: each knows that the other was called, and they answer in the order of the post.
func TestExampleTwoAreNamed(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		r := newRig(t, at, "echo", "null")
		r.options.Subscribe = false
		r.will(map[string]string{"echo": "I am echo.", "null": "I am null."})
		r.start()
		ada := r.person("ada")
		hall := ada.opens("echo", "null")
		r.native(hall)
		ada.says(hall, "Let me hear @null and @echo on that")
		ada.receives(hall, "null", "I am null.")
		ada.receives(hall, "echo", "I am echo.")
		require.Equal(t, []string{"null"}, r.minds.callsOf("echo")[0].Wake.Others)
		require.Equal(t, []string{"echo"}, r.minds.callsOf("null")[0].Wake.Others)
		require.Equal(t, []string{"ada: Let me hear @null and @echo on that", "null: I am null.", "echo: I am echo."}, ada.messages(hall))
	})
}

// A reply in a thread that names one: it sees what the thread hangs on and its own answer there, and answers there.
func TestExampleOneIsNamedInAThread(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		r := newRig(t, at, "echo", "iris")
		r.options.Subscribe = false
		r.will(map[string]string{"echo": "Of both.", "iris": "Of what we leave out."})
		r.start()
		ada := r.person("ada")
		hall := ada.opens("echo", "iris")
		native := r.native(hall)
		root := ada.says(hall, "@iris what is attention made of?")
		first := ada.receives(hall, "iris", "Of what we leave out.")
		ada.says(hall, "Something else meanwhile")
		r.comes(native, "ada: Something else meanwhile")
		question := ada.sends(hall, event.MessageEventContent{
			MsgType: event.MsgText, Body: "@echo and you?",
			RelatesTo: (&event.RelatesTo{}).SetThread(root, first.ID),
		})
		reply := messageOf(t, ada.receives(hall, "echo", "Of both."))
		require.Equal(t, root, reply.RelatesTo.GetThreadParent())
		require.Equal(t, question, reply.RelatesTo.GetNonFallbackReplyTo())
		wake := r.minds.callsOf("echo")[0].Wake
		require.Equal(t, &prompt.Speech{Author: "ada", Text: "@iris what is attention made of?"}, wake.Root)
		require.Equal(t, []prompt.Speech{{Author: "iris", Agent: true, Text: "Of what we leave out."}}, wake.Chain)
	})
}

// showsBadge waits until an agent's account shows a presence, and a status; an empty status is any. Of a user who is
// offline a homeserver may show no status.
func (r *rig) showsBadge(handle string, shown event.Presence, status string) {
	r.Helper()
	own := r.somebody(r.user(handle), r.options.Accounts[0].Token)
	r.until(fmt.Sprintf("%s shows %s %q", handle, shown, status), func() bool {
		if r.scripted != nil {
			p := r.scripted.Presence(r.user(handle))
			return p.Presence == string(shown) && (status == "" || p.Status == status)
		}
		p, err := own.client.GetPresence(r.Context(), id.UserID(r.user(handle)))
		return err == nil && p.Presence == shown && (status == "" || p.StatusMsg == status)
	})
}

// How long a mention takes through a homeserver, from the person's request to the person's news of the reply, with an
// agent that answers at once. The figures are printed; nothing is asserted of them.
func TestHowSoonAMentionIsAnswered(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		r := newRig(t, at, "echo")
		r.options.Subscribe = false
		r.minds.answer = func(_ string, c psyche.Call) psyche.CallAnswer {
			return psyche.CallAnswer{WakeAnswer: prompt.WakeAnswer{Response: "To: " + c.Wake.Caller.Text}}
		}
		r.start()
		ada := r.person("ada")
		hall := ada.opens("echo")
		r.native(hall)
		var took []time.Duration
		for i := range 40 {
			r.pass(time.Minute)
			began := time.Now()
			text := fmt.Sprintf("@echo number %d", i)
			ada.says(hall, text)
			ada.receives(hall, "echo", "To: "+text)
			took = append(took, time.Since(began).Round(100*time.Microsecond))
		}
		slices.Sort(took)
		t.Logf("from a mention to its reply in Matrix, %d times: half within %s, the slowest %s", len(took),
			took[len(took)/2], took[len(took)-1])
	})
}
