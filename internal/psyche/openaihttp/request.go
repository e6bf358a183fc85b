package openaihttp

import (
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// prefix may precede an agent's handle in a model name, for clients that want a vendor there.
const prefix = "agent/"

// turn reads a request: its agent, its caller, and the body unchanged.
func turn(r *http.Request, path string) (*psyche.Turn, error) {
	t := &psyche.Turn{Caller: front.CallerOf(r.Context()), Path: path}
	body, err := front.Body(r)
	if err != nil {
		return t, err
	}
	t.Body, err = psyche.ReadBody(body)
	if err != nil {
		return t, err
	}
	text := func(name string) (value string) {
		if err == nil {
			value, err = t.Body.Text(name)
		}
		return value
	}
	model, user, safetyIdentifier := text("model"), text("user"), text("safety_identifier")
	t.Group = text("prompt_cache_key")
	if err != nil {
		return t, err
	}
	t.Agent, err = agentOf(r, model)
	if err != nil {
		return t, err
	}
	t.Conversation, err = front.NameFrom(r.Header, front.ConversationHeaders)
	if err != nil {
		return t, err
	}
	t.Caller, err = front.NamedCaller(r)
	if err != nil {
		return t, err
	}
	for _, field := range []struct{ name, value string }{
		{"user", user},
		{"safety_identifier", safetyIdentifier}, // OpenAI's replacement for user
	} {
		if err := front.ValidName(field.name, field.value); err != nil {
			return t, err
		}
		if t.Caller.User == "" {
			t.Caller.User = field.value
		}
	}
	t.Session = r.Header.Get("X-Oneiros-Session")
	if t.Session != "" {
		if err := psyche.ValidSession("X-Oneiros-Session", t.Session); err != nil {
			return t, err
		}
	}
	t.Switches, err = switches(r.Header)
	if err != nil {
		return t, err
	}
	t.Header = r.Header
	return t, nil
}

func wrong(param, format string, args ...any) error {
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", param, format, args...)
}

// agentOf is the agent of a request: the one in the header, else the model in the body.
func agentOf(r *http.Request, model string) (string, error) {
	name := r.Header.Get("X-Oneiros-Agent")
	if name == "" {
		name = model
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), prefix)
	if name == "" {
		return "",
			wrong("model",
				"No agent is named. Set model to an agent's handle, as GET /v1/models lists them, or send the header X-Oneiros-Agent.")
	}
	return name, nil
}

// switches reads what the request turns on or off.
func switches(h http.Header) (psyche.Switches, error) {
	var s psyche.Switches
	for _, each := range []struct {
		header string
		to     **bool
	}{
		{"X-Oneiros-Recall", &s.Recall},
		{"X-Oneiros-Store", &s.Store},
		{"X-Oneiros-Affect", &s.Affect},
		{"X-Oneiros-Digest", &s.Digest},
	} {
		var on bool
		switch strings.ToLower(h.Get(each.header)) {
		case "":
			continue
		case "on", "true", "1":
			on = true
		case "off", "false", "0":
		default:
			return s, wrong(each.header, "%s must be on or off.", each.header)
		}
		*each.to = &on
	}
	return s, nil
}
