package console_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

func TestARoomIsMadeListedAndShown(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.awake = true
	d.fits("agents", "dormant", "iris", "sleep", "--room", "hall", "--for", "2h", "--because", "the harbour is quiet")
	d.golden("agents-dormant-80")
	d.fits("agents", "dormancy", "iris")
	d.golden("agents-dormancy-80")
	d.fits("rooms", "list")
	d.golden("rooms-list-80")
	d.fits("rooms", "show", "hall")
	d.golden("rooms-show-80")
	require.Equal(t, exit.OK, d.run(200, "rooms", "show", "hall"))
	d.golden("rooms-show-200")
	require.Contains(t, d.fits("rooms", "create", "hall", "--title", "The hall", "--with", "echo"), "Made room hall")
	var view struct {
		Members []struct {
			ID       string `json:"id"`
			Dormancy *struct{ Level string }
		} `json:"members"`
	}
	require.NoError(t, json.Unmarshal([]byte(d.json("rooms", "show", "hall")), &view))
	require.Equal(t, "iris", view.Members[1].ID)
	require.Equal(t, "sleep", view.Members[1].Dormancy.Level)
}

// json runs a command that must succeed, with --json.
func (d *fixture) json(args ...string) string {
	d.Helper()
	require.Equal(d, exit.OK, d.run(0, append(args, "--json")...), "%v: %s", args, d.err.String())
	return d.out.String()
}

func TestSayPrintsWhatAgentsAnswerAndWhoIsNotCalled(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.answers["iris"] = "Two boats came in before the rain, and the smaller one had lost its rope. " +
		"Nobody was on the quay."
	d.fits("agents", "dormant", "echo", "mention-only")
	d.fits("say", "hall", "@iris what did", "you see? @nobody was there, I think.")
	d.golden("say-80")
	d.fits("say", "hall", "Thank you.", "--reply-to", "3", "--thread", "hall/2")
	d.fits("rooms", "history", "hall")
	d.golden("rooms-history-80")
	d.fits("rooms", "history", "hall", "--thread", "2")
	require.NotContains(t, d.out.String(), "hall/3 ")
	d.fits("rooms", "history", "hall", "--limit", "1")
	require.Contains(t, d.err.String(), "There is more: oneiros rooms history hall --before 4")
	d.fits("rooms", "calls", "iris")
	d.golden("rooms-calls-80")
	d.fits("rooms", "calls", "echo", "--outcome", "skipped")
	d.golden("rooms-calls-skipped-80")
	var replied struct {
		Post    struct{ ID, Body string }
		Replies []struct{ Name string }
		Calls   []struct{ Agent, Outcome string }
	}
	require.NoError(t, json.Unmarshal([]byte(d.json("say", "hall", "@iris", "again")), &replied))
	require.Equal(t, "@iris again", replied.Post.Body)
	require.Equal(t, "iris", replied.Replies[0].Name)
	require.Equal(t, "answered", replied.Calls[0].Outcome)
}

func TestAnAgentMayChooseToBeSilent(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	require.Contains(t, d.fits("say", "hall", "@iris ?"), "* iris has read it and chooses to be silent")
}

func TestAPersonWakesASleeperAndAnAgentWaitsForIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.answers["iris"] = "I am here."
	d.fits("agents", "dormant", "iris", "sleep")
	d.fits("say", "hall", "@iris are you there?", "--as", "echo")
	d.golden("say-sleeping-80")
	d.fits("rooms", "inbox", "iris")
	d.golden("rooms-inbox-80")
	d.fits("say", "hall", "I dream.", "--as", "@iris")
	d.golden("say-held-80")
	require.Contains(t, d.fits("rooms", "inbox", "iris"), "Held until iris wakes: a post in hall")
	require.Contains(t, d.fits("say", "hall", "@iris wake up"), "* iris is awake and active again!")
	require.Contains(t, d.out.String(), "I dream.", "what it asked for while it slept")
	d.fits("rooms", "inbox", "iris")
	require.Contains(t, d.err.String(), "Nothing waits for iris.")
}

