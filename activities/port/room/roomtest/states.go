package roomtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

var states = []clause{
	{"AStateIsKeptAsAWholeAndByRoom", statesKept},
	{"AnOldSequenceChangesNothing", staleSequence},
	{"AChangeIsMadeOnce", changedOnce},
	{"WakingClearsEveryState", awakening},
	{"APostChangesItsAuthorInTheSameStep", commanded},
}

var actions = []clause{
	{"ActionsAreHeldInOrder", heldInOrder},
}

func set(t testing.TB, s room.Store, in string, level dormancy.Level, sequence int64) room.Dormancy {
	t.Helper()
	d, err := s.SetDormancy(t.Context(), room.Change{
		Agent: echo.ID,
		Room:  in,
		Level: level,
		Now:   noon,
		If:    sequence,
	})
	require.NoError(t, err)
	return d
}

func statesKept(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	until := after(time.Hour)
	whole, err := s.SetDormancy(t.Context(), room.Change{
		Agent:  echo.ID,
		Level:  dormancy.HumanOnly,
		Reason: "too loud",
		Until:  until,
		Now:    noon,
	})
	require.NoError(t, err)
	require.Equal(t, room.Dormancy{Agent: echo.ID, State: dormancy.State{
		Level:    dormancy.HumanOnly,
		Reason:   "too loud",
		Until:    until,
		SetAt:    noon,
		Sequence: 1,
	}}, whole)
	here := set(t, s, hall, dormancy.Active, 0)
	kept, err := s.Dormancy(t.Context(), echo.ID)
	require.NoError(t, err)
	require.Equal(t, []room.Dormancy{whole, here}, kept)
	dormant, err := s.Dormant(t.Context())
	require.NoError(t, err)
	require.Equal(t, []room.Dormancy{whole}, dormant)
	_, err = s.SetDormancy(t.Context(), room.Change{Agent: iris.ID, Room: hall, Level: dormancy.Sleep, Now: noon})
	require.ErrorIs(t, err, room.ErrNotMember)
	feed := events(t, s)
	require.Equal(t, []room.EventType{room.Created, room.Joined, room.Reset, room.Reset}, typesOf(feed))
	whole.Reason = ""
	require.Equal(t, &whole.State, feed[2].Dormancy, "without the reason")
	require.Equal(t, echo, feed[2].Who)
	require.False(t, feed[2].InRoom)
	require.True(t, feed[3].InRoom)
}

func staleSequence(t *testing.T, s room.Store) {
	furnish(t, s)
	first := set(t, s, "", dormancy.Sleep, 0)
	second := set(t, s, "", dormancy.MentionOnly, first.Sequence)
	_, err := s.SetDormancy(t.Context(), room.Change{Agent: echo.ID, Now: noon, If: first.Sequence})
	require.ErrorIs(t, err, room.ErrStale, "the timer of the first state")
	ended := set(t, s, "", "", second.Sequence)
	require.Equal(t, dormancy.State{Sequence: 3}, ended.State)
	require.Equal(t, ended, set(t, s, "", "", room.AnySequence), "nothing is set, and nothing changes")
	require.EqualValues(t, 4, set(t, s, "", dormancy.Sleep, room.AnySequence).Sequence)
}

