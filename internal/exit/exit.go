// Package exit has the exit codes of the program, and errors that carry one.
package exit

import (
	"errors"
	"fmt"
)

// The exit codes, which scripts may rely on.
const (
	OK       = 0
	Failure  = 1 // something went wrong
	Usage    = 2 // the command line or the configuration is wrong
	NotFound = 3 // no such agent, item, dream, room, post or file
	// Refused: a cap, a missing consent, a client that holds the agent awake, a dream under way, an existing verdict,
	// the policy or the review forbids it.
	Refused     = 4
	Unreachable = 5 // Temporal, a provider or the store does not answer, or the store cannot be used
	Unfinished  = 6 // the dream ended empty, exhausted, aborted, canceled or interrupted
	Unwell      = 7 // oneiros health, or store verify, found something wrong
)

// ErrConfiguration is a configuration that cannot be used. Its errors follow it.
var ErrConfiguration = errors.New("the configuration is wrong")

// Error is an error with an exit code.
type Error struct {
	Code int
	Err  error
}

// Error is the cause's message.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error with an exit code.
func Errorf(code int, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Usagef makes an error of a wrong command line or configuration.
func Usagef(format string, args ...any) error { return Errorf(Usage, format, args...) }

// NotFoundf makes an error of something that does not exist.
func NotFoundf(format string, args ...any) error { return Errorf(NotFound, format, args...) }

// Refusedf makes an error of something that is not allowed now.
func Refusedf(format string, args ...any) error { return Errorf(Refused, format, args...) }

// AsUsage marks an error as wrong usage; nil stays nil.
func AsUsage(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Usage, Err: err}
}

// CodeOf is the code that an error carries; Failure where it carries none, and OK of nil.
func CodeOf(err error) int {
	var own *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &own):
		return own.Code
	}
	return Failure
}
