package roomtest

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

// Deployment is a store that keeps rooms beside everything else.
type Deployment interface {
	memory.Store
	memory.Movable
	memory.Verifier
	Rooms() room.Store
}

// RunUpkeep tests what exports, removals, erasures and checks do to rooms. from and to return new, empty stores.
func RunUpkeep(t *testing.T, from, to func(t *testing.T) Deployment) {
	t.Helper()
	for name, run := range map[string]func(t *testing.T, from, to func(*testing.T) Deployment){
		"RoomsAreMoved":              moved,
		"AFalseRecordIsRefused":      falseRefused,
		"ARemovedAgentLeavesNothing": removed,
		"ForgottenWordsAreRemoved":   forgotten,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, from, to)
		})
	}
}

// Fill writes every kind of record.
func Fill(t testing.TB, s room.Store) {
	t.Helper()
	furnish(t, s, bob, echo, iris)
	p := post(t, s, draft(ada, "1", "<hello> & \u2028", echo)).Post
	reply := draft(bob, "2", "secret words", iris)
	reply.Thread, reply.ReplyTo = p.ID, p.ID
	_, err := s.Post(t.Context(), reply, count(room.GuardKey("pair", bob.String(), iris.String())))
	require.NoError(t, err)
	post(t, s, draft(echo, "3", "my secret words", iris))
	item := take(t, s, echo, "h")[0]
	_, err = s.Finish(t.Context(), answer(item, "my secret answer"))
	require.NoError(t, err)
	d := direct(echo, "direct", 4)
	d.Message.Body, d.Expires = "secret words for you", after(time.Hour)
	send(t, s, d)
	take(t, s, echo, "h")
	set(t, s, "", dormancy.Sleep, 0)
	_, err = s.SetDormancy(t.Context(), room.Change{
		Agent:  echo.ID,
		Room:   hall,
		Level:  dormancy.MentionOnly,
		Reason: "secret words",
		Key:    "k",
		Now:    noon,
	})
	require.NoError(t, err)
	for _, key := range []string{"held", "done"} {
		_, err = s.Hold(t.Context(), room.Action{
			Agent:   echo.ID,
			Key:     key,
			Room:    hall,
			Name:    "post",
			Body:    json.RawMessage(`{"body":"secret words"}`),
			Created: noon,
		})
		require.NoError(t, err)
	}
	_, err = s.EndAction(t.Context(), echo.ID, "done", room.Done, "", noon)
	require.NoError(t, err)
}

func written(t testing.TB, s memory.Movable) string {
	t.Helper()
	var b bytes.Buffer
	_, err := archive.Write(&b, s.Export(t.Context()))
	require.NoError(t, err)
	return b.String()
}

func sound(t testing.TB, s memory.Verifier) {
	t.Helper()
	found, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Faults)
	require.Contains(t, strings.Join(found.Checked, ", "), "rooms")
}

func moved(t *testing.T, from, to func(*testing.T) Deployment) {
	a, b := from(t), to(t)
	Fill(t, a.Rooms())
	sound(t, a)
	tally, err := b.Import(t.Context(), archive.Read(strings.NewReader(written(t, a))))
	require.NoError(t, err)
	require.Greater(t, tally.Rooms, 20)
	require.Equal(t, written(t, a), written(t, b))
	sound(t, b)
	one, other := a.Rooms(), b.Rooms()
	require.Equal(t, events(t, one), events(t, other))
	for _, agent := range []room.Who{echo, iris} {
		require.Equal(t, inbox(t, one, agent, true), inbox(t, other, agent, true))
		require.Equal(t, wakes(t, one, agent), wakes(t, other, agent))
	}
	for _, s := range []room.Store{one, other} {
		page, err := s.History(t.Context(), room.Query{Room: hall, As: bob, Thread: "hall/1", From: room.Oldest})
		require.NoError(t, err)
		require.Equal(t, []string{"<hello> & \u2028", "secret words"}, bodies(page.Posts))
		require.True(t, post(t, s, draft(echo, "3", "my secret words", iris)).Existing)
		require.EqualValues(t, 5, post(t, s, draft(ada, "next", "next")).Post.Offset)
		require.EqualValues(t, 2, set(t, s, "", "", 1).Sequence)
		held, err := s.Held(t.Context(), echo.ID, 0, 0)
		require.NoError(t, err)
		require.Len(t, held, 1)
	}
	_, err = a.Import(t.Context(), b.Export(t.Context()))
	require.ErrorIs(t, err, memory.ErrOccupied)
}