func TestAgentsWakeEndsSleepAndAnswersWhatWaited(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.answers["iris"] = "The harbour was empty, and I could hear the water."
	d.fits("agents", "dormant", "iris", "sleep")
	d.fits("say", "hall", "@iris are you there?", "--as", "echo")
	d.fits("agents", "wake", "--all", "--message", "What did you dream?")
	d.golden("agents-wake-80")
	d.fits("rooms", "history", "hall")
	require.Contains(t, d.out.String(), "iris  07:00:00, replies to hall/2")
	d.fits("agents", "dormancy", "iris")
	require.Contains(t, d.err.String(), "iris is active everywhere.")
	d.fits("agents", "wake", "--all")
	require.Contains(t, d.err.String(), "Nobody is dormant.")
	d.fits("agents", "wake", "@iris", "iris")
	require.Equal(t, "Woke iris.\n", d.out.String())
	require.JSONEq(t, `{"success":true,"woken":["iris"],"calls":[]}`, d.json("agents", "wake", "iris"))
	require.Equal(t, exit.Usage, d.run(0, "agents", "wake"))
	require.True(t, strings.HasPrefix(d.err.String(), "oneiros: Must specify an agent or --all\n"), d.err.String())
}

func TestAPostIsEditedAndDeleted(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.answers["iris"] = "Yes?"
	d.fits("say", "hall", "Good morning")
	d.fits("rooms", "edit", "hall/1", "Good", "morning @iris")
	require.Contains(t, d.out.String(), "iris  07:00:00, replies to hall/1")
	require.Equal(t, "Deleted hall/1.\n", d.fits("rooms", "delete", "hall/1"))
	require.Equal(t, exit.Refused, d.run(0, "rooms", "edit", "hall/2", "No."))
	d.fits("rooms", "edit", "hall/2", "No.", "--as", "iris")
	d.fits("rooms", "history", "hall")
	d.golden("rooms-history-edited-80")
}

func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	require.Equal(t, "iris is in hall as writer and sees every post.\n", d.fits("rooms", "subscribe", "hall", "iris"))
	require.Equal(t, "iris is in hall as writer and sees the posts that name it.\n",
		d.fits("rooms", "subscribe", "hall", "iris", "--off"))
	require.Equal(t, "mara is in hall as reader; nobody vouches for it.\n",
		d.fits("rooms", "join", "hall", "--person", "mara", "--role", "reader", "--stranger"))
	require.Equal(t, "iris is no longer in hall.\n", d.fits("rooms", "leave", "hall", "@iris"))
	require.Contains(t, d.fits("say", "hall", "@iris where are you?"), "@iris is no member of hall")
	require.Equal(t, exit.Refused, d.run(0, "rooms", "subscribe", "hall", "iris"))
	require.Contains(t, d.err.String(), "iris is no member of hall; let it in with oneiros rooms join hall iris")
	d.fits("rooms", "leave", "hall", "local")
	require.Equal(t, exit.Refused, d.run(0, "say", "hall", "hello"))
	require.Contains(t, d.err.String(), "let it in with oneiros rooms join hall --person local")
}

func TestFollowPrintsWhatHappensUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.answers["iris"] = "Yes?"
	d.fits("rooms", "subscribe", "hall", "echo", "--off")
	d.fits("say", "hall", "@iris ?")
	d.fits("rooms", "delete", "hall/1")
	d.fits("rooms", "leave", "hall", "iris")
	follower := &fixture{T: t, store: d.store, minds: d.minds, until: 300 * time.Millisecond}
	require.Equal(t, exit.OK, follower.run(80, "rooms", "follow", "hall", "--after", "0"), follower.err.String())
	follower.golden("rooms-follow-80")
	require.Equal(t, exit.OK, follower.run(80, "rooms", "follow", "hall", "--after", "0", "--json"))
	for line := range strings.Lines(follower.out.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.Contains(t, follower.out.String(), `"content":{"id":"hall/2"`)
}

func TestSaySaysWhenAnAnswerFailsOrDoesNotCome(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.fails = psyche.Refuse(402, "insufficient_quota", "", "No money is left.")
	require.Equal(t, exit.Refused, d.run(80, "say", "hall", "@iris hello"))
	require.Contains(t, d.err.String(), "iris could not answer: no money left")
	require.Contains(t, d.out.String(), "* iris has no money left for answers today.")
	d.minds.fails = psyche.Refuse(400, "refused", "", "The provider refuses.")
	require.Equal(t, exit.Failure, d.run(80, "say", "hall", "@iris hello"))
	require.Contains(t, d.err.String(), "iris could not answer: failed: refused")
	d.minds.fails = errProvider
	require.Equal(t, exit.Unreachable, d.run(80, "say", "hall", "@iris hello", "--timeout", "1s"))
	require.Contains(t, d.err.String(), "echo, iris did not answer within 1s; hall/5 was posted, and waits in the inbox")
	d.minds.fails, d.minds.hangs = nil, true
	require.Equal(t, exit.Unreachable, d.run(80, "say", "hall", "@iris hello", "--timeout", "100ms"))
}

