package serve

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// fault is a refusal in the format of the wire.
type fault struct {
	status  int
	kind    string // the wire's type
	param   string // the field that is wrong
	code    string
	message string
}

func (f *fault) body() map[string]any {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{
		"error": map[string]any{"message": f.message, "type": f.kind, "param": orNull(f.param), "code": orNull(f.code)},
	}
}

func wrong(param, message string) *fault {
	return &fault{http.StatusBadRequest, "invalid_request_error", param, "invalid_value", message}
}

// retryAfter is the delay, in seconds, for a request that found the queue full.
const retryAfter = 5

func refuse(w http.ResponseWriter, f *fault) {
	if f.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	reply(w, f.status, f.body())
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

// faultOf translates a failure of the engine.
func faultOf(err error) *fault {
	f, ok := inference.AsFailure(err)
	if !ok {
		return &fault{http.StatusServiceUnavailable, "server_error", "", "stopping", "the server is being stopped"}
	}
	switch f.Kind {
	case inference.BadRequest:
		return wrong("", f.Message)
	case inference.RateLimited:
		return &fault{http.StatusTooManyRequests, "rate_limit_error", "", "queue_full", f.Message}
	case inference.Unavailable:
		return &fault{http.StatusServiceUnavailable, "server_error", "", "unavailable", f.Message}
	case inference.Unauthorized, inference.NoMoney, inference.Broken, inference.Malformed, inference.Unpriced,
		inference.Unknown:
	}
	return &fault{http.StatusInternalServerError, "server_error", "", "engine", f.Message}
}
