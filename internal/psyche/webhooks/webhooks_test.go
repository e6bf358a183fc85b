package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/psyche/webhooks"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

var (
	ada    = psyche.Caller{Key: access.Key{ID: "key_ada", Role: access.Operator, Principal: "ada"}}
	reader = psyche.Caller{Key: access.Key{ID: "key_guest", Role: access.Client, Principal: "reader"}}
)

// speaker keeps posts as rooms do, and calls nobody.
type speaker struct{ room.Store }

func (s speaker) Join(ctx context.Context, _ psyche.Caller, r rooms.JoinRequest) (room.Member, error) {
	m := room.Member{
		Room:   r.Room,
		Who:    room.PersonID(r.Person),
		Name:   r.Name,
		Role:   room.Writer,
		Trust:  r.Trust,
		Joined: time.Now(),
	}
	if m.Trust == "" {
		m.Trust = dormancy.Own
	}
	return s.Store.Join(ctx, m)
}

func (s speaker) Bring(ctx context.Context, author room.Who, r rooms.PostRequest) (rooms.PostResult, error) {
	posted, err := s.Post(ctx, room.Draft{
		Room:   r.Room,
		Author: author,
		Key:    r.Key,
		Body:   r.Body,
		Now:    time.Now(),
	}, nil)
	if errors.Is(err, room.ErrTaken) {
		return rooms.PostResult{}, psyche.Refuse(http.StatusConflict, "conflict", "", "%v.", err)
	}
	return rooms.PostResult{Post: posted.Post}, err
}

// rig is a hall with the agent echo.
type rig struct {
	*testing.T
	*webhooks.Service
	store *sqlitestore.Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "rooms.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.NoError(t, store.PutAgent(t.Context(), dream.Agent{
		ID: "id-echo", Handle: "echo", Zone: "UTC", Created: time.Now().UTC(),
	}))
	r := &rig{T: t, store: store}
	r.Service = r.another("here")
	person := room.PersonID("ada")
	_, err = store.Rooms().Create(t.Context(), room.Room{ID: "hall", By: person, Created: time.Now()}, room.Member{
		Room:   "hall",
		Who:    person,
		Name:   "ada",
		Role:   room.Owner,
		Trust:  dormancy.Own,
		Joined: time.Now(),
	})
	require.NoError(t, err)
	return r
}

func (r *rig) another(holder string) *webhooks.Service {
	s := webhooks.New(webhooks.Ports{
		Rooms:  r.store.Rooms(),
		Agents: r.store,
		Speak:  speaker{r.store.Rooms()},
		Key:    func() ([]byte, error) { return []byte("the key of this deployment, long enough"), nil },
		Now:    time.Now,
	}, holder)
	s.Hasten()
	return s
}

func (r *rig) say(text string) {
	r.Helper()
	_, err := r.store.Rooms().Post(r.Context(), room.Draft{
		Room:   "hall",
		Author: room.PersonID("ada"),
		Key:    text,
		Body:   text,
		Now:    time.Now(),
	}, nil)
	require.NoError(r, err)
}

// receiver notes what it is sent and answers as answer says.
type receiver struct {
	mu      sync.Mutex
	secret  string
	got     []string // text of each event that was accepted
	refused int
	answer  func(n int) int
	n       int
}

func (v *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var e webhooks.Event
	if governor.VerifySignature([]byte(v.secret), r.Header, body, time.Now()) != nil || json.Unmarshal(body, &e) != nil ||
		r.Header.Get(webhooks.DeliveryHeader) != e.ID {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	v.n++
	status := v.answer(v.n)
	if status/100 == 2 {
		v.got = append(v.got, e.ID+" "+e.Post.Body)
	} else {
		v.refused++
	}
	w.WriteHeader(status)
}

func (v *receiver) all() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string{}, v.got...)
}

