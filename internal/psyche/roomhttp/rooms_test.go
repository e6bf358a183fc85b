package roomhttp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func TestARoomIsMadeListedJoinedAndLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.ask(ada, "POST", "/v1/rooms", `{"id":"hall","title":"The hall","meta":{"elsewhere":"7"},"join":["echo"]}`)
	require.Equal(t, 201, made.status, "%s", made.body)
	require.Equal(t, "/v1/rooms/hall", made.header.Get("Location"))
	listed := does[psyche.Page[room.Room]](r, 200, ada, "GET", "/v1/rooms", "")
	require.Len(t, listed.Data, 1)
	require.Equal(t, map[string]string{"elsewhere": "7"}, listed.Data[0].Meta)
	require.Equal(t, "hall", listed.Last)
	require.Len(t, does[psyche.Page[room.Room]](r, 200, owner, "GET", "/v1/rooms", "").Data, 1)
	require.Empty(t, does[psyche.Page[room.Room]](r, 200, client, "GET", "/v1/rooms", "").Data)
	r.refused(403, "not_a_member", "", "not a member", client, "GET", "/v1/rooms/hall", "")

	joined := does[room.Member](r, 200, ada, "POST", "/v1/rooms/hall/members",
		`{"person":"client","name":"The Client","role":"reader","trust":"stranger"}`)
	require.Equal(t, room.Reader, joined.Role)
	changed := does[room.Member](r, 200, ada, "PUT", "/v1/rooms/hall/subscriptions", `{"agent":"echo","on":false}`)
	require.False(t, changed.Subscribed)
	view := does[rooms.View](r, 200, client, "GET", "/v1/rooms/hall", "")
	require.Equal(t, "The hall", view.Title)
	var names []string
	for _, m := range view.Members {
		names = append(names, m.Name)
	}
	require.Equal(t, []string{"echo", "ada", "The Client"}, names)

	r.refused(403, "role_required", "", "operator", client, "DELETE", "/v1/rooms/hall/members/echo", "")
	require.Equal(t, 204, r.ask(client, "DELETE", "/v1/rooms/hall/members/client", "").status)
	require.Equal(t, 204, r.ask(ada, "DELETE", "/v1/rooms/hall/members/echo", "").status)
	require.Len(t, does[rooms.View](r, 200, ada, "GET", "/v1/rooms/hall", "").Members, 1)
}

func TestAPostIsStoredAnsweredEditedAndDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	posted := r.ask(client, "POST", "/v1/rooms/hall/posts", `{"body":"@echo are you there? And @nobody?"}`)
	require.Equal(t, 201, posted.status, "%s", posted.body)
	require.Equal(t, "/v1/rooms/hall/posts/1", posted.header.Get("Location"))
	require.Contains(t, string(posted.body), `"absent":["nobody"]`)
	require.Contains(t, string(posted.body), `"reached":[{"agent":"echo","outcome":"queued"`)
	r.settle()
	all := does[psyche.Page[room.Post]](r, 200, client, "GET", "/v1/rooms/hall/posts?from=oldest", "")
	require.Len(t, all.Data, 2)
	require.Equal(t, "I hear you.", all.Data[1].Body)
	require.Equal(t, []string{"hall/1", "hall/2"}, []string{all.First, all.Last})
	first := does[psyche.Page[room.Post]](r, 200, client, "GET", "/v1/rooms/hall/posts?from=oldest&limit=1", "")
	require.True(t, first.More)
	rest := does[psyche.Page[room.Post]](r, 200, client, "GET", "/v1/rooms/hall/posts?after=1", "")
	require.Equal(t, "hall/2", rest.First)
	before := does[psyche.Page[room.Post]](r, 200, client, "GET", "/v1/rooms/hall/posts?before=2", "")
	require.Equal(t, "hall/1", before.First)

	edited := does[rooms.PostResult](r, 200, client, "PATCH", "/v1/rooms/hall/posts/1", `{"revision":1,"body":"Hello."}`)
	require.Equal(t, 2, edited.Post.Revision)
	r.refused(409, "conflict", "", "changed since", client, "PATCH", "/v1/rooms/hall/posts/1",
		`{"revision":1,"body":"No."}`)
	r.refused(403, "role_required", "", "role", client, "DELETE", "/v1/rooms/hall/posts/2", "")
	require.Equal(t, "Hello.", does[room.Post](r, 200, ada, "GET", "/v1/rooms/hall/posts/1", "").Body)
	require.Equal(t, room.Emptied, does[room.Post](r, 200, client, "DELETE", "/v1/rooms/hall/posts/1", "").State)
	byAgent := does[room.Post](r, 200, ada, "DELETE", "/v1/rooms/hall/posts/2?as=echo", "")
	require.Empty(t, byAgent.Body)
	r.refused(404, "not_found", "", "hall/9", client, "GET", "/v1/rooms/hall/posts/9", "")
}

func TestAThreadIsReadAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	for _, body := range []string{
		`{"body":"one","notice":true}`, `{"body":"two"}`, `{"body":"three","thread":"hall/1","reply_to":"hall/1"}`,
	} {
		require.Equal(t, 201, r.ask(ada, "POST", "/v1/rooms/hall/posts", body).status)
		r.settle()
	}
	thread := does[psyche.Page[room.Post]](r, 200, ada, "GET", "/v1/rooms/hall/posts?from=oldest&thread=hall/1", "")
	require.GreaterOrEqual(t, len(thread.Data), 2)
	require.Equal(t, "one", thread.Data[0].Body)
	require.Equal(t, "three", thread.Data[1].Body)
}

func TestAPostOfTheLargestTextIsTakenHoweverItIsEscaped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	largest := strings.Repeat(`\u0041`, room.MaxBody)
	require.Equal(t, 201, r.ask(ada, "POST", "/v1/rooms/hall/posts", `{"body":"`+largest+`"}`).status)
	r.refused(400, "invalid_value", "body", "at most 65536", ada, "POST", "/v1/rooms/hall/posts",
		`{"body":"`+strings.Repeat("A", room.MaxBody+1)+`"}`)
	r.refused(413, "body_too_large", "", "larger", ada, "POST", "/v1/rooms/hall/posts",
		`{"body":"`+strings.Repeat("A", 1<<20)+`"}`)
}

func TestLevelsAreSetReadAndEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	set := does[room.Dormancy](r, 200, ada, "PUT", "/v1/agents/echo/dormancy",
		`{"level":"sleep","for":"2h","reason":"too loud"}`)
	require.Equal(t, dormancy.Sleep, set.Level)
	require.False(t, set.Until.IsZero())
	does[room.Dormancy](r, 200, ada, "PUT", "/v1/agents/echo/dormancy",
		`{"level":"mention-only","room":"hall","until":"2999-01-01T00:00:00Z"}`)
	states := does[psyche.Page[room.Dormancy]](r, 200, client, "GET", "/v1/agents/echo/dormancy", "")
	require.Len(t, states.Data, 2)
	require.Equal(t, []string{"", "hall"}, []string{states.First, states.Last})
	r.refused(403, "role_too_low", "", "operator", client, "PUT", "/v1/agents/echo/dormancy", `{"level":"sleep"}`)

	require.Equal(t, 200, r.ask(ada, "PUT", "/v1/agents/echo/dormancy", `{"level":"sleep","room":"hall"}`).status)
	held := r.ask(ada, "POST", "/v1/rooms/hall/posts", `{"as":"echo","body":"I dreamt of you."}`)
	require.Equal(t, 202, held.status, "%s", held.body)
	require.Empty(t, held.header.Get("Location"))
	actions := does[psyche.Page[room.Action]](r, 200, ada, "GET", "/v1/agents/echo/held", "")
	require.Len(t, actions.Data, 1)
	require.Contains(t, string(actions.Data[0].Body), "I dreamt of you.")

	woken := does[rooms.Awoken](r, 200, ada, "POST", "/v1/agents/awaken", `{"all":true,"message":"Get up."}`)
	require.Equal(t, rooms.Awoken{Success: true, Woken: []string{"echo"}}, woken)
	r.settle()
	require.Empty(t, does[psyche.Page[room.Dormancy]](r, 200, client, "GET", "/v1/agents/echo/dormancy", "").Data)
	named := does[rooms.Awoken](r, 200, ada, "POST", "/v1/agents/awaken", `{"agents":["iris"]}`)
	require.Equal(t, []string{"iris"}, named.Woken)
	calls := does[psyche.Page[room.Wake]](r, 200, ada, "GET", "/v1/agents/echo/calls?limit=1", "")
	require.Equal(t, room.Replied, calls.Data[0].Outcome)
	require.Empty(t, does[psyche.Page[room.Wake]](r, 200, ada, "GET", "/v1/agents/echo/calls?after=1", "").Data)
}