func TestNothingIsAnsweredHereWithoutWaiting(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.answers["iris"] = "Yes?"
	require.Contains(t, d.fits("say", "hall", "@iris hello", "--no-wait"),
		"* iris is called; a server lets it answer, or oneiros agents wake iris")
	require.Zero(t, d.minds.calls)
	d.fits("agents", "wake", "iris")
	require.Contains(t, d.out.String(), "* iris has answered hall/1")
}

func TestALevelWhoseTimeIsOverEndsWithoutAServer(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.answers["iris"] = "Good morning."
	d.fits("agents", "dormant", "iris", "human-only", "--for", "1ms")
	d.later = time.Minute
	require.Contains(t, d.fits("say", "hall", "@iris good morning"), "auto-woke after timer")
}

func TestTimesOfALevelAreThoseOfTheAgentsClock(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	for until, want := range map[string]string{
		"17:30":                "2026-11-20T16:30:00Z",
		"06:30":                "2026-11-21T05:30:00Z", // it is 07:00 there
		"5pm":                  "2026-11-20T16:00:00Z",
		"2026-11-20T17:30:00Z": "2026-11-20T17:30:00Z",
	} {
		require.Contains(t, d.json("agents", "dormant", "iris", "sleep", "--until", until), `"until": "`+want+`"`, until)
	}
}

