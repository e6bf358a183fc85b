package matrix_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche/matrix"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/testsuite/matrix/homeserver"
)

// echoing is a rig of one agent that says what it is named with, and ada.
func echoing(t *testing.T, handles ...string) (*rig, *person) {
	t.Helper()
	r := newRig(t, scripted(t), handles...)
	r.options.Subscribe = false
	r.will(map[string]string{"echo": "I hear you.", "null": "So do I."})
	return r, r.person("ada")
}

// find returns the post of a native room with a text.
func (r *rig) find(native, body string) room.Post {
	r.Helper()
	page, err := r.store.Rooms().History(r.Context(), room.Query{Room: native, As: room.AsOperator})
	require.NoError(r, err)
	at := slices.IndexFunc(page.Posts, func(p room.Post) bool { return p.Body == body })
	require.GreaterOrEqual(r, at, 0, "%s is not among %v", body, r.posts(native))
	return page.Posts[at]
}

func count(lines []string, line string) (n int) {
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

func TestAnEncryptedRoomIsRefusedOnceAndInPlainWords(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo", "null")
	r.start()
	made, err := ada.client.CreateRoom(t.Context(), &mautrix.ReqCreateRoom{
		Invite: []id.UserID{id.UserID(r.user("echo")), id.UserID(r.user("null"))},
		InitialState: []*event.Event{{
			Type:    event.StateEncryption,
			Content: event.Content{Raw: map[string]any{"algorithm": "m.megolm.v1.aes-sha2"}},
		}},
	})
	require.NoError(t, err)
	refused := ada.awaits(made.RoomID, "a refusal", func(e *event.Event) bool {
		body, _ := e.Content.Raw["body"].(string)
		return strings.HasPrefix(body, "This room is encrypted, and Oneiros does not read encrypted rooms")
	})
	require.Contains(t, r.log.String(), "an encrypted room is not served")
	r.restart()
	ada.says(made.RoomID, "@echo hello?")
	open := ada.opens("echo", "null")
	ada.says(open, "@echo @null hello?")
	ada.receives(open, "echo", "I hear you.")
	require.Equal(t, 1, count(ada.messages(made.RoomID), refused.Sender.Localpart()+": "+refused.Content.Raw["body"].(string)))
	require.Len(t, ada.messages(made.RoomID), 2, "nothing else was sent there: %v", ada.messages(made.RoomID))
	require.Len(t, r.minds.callsOf("echo"), 1)
}

func TestARoomThatBecomesEncryptedIsServedNoMore(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	r.start()
	hall := ada.opens("echo")
	ada.says(hall, "@echo hello?")
	ada.receives(hall, "echo", "I hear you.")
	native := r.native(hall)
	_, err := ada.client.SendStateEvent(t.Context(), hall, event.StateEncryption, "", map[string]any{"algorithm": "m.megolm.v1.aes-sha2"})
	require.NoError(t, err)
	ada.awaits(hall, "a refusal", func(e *event.Event) bool {
		body, _ := e.Content.Raw["body"].(string)
		return strings.HasPrefix(body, "This room is encrypted")
	})
	_, err = r.rooms.Post(t.Context(), operator, rooms.PostRequest{Room: native, As: "echo", Body: "A secret."})
	require.NoError(t, err)
	r.restart()
	other := ada.opens("echo")
	ada.says(other, "@echo hello?")
	ada.receives(other, "echo", "I hear you.")
	require.NotContains(t, ada.messages(hall), "echo: A secret.", "no plain text is sent into an encrypted room")
}

func TestOnlyPeopleWhoCountInviteAgents(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	r.options.People = []string{"@bob:elsewhere.net", "friends.net"}
	r.start()
	invites := func(user string) id.RoomID {
		made, err := r.somebody(user, r.scripted.Token(user)).client.CreateRoom(t.Context(),
			&mautrix.ReqCreateRoom{Invite: []id.UserID{id.UserID(r.user("echo"))}})
		require.NoError(t, err)
		return made.RoomID
	}
	membership := func(at id.RoomID, want string) {
		r.until(want, func() bool { return r.scripted.Membership(string(at), r.user("echo")) == want })
	}
	membership(invites("@mallory:elsewhere.net"), "leave")
	membership(invites("@bob:elsewhere.net"), "join")
	membership(invites("@carol:friends.net"), "join")
	membership(ada.opens("echo"), "join")
	require.Contains(t, r.log.String(), "an invitation is declined")
}

func TestOnlyListedRoomsAreBridged(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	made, err := ada.client.CreateRoom(t.Context(), &mautrix.ReqCreateRoom{RoomAliasName: "academy"})
	require.NoError(t, err)
	r.options.Rooms = map[string]string{"academy": "#academy:" + r.name}
	r.start()
	_, err = ada.client.InviteUser(t.Context(), made.RoomID, &mautrix.ReqInviteUser{UserID: id.UserID(r.user("echo"))})
	require.NoError(t, err)
	other, err := ada.client.CreateRoom(t.Context(), &mautrix.ReqCreateRoom{Invite: []id.UserID{id.UserID(r.user("echo"))}})
	require.NoError(t, err)
	r.until("the other one is declined", func() bool {
		return r.scripted.Membership(string(other.RoomID), r.user("echo")) == "leave"
	})
	require.Equal(t, "academy", r.native(made.RoomID))
	ada.says(made.RoomID, "@echo hello?")
	ada.receives(made.RoomID, "echo", "I hear you.")
}

func TestStrangersAreStrangers(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	r.start()
	hall := ada.opens("echo")
	native := r.native(hall)
	mallory := r.somebody("@mallory:elsewhere.net", r.scripted.Token("@mallory:elsewhere.net"))
	_, err := ada.client.InviteUser(t.Context(), hall, &mautrix.ReqInviteUser{UserID: "@mallory:elsewhere.net"})
	require.NoError(t, err)
	_, err = mallory.client.JoinRoomByID(t.Context(), hall)
	require.NoError(t, err)
	for i := range 6 {
		mallory.says(hall, fmt.Sprintf("@echo question %d", i))
		r.comes(native, fmt.Sprintf("mallory:elsewhere.net: @echo question %d", i))
	}
	post := r.find(native, "@echo question 0")
	require.Equal(t, dream.FromWeb, post.Taint)
	require.Equal(t, dormancy.Stranger, post.Trust)
	require.Len(t, r.minds.callsOf("echo"), 5, "the sixth waits")
	require.Equal(t, room.Queued, r.last("echo").Outcome)
	ada.says(hall, "@echo and me?")
	r.comes(native, "ada: @echo and me?")
	require.Equal(t, dream.FromHuman, r.find(native, "@echo and me?").Taint)
	require.Len(t, r.minds.callsOf("echo"), 6, "people are answered all the same")
}

func TestNoticesAreNotAnswered(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	r.start()
	hall := ada.opens("echo")
	native := r.native(hall)
	ada.sends(hall, event.MessageEventContent{MsgType: event.MsgNotice, Body: "@echo the build is green"})
	ada.says(hall, "Good.")
	r.comes(native, "ada: Good.")
	require.Equal(t, []string{"ada: Good."}, r.posts(native))
	require.Empty(t, r.minds.callsOf("echo"))
}

func TestEditsAndRedactionsComeThrough(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo", "null")
	r.start()
	hall := ada.opens("echo", "null")
	native := r.native(hall)
	question := ada.says(hall, "@echo what is it?")
	ada.receives(hall, "echo", "I hear you.")
	edit := event.MessageEventContent{MsgType: event.MsgText, Body: "@echo and @null, what is it?"}
	edit.Mentions = &event.Mentions{UserIDs: []id.UserID{id.UserID(r.user("echo")), id.UserID(r.user("null"))}}
	edit.SetEdit(question)
	ada.sends(hall, edit)
	ada.receives(hall, "null", "So do I.")
	r.settle()
	require.Len(t, r.minds.callsOf("echo"), 1, "who was called is not called again")
	require.Equal(t, 2, r.find(native, "@echo and @null, what is it?").Revision)

	_, err := ada.client.RedactEvent(t.Context(), hall, question)
	require.NoError(t, err)
	r.until("the post is emptied", func() bool { return slices.Contains(r.posts(native), "ada: ") })

	answer := r.find(native, "I hear you.")
	_, err = r.rooms.Edit(t.Context(), operator, rooms.EditRequest{Post: answer.ID, As: "echo", Revision: 1, Body: "I heard you."})
	require.NoError(t, err)
	replaced := messageOf(t, ada.receives(hall, "echo", "* I heard you."))
	original := ada.receives(hall, "echo", "I hear you.").ID
	require.Equal(t, original, replaced.RelatesTo.GetReplaceID())
	_, err = r.rooms.Delete(t.Context(), operator, answer.ID, "echo")
	require.NoError(t, err)
	ada.awaits(hall, "a redaction", func(e *event.Event) bool {
		return e.Type.Type == "m.room.redaction" && e.Redacts == original
	})
}

func TestHistoryCallsNobodyAndAGapIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo", "null")
	made, err := ada.client.CreateRoom(t.Context(), &mautrix.ReqCreateRoom{})
	require.NoError(t, err)
	hall := made.RoomID
	for i := range 9 {
		ada.says(hall, fmt.Sprintf("@echo before %d", i))
	}
	r.start()
	for _, name := range []string{"echo", "null"} {
		_, err = ada.client.InviteUser(t.Context(), hall, &mautrix.ReqInviteUser{UserID: id.UserID(r.user(name))})
		require.NoError(t, err)
	}
	native := r.native(hall)
	r.until("both are in", func() bool {
		members, err := r.store.Rooms().Members(t.Context(), room.AsOperator, native)
		return err == nil && len(members) == 3
	})
	r.kill()
	var want []string
	for i := range 17 {
		ada.says(hall, fmt.Sprintf("Meanwhile %d", i))
		want = append(want, fmt.Sprintf("ada: Meanwhile %d", i))
		if i == 4 {
			ada.says(hall, "@echo are you there?")
			want = append(want, "ada: @echo are you there?")
		}
	}
	r.start()
	ada.receives(hall, "echo", "I hear you.")
	r.comes(native, want[len(want)-1])
	r.restart()
	ada.says(hall, "Done.")
	r.comes(native, "ada: Done.")
	people := slices.DeleteFunc(r.posts(native), func(line string) bool { return !strings.HasPrefix(line, "ada: ") })
	require.Equal(t, append(want, "ada: Done."), people, "in order, each once, and nothing from before")
	require.Len(t, r.minds.callsOf("echo"), 1)
	require.Equal(t, 1, count(ada.messages(hall), "echo: I hear you."))
}

