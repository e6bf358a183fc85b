// Package matrix is a bridge between the rooms of a Matrix homeserver and the rooms of a deployment.
//
// Each bridged agent has a Matrix account of its own, so that people mention it as they mention each other. The bridge
// posts what people say in a Matrix room into a native room, and sends what agents answer there back in their names.
// Who is called, who rests and what is limited, the native rooms decide.
//
// Nothing is posted or sent twice: a post that is brought has the key of its Matrix event, and an event that is sent
// has the id of its post as its mark and its transaction. The bridge notes how far it has come in a file, and goes on
// there.
package matrix

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// ErrRunning says that another process runs the bridge of this deployment.
var ErrRunning = errors.New("another process of this data_dir bridges Matrix already")

// Rooms is what the bridge asks of the native rooms. rooms.Service does it.
type Rooms interface {
	Create(ctx context.Context, c psyche.Caller, r rooms.CreateRequest) (room.Room, error)
	Join(ctx context.Context, c psyche.Caller, r rooms.JoinRequest) (room.Member, error)
	Leave(ctx context.Context, c psyche.Caller, id, name string) error
	Bring(ctx context.Context, author room.Who, r rooms.PostRequest) (rooms.PostResult, error)
	Edit(ctx context.Context, c psyche.Caller, r rooms.EditRequest) (rooms.PostResult, error)
	Delete(ctx context.Context, c psyche.Caller, post, as string) (room.Post, error)
}

// Agents finds agents by handle or id.
type Agents interface {
	Agent(ctx context.Context, name string) (dream.Agent, error)
}

// Ports are what a Bridge needs.
type Ports struct {
	Rooms  Rooms
	Store  room.Store // is only read
	Agents Agents
	Now    func() time.Time
	Log    *slog.Logger // it gets no text of a post
	// Pause waits between two tries; nil: it waits that long.
	Pause func(ctx context.Context, d time.Duration) error
}

// Account is the Matrix account of an agent.
type Account struct {
	Handle   string // of the agent
	User     string // such as @iris:example.org
	Token    string // an access token, or else
	Password string
}

// Options configure a Bridge.
type Options struct {
	Homeserver string // its address, such as https://matrix.example.org
	Accounts   []Account
	// People are user ids and servers that count as people beside those of the accounts' own server.
	People []string
	// Rooms are the Matrix rooms that are bridged, ids or aliases, by native room. Empty: every room into which somebody
	// who counts invites an account.
	Rooms     map[string]string
	Subscribe bool          // agents see every post of the rooms that they join
	State     string        // file that notes how far the bridge has come
	Poll      time.Duration // how long the homeserver may hold a request for news; 0: half a minute
}

// Bridge is a running bridge. New opens it, Run runs it.
type Bridge struct {
	Ports
	roster
	o      Options
	state  *state
	native map[id.RoomID]string // of configured rooms

	mu       sync.Mutex
	places   map[id.RoomID]*place
	sending  sync.WaitGroup
	refusing sync.Mutex // held while a room is told that it is refused
	running  context.Context
	pauseFor func(ctx context.Context, d time.Duration) error
}

// roster is who is who among the users of Matrix.
type roster struct {
	accounts []*account      // ours
	people   map[string]bool // user ids and servers
}

// account is one of our accounts, logged in.
type account struct {
	Account
	agent  dream.Agent
	user   id.UserID
	client *mautrix.Client

	mu       sync.Mutex
	shown    mautrix.ReqPresence
	dead     bool      // the homeserver does not let it in any more
	answered time.Time // when the homeserver answered last
}

// place is a bridged room. Its lock is held while an event of it is handled.
type place struct {
	mu     sync.Mutex
	id     id.RoomID
	native string
	end    context.CancelFunc // of what sends from it
}

