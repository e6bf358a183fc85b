package roomtest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

var deliveries = []clause{
	{"ARuleMeetsTheWholeSituation", situations},
	{"ASkipIsRecorded", skips},
	{"GuardsAreWrittenWithThePost", guards},
	{"ARefusedPostLeavesNothing", refusals},
	{"AMentionEndsSleep", mentionsEndSleep},
	{"AnEditMayReachWhomThePostDidNot", editReaches},
}

func situations(t *testing.T, s room.Store) {
	furnish(t, s, echo, iris, bob)
	_, err := s.Subscribe(t.Context(), hall, iris, false, noon)
	require.NoError(t, err)
	_, err = s.SetDormancy(t.Context(), room.Change{Agent: echo.ID, Level: dormancy.HumanOnly, Now: noon})
	require.NoError(t, err)
	_, err = s.SetDormancy(t.Context(), room.Change{Agent: echo.ID, Room: hall, Level: dormancy.Sleep, Now: noon})
	require.NoError(t, err)
	_, err = s.Send(t.Context(), room.Direct{
		Agent:   echo.ID,
		Key:     "d",
		Trigger: room.OnDirect,
		From:    ada,
		Now:     noon,
	}, nil)
	require.NoError(t, err)
	var seen []room.Situation
	look := func(m room.Situation) room.Decision {
		seen = append(seen, m)
		return room.Decision{}
	}
	first, err := s.Post(t.Context(), draft(bob, "1", "all"), look)
	require.NoError(t, err)
	reply := draft(bob, "2", "iris", iris, ada)
	reply.ReplyTo = first.Post.ID
	_, err = s.Post(t.Context(), reply, look)
	require.NoError(t, err)
	notice := draft(bob, "3", "hear", iris)
	notice.Form = room.Announcement
	_, err = s.Post(t.Context(), notice, look)
	require.NoError(t, err)
	own := draft(echo, "4", "mine", echo)
	own.Hops = 3
	_, err = s.Post(t.Context(), own, look)
	require.NoError(t, err)

	l := seen[0].Listeners[0]
	require.Len(t, seen[0].Listeners, 1, "iris is not subscribed")
	require.Equal(t, echo, l.Who)
	require.False(t, l.Mentioned)
	require.Equal(t, dormancy.HumanOnly, l.Dormancy.Level)
	require.Equal(t, dormancy.Sleep, l.InRoom.Level)
	require.Equal(t, 1, l.Waiting)
	require.Equal(t, first.Post, seen[0].Post)
	require.Equal(t, bob, seen[0].Author.Who)
	require.Equal(t, noon, seen[0].Now)
	require.Len(t, seen[1].Listeners, 2)
	require.True(t, seen[1].Listeners[1].Mentioned)
	require.Equal(t, &first.Post, seen[1].ReplyTo)
	require.Empty(t, seen[2].Listeners, "nobody answers an announcement")
	require.Empty(t, seen[3].Listeners, "nobody hears itself")
	require.Equal(t, 3, seen[3].Post.Hops)
}

func skips(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	_, err := s.SetDormancy(t.Context(), room.Change{Agent: echo.ID, Level: dormancy.MentionOnly, Now: noon})
	require.NoError(t, err)
	p, err := s.Post(t.Context(), draft(ada, "k", "hello"), skip("dormant (mention-only)"))
	require.NoError(t, err)
	want := room.Wake{
		Agent:   echo.ID,
		Number:  1,
		Key:     p.Post.ID,
		Trigger: room.OnMention,
		Room:    hall,
		Post:    p.Post.ID,

		Outcome: room.Skipped,
		Reason:  "dormant (mention-only)",
		Level:   dormancy.MentionOnly,
		At:      noon,
		Ended:   noon,
	}
	require.Equal(t, []room.Wake{want}, wakes(t, s, echo))
	require.Equal(t, []room.Delivered{{Wake: want}}, p.Delivered)
	got, err := s.Wake(t.Context(), echo.ID, p.Post.ID)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Empty(t, inbox(t, s, echo, false))
	_, err = s.Wake(t.Context(), echo.ID, "hall/99")
	require.ErrorIs(t, err, room.ErrNotFound)
	for _, wrong := range []room.Delivery{
		{Agent: echo.ID, Outcome: room.Skipped},
		{Agent: echo.ID, Outcome: room.Queued, Priority: 10},
		{Agent: "nobody", Outcome: room.Queued},
		{Agent: echo.ID, Outcome: room.Replied},
	} {
		_, err := s.Post(t.Context(), draft(ada, "wrong", "hello"), deliver(wrong))
		require.Error(t, err)
	}
	require.EqualValues(t, 1, get(t, s).Posts)
}

