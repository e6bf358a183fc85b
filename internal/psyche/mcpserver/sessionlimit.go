package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// makeRoom ends the session of a principal that was idle for longest when the limit is reached, whichever of its keys
// and users opened it: clients forget sessions more often than they end them, and a client that is refused a new
// session could not say which old one to end.
func (f *Handler) makeRoom(c psyche.Caller) {
	f.mu.Lock()
	var idlest *mcp.ServerSession
	var since time.Time
	count := 0
	existing := map[string]bool{}
	for name, server := range f.servers {
		for session := range server.Sessions() {
			id := session.ID()
			if id == "" {
				continue
			}
			existing[id] = true
			if name.principal != c.Key.SpeaksAs() {
				continue
			}
			count++
			used, ok := f.used[id]
			if !ok {
				used = f.options.Now() // it is being opened
			}
			if idlest == nil || used.Before(since) {
				idlest, since = session, used
			}
		}
	}
	for id := range f.used {
		if !existing[id] {
			delete(f.used, id)
		}
	}
	f.mu.Unlock()
	if count >= f.options.Sessions {
		_ = idlest.Close()
	}
}

// noteUse records when a session made its last request.
func (f *Handler) noteUse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if session := req.GetSession(); session != nil && session.ID() != "" {
			f.mu.Lock()
			f.used[session.ID()] = f.options.Now()
			f.mu.Unlock()
		}
		return next(ctx, method, req)
	}
}
