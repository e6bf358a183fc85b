package openaihttp

import (
	"net/http"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// turn reads a request: its agent, its caller, and the body unchanged.
func turn(r *http.Request, path string) (*psyche.Turn, error) {
	raw, err := front.Body(r)
	if err != nil {
		return nil, err
	}
	body, err := psyche.ReadBody(raw)
	if err != nil {
		return nil, err
	}
	text := func(name string) (value string) {
		if err == nil {
			value, err = body.Text(name)
		}
		return value
	}
	names := turnhttp.Names{Model: text("model"), Group: text("prompt_cache_key")}
	// safety_identifier is OpenAI's replacement for user
	for _, field := range []string{"user", "safety_identifier"} {
		names.Users = append(names.Users, turnhttp.Name{Field: field, Value: text(field)})
	}
	if err != nil {
		return nil, err
	}
	t, err := turnhttp.New(r, names)
	if err != nil {
		return nil, err
	}
	t.Path, t.Body = path, body
	return t, nil
}

func wrong(param, format string, args ...any) error {
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", param, format, args...)
}
