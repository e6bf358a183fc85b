package provider

import (
	"net/http"
	"strconv"
	"time"
)

// Fault is one way to fail.
type Fault string

// The faults.
const (
	None        Fault = ""
	Limit       Fault = "429"
	LimitDelay  Fault = "429_delay"
	Quota       Fault = "429_quota" // insufficient_quota
	ServerError Fault = "500"
	Payment     Fault = "402"
	HangFirst   Fault = "hang_first" // takes the request and never answers
	HangMiddle  Fault = "hang_middle"
	CutMiddle   Fault = "cut_middle" // the connection breaks half-way
	BadChunk    Fault = "bad_chunk"  // invalid JSON in the stream
	BadJSON     Fault = "bad_json"   // an answer to a schema that is no JSON; harmless to other answers
	NoUsage     Fault = "no_usage"
	LowUsage    Fault = "low_usage"   // reports half of what was served, prompt and answer
	HighUsage   Fault = "high_usage"  // reports twice as much
	IgnoreMax   Fault = "ignore_max"  // goes on after max_tokens, 5 ms a token or slower
	NoSampling  Fault = "no_sampling" // 400 when any sampling field is sent
	Lingering   Fault = "lingering"   // never closes the stream: no usage, no end mark after the finish reason
	Plain       Fault = "plain"       // a plain JSON answer to a stream request
)

// ignoreMaxPace is slow enough that a caller who hangs up stops the answer within tens of tokens.
const ignoreMaxPace = 5 * time.Millisecond

// Faults lists all faults.
var Faults = []Fault{
	Limit, LimitDelay, Quota, ServerError, Payment, HangFirst, HangMiddle, CutMiddle, BadChunk, BadJSON,
	NoUsage, LowUsage, HighUsage, IgnoreMax, NoSampling, Lingering, Plain,
}

// Arrival is what a plan may depend on.
type Arrival struct {
	Path   string
	Key    string // idempotency key
	Model  string
	Prompt uint64 // hash of the messages
	Nth    int    // how often this key, or without a key this prompt, has come, from 1
	Schema bool   // a schema is requested
}

// Plan chooses the fault of each call.
type Plan func(Arrival) Fault

// Seeded makes a share of calls, in [0, 1], fail in one of the given ways. The choice depends on the seed, the
// idempotency key (or else the prompt) and how often that came, not on the order of arrival.
func Seeded(seed uint64, share float64, faults ...Fault) Plan {
	return func(a Arrival) Fault {
		h := mix(seed, uint64(a.Nth))
		if a.Key != "" {
			h = mix(h, hash(a.Key))
		} else {
			h = mix(h, a.Prompt)
		}
		if len(faults) == 0 || float64(h>>11)/(1<<53) >= share {
			return None
		}
		return faults[mix(h, 1)%uint64(len(faults))]
	}
}

// choose returns the next fault of the list, else the plan's.
func (s *Server) choose(a Arrival) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := a.Path + " " + a.Key
	if a.Key == "" {
		seen += strconv.FormatUint(a.Prompt, 16)
	}
	s.arrived[seen]++
	a.Nth = s.arrived[seen]
	if len(s.next) > 0 {
		fault := s.next[0]
		s.next = s.next[1:]
		return fault
	}
	if s.options.Plan == nil {
		return None
	}
	return s.options.Plan(a)
}

// refusal answers the faults that are refusals and returns the status; 0 for the others.
func (s *Server) refusal(w http.ResponseWriter, fault Fault, sampled string) int {
	switch fault {
	case LimitDelay:
		if d := s.options.RetryAfter; d%time.Second == 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(d/time.Second)))
		} else {
			w.Header().Set("Retry-After-Ms", strconv.FormatInt(d.Milliseconds(), 10))
		}
		refuse(w, http.StatusTooManyRequests, "rate_limit_exceeded", "Rate limit reached. Please try again later.")
		return http.StatusTooManyRequests
	case Limit:
		refuse(w, http.StatusTooManyRequests, "rate_limit_exceeded", "Rate limit reached.")
		return http.StatusTooManyRequests
	case Quota:
		refuse(w, http.StatusTooManyRequests, "insufficient_quota", "You exceeded your current quota.")
		return http.StatusTooManyRequests
	case ServerError:
		refuse(w, http.StatusInternalServerError, "server_error", "The server had an error.")
		return http.StatusInternalServerError
	case Payment:
		refuse(w, http.StatusPaymentRequired, "payment_required", "Payment required.")
		return http.StatusPaymentRequired
	case NoSampling:
		if sampled != "" {
			reply(w, http.StatusBadRequest, map[string]any{"error": map[string]any{
				"message": "Unsupported parameter: '" + sampled + "' is not supported with this model.",
				"type":    "invalid_request_error",
				"code":    "unsupported_parameter", "param": sampled,
			}})
			return http.StatusBadRequest
		}
	case None, HangFirst, HangMiddle, CutMiddle, BadChunk, BadJSON, NoUsage, LowUsage, HighUsage, IgnoreMax,
		Lingering, Plain:
	}
	return 0
}