func TestTheHomeserversOwnDelayIsHonoured(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"in the body": func(w http.ResponseWriter) {
			homeserver.Fail(w, http.StatusTooManyRequests, "M_LIMIT_EXCEEDED", map[string]any{"retry_after_ms": 7300})
		},
		"in the header": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "42")
			homeserver.Fail(w, http.StatusTooManyRequests, "M_LIMIT_EXCEEDED", nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ada := echoing(t, "echo")
			var refused atomic.Int32
			r.scripted.Intercept = func(w http.ResponseWriter, req *http.Request, user string) bool {
				if user != r.user("echo") || !strings.Contains(req.URL.Path, "/send/") || refused.Add(1) > 2 {
					return false
				}
				refuse(w)
				return true
			}
			r.start()
			hall := ada.opens("echo")
			ada.says(hall, "@echo hello?")
			ada.receives(hall, "echo", "I hear you.")
			r.mu.Lock()
			defer r.mu.Unlock()
			want := map[string]time.Duration{"in the body": 7300 * time.Millisecond, "in the header": 42 * time.Second}[name]
			require.Equal(t, []time.Duration{want, want}, r.waits)
		})
	}
}

func TestAHomeserverThatIsAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	var away atomic.Bool
	var turned atomic.Int32
	r.scripted.Intercept = func(w http.ResponseWriter, _ *http.Request, user string) bool {
		if !away.Load() || user != r.user("echo") {
			return false
		}
		if turned.Add(1)%2 == 0 {
			homeserver.Cut(w)
		} else {
			homeserver.Fail(w, http.StatusBadGateway, "M_UNKNOWN", nil)
		}
		return true
	}
	away.Store(true)
	r.start()
	r.until("it is asked again and again", func() bool { return turned.Load() > 6 })
	away.Store(false)
	hall := ada.opens("echo")
	ada.says(hall, "@echo hello?")
	ada.receives(hall, "echo", "I hear you.")
	require.Contains(t, r.log.String(), "the homeserver answers again")
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, r.waits[:3], "with longer and longer pauses")
}

