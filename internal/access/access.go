// Package access defines the keys that open the server, and the stored responses to repeated requests.
package access

import (
	"cmp"
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

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Role is what a key may do. Each role includes those before it.
type Role string

// The roles.
const (
	Client   Role = "client"   // talks, remembers and recalls; sees status, promoted insights and the digest
	Operator Role = "operator" // sees journal, fragments and scenarios, and starts, cancels and archives dreams
	Owner    Role = "owner"    // forgets, and changes agents
)

var ranks = []Role{Client, Operator, Owner}

// Includes reports whether a role may do what needs another. An unknown role includes nothing.
func (r Role) Includes(need Role) bool {
	has, requests := slices.Index(ranks, r), slices.Index(ranks, need)
	return has >= 0 && requests >= 0 && has >= requests
}

// Key admits requests. Its secret is shown once and stored nowhere; only its Hash is.
type Key struct {
	ID     string   `json:"id"`   // "key_" and 12 letters; identifies the key in logs, leases and accounts
	Name   string   `json:"name"` // for people
	Role   Role     `json:"role"`
	Agents []string `json:"agents,omitempty"` // handles; empty: every agent
	Hash   string   `json:"hash"`             // SHA-256 of the secret, in hex

	// Principal names who uses the key, permanently: several keys may belong to one principal. Empty: the key is a
	// principal of its own, named by its ID. Local: the same principal as requests without a key.
	Principal string `json:"principal,omitempty"`

	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Revoked time.Time `json:"revoked,omitzero"` // zero: not revoked

	// Program says that a program or an agent uses the key, and no person waits: on a full server people's requests go
	// first.
	Program bool `json:"program,omitempty"`

	Rate   int            `json:"rate,omitempty"`   // requests a minute; 0: the deployment's
	Tokens int            `json:"tokens,omitempty"` // that models read and write for it a minute; 0: the deployment's
	Day    *budget.Micros `json:"day,omitempty"`    // what it may cost a day; nil: the deployment's
}

// Local is the principal of requests without a key, which are possible only for programs of this machine while the
// server has no keys.
const Local = "local"

// scopeOfLocal is the scope of stored responses to Local; no other principal may have this name.
const scopeOfLocal = "loopback"

var principalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}$`)

// ValidPrincipal checks the name of a principal. It must not contain a slash, which ends it in the owner of a talk.
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

// ClaimScope is the scope of the key's idempotency keys: that of the principal, so that a request repeated with a
// rotated key counts as the same.
func (k Key) ClaimScope() string {
	if name := k.SpeaksAs(); name != "" {
		return name
	}
	return scopeOfLocal
}

// Rotated returns a new key and its secret, with the same principal, role, agents and limits. A key that expires is
// followed by one with the same lifetime.
func (k Key) Rotated(now time.Time) (Key, string) {
	next, secret := New(k.Name, k.Role, slices.Clone(k.Agents), now)
	next.Principal, next.Program = k.PrincipalName(), k.Program
	next.Rate, next.Tokens = k.Rate, k.Tokens
	if k.Day != nil {
		day := *k.Day
		next.Day = &day
	}
	if !k.Expires.IsZero() {
		next.Expires = now.Add(k.Expires.Sub(k.Created))
	}
	return next, secret
}

// SecretPrefix begins every secret, so that scanners find published ones.
const SecretPrefix = "oneiros_"

// New makes a key with a secret of 256 random bits.
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

// Hash is the stored form of a secret. Secrets are random, so that a plain digest cannot be reversed by guessing.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Live reports whether the key is valid now.
func (k Key) Live(now time.Time) bool {
	return k.Revoked.IsZero() && (k.Expires.IsZero() || now.Before(k.Expires))
}

// Reaches reports whether the key is for an agent.
func (k Key) Reaches(handle string) bool {
	return len(k.Agents) == 0 || slices.Contains(k.Agents, handle)
}

// Account is the scope under which a ledger counts what the key costs on a day of UTC. All keys of a principal share
// one, so that a rotated or a second key does not double its cap. The scope of a key without a named principal is
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
	if k.Tokens < 0 {
		fault("tokens are %d a minute; they must not be negative", k.Tokens)
	}
	if k.Day != nil && *k.Day < 0 {
		fault("day is %s; what a key may cost must not be negative", *k.Day)
	}
	return errors.Join(faults...)
}

// AnyLive reports whether one of the keys is valid at a time.
func AnyLive(keys []Key, now time.Time) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Live(now) })
}

// CompareKeys orders keys by creation, then id.
func CompareKeys(a, b Key) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) }

// UTC is the key with its times as stores keep them.
func (k Key) UTC() Key {
	for _, t := range []*time.Time{&k.Created, &k.Expires, &k.Revoked} {
		*t = t.UTC()
	}
	return k
}

// Claim is a request that may be repeated and must be done once. Scope and Name identify it.
type Claim struct {
	Scope string // the principal's ClaimScope
	Name  string // the Idempotency-Key, 1 to 255 bytes
	// Digest covers method, path, body and the headers that identify the request: the same name for another request
	// is refused.
	Digest string
	Now    time.Time     // UTC
	Hold   time.Duration // how long it blocks repetitions unless renewed; after that its process counts as dead
	Keep   time.Duration // how long its response is stored; and, without a response, the fact that it was begun
	Most   int           // most stored responses of the scope: the oldest become Dropped; 0: unlimited
}

// Validate reports what is missing.
func (c Claim) Validate() error {
	switch {
	case c.Scope == "" || c.Name == "" || len(c.Name) > 255 || !utf8.ValidString(c.Scope+c.Name):
		return fmt.Errorf("a claim needs a scope and a name of 1 to 255 bytes of UTF-8; these are %q and %q", c.Scope,
			c.Name)
	case c.Digest == "" || c.Now.IsZero():
		return errors.New("a claim needs the digest of its request and the time")
	case c.Hold <= 0 || c.Keep <= 0:
		return fmt.Errorf("a claim blocks repetitions for %v and its response is stored for %v; both must be above zero",
			c.Hold, c.Keep)
	}
	return nil
}

// StoredResponse is the response to a request.
type StoredResponse struct {
	Status int    `json:"status"`
	Type   string `json:"type"` // Content-Type
	Body   []byte `json:"body"`

	Header map[string][]string `json:"header,omitempty"` // other headers that are repeated
}

// Erased replaces every stored response when an owner had memories erased, because it may quote them. The requests
// count as done.
func Erased() StoredResponse {
	return StoredResponse{
		Status: 410, Type: "application/json",
		Body: []byte(
			`{"error":{"message":"the request was done; its answer was erased with memories that it may have quoted",` +
				`"type":"invalid_request_error","param":null,"code":"idempotent_answer_erased"}}`),
	}
}

// Dropped replaces a response that made room for newer ones of its scope. The request counts as done.
func Dropped() StoredResponse {
	return StoredResponse{
		Status: 410, Type: "application/json",
		Body: []byte(
			`{"error":{"message":"the request was done; its answer made room for newer ones of the same principal",` +
				`"type":"invalid_request_error","param":null,"code":"idempotent_answer_dropped"}}`),
	}
}

// Errors that callers distinguish.
var (
	ErrBusy  = errors.New("the same request is under way")
	ErrLost  = errors.New("the same request was begun, and the process that did it stopped answering")
	ErrOther = errors.New("this idempotency key was used for another request")
	// ErrLiveKey is why a deployment cannot be used without keys again.
	ErrLiveKey = errors.New("a key is live")
	// ErrRevoked is why a key is not replaced.
	ErrRevoked = errors.New("the key was revoked, and stays so")
)

// Store keeps keys and responses. Each method is one atomic, durable step, safe across processes. The same store
// holds the memory, and whenever that erases memories (memory.Store.Forget) each stored response becomes Erased.
type Store interface {
	// PutKey creates a key, or replaces the one with its id. memory.ErrTaken when another id has the hash, ErrRevoked
	// when the key is revoked and k is not: what was read before a revocation does not take it back.
	PutKey(ctx context.Context, k Key) error
	// Keys lists all, revoked and expired ones too, by creation, then id.
	Keys(ctx context.Context) ([]Key, error)
	// KeysRequired reports whether every request needs a key. It does from the first PutKey on, in the same step,
	// until AllowKeyless, whatever becomes of the keys themselves.
	KeysRequired(ctx context.Context) (bool, error)
	// AllowKeyless admits requests without a key again, until the next PutKey. ErrLiveKey when a key is live at now.
	// Keys stay listed.
	AllowKeyless(ctx context.Context, now time.Time) error
	// Claim claims a request: nil when the caller is to do it, the response when it is done, ErrBusy while another
	// process does it, ErrLost when its Hold is over without a response, ErrOther when the name stands for another
	// digest. Claims whose Keep is over do not count, and are removed in passing.
	Claim(ctx context.Context, c Claim) (*StoredResponse, error)
	// Renew lets an unanswered claim block repetitions for its Hold from now on, even when its Hold was over. It has
	// no effect on a claim that is answered, given up, or past its Keep.
	Renew(ctx context.Context, c Claim, now time.Time) error
	// Answer stores the response to a claimed request, from Now for Keep; nil gives the claim up, so that the request
	// may be done again. The first response stays. One that comes after its Hold is stored as long as the name stands
	// for nothing else; a claim that another process holds by then is not given up. Of more than Most responses of
	// the scope the oldest become Dropped in the same step.
	Answer(ctx context.Context, c Claim, a *StoredResponse) error
}
