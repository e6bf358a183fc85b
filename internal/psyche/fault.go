package psyche

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
)

// farFailure is the type of a failure of the model's provider; the types of all others follow from their status.
const farFailure = "upstream_error"

// faultTypes are the types of faults by status, as OpenAI's clients know them. Every other status below 500 is an
// invalid request, and every one from there on a failure of this server.
var faultTypes = map[int]string{
	http.StatusUnauthorized:    "authentication_error",
	http.StatusForbidden:       "permission_error",
	http.StatusNotFound:        "not_found_error",
	http.StatusTooManyRequests: "rate_limit_error",
}

// Refuse is a fault of the type that follows from its status. code and param may be empty.
func Refuse(status int, code, param, format string, args ...any) *Fault {
	kind := "invalid_request_error"
	if status >= http.StatusInternalServerError {
		kind = "server_error"
	}
	if named, ok := faultTypes[status]; ok {
		kind = named
	}
	return &Fault{
		Status:  status,
		Type:    kind,
		Code:    code,
		Param:   param,
		Message: fmt.Sprintf(format, args...),
	}
}

// From is the fault with its cause, which is only logged.
func (f *Fault) From(err error) *Fault {
	f.Err = err
	return f
}

// After is the fault with the time after which it is worth trying again.
func (f *Fault) After(retry time.Duration) *Fault {
	f.Retry = retry
	return f
}

func invalidRequest(code, param, format string, args ...any) *Fault {
	return Refuse(http.StatusBadRequest, code, param, format, args...)
}

// unknownAgent is the fault for agents that do not exist and for those out of reach alike: a key learns nothing of
// others' agents.
func unknownAgent(name string) *Fault {
	if len(name) > 64 {
		name = name[:64]
	}
	return Refuse(http.StatusNotFound, "agent_not_found", "agent",
		"There is no agent %q within reach of this key; GET /v1/models lists those that are.",
		name)
}

// storeFault is a failure of this server: the store did not do what it should.
func storeFault(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, memory.ErrRemoved) || errors.Is(err, memory.ErrRemoving) { // removed since its record was read
		removed := unknownAgent("")
		removed.Message = "The agent was removed; GET /v1/models lists those within reach of this key."
		return removed
	}
	if f := StoreFault(err); f != nil {
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return storeAway(err)
	}
	return Refuse(http.StatusInternalServerError, "internal_error", "",
		"This server failed to %s; its log says why.", what).From(err)
}

// When it is worth asking again: a store or a provider that did not answer is mostly back soon, a store that takes no
// writes needs somebody to make room.
const (
	awayRetry       = time.Second
	unwritableRetry = 10 * time.Second
)

// StoreFault is the fault of a store that takes no writes or does not answer. It is nil for every other error, and for
// a fault that says something else than that this server failed.
func StoreFault(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok && f.Status != http.StatusInternalServerError {
		return nil
	}
	if why, ok := memory.WhyUnwritable(err); ok {
		return Refuse(http.StatusServiceUnavailable, "store_unwritable", "",
			"The store of this server takes no writes now (%s). What it keeps can be read; try again later.", why).
			After(unwritableRetry).From(err)
	}
	if errors.Is(err, memory.ErrAway) {
		return storeAway(err)
	}
	return nil
}

func storeAway(err error) *Fault {
	return Refuse(http.StatusServiceUnavailable, "store_away", "",
		"The memory of this server does not answer.").After(awayRetry).From(err)
}

// recallFault is why memory could not be searched: the embedder failed, or the store.
func recallFault(ctx context.Context, err error) error {
	_, over := spend.AsOverCap(err)
	if _, failed := inference.AsFailure(err); failed || over {
		return relayFault(ctx, err)
	}
	return storeFault("ask the agent's memory", err)
}

// capOf describes a cap by what it bounds; the accounts have the scopes that Service.accounts writes.
func capOf(o *spend.OverCap) string {
	who, _, _ := strings.Cut(o.Scope, ":")
	switch who {
	case "key":
		return fmt.Sprintf("%s a day that this key has", o.Limit)
	case "fleet":
		return fmt.Sprintf("%s a day that all agents have together", o.Limit)
	case "calls":
		return fmt.Sprintf("%s a day that the agent has for rooms (rooms.agent_day)", o.Limit)
	case "strangers":
		return fmt.Sprintf("%s a day that strangers may cost the agent (rooms.stranger_day)", o.Limit)
	}
	return fmt.Sprintf("%s a %s that the agent has", o.Limit, who)
}

// relayFault is why a call was not made, or failed before the provider had answered.
func relayFault(ctx context.Context, err error) error { return relayFaultOf(ctx, err, "max_tokens") }

// relayFaultOf is relayFault of a request whose answer is bounded by a field of the name most.
func relayFaultOf(ctx context.Context, err error, most string) error {
	if over, ok := spend.AsOverCap(err); ok {
		return Refuse(http.StatusTooManyRequests, "insufficient_quota", "",
			"This request may cost %s, with the longest answer that it allows, and of the %s %s is left. A smaller %s asks for less.",
			over.Asks, capOf(over), max(0, over.Limit-over.Counted), most).From(err)
	}
	f, ok := inference.AsFailure(err)
	if ctx.Err() != nil && (!ok || errors.Is(err, context.Cause(ctx))) {
		return err
	}
	if !ok {
		return storeFault("pass the request on", err)
	}
	if refused, full := fairqueue.AsRefused(err); full {
		return Refuse(http.StatusServiceUnavailable, "overloaded", "",
			"The model's provider has as many requests under way as it is given; ask again.").After(refused.After).From(err)
	}
	fault := Refuse(http.StatusBadGateway, string(f.Kind), "",
		"The model's provider could not be reached, or broke off.").After(f.RetryAfter).From(err)
	fault.Type = farFailure
	switch f.Kind {
	case inference.BadRequest:
		fault.Status, fault.Type, fault.Message = http.StatusBadRequest, "invalid_request_error", f.Message
	case inference.Unpriced, inference.Unknown, inference.Unauthorized:
		fault.Status, fault.Type = http.StatusServiceUnavailable, "server_error"
		fault.Message = "The model of this agent cannot be used as it is configured; `oneiros doctor` says why."
	case inference.Malformed:
		if f.Status != 0 { // the gateway's own words about an answer that is no API's
			fault.Message = f.Message
		}
	case inference.RateLimited, inference.Unavailable, inference.Broken:
		fault.Retry = cmp.Or(f.RetryAfter, awayRetry)
	case inference.NoMoney:
		fault.Message = "The account of this server at the model's provider is empty, and somebody must fill it up."
	}
	return fault
}