func TestAccountsAreLetInByPasswordOrToken(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo", "null")
	r.options.Accounts[0].Token, r.options.Accounts[0].Password = "", "of "+r.user("echo")
	r.options.Accounts[1].Token = r.scripted.Token(r.user("somebody-else"))
	r.start()
	hall := ada.opens("echo")
	r.scripted.Revoke(r.user("echo"))
	ada.says(hall, "@echo hello?")
	ada.receives(hall, "echo", "I hear you.")
	require.Contains(t, r.log.String(), "the token of @null:example.org is that of @somebody-else:example.org")
	r.kill()

	r.options.Accounts[0].Password = "wrong"
	r.start()
	r.bridge.Wait()
	require.ErrorContains(t, r.ended, "M_FORBIDDEN")
	require.NotContains(t, r.ended.Error(), "wrong")
	require.NotContains(t, r.log.String(), "of @echo")
}

func TestAnAgentThatIsRemovedLeavesTheRoom(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo", "null")
	r.start()
	hall := ada.opens("echo", "null")
	native := r.native(hall)
	ada.says(hall, "@null hello?")
	ada.receives(hall, "null", "So do I.")
	_, err := ada.client.KickUser(t.Context(), hall, &mautrix.ReqKickUser{UserID: id.UserID(r.user("null"))})
	require.NoError(t, err)
	r.until("it is out", func() bool {
		members, err := r.store.Rooms().Members(t.Context(), room.AsOperator, native)
		return err == nil && !slices.ContainsFunc(members, func(m room.Member) bool { return m.Name == "null" })
	})
	ada.says(hall, "@echo @null hello?")
	ada.receives(hall, "echo", "I hear you.")
	r.settle()
	require.Len(t, r.minds.callsOf("null"), 1)
}

