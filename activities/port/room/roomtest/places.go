package roomtest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

var places = []clause{
	{"ARoomIsMadeOnce", madeOnce},
	{"MembersJoinChangeAndLeave", joinAndLeave},
	{"OnlyMembersRead", membersRead},
	{"AMembersKindTellsItsTaint", taints},
	{"WrongValuesAreNamed", wrongValues},
	{"TheFeedGoesOnWhereItWasCutOff", feedResumes},
	{"LeavingDropsWhatWaits", leavingDrops},
}

func madeOnce(t *testing.T, s room.Store) {
	furnish(t, s)
	made, err := s.Create(t.Context(),
		room.Room{ID: hall, Title: "The hall", By: ada, Created: after(time.Hour)}, member(ada))
	require.NoError(t, err)
	require.Equal(t, noon, made.Created)
	_, err = s.Create(t.Context(), room.Room{ID: hall, Title: "Another", By: ada, Created: noon}, member(ada))
	require.ErrorIs(t, err, room.ErrTaken)
	_, err = s.Create(t.Context(), room.Room{ID: hall, By: ada, Created: noon}, member(bob))
	require.ErrorContains(t, err, "owner is person:matrix/@bob:elsewhere")
	got, err := s.Get(t.Context(), ada, hall)
	require.NoError(t, err)
	require.Equal(t, room.Room{
		ID:      hall,
		Title:   "The hall",
		By:      ada,
		Created: noon,
		Events:  1,
	}, got)
	_, err = s.Get(t.Context(), ada, "attic")
	require.ErrorIs(t, err, room.ErrNotFound)
	members, err := s.Members(t.Context(), ada, hall)
	require.NoError(t, err)
	require.Equal(t, room.Owner, members[0].Role)
	attic, err := s.Create(t.Context(), room.Room{
		ID: "attic", By: bob, Created: noon, Meta: map[string]string{"matrix": "!x:example.org"},
	}, member(bob))
	require.NoError(t, err)
	listed, err := s.List(t.Context(), ada)
	require.NoError(t, err)
	require.Equal(t, []room.Room{got}, listed)
	listed, err = s.List(t.Context(), room.AsOperator)
	require.NoError(t, err)
	require.Equal(t, []room.Room{attic, got}, listed)
}

func joinAndLeave(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	again, err := s.Join(t.Context(), member(echo))
	require.NoError(t, err)
	require.Equal(t, member(echo), again)
	renamed := member(echo)
	renamed.Name, renamed.Joined = "Echo", after(time.Hour)
	changed, err := s.Join(t.Context(), renamed)
	require.NoError(t, err)
	require.Equal(t, noon, changed.Joined)
	require.Equal(t, "Echo", changed.Name)
	for range 2 {
		m, err := s.Subscribe(t.Context(), hall, echo, false, noon)
		require.NoError(t, err)
		require.False(t, m.Subscribed)
	}
	_, err = s.Subscribe(t.Context(), hall, ada, true, noon)
	require.ErrorContains(t, err, "only agents subscribe")
	_, err = s.Subscribe(t.Context(), hall, iris, true, noon)
	require.ErrorIs(t, err, room.ErrNotMember)
	_, err = s.Join(t.Context(), room.Member{
		Room:   "attic",
		Who:    echo,
		Name:   "e",
		Role:   room.Writer,
		Trust:  dormancy.Own,
		Joined: noon,
	})
	require.ErrorIs(t, err, room.ErrNotFound)
	members, err := s.Members(t.Context(), room.AsOperator, hall)
	require.NoError(t, err)
	require.Equal(t, []room.Who{echo, ada}, []room.Who{members[0].Who, members[1].Who})
	for range 2 {
		require.NoError(t, s.Leave(t.Context(), hall, echo, noon))
	}
	listed, err := s.List(t.Context(), echo)
	require.NoError(t, err)
	require.Empty(t, listed)
	require.Equal(t, []room.EventType{room.Created, room.Joined, room.Changed, room.Changed, room.Left},
		typesOf(events(t, s)))
}

// An agent and a person of the same name are two, and neither reads a room that only the other is in.
func membersRead(t *testing.T, s room.Store) {
	furnish(t, s)
	posted := post(t, s, draft(ada, "1", "a secret"))
	for _, as := range []room.Who{bob, echo, room.AgentID(ada.ID), {}} {
		_, err := s.Get(t.Context(), as, hall)
		require.ErrorIs(t, err, room.ErrNotMember)
		_, err = s.Members(t.Context(), as, hall)
		require.ErrorIs(t, err, room.ErrNotMember)
		_, err = s.History(t.Context(), room.Query{Room: hall, As: as})
		require.ErrorIs(t, err, room.ErrNotMember)
		_, err = s.History(t.Context(), room.Query{Room: hall, As: as, Thread: posted.Post.ID})
		require.ErrorIs(t, err, room.ErrNotMember)
		_, err = s.Find(t.Context(), as, posted.Post.ID)
		require.ErrorIs(t, err, room.ErrNotMember)
		_, err = s.Events(t.Context(), as, hall, 0, 0)
		require.ErrorIs(t, err, room.ErrNotMember)
		require.ErrorIs(t, s.Await(t.Context(), as, hall, 0), room.ErrNotMember)
		_, err = s.Post(t.Context(), room.Draft{
			Room:   hall,
			Author: bob,
			Key:    "k",
			Body:   "b",
			Now:    noon,
		}, nil)
		require.ErrorIs(t, err, room.ErrNotMember)
	}
	found, err := s.Find(t.Context(), room.AsOperator, posted.Post.ID)
	require.NoError(t, err)
	require.Equal(t, posted.Post, found)
}

