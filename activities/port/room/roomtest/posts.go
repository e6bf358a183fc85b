package roomtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
)

var posts = []clause{
	{"ADraftIsStoredOnce", postedOnce},
	{"HistoryIsReadInBothDirections", history},
	{"AThreadHasItsRoot", threads},
	{"AnEditKeepsThePlace", edits},
	{"ADeletedPostLeavesItsPlace", deletes},
	{"ARoleBoundsWhatAMemberDoes", roles},
	{"RoomsAreApart", apart},
}

func postedOnce(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	d := draft(ada, "k", "hello", echo, iris)
	d.Meta = map[string]string{"event": "$1"}
	first := post(t, s, d)
	require.False(t, first.Existing)
	require.Equal(t, room.Post{
		ID:     "hall/1",
		Room:   hall,
		Offset: 1,
		Author: ada,
		Name:   "Ada",
		Trust:  "own",
		Taint:  "human",
		Form:   room.Message,

		Body:     "hello",
		Mentions: d.Mentions,
		Meta:     d.Meta,
		Created:  noon,
		Revision: 1,
		State:    room.Live,
	}, first.Post)
	d.Now = after(time.Hour)
	again := post(t, s, d)
	require.True(t, again.Existing)
	require.Equal(t, first.Post, again.Post)
	require.Equal(t, first.Delivered, again.Delivered)
	require.Len(t, inbox(t, s, echo, true), 1)
	require.Equal(t, []room.EventType{room.Created, room.Joined, room.Added}, typesOf(events(t, s)))
	_, err := s.Post(t.Context(), draft(ada, "k", "another"), nil)
	require.ErrorIs(t, err, room.ErrTaken)
	other := post(t, s, draft(echo, "k", "another"))
	require.EqualValues(t, 2, other.Post.Offset, "the key of another author")
	third := post(t, s, draft(echo, "k/2", "of another key"))
	found, err := s.FindKey(t.Context(), ada, hall, "k/2")
	require.NoError(t, err)
	require.Equal(t, third.Post, found)
	_, err = s.FindKey(t.Context(), ada, hall, "k/")
	require.ErrorIs(t, err, room.ErrNotFound)
	_, err = s.FindKey(t.Context(), bob, hall, "k")
	require.ErrorIs(t, err, room.ErrNotMember)
}

func history(t *testing.T, s room.Store) {
	furnish(t, s)
	for i := range 7 {
		post(t, s, draft(ada, numbered(i+1), numbered(i+1)))
	}
	for _, c := range []struct {
		q    room.Query
		want []int
		more bool
	}{
		{room.Query{}, []int{7, 6, 5, 4, 3, 2, 1}, false},
		{room.Query{Limit: 3}, []int{7, 6, 5}, true},
		{room.Query{Limit: 3, Before: 5}, []int{4, 3, 2}, true},
		{room.Query{Limit: 3, Before: 4}, []int{3, 2, 1}, false},
		{room.Query{From: room.Oldest, Limit: 3}, []int{1, 2, 3}, true},
		{room.Query{From: room.Oldest, After: 3, Limit: 3}, []int{4, 5, 6}, true},
		{room.Query{From: room.Oldest, After: 4}, []int{5, 6, 7}, false},
		{room.Query{From: room.Oldest, After: 2, Before: 5}, []int{3, 4}, false},
		{room.Query{After: 5}, []int{7, 6}, false},
		{room.Query{After: 7}, nil, false},
	} {
		c.q.Room, c.q.As = hall, ada
		page, err := s.History(t.Context(), c.q)
		require.NoError(t, err)
		var want []string
		for _, n := range c.want {
			want = append(want, numbered(n))
		}
		require.Equal(t, want, bodies(page.Posts), c.q)
		require.Equal(t, c.more, page.More, c.q)
	}
}

func threads(t *testing.T, s room.Store) {
	furnish(t, s, echo, iris)
	root := post(t, s, draft(ada, "root", "root"))
	post(t, s, draft(ada, "aside", "aside"))
	reply := draft(echo, "one", "one")
	reply.Thread, reply.ReplyTo = root.Post.ID, root.Post.ID
	one := post(t, s, reply)
	next := draft(ada, "two", "two")
	next.ReplyTo = one.Post.ID
	two := post(t, s, next)
	require.Equal(t, root.Post.ID, two.Post.Thread, "a reply stays in the thread")
	inThread := func(d room.Draft) (writers []bool) {
		_, err := s.Post(t.Context(), d, func(m room.Situation) room.Decision {
			for _, l := range m.Listeners {
				writers = append(writers, l.InThread)
			}
			return room.Decision{Refuse: room.ErrForbidden}
		})
		require.ErrorIs(t, err, room.ErrForbidden)
		return writers
	}
	next.Key = "three"
	require.Equal(t, []bool{true, false}, inThread(next), "echo has written in it, iris has not")
	require.Equal(t, []bool{false, false}, inThread(draft(ada, "four", "outside")))
	nested := draft(ada, "three", "three")
	nested.Thread = one.Post.ID
	_, err := s.Post(t.Context(), nested, nil)
	require.ErrorContains(t, err, "which is in a thread itself")
	for _, c := range []struct {
		q    room.Query
		want []string
		more bool
	}{
		{room.Query{From: room.Oldest}, []string{"root", "one", "two"}, false},
		{room.Query{}, []string{"two", "one", "root"}, false},
		{room.Query{Limit: 2}, []string{"two", "one"}, true},
		{room.Query{From: room.Oldest, Limit: 2}, []string{"root", "one"}, true},
		{room.Query{From: room.Oldest, After: 1}, []string{"one", "two"}, false},
		{room.Query{Before: 4}, []string{"one", "root"}, false},
	} {
		c.q.Room, c.q.As, c.q.Thread = hall, ada, root.Post.ID
		page, err := s.History(t.Context(), c.q)
		require.NoError(t, err)
		require.Equal(t, c.want, bodies(page.Posts))
		require.Equal(t, c.more, page.More)
	}
}

