package psyche

import (
	"context"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// DreamRequest is what somebody wants of a dream. Zero fields take the agent's or the deployment's value.
type DreamRequest struct {
	Agent  string                // handle or id
	Theme  string                // at most dream.LongestTheme characters
	Tier   dream.Tier            // core or hardened
	Budget *budget.Micros        // at most the agent's cap of one dream
	Seed   *uint64               // nil: drawn at random, and recorded
	Models map[dream.Role]string // the catalogue's names, before those of the agent
}

// Again is the wish to dream a night anew from one of its phases on. Zero fields of the wish take what that night had.
type Again struct {
	DreamRequest
	Dream string      // "dream/iris/0042"; it must be over
	From  dream.Phase // one of dream.Redreamt
}

// Dreaming is what is asked of whoever carries dreams on; starter fits it. Dreams are named by their ids,
// "dream/iris/0042". Errors are *Fault, or wrap the context's. It looks at nobody's role: Dreams, which the faces ask,
// does.
type Dreaming interface {
	// Begin starts a dream and answers its id. 404 when there is no such agent, 400 for a field that is wrong, 402 for
	// a budget above the agent's cap, 429 when nothing is left under a cap of its day or month, 409 when it dreams
	// already or is awake, 503 when nobody carries dreams.
	Begin(ctx context.Context, w DreamRequest) (string, error)
	// Redream begins one that takes over what the earlier phases of another have made. As Begin; 409 when there is
	// nothing to take over.
	Redream(ctx context.Context, w Again) (string, error)
	// Cancel asks a dream to end with what it has. It ends soon after. 409 when it does not go on.
	Cancel(ctx context.Context, dreamID string) error
	// Resume lets an interrupted dream go on. 409 when it does not wait, when the agent dreams already or is awake.
	Resume(ctx context.Context, dreamID string) error
	// Archive puts the record of a dream that is over out of the lists; what it left behind stays as it is. Twice is
	// once. 409 while the dream goes on or may.
	Archive(ctx context.Context, dreamID string) error
}

// publicPrefix begins the ids by which dreams are named in addresses.
const publicPrefix = "dream_"

// PublicID is a dream's id without a slash, so that it fits into an address: "dream_iris_0042" of "dream/iris/0042".
// Other ids stay as they are.
func PublicID(dreamID string) string {
	handle, number, ok := idParts(dreamID, "dream/", "/")
	if !ok {
		return dreamID
	}
	return publicPrefix + handle + "_" + number
}

// DreamID reads a dream's id as people give it, with slashes or without, and whose dream it is. The number is the last
// part, so that a handle may hold whatever handles hold.
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
