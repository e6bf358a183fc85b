package rooms_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// marks stand in every text, by the owner of what is remembered of it: nothing of one may be shown to another.
var marks = map[string]string{"room:hall": "HALL", "room:garden": "GARDEN", "ada": "ADA", "bob": "BOB"}

// leaks lists the marks of others in what is shown to an agent, or kept, for an owner.
func leaks(owner string, shown ...any) (found []string) {
	text, err := json.Marshal(shown)
	if err != nil || marks[owner] == "" {
		return []string{fmt.Sprintf("owner %q: %v", owner, err)}
	}
	for other, mark := range marks {
		if other != owner && strings.Contains(string(text), mark+"-") {
			found = append(found, fmt.Sprintf("%s sees %s: %s", owner, other, text))
		}
	}
	return found
}

// Two people talk in two rooms with the same agents and send them messages. No call of an agent has text of elsewhere.
func TestNothingOfOneRoomIsShownInAnother(t *testing.T) {
	t.Parallel()
	posts := upTo(10_000, 300)
	dice := rand.New(rand.NewPCG(8, 8))
	r := newRigAt(t, ":memory:", "echo", "iris")
	for _, id := range places {
		_, err := r.Create(t.Context(), ada, rooms.CreateRequest{ID: id, Join: []string{"echo", "iris"}})
		require.NoError(t, err)
		_, err = r.Join(t.Context(), ada, rooms.JoinRequest{Room: id, Person: "bob"})
		require.NoError(t, err)
	}
	var mu sync.Mutex
	var found []string
	seen := map[string]int{}
	look := func(owner string, shown ...any) {
		mu.Lock()
		defer mu.Unlock()
		seen[owner]++
		found = append(found, leaks(owner, shown...)...)
	}
	r.minds.answer = func(_ string, c psyche.Call) (psyche.CallAnswer, error) {
		owner := c.Owner.Key.Principal
		look(owner, c.Wake, c.Query, c.Statements, c.Client, c.Session)
		r.minds.mu.Lock()
		r.minds.calls, r.minds.of = nil, nil // ten thousand would be much to keep
		r.minds.mu.Unlock()
		return says(marks[owner] + "-answer")
	}
	r.minds.hearing = func(owner psyche.Caller, session string, statements []psyche.Statement) {
		look(owner.Key.Principal, session, statements)
	}
	var last room.Post
	for i := range posts {
		who := pick(dice, ada, bob)
		name := who.Key.Principal
		handle := pick(dice, "echo", "iris")
		switch dice.IntN(12) {
		case 0:
			_, err := r.Call(r.ctx, who, handle, rooms.CallRequest{
				Trigger: room.OnDirect, Message: fmt.Sprintf("%s-%d", marks[name], i),
			})
			require.NoError(t, err)
		case 1:
			_, err := r.Awaken(r.ctx, ada, rooms.AwakenRequest{
				Agents: []string{handle}, Message: fmt.Sprintf("ADA-%d", i),
			})
			require.NoError(t, err)
		case 2:
			_, err := r.SetDormancy(r.ctx, ada, handle, rooms.DormancyRequest{
				Level: pick(dice, dormancy.MentionOnly, dormancy.HumanOnly, dormancy.Sleep), For: "1m", Room: pick(dice, places...),
			})
			require.NoError(t, err)
		default:
			id := pick(dice, places...)
			body := fmt.Sprintf("%s-%d %s", marks["room:"+id], i, named(dice, []string{"echo", "iris"}))
			ask := rooms.PostRequest{Room: id, Body: body}
			if last.Room == id && dice.IntN(2) == 0 {
				ask.ReplyTo, ask.Thread = last.ID, cmp.Or(last.Thread, last.ID)
			}
			done, err := r.Post(r.ctx, who, ask)
			require.NoError(t, err)
			last = done.Post
		}
		if i%4 == 0 {
			r.settle()
			r.pass(time.Duration(dice.IntN(60)) * time.Second)
			r.attend(handle)
		}
	}
	r.settle()
	for owner := range marks {
		require.Positive(t, seen[owner], owner)
	}
	require.Empty(t, found)
	t.Logf("%d posts and messages: shown or kept %v", posts, seen)
}

// The control: what stands in the wrong place is seen.
func TestLeaksAreSeen(t *testing.T) {
	t.Parallel()
	wake := prompt.WakeInput{Caller: prompt.Speech{Author: "ada", Text: "HALL-1"}}
	require.Empty(t, leaks("room:hall", wake))
	require.Len(t, leaks("room:garden", wake), 1)
	wake.Root = &prompt.Speech{Text: "BOB-1"}
	require.Len(t, leaks("room:hall", wake), 1)
	require.Len(t, leaks("nobody", wake), 1)
}
