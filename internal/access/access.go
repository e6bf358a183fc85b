// Package access says who may pass the server's doors, and what was answered to a request that comes twice.
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/budget"
)

// Role is what a key may do. Each includes those before it.
type Role string

// The roles.
const (
	Client   Role = "client"   // talks, remembers and recalls; sees status, promoted insights and the digest
	Operator Role = "operator" // sees journal, fragments and scenarios, and starts, cancels and archives dreams
	Owner    Role = "owner"    // forgets, and changes agents
)

var ranks = []Role{Client, Operator, Owner}

// Includes says whether a role may do what needs another. A role nobody knows includes nothing.
func (r Role) Includes(need Role) bool {
	has, requests := slices.Index(ranks, r), slices.Index(ranks, need)
	return has >= 0 && requests >= 0 && has >= requests
}

// Key opens the doors. Its secret is shown once and kept nowhere: Hash is what is known of it.
type Key struct {
	ID     string   `json:"id"`   // "key_" and 12 letters; it names the key in logs, leases and accounts
	Name   string   `json:"name"` // for people
	Role   Role     `json:"role"`
	Agents []string `json:"agents,omitempty"` // handles; empty: every agent
	Hash   string   `json:"hash"`             // SHA-256 of the secret, in hex

	// Principal names who speaks with the key, lastingly: several keys may speak as one. Empty: the key is a principal
	// of its own, named by its ID. Local: whoever came without a key speaks as the same.
	Principal string `json:"principal,omitempty"`

	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Revoked time.Time `json:"revoked,omitzero"` // zero: it is not

	Rate int            `json:"rate,omitempty"` // requests a minute; 0: the deployment's
	Day  *budget.Micros `json:"day,omitempty"`  // what it may cost a day; nil: the deployment's
}

// Local is the principal of requests without a key, which only a server without keys and programs of this machine may
// send.
const Local = "local"

// scopeOfLocal is where answers to requests of Local are kept; no other principal may be called so.
const scopeOfLocal = "loopback"

var principalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}$`)

// ValidPrincipal says what is wrong with the name of a principal. It must not hold a slash, which ends it in the owner
// of a talk.
func ValidPrincipal(name string) error {
	if !principalName.MatchString(name) || name == scopeOfLocal {
		return fmt.Errorf(
			"principal %q must be 1 to 64 of A-Z, a-z, 0-9 and _ . @ + -, begin with a letter or a digit, and not be %q",
			name, scopeOfLocal)
	}
	return nil
}

// SpeaksAs is the principal's part in the owner of a talk. It is empty for Local and for a request without a key.
func (k Key) SpeaksAs() string {
	switch k.Principal {
	case "":
		return k.ID
	case Local:
		return ""
	}
	return k.Principal
}

// PrincipalName is the principal as people write it: "local" for Local and for a request without a key.
func (k Key) PrincipalName() string {
	if name := k.SpeaksAs(); name != "" {
		return name
	}
	return Local
}

// ClaimScope is whose names the idempotency keys of its requests are: those of the principal, so that a request that is
// repeated with a rotated key is still the same.
func (k Key) ClaimScope() string {
	if name := k.SpeaksAs(); name != "" {
		return name
	}
	return scopeOfLocal
}

// Rotated is a new key, and its secret, that speaks as the same principal with the same role, agents and limits. A key
// that expires is followed by one that lives as long as it was to live.
func (k Key) Rotated(now time.Time) (Key, string) {
	next, secret := New(k.Name, k.Role, slices.Clone(k.Agents), now)
	next.Principal, next.Rate = k.PrincipalName(), k.Rate
	if k.Day != nil {
		day := *k.Day
		next.Day = &day
	}
	if !k.Expires.IsZero() {
		next.Expires = now.Add(k.Expires.Sub(k.Created))
	}
	return next, secret
}

// SecretPrefix begins every secret, so that scanners find one that was published.
const SecretPrefix = "oneiros_"

// New makes a key and its secret of 256 random bits.
func New(name string, role Role, agents []string, now time.Time) (Key, string) {
	secret := SecretPrefix + strings.ToLower(rand.Text()+rand.Text())
	return Key{
		ID:      "key_" + strings.ToLower(rand.Text()[:12]),
		Name:    name,
		Role:    role,
		Agents:  agents,
		Hash:    Hash(secret),
		Created: now,
	}, secret
}

// Hash is what is kept of a secret. Secrets are random, so that a plain digest cannot be guessed back.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Live says whether the key opens anything at this moment.
func (k Key) Live(now time.Time) bool {
	return k.Revoked.IsZero() && (k.Expires.IsZero() || now.Before(k.Expires))
}

// Reaches says whether the key is for an agent.
func (k Key) Reaches(handle string) bool {
	return len(k.Agents) == 0 || slices.Contains(k.Agents, handle)
}

// Account is the scope under which a ledger counts what the key costs on a day of UTC. All keys of a principal share
// one, so that a rotated or a second key gives nobody a second cap. The scope of a key without a named principal is
// that of its ID.
func (k Key) Account(now time.Time) string {
	return "key:" + k.PrincipalName() + "/" + now.UTC().Format(time.DateOnly)
}

// Validate names every field that is wrong and what would be right.
func (k Key) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if k.ID == "" {
		fault("id is empty")
	}
	if k.Name == "" || len(k.Name) > 64 ||
		strings.ContainsFunc(k.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		fault("name %q must be 1 to 64 printable characters", k.Name)
	}
	if !slices.Contains(ranks, k.Role) {
		fault("role is %q; roles are client, operator and owner", k.Role)
	}
	if len(k.Hash) != 2*sha256.Size {
		fault("hash is no SHA-256 in hex")
	}
	if k.Principal != "" {
		if err := ValidPrincipal(k.Principal); err != nil {
			faults = append(faults, err)
		}
	}
	if k.Rate < 0 {
		fault("rate is %d requests a minute; it must not be negative", k.Rate)
	}
	if k.Day != nil && *k.Day < 0 {
		fault("day is %s; what a key may cost must not be negative", *k.Day)
	}
	return errors.Join(faults...)
}

// AnyLive says whether one of the keys opens the doors at a time.
func AnyLive(keys []Key, now time.Time) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Live(now) })
}

// UTC is the key with its times as stores keep them.
func (k Key) UTC() Key {
	for _, t := range []*time.Time{&k.Created, &k.Expires, &k.Revoked} {
		*t = t.UTC()
	}
	return k
}

// Claim is a request that may come twice and must be done once. Scope and Name make it unique.
type Claim struct {
	Scope string // whose: a key's id, or the session's
	Name  string // the Idempotency-Key, 1 to 255 bytes
	// of method, path, body and the headers that say whose it is: the same name for another request is refused
	Digest string
	Now    time.Time     // UTC
	Hold   time.Duration // how long a claim blocks its twin unless it is renewed: whoever does it lives as long as that
	Keep   time.Duration // how long its answer is kept; and, of one that was never answered, that it was begun
	Most   int           // how many answers of the scope are kept at most: the oldest become Dropped; 0: any number
}

// Validate says what is missing.
func (c Claim) Validate() error {
	switch {
	case c.Scope == "" || c.Name == "" || len(c.Name) > 255 || !utf8.ValidString(c.Scope+c.Name):
		return fmt.Errorf("a claim needs a scope and a name of 1 to 255 bytes of UTF-8; these are %q and %q", c.Scope,
			c.Name)
	case c.Digest == "" || c.Now.IsZero():
		return errors.New("a claim needs the digest of its request and the time")
	case c.Hold <= 0 || c.Keep <= 0:
		return fmt.Errorf("a claim blocks its twin for %v and its answer is kept for %v; both must be above zero",
			c.Hold, c.Keep)
	}
	return nil
}

// Answered is what was said to a request.
type Answered struct {
	Status int    `json:"status"`
	Type   string `json:"type"` // of its content
	Body   []byte `json:"body"`

	Header map[string][]string `json:"header,omitempty"` // what else is told to whoever hears it again
}

// Erased stands for every answer that was kept when an owner had memories erased, because it may quote them. The
// requests stay done.
func Erased() Answered {
	return Answered{
		Status: 410, Type: "application/json",
		Body: []byte(
			`{"error":{"message":"the request was done; its answer was erased with memories that it may have quoted",` +
				`"type":"invalid_request_error","param":null,"code":"idempotent_answer_erased"}}`),
	}
}

// Dropped stands for an answer that made room for newer ones of its scope. The request stays done.
func Dropped() Answered {
	return Answered{
		Status: 410, Type: "application/json",
		Body: []byte(
			`{"error":{"message":"the request was done; its answer made room for newer ones of the same principal",` +
				`"type":"invalid_request_error","param":null,"code":"idempotent_answer_dropped"}}`),
	}
}

// The failures that callers branch on.
var (
	ErrBusy  = errors.New("the same request is under way")
	ErrLost  = errors.New("the same request was begun, and whoever did it fell silent")
	ErrOther = errors.New("this idempotency key was used for another request")
	// ErrLiveKey is why a deployment cannot be used without keys again.
	ErrLiveKey = errors.New("a key is live")
)

// Store keeps keys and answers. Each method is one atomic, durable step, safe across processes. It is kept by the same
// store as memory, and whenever that erases memories (memory.Store.Forget) each answer that is kept becomes Erased.
type Store interface {
	// PutKey creates a key, or replaces the one with its id. memory.ErrTaken when another id has the hash.
	PutKey(ctx context.Context, k Key) error
	// Keys lists all, revoked and expired ones too, by creation, then id.
	Keys(ctx context.Context) ([]Key, error)
	// KeysRequired says whether every request needs a key. It does from the first PutKey on, in the same step, until
	// AllowKeyless, whatever becomes of the keys themselves.
	KeysRequired(ctx context.Context) (bool, error)
	// AllowKeyless lets requests without a key in again, until the next PutKey. ErrLiveKey when a key is live at now.
	// Keys stay listed.
	AllowKeyless(ctx context.Context, now time.Time) error
	// Claim takes a request to be done: nil when it is the caller's to do, what was answered when it is done, ErrBusy
	// while another does it, ErrLost when its Hold is over and nobody answered, ErrOther when the name stands for
	// another digest. Claims whose Keep is over are as if they had never been, and are removed in passing.
	Claim(ctx context.Context, c Claim) (*Answered, error)
	// Renew lets a claim that is not answered block its twin for its Hold from now on, also one whose Hold was over.
	// One that is answered, or given up, stays so, and one whose Keep is over is gone.
	Renew(ctx context.Context, c Claim, now time.Time) error
	// Answer keeps what was said to a claimed request, from Now for Keep; nil gives the claim up, so that it may be
	// done again. The first answer stays. One that comes after its Hold is kept as long as the name stands for nothing
	// else; a claim that another holds by then is not given up. Of more than Most answers of the scope the oldest
	// become Dropped in the same step.
	Answer(ctx context.Context, c Claim, a *Answered) error
}
