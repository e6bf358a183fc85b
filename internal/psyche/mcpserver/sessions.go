package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-56a03226/oneiros/internal/access"
)

type hold struct {
	who
	Session string `json:"session,omitempty" jsonschema:"a session of yours to renew; without it a new one begins"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how long the agent stays awake for it; without it as long as the deployment says"`
}

type held struct {
	Session string `json:"session" jsonschema:"name it to renew or end the session"`
	Agent   string `json:"agent"`
	Until   string `json:"until" jsonschema:"RFC 3339"`
	Woke    bool   `json:"woke" jsonschema:"whether this woke the agent"`
}

type farewell struct {
	Session string `json:"session" jsonschema:"the session to end"`
	who
}

type parted struct {
	Session string `json:"session"`
	Ended   bool   `json:"ended"`
}

const longestHold = 3600 // seconds, as in psyche.Mind

// sessions registers the tools by which a client can hold an agent awake without talking to it: being connected to
// the server does not.
func (d *toolset) sessions() {
	add(d, toolSpec[hold, held]{
		role:  access.Client,
		name:  "connect",
		title: "Hold the agent awake",
		about: "Wake the agent and keep it from dreaming for a while, or renew a session that does. It ends by leave, or by itself when its time is over.",
		hints: changes(false, false),
		shape: func(in *jsonschema.Schema) {
			setBounds(in.Properties["seconds"], 1, longestHold)
			in.Properties["session"].MaxLength = at(longestName)
		},
		do: func(ctx context.Context, k toolCall, in hold) (held, error) {
			s, err := d.service.Open(ctx, k.caller, k.agent, in.Session, time.Duration(in.Seconds)*time.Second)
			return held{Session: s.ID, Agent: s.Agent, Until: stamp(s.Until), Woke: s.Woke}, err
		},
		text: func(h held) string {
			return fmt.Sprintf("%s is held awake until %s by session %s.", h.Agent, h.Until, h.Session)
		},
	})
	add(d, toolSpec[farewell, parted]{
		role:  access.Client,
		name:  "leave",
		title: "Let the agent rest",
		about: "End a session that connect began. When nobody else is there, the agent may sleep and dream.",
		hints: changes(true, false),
		shape: func(in *jsonschema.Schema) {
			notEmpty(in, "session")
			in.Properties["session"].MaxLength = at(longestName)
		},
		do: func(ctx context.Context, k toolCall, in farewell) (parted, error) {
			return parted{in.Session, true}, d.service.Leave(ctx, k.caller, k.agent, in.Session)
		},
	})
}
