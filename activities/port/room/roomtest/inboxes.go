package roomtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

var inboxes = []clause{
	{"ItemsAreTakenByPriorityThenArrival", takenInOrder},
	{"AMessageIsKeptOnce", sentOnce},
	{"ATakeIsResumedByItsHolder", takeResumes},
	{"ATakeEndsWithItsTime", takeEnds},
	{"AnAnswerIsPostedOnce", answeredOnce},
	{"SilenceFailureAndDroppingAreRecorded", otherEnds},
	{"AnItemCanBePutBack", putBack},
	{"AMessageWaitsUntilItIsDue", dueLater},
	{"ItemsExpire", expiring},
	{"ARuleDecidesAboutAMessage", fullInbox},
}

func direct(agent room.Who, key string, priority int) room.Direct {
	return room.Direct{
		Agent:    agent.ID,
		Key:      key,
		Trigger:  room.OnDirect,
		From:     ada,
		Priority: priority,
		Now:      noon,

		Message: &room.Text{Body: "message " + key, Name: "Ada", Taint: "human"},
	}
}

func send(t testing.TB, s room.Store, d room.Direct) room.Delivered {
	t.Helper()
	sent, err := s.Send(t.Context(), d, nil)
	require.NoError(t, err)
	return sent.Delivered
}

func keys(items []room.Item) []string {
	var out []string
	for _, i := range items {
		out = append(out, i.Key)
	}
	return out
}

func takenInOrder(t *testing.T, s room.Store) {
	for _, d := range []room.Direct{
		direct(echo, "a", 0), direct(echo, "b", 5), direct(echo, "c", 9), direct(echo, "d", 5), direct(iris, "e", 9),
	} {
		send(t, s, d)
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, keys(inbox(t, s, echo, true)))
	two := taking(echo, "h")
	two.Limit = 2
	items, err := s.Take(t.Context(), two)
	require.NoError(t, err)
	require.Equal(t, []string{"c", "b"}, keys(items))
	require.Equal(t, []string{"d", "a"}, keys(take(t, s, echo, "other")))
	named := taking(iris, "h")
	named.Keys = []string{"x"}
	items, err = s.Take(t.Context(), named)
	require.NoError(t, err)
	require.Empty(t, items)
	waiting, err := s.Unfinished(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{echo.ID, iris.ID}, waiting)
}

func sentOnce(t *testing.T, s room.Store) {
	first := send(t, s, direct(echo, "k", 3))
	require.Equal(t, first, send(t, s, direct(echo, "k", 3)))
	require.Equal(t, room.Item{
		Agent:    echo.ID,
		Number:   1,
		Key:      "k",
		Trigger:  room.OnDirect,
		From:     ada,
		Priority: 3,
		Created:  noon,

		State:   room.Waiting,
		Message: &room.Text{Body: "message k", Name: "Ada", Taint: "human"},
	}, *first.Item)
	require.Len(t, wakes(t, s, echo), 1)
	require.Equal(t, room.Queued, first.Wake.Outcome)
}

func takeResumes(t *testing.T, s room.Store) {
	send(t, s, direct(echo, "k", 0))
	mine := take(t, s, echo, "workflow 1")
	require.EqualValues(t, 1, mine[0].Fence)
	require.Empty(t, take(t, s, echo, "workflow 2"), "somebody else has it")
	require.Equal(t, mine, take(t, s, echo, "workflow 1"), "after a kill the holder goes on")
}

func takeEnds(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	post(t, s, draft(ada, "k", "hello", echo))
	old := take(t, s, echo, "dead")[0]
	late := taking(echo, "heir")
	late.Now = after(time.Minute)
	items, err := s.Take(t.Context(), late)
	require.NoError(t, err)
	require.EqualValues(t, 2, items[0].Fence)
	_, err = s.Finish(t.Context(), answer(old, "from the grave"))
	require.ErrorIs(t, err, room.ErrFenced)
	_, err = s.Finish(t.Context(), answer(items[0], "alive"))
	require.NoError(t, err)
	require.EqualValues(t, 2, get(t, s).Posts)
	_, err = s.Finish(t.Context(), answer(old, "from the grave"))
	require.ErrorIs(t, err, room.ErrFenced)
}