// deliver runs a service's deliveries until the returned function is called.
func (r *rig) deliver(s *webhooks.Service) (end func()) {
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Deliver(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// Events come in order, signed, each once where every answer is read, though the receiver fails in between and the
// process is replaced.
func TestWhatHappensIsSentInOrderUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.say("before")
	v := &receiver{answer: func(n int) int {
		if n%3 == 0 {
			return http.StatusBadGateway
		}
		return http.StatusNoContent
	}}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	added, err := r.Add(t.Context(), ada, "hall", webhooks.AddRequest{
		Name: "out", URL: server.URL + "/hidden", Events: []room.EventType{room.Added},
	})
	require.NoError(t, err)
	require.NotContains(t, added.URL, "hidden")
	v.secret = added.Secret
	var want []string
	for part := range 3 {
		end := r.deliver(r.another(fmt.Sprint("process ", part)))
		for n := range 4 {
			text := fmt.Sprintf("post %d of %d", n, part)
			r.say(text)
			want = append(want, fmt.Sprintf("hall/events/%d %s", 3+len(want), text))
		}
		require.Eventually(t, func() bool { return len(v.all()) == len(want) }, 20*time.Second, time.Millisecond)
		end()
	}
	require.Equal(t, want, v.all())
	require.Positive(t, v.refused)
	all, err := r.List(t.Context(), ada, "hall")
	require.NoError(t, err)
	require.EqualValues(t, 2+len(want), all[0].After)
	require.Empty(t, all[0].Secret)
}

// Two processes at once send nothing twice, and after a removal nothing is sent.
func TestOneProcessAtATimeSends(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	v := &receiver{answer: func(int) int { return http.StatusOK }}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	added, err := r.Add(t.Context(), ada, "hall", webhooks.AddRequest{
		Name: "out", URL: server.URL, Events: []room.EventType{room.Added},
	})
	require.NoError(t, err)
	v.secret = added.Secret
	t.Cleanup(r.deliver(r.another("one")))
	t.Cleanup(r.deliver(r.another("two")))
	for n := range 20 {
		r.say(fmt.Sprint("post ", n))
	}
	require.Eventually(t, func() bool { return len(v.all()) >= 20 }, 20*time.Second, time.Millisecond)
	require.Len(t, v.all(), 20)
	_, err = r.Remove(t.Context(), ada, "hall", "out")
	require.NoError(t, err)
	_, err = r.Remove(t.Context(), ada, "hall", "out")
	require.ErrorContains(t, err, `hall has no webhook "out"`)
}

// A post comes in by the sender that the webhook names, whatever its text says, once for an id.
func TestAPostComesInUnderTheSenderOfTheWebhook(t *testing.T) {
	t.Parallel()
	for sender, taint := range map[string]dream.Taint{"person": dream.FromHuman, "stranger": dream.FromWeb} {
		r := newRig(t)
		added, err := r.Add(t.Context(), ada, "hall", webhooks.AddRequest{Name: "ci", Sender: sender})
		require.NoError(t, err)
		body := []byte(`{"id":"7","body":"I am ada, a person."}`)
		receive := func(secret string, at time.Time, body []byte) (room.Webhook, error) {
			header := http.Header{}
			governor.Sign(header, []byte(secret), body, at)
			return r.Check(t.Context(), "hall", "ci", header, body)
		}
		w, err := receive(added.Secret, time.Now(), body)
		require.NoError(t, err)
		for range 2 {
			done, err := r.Receive(t.Context(), w, webhooks.IncomingPost{ID: "7", Body: "I am ada, a person."})
			require.NoError(t, err)
			require.Equal(t, "hall/1", done.Post.ID)
			require.Equal(t, "ci", done.Post.Name)
			require.Equal(t, room.PersonID("webhook/ci"), done.Post.Author)
			require.Equal(t, taint, done.Post.Taint)
		}
		_, err = r.Receive(t.Context(), w, webhooks.IncomingPost{ID: "7", Body: "Something else."})
		require.ErrorContains(t, err, "another content")
		_, err = r.Receive(t.Context(), w, webhooks.IncomingPost{Body: "x"})
		require.ErrorContains(t, err, "id has 0 bytes")
		for name, fault := range map[string]error{
			"another secret": second(receive("whsec_other", time.Now(), body)),
			"an old one":     second(receive(added.Secret, time.Now().Add(-6*time.Minute), body)),
			"one to come":    second(receive(added.Secret, time.Now().Add(6*time.Minute), body)),
		} {
			var refusal *psyche.Fault
			require.ErrorAs(t, fault, &refusal, name)
			require.Equal(t, http.StatusUnauthorized, refusal.Status, name)
		}
		_, err = r.Remove(t.Context(), ada, "hall", "ci")
		require.NoError(t, err)
		again, err := r.Add(t.Context(), ada, "hall", webhooks.AddRequest{Name: "ci", Sender: sender})
		require.NoError(t, err)
		require.NotEqual(t, added.Secret, again.Secret)
		require.Error(t, second(receive(added.Secret, time.Now(), body)), "the secret ends with its webhook")
	}
}

func second[T any](_ T, err error) error { return err }

func TestAWebhookIsRefusedWithTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for want, request := range map[string]webhooks.AddRequest{
		"url is missing":                 {Name: "x"},
		"url is not an address":          {Name: "x", URL: "example.org"},
		"sender and url are given":       {Name: "x", URL: "https://example.org", Sender: "person"},
		`sender is "robot"`:              {Name: "x", Sender: "robot"},
		"agent is missing":               {Name: "x", Sender: "agent"},
		`There is no agent "nobody"`:     {Name: "x", Sender: "agent", Agent: "nobody"},
		"echo is no member":              {Name: "x", Sender: "agent", Agent: "echo"},
		`name is "No"`:                   {Name: "No", Sender: "person"},
		"events are named without a url": {Name: "x", Sender: "person", Events: []room.EventType{room.Added}},
		`event is "said"`:                {Name: "x", URL: "https://example.org", Events: []room.EventType{"said"}},
	} {
		_, err := r.Add(t.Context(), ada, "hall", request)
		require.ErrorContains(t, err, want)
	}
	_, err := r.Add(t.Context(), ada, "cellar", webhooks.AddRequest{Name: "x", URL: "https://example.org"})
	require.ErrorContains(t, err, "cellar")
	_, err = r.Add(t.Context(), reader, "hall", webhooks.AddRequest{Name: "x", URL: "https://example.org"})
	require.ErrorContains(t, err, "operator")
	members, err := r.store.Rooms().Members(t.Context(), room.AsOperator, "hall")
	require.NoError(t, err)
	require.Len(t, members, 1, "what is refused lets nobody in")
}
