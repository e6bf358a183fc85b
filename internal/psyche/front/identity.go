package front

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// LongestName bounds, in bytes, what a client may call a user or a conversation.
const LongestName = 256

// UserHeaders name the user of a principal, in the order in which they are asked. Ours is first; Open WebUI sends the
// other.
var UserHeaders = []string{"X-Oneiros-User", "X-Openwebui-User-Id"}

// ConversationHeaders name a conversation, in the order in which they are asked. Ours is first; OpenCode sends the next
// two, Claude Code, Open WebUI and Codex the others.
var ConversationHeaders = []string{
	"X-Oneiros-Conversation", "X-Session-Id", "X-Session-Affinity", "X-Claude-Code-Session-Id", "X-Openwebui-Chat-Id",
	"Session-Id",
}

// NamedCaller is whom the server found to ask, with the user that a header names.
func NamedCaller(r *http.Request) (psyche.Caller, error) {
	c := CallerOf(r.Context())
	user, err := NameFrom(r.Header, UserHeaders)
	if user != "" {
		c.User = user
	}
	return c, err
}

// NameFrom is the first name that one of the headers gives; empty when none does.
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

// ValidName says what is wrong with the name of a user or a conversation that stands in a header or a field.
func ValidName(field, name string) error {
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	if len(name) <= LongestName && utf8.ValidString(name) && !strings.ContainsFunc(name, control) {
		return nil
	}
	return &psyche.Fault{
		Status: http.StatusBadRequest, Type: invalid, Code: "invalid_value", Param: field,
		Message: field + " must be at most 256 bytes of printable text.",
	}
}

// identifies says whether a header says whose a request is, to which agent or in which conversation.
func identifies(header string) bool {
	return strings.HasPrefix(header, "X-Oneiros-") || strings.HasPrefix(header, "X-Session-") ||
		slices.Contains(UserHeaders, header) || slices.Contains(ConversationHeaders, header)
}
