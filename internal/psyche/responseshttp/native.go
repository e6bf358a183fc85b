package responseshttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/responses"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// passes makes the turn of a request that is passed on to a provider that speaks this wire.
func (f *Handler) passes(q *responses.Request, t *psyche.Turn, before []responses.Item, spec *inference.Spec) error {
	free := spec.Price != nil && *spec.Price == (budget.Price{})
	body, err := q.Native(before, responses.NativeOptions{Reasons: spec.Reasoning, BuiltIn: free || f.BuiltIn})
	if err != nil {
		return err
	}
	t.Path = path
	t.Body, err = psyche.ReadResponsesBody(body)
	return err
}

// pass passes a request on, and the provider's answer back.
func (f *Handler) pass(w http.ResponseWriter, r *http.Request, q *responses.Request, t *psyche.Turn) {
	p := turnhttp.NewRelay(f.Begin(path), w, errorEvent)
	defer p.End(r)
	caller := t.Caller
	reply, err := f.Talk.Chat(r.Context(), *t)
	if err != nil {
		front.Refuse(w, r, f.Unknown(r.Context(), &t.Caller, t.Agent, err))
		return
	}
	if len(q.LeftOut) > 0 {
		w.Header().Set(leftOutHeader, strings.Join(q.LeftOut, ", "))
	}
	w.Header().Set("Cache-Control", "no-store")
	if reply.Status/100 == 2 && q.Edits() {
		id := responses.ResponsePrefix + strings.ToLower(rand.Text())
		edits := q.Renamed(id)
		reply.Body = &edited{
			ReadCloser: reply.Body,
			edits:      edits,
			stream:     psyche.EventStream(reply.Header),
			keep: func() {
				response, output, finished := edits.Finished()
				if finished {
					f.keep(r.Context(), q, &caller, &reply.Report, id, response, output)
				}
			},
		}
	}
	p.Answer(r, reply)
}

// errorEvent ends a stream that broke off.
func errorEvent(fault *psyche.Fault) []byte {
	body, _ := json.Marshal(map[string]any{
		"type": "error", "code": fault.Code, "message": fault.Message, "param": nil, "sequence_number": 0,
	})
	return append(append([]byte("event: error\ndata: "), body...), "\n\n"...)
}

// mostWhole bounds an answer in one piece, and an event of a stream, in bytes.
const mostWhole = 16 << 20

// edited is a provider's answer with the edits that what this server keeps needs: each event as soon as it is complete.
type edited struct {
	io.ReadCloser
	edits  *responses.Renamed
	stream bool
	keep   func()

	wait []byte // read and not yet edited
	out  []byte
	err  error
}

func (e *edited) Read(p []byte) (int, error) {
	for len(e.out) == 0 && e.err == nil {
		e.more(len(p))
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, e.err
}

// more reads on, and edits what is complete.
func (e *edited) more(size int) {
	from := len(e.wait)
	e.wait = append(e.wait, make([]byte, max(size, 1))...)
	n, err := e.ReadCloser.Read(e.wait[from:])
	e.wait, e.err = e.wait[:from+n], err
	if e.stream {
		for end := eventEnd(e.wait); end > 0; end = eventEnd(e.wait) {
			e.out = append(e.out, e.edits.Event(e.wait[:end], e.keep)...)
			e.wait = e.wait[end:]
		}
	}
	switch {
	case e.err == nil && len(e.wait) > mostWhole:
		e.err = psyche.Refuse(http.StatusBadGateway, "too_long", "", "The answer is longer than %d bytes.", mostWhole)
	case e.err == nil:
	case errors.Is(e.err, io.EOF) && e.stream:
		e.out = append(e.out, e.edits.Event(e.wait, e.keep)...)
	case errors.Is(e.err, io.EOF):
		e.out = e.edits.Whole(e.wait, true, e.keep)
	case e.stream: // an incomplete event stays as it is
		e.out = append(e.out, e.wait...)
	}
	if e.err != nil {
		e.wait = nil
	}
}

// eventEnd is the position after the first complete event; 0 when there is none.
func eventEnd(b []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return 0
		}
		at += i + 1
		rest := bytes.TrimPrefix(b[at:], []byte{'\r'})
		if len(rest) > 0 && rest[0] == '\n' {
			return len(b) - len(rest) + 1
		}
	}
}

// keep keeps a response, so that a client that has seen its end can go on from it. Where that fails the response says
// that it is not kept.
func (f *Handler) keep(ctx context.Context, q *responses.Request, caller *psyche.Caller, report *psyche.TurnReport,
	id string, response json.RawMessage, output []responses.Item,
) {
	if !q.Store {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	err := f.put(ctx, q, caller, report, id, response, output)
	if err != nil {
		q.Store = false
		if f.Failed != nil {
			f.Failed(err)
		}
	}
}