func deliver(d ...room.Delivery) room.Rule {
	return func(room.Situation) room.Decision { return room.Decision{Deliveries: d} }
}

func skip(reason string) room.Rule {
	return deliver(room.Delivery{Agent: echo.ID, Outcome: room.Skipped, Reason: reason})
}

// count is the rule that counts posts in a guard.
func count(key string) room.Rule {
	return func(m room.Situation) room.Decision {
		return room.Decision{Guards: map[string][]byte{key: append([]byte(`{"n":"x`), append(within(m.Guard(key)), '"', '}')...)}}
	}
}

// within returns what the record of count holds.
func within(record []byte) []byte {
	if record == nil {
		return nil
	}
	return record[len(`{"n":"`) : len(record)-2]
}

func guards(t *testing.T, s room.Store) {
	furnish(t, s)
	key := room.GuardKey("pair", echo.String(), "a/b")
	for i := range 3 {
		_, err := s.Post(t.Context(), draft(ada, numbered(i), "hello"), count(key))
		require.NoError(t, err)
		_, err = s.Post(t.Context(), draft(ada, numbered(i), "hello"), count(key))
		require.NoError(t, err, "a repeated post counts once")
	}
	var held []byte
	look := func(m room.Situation) room.Decision {
		held = m.Guard(key)
		return room.Decision{Guards: map[string][]byte{key: nil}}
	}
	_, err := s.Post(t.Context(), draft(ada, "look", "look"), look)
	require.NoError(t, err)
	require.JSONEq(t, `{"n":"xxx"}`, string(held))
	_, err = s.Post(t.Context(), draft(ada, "emptied", "emptied"), look)
	require.NoError(t, err)
	require.Nil(t, held)
	_, err = s.Post(t.Context(), draft(ada, "bad", "bad"), func(room.Situation) room.Decision {
		return room.Decision{Guards: map[string][]byte{key: []byte("7")}}
	})
	require.ErrorContains(t, err, "is an object of JSON")
}

func refusals(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	before := len(events(t, s))
	full := errors.New("the bucket is empty")
	_, err := s.Post(t.Context(), draft(ada, "k", "hello", echo), func(m room.Situation) room.Decision {
		d := everybody(m)
		d.Refuse, d.Guards = full, map[string][]byte{"g": []byte(`{}`)}
		return d
	})
	require.ErrorIs(t, err, full)
	require.Zero(t, get(t, s).Posts)
	require.Len(t, events(t, s), before)
	require.Empty(t, wakes(t, s, echo))
	require.EqualValues(t, 1, post(t, s, draft(ada, "k", "another")).Post.Offset, "the key is free")
}

func mentionsEndSleep(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	for _, in := range []string{"", hall} {
		_, err := s.SetDormancy(t.Context(),
			room.Change{
				Agent:  echo.ID,
				Room:   in,
				Level:  dormancy.Sleep,
				Reason: "tired",
				Now:    noon,
			})
		require.NoError(t, err)
	}
	wakeUp := deliver(room.Delivery{Agent: echo.ID, Outcome: room.Queued, Priority: 9, EndSleep: true})
	p, err := s.Post(t.Context(), draft(ada, "k", "wake up", echo), wakeUp)
	require.NoError(t, err)
	require.Len(t, p.Woken, 2)
	require.Equal(t, "tired", p.Woken[0].Reason)
	require.Equal(t, hall, p.Woken[1].Room)
	now, err := s.Dormancy(t.Context(), echo.ID)
	require.NoError(t, err)
	require.Empty(t, now)
	_, err = s.SetDormancy(t.Context(), room.Change{Agent: echo.ID, Level: dormancy.HumanOnly, Now: noon, If: 2})
	require.NoError(t, err)
	p, err = s.Post(t.Context(), draft(ada, "again", "wake up", echo), wakeUp)
	require.NoError(t, err)
	require.Empty(t, p.Woken, "only sleep ends")
}

func editReaches(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	p, err := s.Post(t.Context(), draft(ada, "k", "hello"), skip("not mentioned"))
	require.NoError(t, err)
	e := room.Edit{
		Post:     p.Post.ID,
		Author:   ada,
		Revision: 1,
		Body:     "hello @echo",
		Now:      noon,
	}
	e.Mentions = []room.Mention{{Who: echo}}
	edited, err := s.Edit(t.Context(), e, everybody)
	require.NoError(t, err)
	require.Len(t, edited.Delivered, 1)
	records := wakes(t, s, echo)
	require.Len(t, records, 1, "one record for an agent and a post")
	require.Equal(t, room.Queued, records[0].Outcome)
	require.Len(t, inbox(t, s, echo, true), 1)
}