func changedOnce(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	c := room.Change{
		Agent: echo.ID,
		Level: dormancy.Sleep,
		Now:   noon,
		If:    0,
		Key:   "post hall/1",
	}
	first, err := s.SetDormancy(t.Context(), c)
	require.NoError(t, err)
	again, err := s.SetDormancy(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Len(t, events(t, s), 3)
}

func awakening(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	set(t, s, "", dormancy.Sleep, 0)
	set(t, s, hall, dormancy.MentionOnly, 0)
	message := direct(echo, "wake", 9)
	a := room.Awakening{Agent: echo.ID, By: ada, Message: &message, Now: noon}
	done, err := s.Awaken(t.Context(), a)
	require.NoError(t, err)
	require.Len(t, done.Ended, 2)
	require.Equal(t, 9, done.Delivered.Item.Priority)
	again, err := s.Awaken(t.Context(), a)
	require.NoError(t, err)
	require.Empty(t, again.Ended)
	require.Equal(t, done.Delivered, again.Delivered)
	kept, err := s.Dormancy(t.Context(), echo.ID)
	require.NoError(t, err)
	require.Empty(t, kept)
	_, err = s.SetDormancy(t.Context(), room.Change{Agent: echo.ID, Now: noon, If: 1})
	require.ErrorIs(t, err, room.ErrStale, "the timer of a state that a person ended")
	message.Agent = iris.ID
	_, err = s.Awaken(t.Context(), a)
	require.ErrorContains(t, err, "the message is for iris")
}

func commanded(t *testing.T, s room.Store) {
	furnish(t, s, echo, iris)
	set(t, s, "", dormancy.MentionOnly, 0)
	rule := func(m room.Situation) room.Decision {
		d := everybody(m)
		own := m.Own()
		require.Len(t, own, 1)
		d.Levels = []room.Change{{Agent: echo.ID, Level: dormancy.Sleep, If: own[0].Sequence, Now: m.Now}}
		d.Follow = []room.Draft{{
			Room:    hall,
			Author:  echo,
			Key:     "told",
			ReplyTo: m.Post.ID,
			Form:    room.Announcement,
			Body:    "echo sleeps",
			Now:     m.Now,
		}}
		return d
	}
	for range 2 {
		_, err := s.Post(t.Context(), draft(echo, "k", "good night", iris), rule)
		require.NoError(t, err)
		kept, err := s.Dormancy(t.Context(), echo.ID)
		require.NoError(t, err)
		require.Equal(t, dormancy.Sleep, kept[0].Level)
		require.EqualValues(t, 2, kept[0].Sequence)
		page, err := s.History(t.Context(), room.Query{Room: hall, As: ada, From: room.Oldest})
		require.NoError(t, err)
		require.Equal(t, []string{"good night", "echo sleeps"}, bodies(page.Posts))
		require.Len(t, inbox(t, s, iris, true), 1)
	}
	_, err := s.Post(t.Context(), draft(echo, "other", "you too"), func(m room.Situation) room.Decision {
		return room.Decision{Levels: []room.Change{{Agent: iris.ID, Level: dormancy.Sleep, Now: m.Now}}}
	})
	require.ErrorContains(t, err, "is not the author")
}

func heldInOrder(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	hold := func(key string) room.Action {
		a, err := s.Hold(t.Context(), room.Action{
			Agent:   echo.ID,
			Key:     key,
			Room:    hall,
			Name:    "post",
			Body:    json.RawMessage(`{ "body": "<` + key + `>" }`),
			Created: noon,
		})
		require.NoError(t, err)
		return a
	}
	one, two, three := hold("one"), hold("two"), hold("three")
	require.Equal(t, one, hold("one"))
	_, err := s.Hold(t.Context(), room.Action{
		Agent:   echo.ID,
		Key:     "one",
		Room:    hall,
		Name:    "join",
		Body:    json.RawMessage(`{}`),
		Created: noon,
	})
	require.ErrorIs(t, err, room.ErrTaken)
	held := func(after int64, limit int) []room.Action {
		found, err := s.Held(t.Context(), echo.ID, after, limit)
		require.NoError(t, err)
		return found
	}
	require.Equal(t, []room.Action{one, two, three}, held(0, 0))
	require.Equal(t, []room.Action{two}, held(1, 1))
	for range 2 {
		done, err := s.EndAction(t.Context(), echo.ID, "two", room.Done, "", after(time.Minute))
		require.NoError(t, err)
		require.Equal(t, room.Done, done.State)
		require.Equal(t, after(time.Minute), done.Ended)
	}
	require.Equal(t, []room.Action{one, three}, held(0, 0))
	_, err = s.EndAction(t.Context(), echo.ID, "four", room.Done, "", noon)
	require.ErrorIs(t, err, room.ErrNotFound)
	_, err = s.EndAction(t.Context(), echo.ID, "one", room.Held, "", noon)
	require.ErrorContains(t, err, `state is "held"`)
	_, err = s.Hold(t.Context(), room.Action{
		Agent:   echo.ID,
		Key:     "k",
		Name:    "post",
		Body:    json.RawMessage(`7`),
		Created: noon,
	})
	require.ErrorContains(t, err, "body is no object of JSON")
}