func falseRefused(t *testing.T, from, to func(*testing.T) Deployment) {
	a := from(t)
	Fill(t, a.Rooms())
	for find, replace := range map[string]string{
		`"offset":2,`:                `"offset":9,`,
		`"id":"hall","title"`:        `"id":"hull","title"`,
		`"posts":4`:                  `"posts":3`,
		`"number":2,"key":"direct"`:  `"number":7,"key":"direct"`,
		`"kind":"agent","id":"iris"`: `"kind":"agent","id":"isis"`,
	} {
		altered := 0
		records := func(yield func(memory.Record, error) bool) {
			for r, err := range a.Export(t.Context()) {
				if r.Room != nil {
					body := strings.ReplaceAll(string(r.Room.Body), find, replace)
					if body != string(r.Room.Body) {
						altered++
					}
					r.Room.Body = memory.Raw(body)
				}
				if !yield(r, err) {
					return
				}
			}
		}
		b := to(t)
		_, err := b.Import(t.Context(), records)
		require.ErrorIs(t, err, memory.ErrAltered, find)
		require.NotZero(t, altered, find)
		for range b.Export(t.Context()) {
			require.Fail(t, "a refused import leaves nothing")
		}
	}
}

func agentRecord(who room.Who) dream.Agent {
	return dream.Agent{ID: who.ID, Handle: users[who], Created: noon}
}

func removed(t *testing.T, from, _ func(*testing.T) Deployment) {
	d := from(t)
	s := d.Rooms()
	require.NoError(t, d.PutAgent(t.Context(), agentRecord(echo)))
	Fill(t, s)
	_, err := d.DropAgent(t.Context(), echo.ID, noon)
	require.NoError(t, err)
	sound(t, d)
	require.Empty(t, inbox(t, s, echo, false))
	require.Empty(t, wakes(t, s, echo))
	kept, err := s.Dormancy(t.Context(), echo.ID)
	require.NoError(t, err)
	require.Empty(t, kept)
	members, err := s.Members(t.Context(), ada, hall)
	require.NoError(t, err)
	require.Len(t, members, 3)
	text := written(t, d)
	require.NotContains(t, text, "my secret")
	require.Contains(t, text, "secret words", "what others said stays")
	_, err = s.Join(t.Context(), member(echo))
	require.ErrorIs(t, err, room.ErrRemoved)
	_, err = s.Send(t.Context(), direct(echo, "late", 0), nil)
	require.ErrorIs(t, err, room.ErrRemoved)
	_, err = s.SetDormancy(t.Context(), room.Change{Agent: echo.ID, Level: dormancy.Sleep, Now: noon, If: room.AnySequence})
	require.ErrorIs(t, err, room.ErrRemoved)
	require.NoError(t, d.PutAgent(t.Context(), agentRecord(echo)))
	furnished := member(echo)
	_, err = s.Join(t.Context(), furnished)
	require.NoError(t, err)
	require.EqualValues(t, 3, set(t, s, "", dormancy.Sleep, room.AnySequence).Sequence, "the numbers go on")
	require.EqualValues(t, 3, send(t, s, direct(echo, "new", 0)).Item.Number)
	sound(t, d)
}

// wordless removes one word from texts.
type wordless string

func (w wordless) Scrub(_ dream.Kind, body []byte) ([]byte, bool, error) {
	scrubbed, changed := w.Note(body)
	return scrubbed, changed, nil
}

func (w wordless) Note(value []byte) ([]byte, bool) {
	scrubbed := bytes.ReplaceAll(value, []byte(w), []byte("…"))
	return scrubbed, !bytes.Equal(scrubbed, value)
}

func (w wordless) Holds(value []byte) bool { return bytes.Contains(value, []byte(w)) }

func forgotten(t *testing.T, from, _ func(*testing.T) Deployment) {
	d := from(t)
	s := d.Rooms()
	Fill(t, s)
	_, err := d.Erase(t.Context(), echo.ID, memory.Erasure{IDs: []string{"x"}, Words: wordless("secret")})
	require.NoError(t, err)
	sound(t, d)
	page, err := s.History(t.Context(), room.Query{Room: hall, As: ada, From: room.Oldest})
	require.NoError(t, err)
	require.Equal(t, []string{"<hello> & \u2028", "secret words", "my … words", "my … answer"}, bodies(page.Posts))
	require.Equal(t, 2, page.Posts[2].Revision)
	require.Equal(t, "… words for you", inbox(t, s, echo, true)[0].Message.Body)
	kept, err := s.Dormancy(t.Context(), echo.ID)
	require.NoError(t, err)
	require.Equal(t, "… words", kept[1].Reason)
	held, err := s.Held(t.Context(), echo.ID, 0, 0)
	require.NoError(t, err)
	require.JSONEq(t, `{"body":"… words"}`, string(held[0].Body))
	require.Equal(t, 1, strings.Count(written(t, d), "secret"), "what bob said")
	_, err = d.Erase(context.WithoutCancel(t.Context()), iris.ID, memory.Erasure{Words: wordless("answer")})
	require.NoError(t, err)
	page, err = s.History(t.Context(), room.Query{Room: hall, As: ada, From: room.Oldest})
	require.NoError(t, err)
	require.Equal(t, "my … answer", page.Posts[3].Body, "another agent forgets it")
}