func TestWhatAgentsSayToASleeperWaitsInItsInbox(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	require.Equal(t, 200, r.ask(ada, "POST", "/v1/rooms/hall/members", `{"agent":"iris"}`).status)
	require.Equal(t, 200, r.ask(ada, "PUT", "/v1/agents/echo/dormancy", `{"level":"sleep"}`).status)
	require.Equal(t, 201, r.ask(ada, "POST", "/v1/rooms/hall/posts", `{"as":"iris","body":"@echo wake up"}`).status)
	r.settle()
	inbox := does[psyche.Page[room.Item]](r, 200, ada, "GET", "/v1/agents/echo/inbox", "")
	require.Len(t, inbox.Data, 1)
	require.Equal(t, room.Waiting, inbox.Data[0].State)
	require.Zero(t, r.minds.count())
}

func TestAnAgentIsCalledAndAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	answer := does[rooms.CallResponse](r, 200, client, "POST", "/v1/agents/echo/wake", `{"trigger":"mention",
		"post":{"id":"p1","content":"@echo come","author":{"name":"Ada","type":"user"},"categories":["a"],"score":0.5},
		"thread":{"root_content":"It began.","root_author":"Iris",
			"reply_chain":[{"author":"Iris","content":"Yes.","type":"agent"}]},
		"other_mentions":["iris"],"agent":{"handle":"echo","interests":["tides"],"memory":["a boat"]}}`)
	require.True(t, answer.ShouldRespond)
	require.Equal(t, "I hear you.", answer.Response)
	require.Equal(t, "curious", answer.Emotion)
	require.Equal(t, "echo", answer.Metadata.Handle)
	require.EqualValues(t, 7, answer.Metadata.Cost)
	does[rooms.CallResponse](r, 200, client, "POST", "/v1/agents/echo/wake", `{"trigger":"direct","message":"Hello"}`)
	r.refused(404, "agent_not_found", "agent", "echo", stranger, "POST", "/v1/agents/echo/wake",
		`{"trigger":"direct","message":"Hello"}`)
}

