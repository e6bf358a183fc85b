package feedhttp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/alarm"
)

// Pusher passes readings to a feed and returns those that no rule uses, empty when there are none. memory.ErrNotFound
// when there is no such feed, alarm.UntimelyError when the time of a reading cannot be right.
type Pusher interface {
	PushReportingUnused(ctx context.Context, feed string, readings []dream.Reading) (unheard string, err error)
}

// Alarmer raises an alarm for an agent. memory.ErrNotFound when there is no such agent.
type Alarmer interface {
	Alarm(ctx context.Context, handle, trigger string) error
}

// Options are what a handler needs.
type Options struct {
	Push  Pusher
	Alarm Alarmer
	Token string       // bearer token of those who push; at least 16 bytes
	Log   *slog.Logger // for errors that clients are not shown; nil: nothing is logged
}

// Limits of one push.
const (
	Body     = 64 << 10         // bytes
	Answered = 15 * time.Second // time limit of a response
	shortest = 16               // bytes of a token
	byHand   = "push/alarm"     // the trigger of an alarm that names none
)

var name = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

type handler struct {
	Options
	token [sha256.Size]byte
}

// NewHandler serves
//
//	POST /v1/feeds/{name}/readings   one reading or an array of them; 202
//	POST /v1/agents/{handle}/alarm   nothing, or {"trigger":"desk/price"}; 202
//	GET  /healthz                    200, without a token
//
// Readings that no rule uses are accepted too, and the response has a "warning". Errors have the form
// {"error":"..."}: 422 when the time of a reading cannot be right, 403 when a browser asks for another site's page.
func NewHandler(o Options) (http.Handler, error) {
	if len(o.Token) < shortest {
		return nil, fmt.Errorf("the token for pushing readings is %d bytes long; it must have at least %d",
			len(o.Token), shortest)
	}
	if o.Push == nil || o.Alarm == nil {
		return nil, errors.New("the handler of pushed readings needs a Pusher and an Alarmer")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &handler{Options: o, token: sha256.Sum256([]byte(o.Token))}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", onlyMethod(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]any{"status": "ok"})
	}))
	mux.HandleFunc("/v1/feeds/{name}/readings", onlyMethod(http.MethodPost, h.authenticated(h.readings)))
	mux.HandleFunc("/v1/agents/{handle}/alarm", onlyMethod(http.MethodPost, h.authenticated(h.alarm)))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound,
			"there is nothing here; readings go to /v1/feeds/{name}/readings, alarms to /v1/agents/{handle}/alarm")
	})
	return mux, nil
}

func onlyMethod(method string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
			w.Header().Set("Allow", method)
			fail(w, http.StatusMethodNotAllowed, "the method must be "+method)
			return
		}
		next(w, r)
	}
}

// authenticated requires the token, and refuses a browser that calls from another site's page: no client with the
// token needs that, and a page that obtained it must not use it. The comparison takes constant time.
func (h *handler) authenticated(next http.HandlerFunc) http.HandlerFunc {
	sites := http.NewCrossOriginProtection()
	return func(w http.ResponseWriter, r *http.Request) {
		if sites.Check(r) != nil {
			fail(w, http.StatusForbidden,
				"a browser asks this for a page of another site, which is refused; push from a program, or from a page of this host")
			return
		}
		scheme, borne, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(strings.TrimSpace(borne)))
		if subtle.ConstantTimeCompare(sum[:], h.token[:]) != 1 || !strings.EqualFold(scheme, "bearer") {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized,
				"the header Authorization must be: Bearer, and the token of this deployment's feeds")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), Answered)
		defer cancel()
		next(w, r.WithContext(ctx))
	}
}

func (h *handler) readings(w http.ResponseWriter, r *http.Request) {
	feed := r.PathValue("name")
	body, ok := read(w, r, feed, "feed")
	if !ok {
		return
	}
	readings, err := ParsePush(body)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	unheard, err := h.Push.PushReportingUnused(r.Context(), feed, readings)
	var untimely alarm.UntimelyError
	switch {
	case errors.As(err, &untimely):
		fail(w, http.StatusUnprocessableEntity, untimely.Error())
		return
	case err != nil:
		h.failed(w, err, "feed "+feed)
		return
	}
	values := map[string]any{"feed": feed, "readings": len(readings)}
	if unheard != "" {
		values["warning"] = unheard
	}
	respond(w, http.StatusAccepted, values)
}

func (h *handler) alarm(w http.ResponseWriter, r *http.Request) {
	handle := r.PathValue("handle")
	body, ok := read(w, r, handle, "agent")
	if !ok {
		return
	}
	request := struct {
		Trigger string `json:"trigger"`
	}{byHand}
	if len(strings.TrimSpace(string(body))) > 0 {
		if err := decode(body, &request, true); err != nil {
			fail(w, http.StatusBadRequest,
				fmt.Sprintf(`read the body: %s; it must be empty or like {"trigger":"desk/price"}`, jsonFault(err)))
			return
		}
	}
	if err := alarm.ValidateTrigger(request.Trigger); err != nil {
		fail(w, http.StatusBadRequest, "the trigger "+err.Error())
		return
	}
	if err := h.Alarm.Alarm(r.Context(), handle, request.Trigger); err != nil {
		h.failed(w, err, "agent "+handle)
		return
	}
	respond(w, http.StatusAccepted, map[string]any{"agent": handle, "trigger": request.Trigger})
}

// read reads the body of a request to a feed or an agent of that name; when it fails it has responded.
func read(w http.ResponseWriter, r *http.Request, to, what string) ([]byte, bool) {
	if !name.MatchString(to) {
		fail(w, http.StatusBadRequest,
			"the name of the "+what+" must be 1 to 32 of a-z, 0-9, - and _, and begin with a letter")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, Body))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d KiB", Body>>10))
	case err != nil:
		fail(w, http.StatusBadRequest, "the body broke off")
	}
	return body, err == nil
}

// failed responds without the deployment's internal errors, which are logged.
func (h *handler) failed(w http.ResponseWriter, err error, what string) {
	if errors.Is(err, memory.ErrNotFound) {
		fail(w, http.StatusNotFound, "there is no "+what)
		return
	}
	h.Log.Warn("a push was not passed on", "to", what, "error", err)
	w.Header().Set("Retry-After", "1")
	fail(w, http.StatusServiceUnavailable, what+" could not be reached now; try again")
}

func fail(w http.ResponseWriter, status int, text string) {
	respond(w, status, map[string]any{"error": text})
}

func respond(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