func TestWhatIsPostedHereIsShownThereWithItsAuthor(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	r.start()
	hall := ada.opens("echo")
	native := r.native(hall)
	ada.says(hall, "Good morning.")
	r.comes(native, "ada: Good morning.")
	_, err := r.rooms.Post(t.Context(), operator, rooms.PostRequest{Room: native, Body: "Good morning, @ada."})
	require.NoError(t, err)
	relayed := messageOf(t, ada.receives(hall, "echo", "local: Good morning, @ada."))
	require.Equal(t, event.MsgNotice, relayed.MsgType)
	require.Equal(t, []id.UserID{"@ada:example.org"}, relayed.Mentions.UserIDs)
	require.Equal(t, `local: Good morning, <a href="https://matrix.to/#/@ada:example.org">@ada</a>.`, relayed.FormattedBody)
}

func TestInARoomOfTwoEveryPostIsForTheAgent(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	r.start()
	made, err := ada.client.CreateRoom(t.Context(), &mautrix.ReqCreateRoom{
		Invite: []id.UserID{id.UserID(r.user("echo"))}, IsDirect: true,
	})
	require.NoError(t, err)
	r.native(made.RoomID)
	ada.says(made.RoomID, "Nobody else is here.")
	ada.receives(made.RoomID, "echo", "I hear you.")
}

func TestWhatClientsSendIsRead(t *testing.T) {
	t.Parallel()
	r, ada := echoing(t, "echo")
	r.start()
	hall := ada.opens("echo")
	native := r.native(hall)
	for _, c := range []struct {
		content event.MessageEventContent
		want    string
	}{
		{event.MessageEventContent{MsgType: event.MsgEmote, Body: "waves"}, "* ada waves"},
		{event.MessageEventContent{MsgType: event.MsgImage, Body: "pier.jpg"}, "(a file of kind image: pier.jpg)"},
		{
			event.MessageEventContent{MsgType: event.MsgImage, Body: "The pier", FileName: "pier.jpg"},
			"The pier (with a file of kind image: pier.jpg)",
		},
		{
			event.MessageEventContent{
				MsgType:       event.MsgText,
				Body:          "> <@bob:example.org> @echo is here\n\nI see.",
				Format:        event.FormatHTML,
				FormattedBody: "<mx-reply><blockquote>@echo is here</blockquote></mx-reply>I see.",
				RelatesTo:     (&event.RelatesTo{}).SetReplyTo("$unknown"),
			},
			"I see.",
		},
		{event.MessageEventContent{MsgType: event.MsgText, Body: "@echo:example.org hello"}, "@echo hello"},
	} {
		c.content.Mentions = &event.Mentions{}
		ada.sends(hall, c.content)
		r.comes(native, "ada: "+c.want)
	}
	require.Len(t, r.minds.callsOf("echo"), 1, "only the last one calls it")
}

func TestOnlyOneBridgeRuns(t *testing.T) {
	t.Parallel()
	r, _ := echoing(t, "echo")
	r.start()
	_, err := matrix.New(t.Context(), matrix.Ports{Agents: r.store}, r.options)
	require.ErrorIs(t, err, matrix.ErrRunning)
	r.restart()
}