func edits(t *testing.T, s room.Store) {
	furnish(t, s, echo, iris)
	p := post(t, s, draft(ada, "k", "hello", echo)).Post
	e := room.Edit{
		Post:     p.ID,
		Author:   ada,
		Revision: 1,
		Body:     "hello, iris",
		Now:      after(time.Minute),
	}
	e.Mentions = []room.Mention{{Who: iris, Name: "iris"}}
	var seen room.Situation
	rule := func(m room.Situation) room.Decision {
		seen = m
		return everybody(m)
	}
	edited, err := s.Edit(t.Context(), e, rule)
	require.NoError(t, err)
	require.True(t, seen.Edited)
	require.Equal(t, 2, edited.Post.Revision)
	require.Equal(t, after(time.Minute), edited.Post.Edited)
	require.Equal(t, e.Mentions, edited.Post.Mentions)
	require.Empty(t, edited.Delivered, "both have got it before")
	require.Len(t, inbox(t, s, echo, true), 1)
	again, err := s.Edit(t.Context(), e, rule)
	require.NoError(t, err)
	require.True(t, again.Existing)
	e.Body = "too late"
	_, err = s.Edit(t.Context(), e, rule)
	require.ErrorIs(t, err, room.ErrStale)
	e.Revision, e.Author = 2, echo
	_, err = s.Edit(t.Context(), e, rule)
	require.ErrorIs(t, err, room.ErrForbidden)
	found, err := s.Find(t.Context(), echo, p.ID)
	require.NoError(t, err)
	require.Equal(t, edited.Post, found)
	last := events(t, s)
	require.Equal(t, room.Edited, last[len(last)-1].Type)
	require.Equal(t, 2, last[len(last)-1].Revision)
}

func deletes(t *testing.T, s room.Store) {
	furnish(t, s, echo, bob)
	p := post(t, s, draft(bob, "k", "a secret", echo)).Post
	_, err := s.Delete(t.Context(), room.Deletion{Post: p.ID, By: echo, Now: noon})
	require.ErrorIs(t, err, room.ErrForbidden)
	for range 2 {
		emptied, err := s.Delete(t.Context(), room.Deletion{Post: p.ID, By: ada, Now: noon})
		require.NoError(t, err, "an owner deletes any post")
		require.Equal(t, room.Emptied, emptied.State)
		require.Empty(t, emptied.Body)
		require.Empty(t, emptied.Mentions)
	}
	require.Empty(t, inbox(t, s, echo, true))
	require.Equal(t, "the post was deleted", wakes(t, s, echo)[0].Reason)
	_, err = s.Edit(t.Context(), room.Edit{
		Post:     p.ID,
		Author:   bob,
		Revision: 2,
		Body:     "again",
		Now:      noon,
	}, nil)
	require.ErrorIs(t, err, room.ErrNotFound)
	own := post(t, s, draft(bob, "own", "mine")).Post
	_, err = s.Delete(t.Context(), room.Deletion{Post: own.ID, By: bob, Now: noon})
	require.NoError(t, err)
	last := post(t, s, draft(bob, "last", "mine")).Post
	_, err = s.Delete(t.Context(), room.Deletion{Post: last.ID, By: room.AsOperator, Now: noon})
	require.NoError(t, err)
	require.EqualValues(t, 3, get(t, s).Posts)
}

func roles(t *testing.T, s room.Store) {
	furnish(t, s, bob)
	p := post(t, s, draft(bob, "k", "mine")).Post
	reader := member(bob)
	reader.Role = room.Reader
	_, err := s.Join(t.Context(), reader)
	require.NoError(t, err)
	_, err = s.Post(t.Context(), draft(bob, "next", "more"), nil)
	require.ErrorIs(t, err, room.ErrForbidden)
	_, err = s.Edit(t.Context(), room.Edit{
		Post:     p.ID,
		Author:   bob,
		Revision: 1,
		Body:     "more",
		Now:      noon,
	}, nil)
	require.ErrorIs(t, err, room.ErrForbidden)
	_, err = s.History(t.Context(), room.Query{Room: hall, As: bob})
	require.NoError(t, err)
}

// apart posts to rooms whose names begin alike, in turns.
func apart(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	near := room.Room{ID: hall + ".2", By: bob, Created: noon}
	_, err := s.Create(t.Context(), near, room.Member{Who: bob, Name: "bob", Trust: "stranger"})
	require.NoError(t, err)
	for i := range 5 {
		post(t, s, draft(ada, numbered(i), "in the hall"))
		d := draft(bob, numbered(i), "elsewhere", echo)
		d.Room = near.ID
		require.Empty(t, post(t, s, d).Delivered, "echo is not in that room")
	}
	for id, as := range map[string]room.Who{hall: ada, near.ID: bob} {
		page, err := s.History(t.Context(), room.Query{Room: id, As: as})
		require.NoError(t, err)
		require.Len(t, page.Posts, 5)
		for _, p := range page.Posts {
			require.Equal(t, id, p.Room)
			require.Equal(t, as, p.Author)
		}
	}
	for _, i := range inbox(t, s, echo, false) {
		require.Equal(t, hall, i.Room)
	}
}
