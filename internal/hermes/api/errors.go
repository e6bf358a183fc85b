package api

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// ErrMissing is what every MissingError is.
var ErrMissing = errors.New("the server does not have it")

// MissingError says that a server which is not Oneiros has no such thing.
type MissingError struct {
	What string // such as "dreams"
}

// Error says what is missing.
func (e MissingError) Error() string { return "this server is no Oneiros: it has no " + e.What }

// Is reports whether target is ErrMissing.
func (e MissingError) Is(target error) bool { return target == ErrMissing }

// ErrRole is what every RoleError is.
var ErrRole = errors.New("the key's role does not suffice")

// RoleError says which role a request needs.
type RoleError struct {
	Need string // client, operator or owner; empty where the server does not say
	Has  string // the key's; empty where the server does not say
	Says string // the server's words
}

// Error names the role.
func (e RoleError) Error() string {
	if e.Need == "" {
		return e.Says
	}
	text := "this needs a key of the role " + e.Need
	if e.Has != "" {
		text += "; this one has the role " + e.Has
	}
	return text
}

// Is reports whether target is ErrRole.
func (e RoleError) Is(target error) bool { return target == ErrRole }

var roles = regexp.MustCompile(`\brole (client|operator|owner)\b`)

// RoleRefusal reads from the words of a refusal (403) which role is needed.
func RoleRefusal(words string) RoleError {
	e := RoleError{Says: words}
	named := roles.FindAllStringSubmatch(words, 2)
	if len(named) > 0 {
		e.Need = named[0][1]
	}
	if len(named) > 1 {
		e.Has = named[1][1]
	}
	return e
}

// Error is an answer that is an error of the API.
type Error struct {
	Status  int
	Code    string        // such as "model_not_found"; may be empty
	Message string        // the server's words; may be empty
	Retry   time.Duration // after which it is worth trying again; 0: the server does not say
	Request string        // the request's id in the server's log; may be empty
}

// Error says in plain words what was refused and what can be done.
func (e *Error) Error() string {
	reply := strings.TrimSuffix(strings.TrimSpace(e.Message), ".")
	text := e.words()
	switch {
	case text == "":
		text = reply
	case reply != "":
		text += ": " + reply
	}
	if text == "" {
		text = fmt.Sprintf("the server answers with status %d", e.Status)
	}
	if e.Retry > 0 {
		text += "; try again in " + Span(e.Retry)
	}
	return text
}

// toolless are the words by which servers refuse tools: Ollama "does not support tools", llama.cpp "tools param requires",
// vLLM "tool choice requires", OpenRouter "no endpoints found that support tool use".
var toolless = regexp.MustCompile(`(?i)\b(no|not|requires?|unsupported)\b.*\btools?\b|\btools?\b.*\b(not|requires?|unsupported)\b`)

// Is reports whether target is message.ErrNoTools and the server refuses tools.
func (e *Error) Is(target error) bool {
	return target == message.ErrNoTools && (e.Status < 500 && e.Status != 401 && e.Status != 429 || e.Status == 500) &&
		toolless.MatchString(e.Message)
}

// words is what a status means, where the server's own words may not say it.
func (e *Error) words() string {
	switch {
	case e.Status == 401:
		return "the server refuses the key"
	case e.Status == 402:
		return "there is no money left for this"
	case e.Status == 429 && (e.Code == "insufficient_quota" || e.Code == "cap_reached"):
		return "a cap on spending is reached"
	case e.Status == 429:
		return "the server is asked too often"
	case e.Status == 503:
		return "the server cannot answer now"
	case e.Status >= 500 && e.Message == "":
		return fmt.Sprintf("the server failed (status %d)", e.Status)
	}
	return ""
}

// Span is a duration as people say it, rounded up to whole seconds, minutes or hours.
func Span(d time.Duration) string {
	unit, name := time.Second, "second"
	switch {
	case d > 2*time.Hour:
		unit, name = time.Hour, "hour"
	case d > 2*time.Minute:
		unit, name = time.Minute, "minute"
	}
	n := max(1, int64((d+unit-1)/unit))
	if n == 1 {
		return "1 " + name
	}
	return fmt.Sprintf("%d %ss", n, name)
}
