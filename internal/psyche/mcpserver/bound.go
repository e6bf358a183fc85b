package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// makeRoom ends the session of a principal that asked nothing for longest when there are as many as there may be,
// whichever of its keys and users opened them: clients forget sessions more often than they end them, and one that is
// refused a new session could not say which old one to end.
func (f *Face) makeRoom(c psyche.Caller) {
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

// noteUse keeps when a session asked last.
func (f *Face) noteUse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if session := req.GetSession(); session != nil && session.ID() != "" {
			f.mu.Lock()
			f.used[session.ID()] = f.options.Now()
			f.mu.Unlock()
		}
		return next(ctx, method, req)
	}
}
