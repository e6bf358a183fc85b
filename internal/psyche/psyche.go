// Package psyche is an agent awake: it recalls memories before an answer, passes the request on to the model's
// provider, remembers the exchange afterwards, and feels.
package psyche

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/ratelimit"
)

// Caller is who makes a request. One caller's context never reaches another: memory is the agent's, but what is
// remembered of a talk is recalled only for the same principal and user, unless it was made the agent's own.
type Caller struct {
	Key  access.Key // an empty ID: a loopback client without a key, which has role owner
	User string     // the end user that the client names; may be empty
}

// May reports whether the caller may do what needs a role, with an agent of this handle.
func (c Caller) May(need access.Role, handle string) bool {
	return c.Key.Role.Includes(need) && c.Key.Reaches(handle)
}

// Owner names the owner of the caller's talk, the principal and the user: "talk/<principal>/<user>". Memories of a
// talk carry it, and recall filters by it.
func (c Caller) Owner() string { return dream.TalkOrigin + c.Key.SpeaksAs() + "/" + c.User }

// Switches turn steps of a turn off, or on, for one request; nil: as configured for the agent.
type Switches struct {
	Recall, Store, Affect, Digest *bool
}

// Turn is one request that is passed on.
type Turn struct {
	Caller       Caller
	Agent        string // handle or id
	Conversation string // names the talk; empty: derived from its first user message and Group
	// Group is the client's name for its talks together, such as prompt_cache_key: one for an application or one for
	// a talk.
	Group    string
	Client   string // names the lease; empty: derived from the caller
	Session  string // a session that the caller holds, whose lease is used in place of one for this request; may be empty
	Path     string // below the provider's address: "/chat/completions" or "/embeddings"
	Header   http.Header
	Body     *Body
	Switches Switches
}

// Reply is the provider's answer. Body must be closed; closing it early stops the provider.
type Reply struct {
	Status int
	Header http.Header
	Body   io.ReadCloser
	Report TurnReport
	// Failed reports, once Body was read to its end, whether the provider has said there that it failed; nil where that
	// is not read.
	Failed func() bool
}

// TurnReport is what the agent did for a turn, for headers and logs. It holds no text.
type TurnReport struct {
	Agent        string // handle
	AgentID      string
	Conversation string
	Epoch        int64
	Woke         bool   // this turn woke the agent
	Degraded     string // what of the wake could not be done yet
	Recalled     int    // memories in the background message
	// Skipped is why nothing was recalled: "off", "budget", "busy", "failed", "nothing"; empty when something was.
	Skipped   string
	WordsOnly string          // why recall compared words alone: "budget", "failed", "space"; empty when vectors counted too
	Model     string          // name in the catalogue
	Tokens    ratelimit.State // of the key's tokens a minute, before the turn; zero: they are not limited
}

// Memory is a recalled item.
type Memory struct {
	ID      string      `json:"id"`
	Kind    dream.Kind  `json:"kind"`
	At      time.Time   `json:"at"`
	Content string      `json:"content"`
	Taint   dream.Taint `json:"taint"`
	Speaker string      `json:"speaker,omitempty"`
	Score   float64     `json:"score"` // [0, 1]
	Dreamt  bool        `json:"dreamt"`
	Dream   string      `json:"dream,omitempty"` // of what was dreamt: the dream that made it
	Label   string      `json:"label,omitempty"` // of what was dreamt: DreamtLabel, in a digest journal.Label
}

// DreamtLabel goes with every memory that a dream made.
const DreamtLabel = "dreamt, not experienced"

// Emotion is how an agent feels, as callers see it.
type Emotion struct {
	mood.PAD
	Valence   float64   `json:"valence"`        // pleasure, from -1 to 1
	Intensity float64   `json:"intensity"`      // distance from the baseline, from 0
	Word      string    `json:"word"`           // the nearest of a fixed list, such as "calm"
	Since     time.Time `json:"since,omitzero"` // unset of an agent that nothing has moved yet
	Cause     string    `json:"cause"`
}

// Status is what every role may see of an agent.
type Status struct {
	Agent    string         `json:"agent"`
	State    string         `json:"state"` // sleeping, dreaming, waking or awake
	Leases   int            `json:"leases"`
	Until    time.Time      `json:"until,omitzero"` // awake until then if nobody comes again
	Emotion  Emotion        `json:"emotion"`
	Memories map[string]int `json:"memories"` // live items that the caller may read, by kind
	Own      Kept           `json:"own"`      // what it keeps of what the caller said
	Dreams   int64          `json:"dreams"`
	Dream    string         `json:"dream,omitempty"` // the newest
	Outcome  string         `json:"outcome,omitempty"`
	// of all callers, since the server process that answers began; operators and owners alone see it
	Recall *RecallCounts `json:"recall,omitempty"`
	// while memories are embedded in the background; operators and owners alone see it
	Embedding *Embedding `json:"embedding,omitempty"`
	// significant insights of the newest wake, labelled as dreamt and unverified
	Digest []Memory `json:"digest"`
}

// Embedding is how far memories are embedded in the background. Until then they are found by their words.
type Embedding struct {
	Done    int    `json:"done"`              // memories
	Total   int    `json:"total"`             // and how many there are to embed; 0 while nobody has begun
	Left    int64  `json:"left_ms,omitempty"` // about how long it still takes; absent while nobody knows
	Failure string `json:"failure,omitempty"` // of the newest attempt; it is tried again
}