// New checks the options and opens the state. The caller must run the bridge, or close it.
func New(ctx context.Context, p Ports, o Options) (*Bridge, error) {
	o.Poll = cmp.Or(o.Poll, 30*time.Second)
	b := &Bridge{
		Ports:    p,
		o:        o,
		roster:   roster{people: map[string]bool{}},
		native:   map[id.RoomID]string{},
		places:   map[id.RoomID]*place{},
		pauseFor: p.Pause,
	}
	if b.pauseFor == nil {
		b.pauseFor = pause
	}
	at, err := url.Parse(o.Homeserver)
	if err != nil {
		return nil, fmt.Errorf("matrix.homeserver is %q, which is no address: %w", o.Homeserver, err)
	}
	for _, a := range o.Accounts {
		found, err := p.Agents.Agent(ctx, a.Handle)
		if err != nil {
			return nil, fmt.Errorf("matrix.accounts names the agent %s: %w", a.Handle, err)
		}
		user := id.UserID(a.User)
		if _, _, err := user.ParseAndValidateRelaxed(); err != nil {
			return nil, fmt.Errorf("matrix.accounts: the account of %s is %q; it must be such as @%s:example.org: %w",
				a.Handle, a.User, a.Handle, err)
		}
		b.people[user.Homeserver()] = true
		b.accounts = append(b.accounts, &account{Account: a, agent: found, user: user, client: &mautrix.Client{
			HomeserverURL:   at,
			UserID:          user,
			AccessToken:     a.Token,
			Client:          &http.Client{Timeout: o.Poll + time.Minute},
			Log:             zerolog.Nop(),
			IgnoreRateLimit: true, // persist waits
			UserAgent:       "oneiros",
		}})
	}
	for _, who := range o.People {
		b.people[who] = true
	}
	b.state, err = openState(o.State)
	return b, err
}

// Close ends a bridge that was not run.
func (b *Bridge) Close() error { return b.state.close() }

func (b *Bridge) pause(ctx context.Context, d time.Duration) error { return b.pauseFor(ctx, d) }

// Run bridges until ctx ends, or until the homeserver lets none of the accounts in.
func (b *Bridge) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, b.state.close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.running = ctx
	ready, err := b.connect(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	b.resume()
	faults := make([]error, len(ready))
	var syncing sync.WaitGroup
	for i, a := range ready {
		syncing.Go(func() {
			faults[i] = b.follow(ctx, a)
			if faults[i] != nil {
				b.Log.Error("an account is not bridged any more", "account", a.user, "error", faults[i])
			}
		})
	}
	syncing.Wait()
	failed := ctx.Err() == nil
	cancel()
	b.sending.Wait()
	if failed {
		return errors.Join(faults...)
	}
	return nil
}

// connect logs the accounts in, and finds the configured rooms. It returns the accounts that the homeserver lets in.
func (b *Bridge) connect(ctx context.Context) (ready []*account, err error) {
	var faults []error
	for _, a := range b.accounts {
		err := b.login(ctx, a)
		if ctx.Err() != nil {
			return nil, nil
		}
		if err != nil {
			a.dead = true
			faults = append(faults, err)
			b.Log.Error("an account is not bridged", "account", a.user, "error", err)
			continue
		}
		ready = append(ready, a)
	}
	if len(ready) == 0 {
		return nil, errors.Join(faults...)
	}
	for native, name := range b.o.Rooms {
		at := id.RoomID(name)
		if strings.HasPrefix(name, "#") {
			err := b.persist(ctx, "find a room", func(ctx context.Context) error {
				found, err := ready[0].client.ResolveAlias(ctx, id.RoomAlias(name))
				if err == nil {
					at = found.RoomID
				}
				return err
			})
			if ctx.Err() != nil {
				return nil, nil
			}
			if err != nil {
				return nil, fmt.Errorf("matrix.rooms names %s: %w", name, err)
			}
		}
		b.native[at] = native
	}
	return ready, nil
}

// device is the name of our device in each account. With one device, a password makes no new one at each start.
const device = "ONEIROS"