func TestARequestUnderAnIdempotencyKeyIsDoneOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	for _, c := range []struct{ who, method, path, body string }{
		{ada, "POST", "/v1/rooms", `{"id":"loft"}`},
		{ada, "POST", "/v1/rooms/hall/members", `{"agent":"iris"}`},
		{ada, "PUT", "/v1/rooms/hall/subscriptions", `{"agent":"iris","on":true}`},
		{client, "POST", "/v1/rooms/hall/posts", `{"body":"Once?"}`},
		{client, "PATCH", "/v1/rooms/hall/posts/1", `{"revision":1,"body":"Once."}`},
		{client, "POST", "/v1/agents/echo/wake", `{"trigger":"direct","message":"Hello"}`},
		{ada, "PUT", "/v1/agents/echo/dormancy", `{"level":"human-only","for":"1h"}`},
		{ada, "POST", "/v1/agents/awaken", `{"all":true}`},
		{client, "DELETE", "/v1/rooms/hall/posts/1", ""},
		{ada, "DELETE", "/v1/rooms/hall/members/iris", ""},
	} {
		name := c.method + " " + c.path
		first := r.ask(c.who, c.method, c.path, c.body, "Idempotency-Key", name)
		require.Less(t, first.status, 300, "%s: %s", name, first.body)
		r.settle()
		calls := r.minds.count()
		events := len(does[psyche.Page[room.Event]](r, 200, ada, "GET", "/v1/rooms/hall/events?limit=499", "").Data)
		again := r.ask(c.who, c.method, c.path, c.body, "Idempotency-Key", name)
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"), name)
		require.Equal(t, string(first.body), string(again.body), name)
		require.Equal(t, first.header.Get("Location"), again.header.Get("Location"), name)
		r.settle()
		require.Equal(t, calls, r.minds.count(), name)
		after := does[psyche.Page[room.Event]](r, 200, ada, "GET", "/v1/rooms/hall/events?limit=499", "")
		require.Len(t, after.Data, events, name)
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	const posts, level, wake = "/v1/rooms/hall/posts", "/v1/agents/echo/dormancy", "/v1/agents/echo/wake"
	for _, c := range []struct{ method, path, body, param, hint string }{
		{"POST", "/v1/rooms", `{"id":"No Room"}`, "id", "a to z"},
		{"POST", "/v1/rooms", `{"id":"loft","joins":[]}`, "joins", `"joins" is unknown; fields are id, join, meta, title`},
		{"POST", "/v1/rooms", `{"id":"loft","join":["echo",7]}`, "join[1]", "join[1] must be a string"},
		{"POST", "/v1/rooms", `{"id":"loft","meta":{"a":1}}`, "meta", "must be an object of strings"},
		{"POST", "/v1/rooms?x=1", `{"id":"loft"}`, "x", "unknown"},
		{"GET", "/v1/rooms?limit=1", "", "limit", "unknown"},
		{"POST", "/v1/rooms/hall/members", `{}`, "agent", "either an agent or a person"},
		{"POST", "/v1/rooms/hall/members", `{"agent":"echo","role":"king"}`, "member", "reader, writer and owner"},
		{"DELETE", "/v1/rooms/hall/members/echo", `{"now":true}`, "now", "this takes none"},
		{"PUT", "/v1/rooms/hall/subscriptions", `{"agent":"echo"}`, "on", "missing"},
		{"PUT", "/v1/rooms/hall/subscriptions", `{"on":true}`, "agent", "missing"},
		{"PUT", "/v1/rooms/hall/subscriptions", `{"agent":"echo","on":"yes"}`, "on", "true or false"},
		{"POST", posts, `{"body":" "}`, "body", "body is empty"},
		{"POST", posts, `{"body":"x","Notice":true}`, "Notice", "unknown"},
		{"POST", posts, `{"body":"x","body":"y"}`, "body", "given twice"},
		{"GET", posts + "?from=middle", "", "from", "newest or oldest"},
		{"GET", posts + "?limit=501", "", "limit", "1 to 500"},
		{"GET", posts + "?after=-1", "", "after", "from 0 on"},
		{"GET", posts + "?before=x", "", "before", "from 1 on"},
		{"GET", posts + "?thread=loft/1", "", "thread", "hall/12"},
		{"GET", posts + "/0", "", "offset", `offset is "0"`},
		{"PATCH", posts + "/x", `{}`, "offset", "from 1 on"},
		{"PATCH", posts + "/1", `{"revision":"1","body":"x"}`, "revision", "must be a whole number"},
		{"PATCH", posts + "/1", `{"body":"x"}`, "body", "revision is 0"},
		{"DELETE", posts + "/1?by=echo", "", "by", "unknown"},
		{"GET", "/v1/rooms/hall/events?after=x", "", "after", "from 0 on"},
		{"GET", "/v1/rooms/hall/events?limit=0", "", "limit", "from 1 on"},
		{"PUT", level, `{"level":"deaf"}`, "level", "active, mention-only, human-only or sleep"},
		{"PUT", level, `{"level":"sleep","for":"0m"}`, "for", "above zero"},
		{"PUT", level, `{"level":"sleep","until":"5pm"}`, "until", "RFC 3339"},
		{"PUT", level, `{"level":"sleep","until":"2001-01-01T00:00:00Z"}`, "until", "past"},
		{"POST", "/v1/agents/awaken", `{}`, "agents", "Must specify an agent or --all"},
		{"POST", wake, `{"trigger":"whim"}`, "trigger", "mention, direct or scheduled"},
		{"POST", wake, `{"trigger":"mention"}`, "post", "missing"},
		{"POST", wake, `{"trigger":"mention","post":7}`, "post", "must be an object"},
		{"POST", wake, `{"trigger":"mention","post":{"text":"x"}}`, "post.text", `field "post.text" is unknown`},
		{"POST", wake, `{"trigger":"mention","post":{"content":"x","score":"high"}}`, "post.score", "must be a number"},
		{
			"POST", wake, `{"trigger":"direct","message":"x","thread":{"reply_chain":[{},{"author":1}]}}`,
			"thread.reply_chain[1].author", "must be a string",
		},
		{"GET", "/v1/agents/echo/calls?after=x", "", "after", "from 0 on"},
		{"GET", "/v1/agents/echo/inbox?limit=500", "", "limit", "1 to 499"},
		{"GET", "/v1/agents/echo/held?after=-1", "", "after", "from 0 on"},
		{"GET", "/v1/agents/echo/checkins?limit=1", "", "limit", "unknown"},
		{"POST", "/v1/agents/echo/checkins", `{"every":"5m"}`, "every", "1h to 744h"},
		{"POST", "/v1/agents/echo/checkins", `{"at":"9am"}`, "at", "RFC 3339"},
	} {
		r.refused(400, "invalid_value", c.param, c.hint, ada, c.method, c.path, c.body)
	}
	for _, body := range []string{`[]`, `{`, "", "\xff"} {
		r.refused(400, "invalid_json", "", "the body", ada, "POST", posts, body)
	}
	r.refused(400, "invalid_value", "Last-Event-ID", "must be the number", ada, "GET", "/v1/rooms/hall/events", "",
		"Accept", "text/event-stream", "Last-Event-ID", "x")
}

