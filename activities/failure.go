package activities

import (
	"errors"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Types of ApplicationError. They are wire format: recorded in histories, matched by workflows.
const (
	FailProvider = "ProviderFailed"  // the call failed; a retry may succeed
	FailRefused  = "ProviderRefused" // bad request, no key, no money, no price: not retried
	FailFenced   = "Fenced"          // the stretch lost the agent's dreaming slot: not retried
	FailMissing  = "Missing"         // something that the activity needs does not exist: not retried
	FailStopping = "WorkerStopping"  // the worker shuts down: retried elsewhere
	FailStore    = "StoreFailed"     // the store or another of our own services failed: retried
	FailWoken    = "Woken"           // the agent was woken: the stretch is over
	FailDefect   = "Defect"          // a step panicked: retried
	FailSettings = "Settings"        // a zone or hours cannot be read: not retried until they are changed
)

var (
	ErrStopping = errors.New("the worker is stopping")

	// ErrSettings marks an agent's setting that cannot be read: a retry does not help.
	ErrSettings = errors.New("this setting cannot be read")
)

// ToApplicationError converts an activity's error for Temporal: its type, whether to retry, and the provider's delay.
func ToApplicationError(err error) error {
	if err == nil {
		return nil
	}
	if failure, ok := inference.AsFailure(err); ok {
		text := Brief(failure)
		var call *CallFailed
		if errors.As(err, &call) {
			text = call.Model + ": " + text
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
	case errors.Is(err, ErrStopping):
		return temporal.NewApplicationError(err.Error(), FailStopping)
	}
	var result *temporal.ApplicationError
	if errors.As(err, &result) {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), FailStore, temporal.ApplicationErrorOptions{Cause: err})
}

// notThere is the HTTP status for an unknown model or address.
const notThere = 404

// Brief is the text of a failure that may stand in a history: only our own words, since a provider's message can
// quote the prompt.
func Brief(f *inference.Failure) string {
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
		own = "the provider cannot be reached"
	case f.Status == notThere && strings.Contains(strings.ToLower(f.Message), "model"):
		own = "the provider does not know this model"
	case f.Status == notThere:
		own = "the provider knows no such address or model"
	}
	return (&inference.Failure{Kind: f.Kind, Status: f.Status, Message: own}).Error()
}

// CallFailed adds the model's name to the error of a call.
type CallFailed struct {
	Model string
	Err   error
}

func (c *CallFailed) Error() string { return c.Model + ": " + c.Err.Error() }
func (c *CallFailed) Unwrap() error { return c.Err }
