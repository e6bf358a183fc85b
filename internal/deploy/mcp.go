package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
)

// ServeMCP serves one MCP client over a pair of streams. Unlike serve it works without a cluster: talk and memory
// need none, and the tools for dreams are then not offered.
func (d *Process) ServeMCP(ctx context.Context, h *Deployment, s MCPSession) (err error) {
	e, err := d.newEngine(h)
	if err != nil {
		return err
	}
	caller, err := h.callerOf(ctx, s, d.Getenv(keyVariable))
	if err != nil {
		return err
	}
	dreams, err := e.dialIfAny(ctx)
	defer func() { err = errors.Join(err, e.Stop()) }()
	if err != nil {
		return err
	}
	being := h.service(e.starter)
	hush, err := listenFor(h, being)
	if err != nil {
		return err
	}
	defer hush()
	places := h.rooms("mcp", e.starter, being)
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), rememberWithin)
		defer cancel()
		if closing := being.Close(last); closing != nil {
			err = errors.Join(err, fmt.Errorf("store the last turns: %w", closing))
		}
	}()
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), rememberWithin)
		defer cancel()
		if places.Close(last) != nil {
			h.log.Info("answers in rooms were cut off; a server gives them")
		}
	}()
	var nights mcpserver.Dreams
	if dreams {
		nights = h.dreams(e.starter)
	}
	face := mcpserver.New(being, nights, mcpserver.Options{
		Version:     Version,
		Predictions: h.dreams(e.starter),
		Rooms:       places,
		Drain:       cmp.Or(h.config.Serve.Grace, -1),
		Report:      e.report,
	})
	defer face.Close()
	return face.ServeStream(ctx, caller, s.In, s.Out)
}

// keyVariable is the environment variable with the secret of the key that a client over standard input uses.
const keyVariable = "ONEIROS_KEY"

// callerOf returns the caller that a client over standard input acts as. Access to the store is enough, without a key.
// With a key in the environment the client is the same caller as over HTTP, with the key's role and daily limit.
func (h *Deployment) callerOf(ctx context.Context, s MCPSession, secret string) (psyche.Caller, error) {
	usage := func(format string, args ...any) (psyche.Caller, error) {
		return psyche.Caller{}, exit.Usagef(format, args...)
	}
	keys, err := h.store.Keys(ctx)
	if err != nil {
		return psyche.Caller{}, fmt.Errorf("read the keys: %w", err)
	}
	key := access.Key{Role: cmp.Or(s.Role, access.Owner), Principal: s.Principal}
	if key.Principal == access.Local {
		key.Principal = "" // the same caller as over HTTP; its spending is not counted
	}
	if secret != "" {
		at := slices.IndexFunc(keys, func(k access.Key) bool { return k.Hash == access.Hash(secret) })
		switch {
		case at < 0:
			return usage("%s holds the secret of no key; oneiros keys add NAME makes one", keyVariable)
		case !keys[at].Live(time.Now()):
			return usage("the key %s in %s was revoked or has expired", keys[at].ID, keyVariable)
		case !keys[at].Reaches(s.Agent.Handle):
			return usage("the key %s in %s is not for the agent %s", keys[at].ID, keyVariable, s.Agent.Handle)
		case s.Principal != "" && s.Principal != keys[at].PrincipalName():
			return usage("--principal is %s, but the key in %s speaks as %s; leave one of them out", s.Principal,
				keyVariable, keys[at].PrincipalName())
		case s.Role != "" && !keys[at].Role.Includes(s.Role):
			return usage("--role is %s, but the key in %s is of role %s", s.Role, keyVariable, keys[at].Role)
		}
		key = keys[at]
		key.Role = cmp.Or(s.Role, key.Role)
	} else if s.Principal == "" && len(keys) > 0 {
		fmt.Fprintf(os.Stderr,
			"Clients over HTTP have keys, and do not find what is said here as %s; --principal or %s makes this client one of them.\n",
			access.Local, keyVariable)
	}
	key.Agents = []string{s.Agent.Handle}
	return psyche.Caller{Key: key, User: s.User}, nil
}

// dialIfAny connects to the cluster and reports whether there is one.
func (e *engine) dialIfAny(ctx context.Context) (bool, error) {
	if _, err := e.options(); errors.Is(err, ErrNoServer) {
		e.starter = e.deployment.starter()
		return false, nil
	}
	err := e.dialLater(ctx, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	return err == nil, err
}
