package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"maunium.net/go/mautrix/event"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/matrix"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/testsuite/matrix/homeserver"
)

// guillotine kills the bridge at one step: before a request of it or a change of the native rooms, or after it and
// before the bridge learns of it. What the bridge notes later is lost, as with a killed process.
type guillotine struct {
	matrix.Rooms
	mu    sync.Mutex
	at    int // the step at which it falls; below 1: never
	step  int
	state string // file
	kept  []byte // what the file holds when it falls
	fell  chan struct{}
}

var errKilled = errors.New("killed")

// falls counts a step, and says whether the bridge is killed there.
func (g *guillotine) falls() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.step++
	if g.step == g.at {
		g.kept, _ = os.ReadFile(g.state) // no file: nothing was noted yet
		close(g.fell)
	}
	return g.at > 0 && g.step >= g.at && !g.revived()
}

// revived says whether the bridge was started again.
func (g *guillotine) revived() bool { return g.fell == nil }

func (g *guillotine) around(do func() error) error {
	if g.falls() {
		return errKilled
	}
	err := do()
	if g.falls() {
		return errKilled
	}
	return err
}

func (g *guillotine) Create(ctx context.Context, c psyche.Caller, r rooms.CreateRequest) (made room.Room, err error) {
	err = g.around(func() error { made, err = g.Rooms.Create(ctx, c, r); return err })
	return made, err
}

func (g *guillotine) Join(ctx context.Context, c psyche.Caller, r rooms.JoinRequest) (m room.Member, err error) {
	err = g.around(func() error { m, err = g.Rooms.Join(ctx, c, r); return err })
	return m, err
}

func (g *guillotine) Bring(ctx context.Context, w room.Who, r rooms.PostRequest) (p rooms.PostResult, err error) {
	err = g.around(func() error { p, err = g.Rooms.Bring(ctx, w, r); return err })
	return p, err
}

func (g *guillotine) Edit(ctx context.Context, c psyche.Caller, r rooms.EditRequest) (p rooms.PostResult, err error) {
	err = g.around(func() error { p, err = g.Rooms.Edit(ctx, c, r); return err })
	return p, err
}

// killed plays an invitation, two mentions and an edit, with a bridge that is killed at a step, and returns how many
// steps there are.
func killed(t *testing.T, at int) int {
	t.Helper()
	r := newRig(t, scripted(t), "echo", "null")
	r.options.Subscribe = false
	for i, a := range r.options.Accounts {
		r.options.Accounts[i].Token, r.options.Accounts[i].Password = "", "of "+a.User
	}
	r.will(map[string]string{"echo": "I hear you.", "null": "So do I."})
	ours := []string{r.user("echo"), r.user("null")}
	fell := make(chan struct{})
	g := &guillotine{Rooms: r.bridged, at: at, state: r.options.State, fell: fell}
	r.bridged = g
	r.scripted.Intercept = func(w http.ResponseWriter, req *http.Request, user string) bool {
		if !slices.Contains(ours, user) || !g.falls() {
			return false
		}
		homeserver.Cut(w)
		return true
	}
	r.scripted.Served = func(_ *http.Request, user string) bool { return !slices.Contains(ours, user) || !g.falls() }
	played := make(chan struct{})
	revived := make(chan struct{})
	go func() {
		defer close(revived)
		select {
		case <-fell:
		case <-played:
			return
		}
		r.kill()
		if g.kept == nil {
			_ = os.Remove(r.options.State)
		} else {
			_ = os.WriteFile(r.options.State, g.kept, 0o600)
		}
		g.mu.Lock()
		g.fell = nil
		g.mu.Unlock()
		r.start()
	}()
	r.start()
	ada := r.person("ada")
	hall := ada.opens("echo", "null")
	question := ada.says(hall, "@echo one?")
	ada.receives(hall, "echo", "I hear you.")
	edit := event.MessageEventContent{MsgType: event.MsgText, Body: "@echo and @null, one?"}
	edit.SetEdit(question)
	ada.sends(hall, edit)
	ada.receives(hall, "null", "So do I.")
	ada.says(hall, "Thank you.")
	native := r.native(hall)
	r.comes(native, "ada: Thank you.")
	last := ada.says(hall, "@echo goodbye")
	ada.awaits(hall, "the last answer", func(e *event.Event) bool {
		return string(e.Sender) == r.user("echo") && e.Content.Raw["body"] == "I hear you." &&
			messageOf(t, e).RelatesTo.GetThreadParent() == last
	})
	close(played)
	<-revived
	r.settle()
	posts := r.posts(native)
	slices.Sort(posts)
	require.Equal(t, []string{
		"ada: @echo and @null, one?", "ada: @echo goodbye", "ada: Thank you.", "echo: I hear you.", "echo: I hear you.",
		"null: So do I.",
	}, posts)
	answers := slices.DeleteFunc(ada.messages(hall), func(line string) bool { return strings.HasPrefix(line, "ada: ") })
	slices.Sort(answers)
	require.Equal(t, []string{"echo: I hear you.", "echo: I hear you.", "null: So do I."}, answers)
	require.Len(t, r.minds.callsOf("echo"), 2)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.step
}

// A bridge that is killed between any two steps says nothing twice and loses nothing.
func TestABridgeThatIsKilledAtAnyStepGoesOn(t *testing.T) {
	t.Parallel()
	steps := killed(t, 0)
	each := 1
	if testing.Short() {
		each = 7
	}
	for at := 1; at <= steps; at += each {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			killed(t, at)
		})
	}
}
