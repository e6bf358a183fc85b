package psyche

import (
	"context"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// DreamRequest is a request for a dream. Zero fields take the agent's or the deployment's value.
type DreamRequest struct {
	Agent  string                // handle or id
	Theme  string                // at most dream.LongestTheme characters
	Tier   dream.Tier            // core or hardened
	Budget *budget.Micros        // at most the agent's cap of one dream
	Seed   *uint64               // nil: drawn at random, and recorded
	Models map[dream.Role]string // names of the catalogue, before those of the agent
}

// RedreamRequest is a request to run a dream anew from one of its phases on. Zero fields take the earlier dream's
// value.
type RedreamRequest struct {
	DreamRequest
	Dream string      // "dream/iris/0042"; it must have ended
	From  dream.Phase // one of dream.Redreamt
}

// DreamControl starts and directs dreams; starter implements it. Dreams are named by their ids, "dream/iris/0042".
// Errors are *Fault, or wrap the context's. It checks no roles: Dreams does that for the public interfaces.
type DreamControl interface {
	// Begin starts a dream and returns its id. 404 when there is no such agent, 400 for a wrong field, 402 for a
	// budget above the agent's cap, 429 when nothing is left under a cap of its day or month, 409 when it is dreaming
	// or awake, 503 when no worker runs.
	Begin(ctx context.Context, w DreamRequest) (string, error)
	// Redream starts a dream that takes over the results of another one's earlier phases. As Begin; 409 when there is
	// nothing to take over.
	Redream(ctx context.Context, w RedreamRequest) (string, error)
	// Cancel asks a dream to end with what it has, which it does soon after. 409 when it does not run.
	Cancel(ctx context.Context, dreamID string) error
	// Resume continues an interrupted dream. 409 when it is not interrupted, when the agent is dreaming or awake.
	Resume(ctx context.Context, dreamID string) error
	// Archive hides the record of an ended dream from lists; its results stay. Archiving twice has no further effect.
	// 409 while the dream runs or may be resumed.
	Archive(ctx context.Context, dreamID string) error
}

// publicPrefix begins the ids of dreams in URLs.
const publicPrefix = "dream_"

// PublicID is a dream's id without slashes, for use in URLs: "dream_iris_0042" for "dream/iris/0042". Other ids are
// returned unchanged.
func PublicID(dreamID string) string {
	handle, number, ok := idParts(dreamID, "dream/", "/")
	if !ok {
		return dreamID
	}
	return publicPrefix + handle + "_" + number
}

// DreamID parses a dream's id, with slashes or without, and returns the id with slashes and the agent's handle. The
// number is the last part, so that a handle may contain underscores.
func DreamID(id string) (dreamID, handle string, ok bool) {
	handle, number, ok := idParts(id, "dream/", "/")
	if !ok {
		handle, number, ok = idParts(id, publicPrefix, "_")
	}
	if !ok {
		return "", "", false
	}
	return "dream/" + handle + "/" + number, handle, true
}

func idParts(id, prefix, before string) (handle, number string, ok bool) {
	rest, ok := strings.CutPrefix(id, prefix)
	at := strings.LastIndex(rest, before)
	if !ok || at < 1 {
		return "", "", false
	}
	handle, number = rest[:at], rest[at+1:]
	digits := len(number) >= 4 && len(number) <= 19 && strings.Trim(number, "0123456789") == ""
	return handle, number, digits && strings.Trim(handle, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