func TestEachRouteNeedsItsRole(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	for _, c := range []struct{ method, path string }{
		{"POST", "/v1/rooms"},
		{"POST", "/v1/rooms/hall/members"},
		{"PUT", "/v1/rooms/hall/subscriptions"},
		{"PUT", "/v1/agents/echo/dormancy"},
		{"POST", "/v1/agents/awaken"},
		{"GET", "/v1/agents/echo/inbox"},
		{"GET", "/v1/agents/echo/held"},
		{"GET", "/v1/agents/echo/calls"},
		{"GET", "/v1/rooms/hall/webhooks"},
		{"POST", "/v1/rooms/hall/webhooks"},
		{"DELETE", "/v1/rooms/hall/webhooks/ci"},
		{"GET", "/v1/agents/echo/checkins"},
		{"POST", "/v1/agents/echo/checkins"},
		{"DELETE", "/v1/agents/echo/checkins/morning"},
	} {
		r.refused(403, "role_too_low", "", "operator", client, c.method, c.path, "")
	}
	r.refused(403, "role_required", "", "operator", client, "POST", "/v1/rooms/hall/posts", `{"as":"echo","body":"I!"}`)
	for i, c := range []struct{ method, path, body string }{
		{"GET", "/v1/rooms/hall", ""},
		{"GET", "/v1/rooms/hall/posts", ""},
		{"GET", "/v1/rooms/hall/events", ""},
		{"POST", "/v1/rooms/hall/posts", `{"body":"Let me in."}`},
	} {
		r.refused(403, "not_a_member", "", "hall", stranger, c.method, c.path, c.body, "X-Case", fmt.Sprint(i))
	}
	r.refused(403, "not_a_member", "", "hall", stranger, "GET", "/v1/rooms/hall/events", "", "Accept", "text/event-stream")
	r.refused(404, "agent_not_found", "agent", "echo", stranger, "GET", "/v1/agents/echo/dormancy", "")
	r.refused(404, "not_found", "", "cellar", ada, "GET", "/v1/rooms/cellar", "")
}