// Session is a lease that a client holds by name until it ends it or lets it run out.
type Session struct {
	ID    string    `json:"id"`
	Agent string    `json:"agent"`
	Until time.Time `json:"until"`
	Woke  bool      `json:"woke"`
}

// Talk is what the OpenAI interface needs.
type Talk interface {
	// Chat wakes the agent if it sleeps, adds what it recalls, and passes the body on. Errors are *Fault, or wrap the
	// context's.
	Chat(ctx context.Context, t Turn) (*Reply, error)
	// Embeddings passes a body on to the agent's embedder, without waking the agent.
	Embeddings(ctx context.Context, t Turn) (*Reply, error)
	// Completions passes a body on to the provider's /completions, without memory.
	Completions(ctx context.Context, t Turn) (*Reply, error)
	// TalkModel is the model that talks for an agent.
	TalkModel(ctx context.Context, a *dream.Agent) (inference.Spec, error)
	// ModelFor is the model that talks for an agent that a caller names, and the agent's id, without waking it. Errors
	// are *Fault, or wrap the context's.
	ModelFor(ctx context.Context, c Caller, agent string) (spec inference.Spec, id string, err error)
	// Agents lists those that the caller reaches, by handle, without waking them.
	Agents(ctx context.Context, c Caller) ([]dream.Agent, error)
}

// Meter counts tokens.
type Meter interface {
	// PromptTokens is how many tokens a turn's prompt has, of its body and of the agent's name and persona: as the
	// provider counts a body of Messages, else an upper bound. What the agent would recall is not in it. It wakes
	// nobody. Errors are *Fault, or wrap the context's.
	PromptTokens(ctx context.Context, t Turn) (int64, error)
}

// Mind is what the MCP interface and the sessions need. Agents are named by handle or id. Every method checks the
// caller's role and reach and returns a *Fault.
type Mind interface {
	// Say is a turn of one message, which it puts into the turn's body. token gets the pieces of the answer as they
	// come, and may be nil.
	Say(ctx context.Context, t Turn, message string, token func(string)) (Completion, TurnReport, error)
	// Complete is a Chat whose answer is read to its end.
	Complete(ctx context.Context, t Turn, token func(string)) (Completion, TurnReport, error)
	// Recall returns the memories nearest to a query, best first.
	Recall(ctx context.Context, c Caller, agent string, r RecallRequest) ([]Memory, error)
	// Forget erases memories and what repeats them for good, or says what that would do; it needs role owner.
	Forget(ctx context.Context, c Caller, agent string, f ForgetRequest) (Erasure, error)
	// Remember stores a memory of importance [0, 1] and returns its id; the same content again returns the same id.
	Remember(ctx context.Context, c Caller, agent, content string, importance float64) (string, error)
	Emotion(ctx context.Context, c Caller, agent string) (Emotion, error)
	// Feel appraises an event of mood.Events at an intensity (0, 1].
	Feel(ctx context.Context, c Caller, agent, event string, intensity float64) (Emotion, error)
	Status(ctx context.Context, c Caller, agent string) (Status, error)
	// Journal returns the newest entries; it needs role operator.
	Journal(ctx context.Context, c Caller, agent string, limit int) ([]*dream.Journal, error)
	// Playbook returns PLAYBOOK.md; it needs role operator.
	Playbook(ctx context.Context, c Caller, agent string) (string, error)
	// Open holds the agent awake for ttl (1 s to 1 h; 0: the deployment's client timeout), waking it; an empty id
	// makes a new session.
	Open(ctx context.Context, c Caller, agent, id string, ttl time.Duration) (Session, error)
	// Leave ends a session of the caller's.
	Leave(ctx context.Context, c Caller, agent, id string) error
}

// Waker wakes agents; starter implements it.
type Waker interface {
	// Wake takes or renews a client's lease and wakes the agent if need be. It returns as soon as the caller may go
	// on.
	Wake(ctx context.Context, agent, client string, hold time.Duration) (WakeResult, error)
	// Leave ends the client's lease.
	Leave(ctx context.Context, agent, client string) error
	// Status returns who holds the agent awake, by its id.
	Status(ctx context.Context, agent string) (presence.Status, error)
}

// WakeResult is the result of a wake.
type WakeResult struct {
	presence.Wake
	Raised   bool   // this request woke the agent
	Degraded string // what could not be done and is done later
}

// Fault is an error in the form that OpenAI clients expect. It quotes nothing of a prompt, a memory or a dream.
type Fault struct {
	Status int // HTTP status
	// "invalid_request_error", "authentication_error", "permission_error", "not_found_error", "rate_limit_error",
	// "server_error", "upstream_error"
	Type    string
	Code    string // such as "agent_not_found"
	Param   string // the wrong field
	Message string // a sentence that helps
	Retry   time.Duration
	Err     error // for the log; never sent
}

func (f *Fault) Error() string {
	if f.Err != nil {
		return fmt.Sprintf("%s: %v", f.Message, f.Err)
	}
	return f.Message
}

func (f *Fault) Unwrap() error { return f.Err }