// Every mistake names what is wrong and what is right, and has its exit code.
func TestMistakesAboutRoomsAreNamed(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	d.minds.answers["iris"] = "Yes?"
	d.fits("say", "hall", "@iris ?")
	long := strings.Repeat("x", 201)
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exit.NotFound, []string{"rooms", "show", "hal"}, `there is no room "hal"; did you mean hall?`},
		{exit.NotFound, []string{"say", "kitchen", "hello"}, `there is no room "kitchen"; oneiros rooms list names them all`},
		{exit.Usage, []string{"rooms", "create", "The Hall"}, `room is "The Hall"; the id of a room has 1 to 64`},
		{exit.NotFound, []string{"rooms", "create", "attic", "--with", "mara"}, `there is no agent "mara"`},
		{exit.Usage, []string{"rooms", "join", "hall"}, "needs either an agent or --person NAME"},
		{exit.Usage, []string{"rooms", "join", "hall", "echo", "--person", "mara"}, "needs either an agent or --person"},
		{exit.Usage, []string{"rooms", "join", "hall", "--person", ""}, "--person is empty"},
		{exit.Usage, []string{"rooms", "join", "hall", "--person", "mara", "--subscribe"}, "only agents subscribe"},
		{exit.Usage, []string{"rooms", "join", "hall", "echo", "--role", "boss"}, "roles are reader, writer and owner"},
		{exit.NotFound, []string{"rooms", "leave", "hall", "mara"}, `"mara" is no member of hall`},
		{exit.Usage, []string{"rooms", "leave", "hall", ""}, "MEMBER is empty"},
		{exit.Usage, []string{"rooms", "history", "hall", "--limit", "0"}, "--limit is 0; it must be 1 to 500"},
		{exit.Usage, []string{"rooms", "history", "hall", "--thread", "attic/1"}, "a post of attic; it must be one of hall"},
		{exit.NotFound, []string{"rooms", "history", "hall", "--thread", "99"}, "there is no post hall/99"},
		{exit.Usage, []string{"rooms", "follow", "hall", "--after", "-2"}, "--after is -2; it must be 0 or more"},
		{exit.Usage, []string{"rooms", "follow", "hall", "--after", "99"}, "--after is 99; hall has"},
		{exit.Usage, []string{"rooms", "edit", "hall", "hello"}, `post id is "hall"; it has the form room/12`},
		{exit.NotFound, []string{"rooms", "edit", "hall/99", "hello"}, "there is no post hall/99"},
		{exit.Usage, []string{"rooms", "edit", "hall/1", " "}, "body is empty"},
		{
			exit.Refused,
			[]string{"rooms", "edit", "hall/2", "hello"},
			"hall/2 was written by iris, who alone may edit it (--as iris)",
		},
		{
			exit.Refused,
			[]string{"rooms", "delete", "hall/1", "--as", "iris"},
			"hall/1 was written by local, who alone may delete it",
		},
		{exit.NotFound, []string{"rooms", "delete", "hall/99"}, "there is no post hall/99"},
		{exit.Usage, []string{"rooms", "calls", "iris", "--outcome", "late"}, "outcomes are queued, answered, silent"},
		{exit.Usage, []string{"rooms", "calls", "iris", "--limit", "-1"}, "--limit is -1; it must be 1 or more"},
		{exit.NotFound, []string{"rooms", "inbox", "mara"}, `there is no agent "mara"`},
		{exit.Usage, []string{"say", "hall", " "}, "TEXT is empty"},
		{exit.Usage, []string{"say", "hall"}, "lacks TEXT"},
		{exit.Usage, []string{"say", "hall", "\xff"}, "is not UTF-8"},
		{exit.Usage, []string{"say", "hall", strings.Repeat("x", 70_000)}, "a post has at most 65536"},
		{exit.Usage, []string{"say", "hall", "a", "--timeout", "0s"}, "--timeout is 0s; it must be longer than zero"},
		{exit.Usage, []string{"say", "hall", "a", "--timeout", "5s", "--no-wait"}, "contradict each other"},
		{exit.Usage, []string{"say", "hall", "a", "--reply-to", "x"}, "--reply-to: post id is"},
		{exit.NotFound, []string{"say", "hall", "a", "--reply-to", "9"}, "--reply-to: there is no post hall/9"},
		{exit.NotFound, []string{"say", "hall", "a", "--as", "mara"}, `there is no agent "mara"`},
		{exit.Usage, []string{"say", "hall", "a", "--as", ""}, "--as is empty"},
		{exit.Usage, []string{"agents", "wake"}, "Must specify an agent or --all"},
		{exit.Usage, []string{"agents", "wake", "iris", "--all"}, "Must specify an agent or --all"},
		{exit.Usage, []string{"agents", "wake", "iris", "--message", ""}, "--message is empty"},
		{exit.NotFound, []string{"agents", "wake", "mara"}, `there is no agent "mara"`},
		{
			exit.Usage,
			[]string{"agents", "dormant", "iris", "drowsy"},
			`LEVEL is "drowsy"; levels are active, mention-only, human-only, sleep`,
		},
		{exit.Usage, []string{"agents", "dormant", "iris", "sleep", "--for", "0m"}, "--for is 0s; it must be longer"},
		{exit.Usage, []string{"agents", "dormant", "iris", "sleep", "--for", "soon"}, `"soon" must be a duration`},
		{exit.Usage, []string{"agents", "dormant", "iris", "sleep", "--until", "2026-11-19T10:00:00Z"}, "is past"},
		{exit.Usage, []string{"agents", "dormant", "iris", "sleep", "--until", "25:00"}, "must be a time such as"},
		{exit.Usage, []string{"agents", "dormant", "iris", "sleep", "--for", "1h", "--until", "17:30"}, "keep one"},
		{exit.Usage, []string{"agents", "dormant", "iris", "active", "--for", "1h"}, "active takes no --for"},
		{exit.Usage, []string{"agents", "dormant", "iris", "sleep", "--because", long}, "at most 200"},
		{exit.Usage, []string{"agents", "dormant", "iris", "sleep", "--room", ""}, "--room is empty"},
		{exit.NotFound, []string{"agents", "dormant", "iris", "sleep", "--room", "attic"}, `there is no room "attic"`},
		{exit.NotFound, []string{"agents", "dormancy", "mara"}, `there is no agent "mara"`},
		{exit.NotFound, []string{"agents", "dormancy", ""}, "there is no agent"},
	} {
		require.Equal(t, c.code, d.run(0, c.args...), "%v: %s", c.args, d.err.String())
		require.Contains(t, d.err.String(), c.want, c.args)
		require.Equal(t, c.code, d.run(0, append(c.args, "--json")...), "%v: %s", c.args, d.err.String())
		var replied struct {
			Code  int
			Error string
		}
		require.NoError(t, json.Unmarshal(d.err.Bytes(), &replied), c.args)
		require.Equal(t, c.code, replied.Code)
	}
}

func TestAShellIsOfferedRoomsMembersAndLevels(t *testing.T) {
	t.Parallel()
	d := newFixture(t).parlour()
	for line, want := range map[string]string{
		"say ":                              "hall",
		"say hall ":                         "",
		"say hall x --as ":                  "echo\niris",
		"rooms join ":                       "hall",
		"rooms join hall ":                  "echo\niris",
		"rooms leave hall ":                 "echo\niris\nlocal",
		"agents wake ":                      "echo\niris",
		"agents dormant iris ":              "active\nmention-only\nhuman-only\nsleep",
		"agents dormant iris sleep --room ": "hall",
		"rooms calls iris --outcome ":       "queued\nanswered\nsilent\nfailed\nskipped",
		"rooms create ":                     "",
		"rooms join hall --person mara --role rea": "reader\nwriter\nowner",
	} {
		require.Equal(t, exit.OK, d.run(0, append([]string{"__complete"}, strings.Split(line, " ")...)...))
		require.Equal(t, strings.TrimPrefix(want+"\n:4\n", "\n"), d.out.String(), line)
	}
}
