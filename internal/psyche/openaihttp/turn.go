package openaihttp

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

func (f *Handler) chat(w http.ResponseWriter, r *http.Request) {
	f.serve(w, r, "/chat/completions",
		func(ctx context.Context, t *psyche.Turn) (*psyche.Reply, error) { return f.Talk.Chat(ctx, *t) })
}

func (f *Handler) completions(w http.ResponseWriter, r *http.Request) {
	f.serve(w, r, "/completions",
		func(ctx context.Context, t *psyche.Turn) (*psyche.Reply, error) { return f.Talk.Completions(ctx, *t) })
}

func (f *Handler) embeddings(w http.ResponseWriter, r *http.Request) {
	f.serve(w, r, "/embeddings",
		func(ctx context.Context, t *psyche.Turn) (*psyche.Reply, error) { return f.Talk.Embeddings(ctx, *t) })
}

// serve passes a turn on and its response back. It makes calls with large values in functions of their own, since its
// frame stays on the stack of every stream for as long as that lasts.
func (f *Handler) serve(w http.ResponseWriter, r *http.Request, path string,
	ask func(context.Context, *psyche.Turn) (*psyche.Reply, error),
) {
	t, err := turn(r, path)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	p := turnhttp.NewRelay(f.Begin(path), w, errorEvent)
	defer p.End(r)
	reply, err := ask(r.Context(), t)
	if err != nil {
		front.Refuse(w, r, f.Unknown(r.Context(), &t.Caller, t.Agent, err))
		return
	}
	p.Answer(r, reply)
}

// errorEvent ends a stream that broke off, as OpenAI's clients expect.
func errorEvent(f *psyche.Fault) []byte {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{
		"message": f.Message, "type": f.Type, "code": f.Code, "param": nil,
	}})
	return append(append([]byte("data: "), body...), "\n\n"...)
}