// login lets an account in. Its errors name no secret.
func (b *Bridge) login(ctx context.Context, a *account) error {
	if a.Token == "" {
		return b.persist(ctx, "log in", func(ctx context.Context) error {
			_, err := a.client.Login(ctx, &mautrix.ReqLogin{
				Type:                     mautrix.AuthTypePassword,
				Identifier:               mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: a.User},
				Password:                 a.Password,
				DeviceID:                 device,
				InitialDeviceDisplayName: "Oneiros",
				StoreCredentials:         true,
			})
			return err
		})
	}
	var own id.UserID
	err := b.persist(ctx, "log in", func(ctx context.Context) error {
		me, err := a.client.Whoami(ctx)
		if err == nil {
			own = me.UserID
		}
		return err
	})
	if err == nil && own != a.user {
		return fmt.Errorf("the token of %s is that of %s", a.user, own)
	}
	return err
}

// resume goes on with the rooms that were bridged before.
func (b *Bridge) resume() {
	var bridged []id.RoomID
	b.state.read(func() {
		for at, r := range b.state.Rooms {
			if len(r.Members) > 0 && !r.Refused && b.nativeOf(at) == r.Native {
				bridged = append(bridged, at)
			}
		}
	})
	for _, at := range bridged {
		b.open(at)
	}
}

// nativeOf is the native room of a Matrix room; empty when it is not to be bridged.
func (b *Bridge) nativeOf(at id.RoomID) string {
	if len(b.o.Rooms) > 0 {
		return b.native[at]
	}
	sum := sha256.Sum256([]byte(at))
	return "matrix-" + hex.EncodeToString(sum[:5])
}

// open returns a bridged room, and sends from it from now on.
func (b *Bridge) open(at id.RoomID) *place {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.places[at]; p != nil {
		return p
	}
	ctx, cancel := context.WithCancel(b.running)
	p := &place{id: at, native: b.nativeOf(at), end: cancel}
	b.places[at] = p
	b.sending.Go(func() { b.send(ctx, p) })
	return p
}

// counts says whether a user is one of the people: of an own or listed server, or listed itself.
func (r roster) counts(user id.UserID) bool {
	return r.people[string(user)] || r.people[user.Homeserver()]
}

// ours is the account of a user; nil when it is none of ours.
func (r roster) ours(user id.UserID) *account {
	at := slices.IndexFunc(r.accounts, func(a *account) bool { return a.user == user })
	if at < 0 {
		return nil
	}
	return r.accounts[at]
}

// filter asks for what the bridge needs of a room, and for nothing else.
const filter = `{"presence":{"limit":0,"not_types":["*"]},"account_data":{"limit":0,"not_types":["*"]},` +
	`"room":{"ephemeral":{"limit":0,"not_types":["*"]},"account_data":{"limit":0,"not_types":["*"]},` +
	`"state":{"lazy_load_members":true},"timeline":{"limit":50,"lazy_load_members":true}}}`

// follow handles what the homeserver has for an account until ctx ends. Its error says that it lets the account in no
// more.
func (b *Bridge) follow(ctx context.Context, a *account) error {
	b.present(ctx, a)
	for ctx.Err() == nil {
		var since string
		b.state.read(func() { since = b.state.Since[a.user] })
		poll := b.o.Poll
		if since == "" {
			poll = 0
		}
		var news *mautrix.RespSync
		err := b.persist(ctx, "sync", func(ctx context.Context) (err error) {
			news, err = a.client.SyncRequest(ctx, int(poll.Milliseconds()), since, filter, false, a.presence())
			return err
		})
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, mautrix.MUnknownToken) && a.Token == "" {
			err = b.login(ctx, a)
			if err == nil {
				continue
			}
		}
		if err != nil {
			a.mu.Lock()
			a.dead = true
			a.mu.Unlock()
			return fmt.Errorf("%s: %w", a.user, err)
		}
		b.insist(ctx, "handle what was said", func() error { return b.handle(ctx, a, news, since == "") })
		if ctx.Err() != nil {
			break
		}
		a.mu.Lock()
		a.answered = b.Now()
		a.mu.Unlock()
		err = b.state.update(func() { b.state.Since[a.user] = news.NextBatch })
		if err != nil {
			return err
		}
	}
	return nil
}

