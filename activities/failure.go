package activities

import (
	"context"
	"errors"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Types of ApplicationError. They are wire format: recorded in histories, matched by workflows.
const (
	FailProvider = "ProviderFailed"  // the call failed; another attempt could do better
	FailRefused  = "ProviderRefused" // bad request, no key, no money, unpriced: never again
	FailFenced   = "Fenced"          // the sitting lost the agent's dreaming slot: never again
	FailMissing  = "Missing"         // something the deed needs does not exist: never again
	FailStopping = "WorkerStopping"  // the worker shuts down: try elsewhere
	FailStore    = "StoreFailed"     // the store, or something else that no provider is to blame for: it will be back
	FailWoken    = "Woken"           // the agent was woken: the sitting is over
	FailSettings = "Settings"        // a zone or hours that cannot be read: not until somebody changes them
)

var (
	errStopping = errors.New("the worker is stopping")

	// ErrSettings marks a setting of an agent that cannot be read: trying again does not help.
	ErrSettings = errors.New("this setting cannot be read")
)

// toApplicationError turns a deed's error into what Temporal should know: the type, whether to try again, and the
// provider's own delay.
func toApplicationError(err error) error {
	if err == nil {
		return nil
	}
	if failure, ok := inference.AsFailure(err); ok {
		text := brief(failure)
		var call *callFailed
		if errors.As(err, &call) {
			text = call.model + ": " + text
		}
		if !failure.Again() {
			return temporal.NewNonRetryableApplicationError(text, FailRefused, nil)
		}
		return temporal.NewApplicationErrorWithOptions(text, FailProvider,
			temporal.ApplicationErrorOptions{NextRetryDelay: failure.RetryAfter})
	}
	switch {
	case errors.Is(err, memory.ErrFenced):
		return temporal.NewNonRetryableApplicationError(err.Error(), FailFenced, nil)
	case errors.Is(err, memory.ErrWoken):
		return temporal.NewNonRetryableApplicationError(err.Error(), FailWoken, nil)
	case errors.Is(err, memory.ErrNotFound), errors.Is(err, memory.ErrSpace):
		return temporal.NewNonRetryableApplicationError(err.Error(), FailMissing, nil)
	case errors.Is(err, ErrSettings):
		return temporal.NewNonRetryableApplicationError(err.Error(), FailSettings, nil)
	case errors.Is(err, errStopping):
		return temporal.NewApplicationError(err.Error(), FailStopping)
	}
	var result *temporal.ApplicationError
	if errors.As(err, &result) {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), FailStore, temporal.ApplicationErrorOptions{Cause: err})
}

// notThere is the HTTP status of a model or an address that a provider does not know.
const notThere = 404

// brief is a failure as it may stand in a history: a provider's own words can quote the prompt, so only our own cross.
func brief(f *inference.Failure) string {
	switch f.Kind {
	case inference.Unpriced, inference.Unknown:
		return f.Error()
	case inference.BadRequest, inference.Unauthorized, inference.NoMoney, inference.RateLimited, inference.Unavailable,
		inference.Broken, inference.Malformed:
	}
	own := ""
	switch {
	case f.Remedy != "":
		own = f.Remedy
	case f.Kind == inference.Unavailable && f.Status == 0 && !f.Billed:
		own = "nobody answers there"
	case f.Status == notThere && strings.Contains(strings.ToLower(f.Message), "model"):
		own = "the provider does not know this model"
	case f.Status == notThere:
		own = "the provider knows no such address or model"
	}
	return (&inference.Failure{Kind: f.Kind, Status: f.Status, Message: own}).Error()
}

// callFailed names the model whose call failed.
type callFailed struct {
	model string
	err   error
}

func (c *callFailed) Error() string { return c.model + ": " + c.err.Error() }
func (c *callFailed) Unwrap() error { return c.err }

// canceled says whether ctx ended because the workflow asked for it, and not because a worker stops or a clock ran out.
func canceled(ctx context.Context) bool {
	var request *temporal.CanceledError
	return ctx.Err() != nil && errors.As(context.Cause(ctx), &request)
}
