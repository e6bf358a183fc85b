package rooms_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// mortal is the store of a process that is killed at its write number dies, before or after that write is done. Nothing
// that the process asks for afterwards is done.
type mortal struct {
	room.Store
	dies   int
	before bool
	writes int
}

func (m *mortal) dead() bool { return m.writes > m.dies || m.writes == m.dies && m.before }

// write does one write of a process that may be killed.
func write[T any](m *mortal, do func() (T, error)) (T, error) {
	var none T
	m.writes++
	if m.dead() {
		return none, context.Canceled
	}
	done, err := do()
	if m.writes == m.dies {
		return none, context.Canceled
	}
	return done, err
}

func (m *mortal) Post(ctx context.Context, d room.Draft, rule room.Rule) (room.Posted, error) {
	return write(m, func() (room.Posted, error) { return m.Store.Post(ctx, d, rule) })
}

func (m *mortal) Take(ctx context.Context, t room.Take) ([]room.Item, error) {
	return write(m, func() ([]room.Item, error) { return m.Store.Take(ctx, t) })
}

func (m *mortal) Finish(ctx context.Context, f room.Finish) (room.Finished, error) {
	return write(m, func() (room.Finished, error) { return m.Store.Finish(ctx, f) })
}

func (m *mortal) SetDormancy(ctx context.Context, c room.Change) (room.Dormancy, error) {
	return write(m, func() (room.Dormancy, error) { return m.Store.SetDormancy(ctx, c) })
}

// An agent answers with a command to itself. Whenever its process is killed, another one finishes what it began: the
// reply stands once, the command is obeyed once, and the room is told once.
func TestACommandInAReplyOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]struct {
		level dormancy.Level
		tells string
	}{
		"@self dormant sleep for 2h": {dormancy.Sleep, "* echo is dormant (sleep) until 3:"},
		"@self status":               {dormancy.Active, "echo: Active - responding to all messages"},
	} {
		for step, over := 1, false; !over; step++ {
			for _, before := range []bool{true, false} {
				name := fmt.Sprintf("%s/%d/before=%t", command, step, before)
				r := newRig(t, "echo")
				r.minds.answer = answers(map[string]string{"echo": "Good night.\n" + command})
				r.hall("echo")
				store := &mortal{Store: r.store.Rooms(), dies: step, before: before}
				killed := r.over(store, "killed")
				done, err := killed.Post(t.Context(), ada, rooms.PostRequest{Room: "hall", Body: "@echo rest well", Key: "one"})
				_ = killed.Wait(t.Context())
				over = store.writes < step
				if err != nil {
					require.ErrorIs(t, err, context.Canceled, name)
					done, err = r.Post(t.Context(), ada, rooms.PostRequest{Room: "hall", Body: "@echo rest well", Key: "one"})
					require.NoError(t, err, name)
					r.settle()
				}
				r.pass(3 * time.Minute) // the lease of the killed process ends
				r.attend("echo")
				require.Equal(t, want.level, r.level("echo"), name)
				var replies, lines int
				for _, line := range r.transcript() {
					if line == "echo: Good night.\n"+command {
						replies++
					}
					if len(line) >= len(want.tells) && line[:len(want.tells)] == want.tells {
						lines++
					}
				}
				require.Equal(t, 1, replies, "%s: %q", name, r.transcript())
				require.Equal(t, 1, lines, "%s: %q", name, r.transcript())
				require.Equal(t, room.Replied, r.last("echo").Outcome, name)
				require.NotEmpty(t, done.Post.ID, name)
			}
		}
	}
}

// What an agent outside posts, it may post again: a repeated request does what the first one did not.
func TestACommandInAPostIsOneStepWithThePost(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		r := newRig(t, "echo")
		r.hall("echo")
		request := rooms.PostRequest{Room: "hall", As: "echo", Body: "@self dormant human-only", Key: "k"}
		_, err := r.over(&mortal{Store: r.store.Rooms(), dies: 1, before: before}, "killed").Post(t.Context(), ada, request)
		require.ErrorIs(t, err, context.Canceled)
		stored := !before
		require.Equal(t, stored, slices.Contains(r.transcript(), "echo: @self dormant human-only"))
		require.Equal(t, stored, r.level("echo") == dormancy.HumanOnly, "the post and its command are one step")
		done := r.post(ada, request)
		require.Equal(t, dormancy.HumanOnly, r.level("echo"))
		require.Contains(t, done.Self, "Going dormant (human-only)")
		require.Len(t, r.transcript(), 2, "the post and what the room is told")
	}
}

// over is the service of another process over a store of its own.
func (r *rig) over(s room.Store, holder string) *rooms.Service {
	return rooms.New(rooms.Ports{
		Rooms:      s,
		Agents:     r,
		Minds:      r.minds,
		Waker:      r.waker,
		Attendants: r,
		Now:        r.now,
	}, holder, r.options)
}

func (m *mortal) Send(ctx context.Context, d room.Direct, rule room.Rule) (room.Sent, error) {
	return write(m, func() (room.Sent, error) { return m.Store.Send(ctx, d, rule) })
}

func (m *mortal) MoveCheckIn(ctx context.Context, agent, name string, from, next time.Time) error {
	_, err := write(m, func() (struct{}, error) {
		return struct{}{}, m.Store.MoveCheckIn(ctx, agent, name, from, next)
	})
	return err
}