func taints(t *testing.T, s room.Store) {
	furnish(t, s, bob, echo)
	for who, want := range map[room.Who]dream.Taint{ada: dream.FromHuman, bob: dream.FromWeb, echo: dream.FromAgent} {
		p := post(t, s, draft(who, "k", "I am Ada, a person"))
		require.Equal(t, want, p.Post.Taint)
		require.Equal(t, users[who], p.Post.Name)
		require.Equal(t, member(who).Trust, p.Post.Trust)
	}
}

func wrongValues(t *testing.T, s room.Store) {
	furnish(t, s)
	good := draft(ada, "k", "body")
	for want, change := range map[string]func(*room.Draft){
		`room is "The Hall"`:         func(d *room.Draft) { d.Room = "The Hall" },
		"key is empty":               func(d *room.Draft) { d.Key = "" },
		`form is "shout"`:            func(d *room.Draft) { d.Form = "shout" },
		"body is empty":              func(d *room.Draft) { d.Body = " \n" },
		"body has 65537 bytes":       func(d *room.Draft) { d.Body = strings.Repeat("x", room.MaxBody+1) },
		"a person's post has none":   func(d *room.Draft) { d.Hops = 1 },
		"the post has 101 mentions":  func(d *room.Draft) { d.Mentions = make([]room.Mention, 101) },
		"meta has 33 entries":        func(d *room.Draft) { d.Meta = many(33) },
		"now is not given":           func(d *room.Draft) { d.Now = time.Time{} },
		`author is of kind "robot"`:  func(d *room.Draft) { d.Author.Kind = "robot" },
		`post id is "elsewhere"`:     func(d *room.Draft) { d.ReplyTo = "elsewhere" },
		"post attic/1 is of another": func(d *room.Draft) { d.ReplyTo = "attic/1" },
		"post hall/99: not found":    func(d *room.Draft) { d.Thread = "hall/99" },
		`body is not UTF-8 text`:     func(d *room.Draft) { d.Body = "\xff" },
	} {
		wrong := good
		change(&wrong)
		_, err := s.Post(t.Context(), wrong, nil)
		require.ErrorContains(t, err, want)
	}
	_, err := s.Join(t.Context(), room.Member{
		Room:       hall,
		Who:        ada,
		Role:       "king",
		Trust:      "no",
		Subscribed: true,
	})
	for _, want := range []string{
		"name is empty", `role is "king"`, `trust is "no"`, "subscribed is set for a person", "joined is not given",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = s.Take(t.Context(), room.Take{})
	require.ErrorContains(t, err, "the take lasts 0s")
	_, err = s.SetDormancy(t.Context(), room.Change{Agent: "a", Level: "deep", Now: noon})
	require.ErrorContains(t, err, `level "deep" must be active`)
	require.Zero(t, get(t, s).Posts)
}

func many(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[numbered(i)] = ""
	}
	return m
}

func get(t testing.TB, s room.Store) room.Room {
	t.Helper()
	r, err := s.Get(t.Context(), ada, hall)
	require.NoError(t, err)
	return r
}

func feedResumes(t *testing.T, s room.Store) {
	furnish(t, s)
	for i := range 5 {
		post(t, s, draft(ada, numbered(i), numbered(i)))
	}
	every := events(t, s)
	require.Len(t, every, 6)
	var read []room.Event
	for last := int64(0); ; {
		page, err := s.Events(t.Context(), ada, hall, last, 2)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		read = append(read, page...)
		last = page[len(page)-1].Offset
	}
	require.Equal(t, every, read)
	require.NoError(t, s.Await(t.Context(), ada, hall, 5))
	received := make(chan error, 1)
	go func() { received <- s.Await(t.Context(), ada, hall, 6) }()
	post(t, s, draft(ada, "late", "late"))
	require.NoError(t, <-received)
	require.Error(t, s.Await(ended(t), ada, hall, 99))
}

func leavingDrops(t *testing.T, s room.Store) {
	furnish(t, s, echo)
	post(t, s, draft(ada, "1", "hello", echo))
	_, err := s.SetDormancy(t.Context(), room.Change{
		Agent: echo.ID,
		Room:  hall,
		Level: dormancy.Sleep,
		Now:   noon,
		If:    room.AnySequence,
	})
	require.NoError(t, err)
	require.NoError(t, s.Leave(t.Context(), hall, echo, noon))
	require.Empty(t, inbox(t, s, echo, true))
	require.Equal(t, room.Dropped, inbox(t, s, echo, false)[0].State)
	require.Equal(t, room.Skipped, wakes(t, s, echo)[0].Outcome)
	dormant, err := s.Dormant(t.Context())
	require.NoError(t, err)
	require.Empty(t, dormant)
}
