package psyche

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/psyche/jsonscan"
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
	at := t.Body.messages[0].From
	s := inserted(at, fmt.Appendf(nil, `{"role":%s,"content":%s},`, jsonscan.Quoted(role), jsonscan.Quoted(text)))
	t.added += len(s.text)
	return []splice{s}
}
