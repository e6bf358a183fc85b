package front

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// LongestName bounds the name of a user or a conversation, in bytes.
const LongestName = 256

// UserHeaders name the user of a principal, by precedence. The first is this server's own; Open WebUI sends the
// other.
var UserHeaders = []string{"X-Oneiros-User", "X-Openwebui-User-Id"}

// ConversationHeaders name a conversation, by precedence. The first is this server's own; OpenCode sends the next
// two, Claude Code, Open WebUI and Codex the others.
var ConversationHeaders = []string{
	"X-Oneiros-Conversation", "X-Session-Id", "X-Session-Affinity", "X-Claude-Code-Session-Id", "X-Openwebui-Chat-Id",
	"Session-Id",
}

// NamedCaller is the authenticated caller with the user that a header names.
func NamedCaller(r *http.Request) (psyche.Caller, error) {
	c := CallerOf(r.Context())
	user, err := NameFrom(r.Header, UserHeaders)
	if user != "" {
		c.User = user
	}
	return c, err
}

// NameFrom is the first name in one of the headers; empty when there is none.
func NameFrom(h http.Header, headers []string) (string, error) {
	for _, header := range headers {
		name := h.Get(header)
		if err := ValidName(header, name); err != nil {
			return "", err
		}
		if name != "" {
			return name, nil
		}
	}
	return "", nil
}

// ValidName checks the name of a user or a conversation in a header or field.
func ValidName(field, name string) error {
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	if len(name) <= LongestName && utf8.ValidString(name) && !strings.ContainsFunc(name, control) {
		return nil
	}
	return psyche.Refuse(http.StatusBadRequest, "invalid_value", field,
		"%s must be at most 256 bytes of printable text.", field)
}

// identifies reports whether a header names the user, the agent or the conversation of a request.
func identifies(header string) bool {
	return strings.HasPrefix(header, "X-Oneiros-") || strings.HasPrefix(header, "X-Session-") ||
		slices.Contains(UserHeaders, header) || slices.Contains(ConversationHeaders, header)
}