func answeredOnce(t *testing.T, s room.Store) {
	furnish(t, s, echo, iris)
	d := draft(iris, "k", "what do you think?", echo)
	d.Hops = 1
	question := post(t, s, d).Post
	item := take(t, s, echo, "h")[0]
	end := answer(item, "I agree")
	end.Rule = everybody
	done, err := s.Finish(t.Context(), end)
	require.NoError(t, err)
	require.False(t, done.Existing)
	reply := done.Posted.Post
	require.Equal(t, "I agree", reply.Body)
	require.Equal(t, echo, reply.Author)
	require.Equal(t, question.ID, reply.ReplyTo)
	require.Equal(t, 2, reply.Hops, "one more than what it answers")
	require.Equal(t, room.Notice, reply.Form)
	require.Equal(t, room.Answered, done.Item.State)
	require.Equal(t, reply.ID, done.Item.Reply)
	require.Equal(t, room.Replied, done.Wake.Outcome)
	require.EqualValues(t, 7, done.Wake.Cost)
	require.Len(t, done.Posted.Delivered, 1, "iris is subscribed")
	again, err := s.Finish(t.Context(), end)
	require.NoError(t, err)
	require.True(t, again.Existing)
	require.Equal(t, done.Item, again.Item)
	require.Equal(t, done.Wake, again.Wake)
	require.Equal(t, reply, again.Posted.Post)
	require.EqualValues(t, 2, get(t, s).Posts)
	require.Equal(t, []room.Item{done.Item}, inbox(t, s, echo, false))
	end.State, end.Reply = room.Declined, nil
	_, err = s.Finish(t.Context(), end)
	require.ErrorIs(t, err, room.ErrFenced)
	last := events(t, s)
	require.Equal(t, []room.EventType{room.Added, room.Resolved}, typesOf(last[len(last)-2:]))
	require.Equal(t, room.Replied, last[len(last)-1].Outcome)
}

func otherEnds(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	for i, c := range []struct {
		state  room.ItemState
		failed bool
		want   room.Outcome
	}{
		{room.Declined, false, room.Silent},
		{room.Dropped, true, room.Failed},
		{room.Dropped, false, room.Skipped},
		{room.Answered, false, room.Replied},
	} {
		send(t, s, direct(echo, numbered(i), 0))
		item := take(t, s, echo, "h")[0]
		end := answer(item, "")
		end.State, end.Failed = c.state, c.failed
		end.Reply, end.Reason = nil, "so it is"
		done, err := s.Finish(t.Context(), end)
		require.NoError(t, err)
		require.Equal(t, c.want, done.Wake.Outcome)
		require.Equal(t, "so it is", done.Wake.Reason)
		require.Equal(t, after(time.Second), done.Wake.Ended)
	}
	send(t, s, direct(echo, "last", 0))
	item := take(t, s, echo, "h")[0]
	_, err := s.Finish(t.Context(), answer(item, "to whom?"))
	require.ErrorContains(t, err, "came from no room")
	waiting, err := s.Unfinished(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{echo.ID}, waiting)
	missing := answer(item, "")
	missing.Number, missing.Reply = 99, nil
	_, err = s.Finish(t.Context(), missing)
	require.ErrorIs(t, err, room.ErrNotFound)
}