// insist repeats a step of the native side until it succeeds or ctx ends: a store that is away is waited for.
func (b *Bridge) insist(ctx context.Context, what string, do func() error) {
	for wait := firstWait; ctx.Err() == nil; wait = min(2*wait, mostWait) {
		err := do()
		if err == nil || ctx.Err() != nil {
			return
		}
		b.Log.Warn("the bridge tries again", "step", what, "wait", wait, "error", err)
		_ = b.pause(ctx, wait) // it fails only when ctx ends
	}
}

// handle handles an answer to /sync. It may be repeated. first says that the account has no past here.
func (b *Bridge) handle(ctx context.Context, a *account, news *mautrix.RespSync, first bool) error {
	var faults []error
	for at, invitation := range news.Rooms.Invite {
		faults = append(faults, b.invited(ctx, a, at, invitation))
	}
	for at := range news.Rooms.Leave {
		faults = append(faults, b.left(ctx, a, at))
	}
	for at, joined := range news.Rooms.Join {
		faults = append(faults, b.joined(ctx, a, at, joined, first))
	}
	return errors.Join(faults...)
}

// invited accepts an invitation of somebody who counts, into a room that is to be bridged, and declines others.
func (b *Bridge) invited(ctx context.Context, a *account, at id.RoomID, invitation *mautrix.SyncInvitedRoom) error {
	var by id.UserID
	direct := false
	for _, e := range invitation.State.Events {
		if e.Type.Type == event.StateMember.Type && e.GetStateKey() == string(a.user) {
			by = e.Sender
			direct, _ = e.Content.Raw["is_direct"].(bool)
		}
	}
	if !b.counts(by) || b.nativeOf(at) == "" {
		b.Log.Warn("an invitation is declined", "account", a.user, "room", at, "by", by, "counts", b.counts(by))
		err := b.persist(ctx, "decline an invitation", func(ctx context.Context) error {
			_, err := a.client.LeaveRoom(ctx, at)
			return err
		})
		return unlessRefused(err)
	}
	err := b.state.update(func() {
		r := b.recordOf(at)
		r.Direct = r.Direct || direct
		if !slices.Contains(r.Invited, a.user) {
			r.Invited = append(r.Invited, a.user)
		}
	})
	if err != nil {
		return err
	}
	err = b.persist(ctx, "join a room", func(ctx context.Context) error {
		_, err := a.client.JoinRoomByID(ctx, at)
		return err
	})
	if refused(err) {
		b.Log.Warn("a room could not be joined", "account", a.user, "room", at, "error", err)
	}
	return unlessRefused(err)
}

func unlessRefused(err error) error {
	if refused(err) {
		return nil
	}
	return err
}

// recordOf is the record of a room, made when there is none. The state must be locked.
func (b *Bridge) recordOf(at id.RoomID) *roomRecord {
	r := b.state.Rooms[at]
	if r == nil {
		r = &roomRecord{Native: b.nativeOf(at)}
		b.state.Rooms[at] = r
	}
	return r
}

// left takes an agent out of the native room of a room that its account has left or was removed from.
func (b *Bridge) left(ctx context.Context, a *account, at id.RoomID) error {
	native := ""
	err := b.state.update(func() {
		r := b.state.Rooms[at]
		if r == nil {
			return
		}
		if slices.Contains(r.Members, a.user) {
			native = r.Native
		}
		without := func(all []id.UserID) []id.UserID {
			return slices.DeleteFunc(slices.Clone(all), func(u id.UserID) bool { return u == a.user })
		}
		r.Members, r.Invited = without(r.Members), without(r.Invited)
	})
	if err != nil || native == "" {
		return err
	}
	b.Log.Info("an agent left a room", "agent", a.Handle, "room", native)
	return final(b.Rooms.Leave(ctx, operator, native, a.Handle))
}

// final drops an error of the native rooms that stays the same however often the step is repeated.
func final(err error) error {
	var fault *psyche.Fault
	if errors.As(err,
		&fault) && fault.Status < http.StatusInternalServerError && fault.Status != http.StatusTooManyRequests {
		return nil
	}
	return err
}
