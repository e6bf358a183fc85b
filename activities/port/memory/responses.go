package memory

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// KeptResponse is an answer that later requests of the same principal may go on from.
type KeptResponse struct {
	ID       string
	Scope    string // the principal's, as of access.Key.ClaimScope: nobody else finds it
	User     string // the user of the principal that it was made for; may be empty
	Agent    string // id
	Previous string // the response that it goes on from; may be empty
	At       time.Time
	Until    time.Time // when it ends; zero: never
	Body     []byte
}

// Validate reports what is missing.
func (r KeptResponse) Validate() error {
	for _, each := range []struct{ name, value string }{{"id", r.ID}, {"scope", r.Scope}, {"agent", r.Agent}} {
		if each.value == "" || len(each.value) > 255 || !utf8.ValidString(each.value) {
			return fmt.Errorf("the %s of a response is %q; it must be 1 to 255 bytes of UTF-8", each.name, each.value)
		}
	}
	if r.At.IsZero() || !r.Until.IsZero() && !r.Until.After(r.At) {
		return errors.New("a response needs a time, and may end only after it")
	}
	return nil
}

// Responses keeps answers. Erasing memories of an agent, or the agent, removes all of the agent's, which may quote what
// is erased. Archives leave them out.
type Responses interface {
	// PutResponse keeps a response, in place of one with its id in its scope, and removes those that have ended by its
	// At. Of more than most responses of its scope the oldest go; 0: any number.
	PutResponse(ctx context.Context, r KeptResponse, most int) error
	// Response returns a response that has not ended by now. ErrNotFound.
	Response(ctx context.Context, scope, id string, now time.Time) (KeptResponse, error)
	// DropResponse removes a response. ErrNotFound.
	DropResponse(ctx context.Context, scope, id string) error
}