func putBack(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	post(t, s, draft(ada, "k", "hello", echo))
	item := take(t, s, echo, "h")[0]
	back := answer(item, "")
	back.State, back.Reply, back.Reason = room.Waiting, nil, "it fell asleep"
	for range 2 {
		done, err := s.Finish(t.Context(), back)
		require.NoError(t, err)
		require.Equal(t, room.Waiting, done.Item.State)
		require.Equal(t, room.Queued, done.Wake.Outcome)
		require.EqualValues(t, 7, done.Wake.Cost, "a repeated call costs once")
	}
	_, err := s.Finish(t.Context(), answer(item, "too late"))
	require.ErrorIs(t, err, room.ErrFenced)
	next := take(t, s, echo, "h")
	require.EqualValues(t, 2, next[0].Fence)
	later := answer(next[0], "")
	later.State, later.Reply, later.Due = room.Waiting, nil, taking(echo, "h").Now.Add(time.Minute)
	_, err = s.Finish(t.Context(), later)
	require.NoError(t, err)
	require.Empty(t, take(t, s, echo, "h"), "nobody takes it before it is due")
	due := taking(echo, "h")
	due.Now = later.Due
	next, err = s.Take(t.Context(), due)
	require.NoError(t, err)
	_, err = s.Finish(t.Context(), answer(next[0], "now"))
	require.NoError(t, err)
	require.EqualValues(t, 21, wakes(t, s, echo)[0].Cost)
}

func dueLater(t *testing.T, s room.Store) {
	d := direct(echo, "a", 0)
	d.Due = taking(echo, "h").Now.Add(time.Minute)
	send(t, s, d)
	require.Empty(t, take(t, s, echo, "h"))
	due := taking(echo, "h")
	due.Now = d.Due
	items, err := s.Take(t.Context(), due)
	require.NoError(t, err)
	require.Len(t, items, 1)
}

func expiring(t *testing.T, s room.Store) {
	for i, expires := range []time.Duration{time.Minute, time.Hour, 0} {
		d := direct(echo, numbered(i), 0)
		if expires > 0 {
			d.Expires = after(expires)
		}
		send(t, s, d)
	}
	late := taking(echo, "h")
	late.Now, late.Limit = after(time.Minute), 1
	items, err := s.Take(t.Context(), late)
	require.NoError(t, err)
	require.Equal(t, []string{numbered(1)}, keys(items))
	require.Equal(t, room.Expired, inbox(t, s, echo, false)[0].State)
	require.Equal(t, room.Skipped, wakes(t, s, echo)[0].Outcome)
	n, err := s.Expire(t.Context(), echo.ID, after(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, n, "its holder's time is over, too")
	require.Equal(t, []string{numbered(2)}, keys(inbox(t, s, echo, true)))
}

// fullInbox sends with a rule that drops what does not fit, counts in a guard, and ends sleep.
func fullInbox(t *testing.T, s room.Store) {
	set(t, s, "", dormancy.Sleep, 0)
	rule := func(m room.Situation) room.Decision {
		l := m.Listeners[0]
		require.Equal(t, ada, m.Author.Who)
		require.Equal(t, echo, l.Who)
		d := count("sent")(m)
		d.Deliveries = []room.Delivery{{
			Agent:    l.ID,
			Outcome:  room.Queued,
			Priority: m.Direct.Priority,
			EndSleep: true,
			Reason:   string(l.Dormancy.Level),
		}}
		if l.Waiting >= 2 {
			d.Deliveries[0].Outcome, d.Deliveries[0].Reason = room.Skipped, "the inbox is full"
		}
		return d
	}
	for i := range 4 {
		for _, again := range []bool{false, true} {
			sent, err := s.Send(t.Context(), direct(echo, numbered(i), 3), rule)
			require.NoError(t, err)
			require.Equal(t, again, sent.Existing)
			require.Equal(t, i >= 2, sent.Item == nil)
			require.Equal(t, i == 0 && !again, len(sent.Woken) == 1)
		}
	}
	records := wakes(t, s, echo)
	require.Len(t, records, 4)
	require.Equal(t, dormancy.Sleep, records[0].Level)
	require.Equal(t, "the inbox is full", records[3].Reason)
	_, err := s.Send(t.Context(), direct(echo, "x", 0), func(m room.Situation) room.Decision {
		require.Len(t, within(m.Guard("sent")), 4)
		return room.Decision{}
	})
	require.ErrorContains(t, err, "the rule delivers the message 0 times")
}
