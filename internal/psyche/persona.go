package psyche

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// How a model learns who it is (Options.Persona).
const (
	PersonaSystem = "system" // by a message of the role system, before all others
	PersonaUser   = "user"   // by a message of the role user, for templates that refuse a second system message
	PersonaOff    = "off"    // not at all
)

// Personas are the values of Options.Persona.
var Personas = []string{PersonaSystem, PersonaUser, PersonaOff}

// persona tells the model whom it speaks for: the agent's name and, where it has one, its persona. It stays the same
// from turn to turn, so that a provider's prompt cache still hits.
func (t *turn) persona() []splice {
	role := t.service.o.Persona
	if role == PersonaOff || len(t.Body.messages) == 0 {
		return nil
	}
	text := fmt.Sprintf("You are %s.", t.agent.Handle)
	if about := strings.TrimSpace(t.agent.Persona); about != "" {
		text += " " + about
	}
	if t.Body.form == messagesForm {
		s := t.Body.introduced("system", text)
		t.added += len(s.text)
		return []splice{s}
	}
	at := t.Body.messages[0].From
	s := inserted(at, fmt.Appendf(nil, `{"role":%s,"content":%s},`, jsonscan.Quoted(role), jsonscan.Quoted(text)))
	t.added += len(s.text)
	return []splice{s}
}

// introduced puts a text before the one of an outermost field, which holds text, or blocks of text.
func (b *Body) introduced(name, text string) splice {
	at := b.fields[name].From
	inside := jsonscan.Scanner{Body: b.raw, At: at + 1}
	switch v := b.given(name); {
	case len(v) > 0 && v[0] == '"':
		words := jsonscan.Quoted(text + "\n\n")
		return inserted(at+1, words[1:len(words)-1])
	case len(v) > 0 && v[0] == '[' && inside.Peek() != ']':
		return inserted(at+1, fmt.Appendf(nil, `{"type":"text","text":%s},`, jsonscan.Quoted(text)))
	}
	return b.set(name, jsonscan.Quoted(text))
}
