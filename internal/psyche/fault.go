package psyche

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// The types of faults, as OpenAI's clients know them.
const (
	badRequest = "invalid_request_error"
	forbidden  = "permission_error"
	notFound   = "not_found_error"
	tooMuch    = "rate_limit_error"
	ownFailure = "server_error"
	farFailure = "upstream_error"
)

func invalidRequest(code, param, format string, args ...any) *Fault {
	return &Fault{
		Status:  http.StatusBadRequest,
		Type:    badRequest,
		Code:    code,
		Param:   param,
		Message: fmt.Sprintf(format, args...),
	}
}

// unknownAgent is the fault for agents that do not exist and for those out of reach alike: a key learns nothing of
// others' agents.
func unknownAgent(name string) *Fault {
	if len(name) > 64 {
		name = name[:64]
	}
	return &Fault{
		Status: http.StatusNotFound, Type: notFound, Code: "agent_not_found", Param: "agent",
		Message: fmt.Sprintf("There is no agent %q within reach of this key; GET /v1/models lists those that are.",
			name),
	}
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
	f := &Fault{
		Status: http.StatusInternalServerError, Type: ownFailure, Code: "internal_error",
		Message: "This server failed to " + what + "; its log says why.", Err: err,
	}
	if errors.Is(err, memory.ErrAway) || errors.Is(err, context.DeadlineExceeded) {
		f.Status, f.Code, f.Message = http.StatusServiceUnavailable, "store_away",
			"The memory of this server does not answer; try again soon."
	}
	return f
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
	}
	return fmt.Sprintf("%s a %s that the agent has", o.Limit, who)
}

// relayFault is why a call was not made, or failed before the provider had answered.
func relayFault(ctx context.Context, err error) error {
	if over, ok := spend.AsOverCap(err); ok {
		return &Fault{
			Status: http.StatusTooManyRequests, Type: tooMuch, Code: "insufficient_quota",
			Message: fmt.Sprintf(
				"This request may cost %s, with the longest answer that it allows, and of the %s %s is left. A smaller max_tokens asks for less.",
				over.Asks, capOf(over), max(0, over.Limit-over.Counted)), Err: err,
		}
	}
	f, ok := inference.AsFailure(err)
	if !ok {
		if ctx.Err() != nil {
			return err
		}
		return storeFault("pass the request on", err)
	}
	fault := &Fault{
		Status:  http.StatusBadGateway,
		Type:    farFailure,
		Code:    string(f.Kind),
		Message: "The model's provider could not be reached, or broke off; try again soon.",
		Retry:   f.RetryAfter,
		Err:     err,
	}
	switch f.Kind {
	case inference.BadRequest:
		fault.Status, fault.Type, fault.Message = http.StatusBadRequest, badRequest, f.Message
	case inference.Unpriced, inference.Unknown, inference.Unauthorized:
		fault.Status, fault.Type = http.StatusServiceUnavailable, ownFailure
		fault.Message = "The model of this agent cannot be used as it is configured; `oneiros doctor` says why."
	case inference.Malformed:
		if f.Status != 0 { // the gateway's own words about an answer that is no API's
			fault.Message = f.Message
		}
	case inference.NoMoney, inference.RateLimited, inference.Unavailable, inference.Broken:
	}
	return fault
}
