package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"maunium.net/go/mautrix/id"
)

// What is kept of each room. Older entries are needed by nobody: a homeserver repeats at most what came since the last
// answer that was handled.
const (
	mostSeen = 500
	mostSent = 500
)

// state is how far the bridge has come, in a file. It holds no secret and no text.
type state struct {
	mu   sync.Mutex
	path string
	lock *os.File

	Since map[id.UserID]string      `json:"since"` // token of the last answer to /sync that was handled
	Rooms map[id.RoomID]*roomRecord `json:"rooms"`
}

// roomRecord is how far the bridge has come in one Matrix room.
type roomRecord struct {
	Native  string      `json:"room"`
	Members []id.UserID `json:"members,omitempty"` // our accounts that are bridged into it
	// Invited are our accounts that have accepted an invitation: what was said since they joined counts.
	Invited []id.UserID `json:"invited,omitempty"`
	Direct  bool        `json:"direct,omitempty"`  // a room of one person and one agent
	Refused bool        `json:"refused,omitempty"` // it is encrypted, and was told that it is not served

	Seen  []id.EventID `json:"seen,omitempty"` // the newest events that were handled
	After int64        `json:"after"`          // the newest event of the native room that was handled
	Sent  []sent       `json:"sent,omitempty"` // the newest posts that were sent
}

// sent says which event carries a post to Matrix.
type sent struct {
	Post  string     `json:"post"`
	Event id.EventID `json:"event"`
}

// openState reads the state, and keeps other bridges from using it until it is closed.
func openState(path string) (*state, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the bridge's state: %w", err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the bridge's state: %w", err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(ErrRunning, lock.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s.lock: %w", path, err), lock.Close())
	}
	s := &state{path: path, lock: lock, Since: map[id.UserID]string{}, Rooms: map[id.RoomID]*roomRecord{}}
	body, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(body, s)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the bridge's state %s: %w", path, err), lock.Close())
	}
	return s, nil
}

func (s *state) close() error { return s.lock.Close() }

// update changes the state and writes it.
func (s *state) update(change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the bridge's state: %w", err)
	}
	next, err := os.OpenFile(s.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the bridge's state: %w", err)
	}
	_, err = next.Write(body)
	err = errors.Join(err, next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(s.path+".new", s.path)
	}
	if err != nil {
		return fmt.Errorf("write the bridge's state: %w", err)
	}
	return nil
}

// read calls a function that reads the state.
func (s *state) read(look func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look()
}

// record returns what is kept of a room; nil for nothing.
func (s *state) record(at id.RoomID) *roomRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Rooms[at]
}

// saw notes events as handled.
func (r *roomRecord) saw(events ...id.EventID) {
	for _, event := range events {
		if !slices.Contains(r.Seen, event) {
			r.Seen = append(r.Seen, event)
		}
	}
	r.Seen = slices.Clone(r.Seen[max(0, len(r.Seen)-mostSeen):])
}

// carried notes which event carries a post.
func (r *roomRecord) carried(post string, event id.EventID) {
	if r.eventOf(post) != "" {
		return
	}
	r.Sent = append(r.Sent, sent{post, event})
	r.Sent = slices.Clone(r.Sent[max(0, len(r.Sent)-mostSent):])
}

// eventOf is the event that carries a post; empty when it is not known.
func (r *roomRecord) eventOf(post string) id.EventID {
	for _, s := range r.Sent {
		if s.Post == post {
			return s.Event
		}
	}
	return ""
}

// postOf is the post that an event carries; empty when it is not known.
func (r *roomRecord) postOf(event id.EventID) string {
	for _, s := range r.Sent {
		if s.Event == event {
			return s.Post
		}
	}
	return ""
}
