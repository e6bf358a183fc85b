package psyche

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// VisibleEvent is an event as shown to callers.
type VisibleEvent struct {
	event.Event
	Text string `json:"text,omitempty"` // of the item that the event names; for operators who ask for it
}

// openData are the types of events that role client sees, and which of their fields: states and numbers, no text that
// anybody wrote.
var openData = map[string][]string{
	event.DreamStarted{}.EventType():         {"tier"},
	event.OnsetStarted{}.EventType():         {},
	event.OnsetSkipped{}.EventType():         {},
	event.OnsetCompleted{}.EventType():       {"duration_secs"},
	event.AlarmAbort{}.EventType():           {},
	event.PhaseStarted{}.EventType():         {"phase"},
	event.PhaseCompleted{}.EventType():       {"phase", "state"},
	event.HypnopompicStarted{}.EventType():   {},
	event.HypnopompicCompleted{}.EventType(): {},
	event.DreamInterrupted{}.EventType():     {"cause", "epoch", "stretch", "phase", "light", "resumable_until"},
	event.DreamResumed{}.EventType():         {"stretch", "phase"},
	event.DreamEnded{}.EventType():           {"outcome"},
	event.AgentAwake{}.EventType():           {"epoch", "cause", "dream"},
	event.AgentAsleep{}.EventType():          {"epoch"},
}

// textFields are fields that may hold text written by a model or a person.
var textFields = []string{"reason", "too_deep"}

// itemNames are fields with the id of an item.
var itemNames = []string{
	"fragment_id", "scenario_id", "hypothesis_id", "prediction_id", "gist_id", "item_id",
	"journal",
}

// EventScope is how much of an agent's events a caller sees.
type EventScope struct {
	Agent    dream.Agent
	Dream    string // "dream/iris/0042"; empty: all of the agent's dreams
	Operator bool
	Text     bool // with texts; operators only
}

// See resolves whose events are asked for: those of a dream, of an agent, or of the only agent that the caller
// reaches.
func (d *Dreams) See(ctx context.Context, c Caller, agent, dreamID string, text bool) (EventScope, error) {
	need := access.Client
	if text {
		need = access.Operator
	}
	s := EventScope{Text: text, Operator: c.Key.Role.Includes(access.Operator)}
	var err error
	switch {
	case dreamID != "":
		var n *dream.Record
		s.Agent, n, err = d.record(ctx, c, need, dreamID)
		if err == nil {
			s.Dream = n.ID
		}
		if err == nil && agent != "" && agent != s.Agent.Handle && agent != s.Agent.ID {
			err = badParam("agent", "dream %s is not one of agent %q; leave agent out", PublicID(n.ID), agent)
		}
	case agent != "":
		s.Agent, err = d.agent(ctx, c, need, agent)
	default:
		var all []dream.Agent
		all, err = d.reached(ctx, c, "")
		if err == nil && len(all) != 1 {
			err = badParam("agent",
				"agent is missing; this key reaches %d agents, and each counts its events from 1 on", len(all))
		} else if err == nil {
			s.Agent, err = all[0], demand(c, need)
		}
	}
	return s, err
}

// Show reduces events to what may be seen, in order.
func (d *Dreams) Show(ctx context.Context, s EventScope, events []event.Event) ([]VisibleEvent, error) {
	var shown []VisibleEvent
	var ids []string
	for _, e := range events {
		if s.Dream != "" && e.Dream != s.Dream {
			continue
		}
		data, ok := s.visibleData(e)
		if !ok {
			continue
		}
		if s.Text {
			ids = append(ids, itemNamed(e))
		}
		e.Data = data
		shown = append(shown, VisibleEvent{Event: e})
	}
	if !s.Text {
		return shown, nil
	}
	existing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	found, err := d.Memory.Get(ctx, s.Agent.ID, existing...)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, item := range found {
		texts[item.Header().ID] = item.Text()
	}
	for i, id := range ids {
		shown[i].Text = texts[id]
	}
	return shown, nil
}

// visibleData are the fields of an event that may be seen, and whether the event may be seen at all.
func (s EventScope) visibleData(e event.Event) (json.RawMessage, bool) {
	if s.Text {
		return e.Data, true
	}
	if s.Operator {
		return withoutText(e.Data), true
	}
	fields, ok := openData[e.Type]
	if !ok {
		return nil, false
	}
	var all map[string]json.RawMessage
	kept := map[string]json.RawMessage{}
	if json.Unmarshal(e.Data, &all) == nil {
		for _, name := range fields {
			if value, has := all[name]; has {
				kept[name] = value
			}
		}
	}
	data, err := json.Marshal(kept)
	return data, err == nil
}

// withoutText removes text that somebody wrote.
func withoutText(data json.RawMessage) json.RawMessage {
	if !slices.ContainsFunc(textFields, func(name string) bool { return bytes.Contains(data, []byte(`"`+name+`"`)) }) {
		return data
	}
	var all any
	reader := json.NewDecoder(bytes.NewReader(data))
	reader.UseNumber()
	if reader.Decode(&all) != nil {
		return json.RawMessage(`{}`)
	}
	removeText(all)
	kept, err := json.Marshal(all)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return kept
}

func removeText(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range textFields {
			delete(value, name)
		}
		for _, inner := range value {
			removeText(inner)
		}
	case []any:
		for _, inner := range value {
			removeText(inner)
		}
	}
}

// itemNamed is the id of the item that an event names; empty when it names none.
func itemNamed(e event.Event) string {
	var data map[string]any
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	for _, name := range itemNames {
		if id, ok := data[name].(string); ok && id != "" {
			return id
		}
	}
	return ""
}

// Ended reports whether a watched dream has ended, so that no more events come.
func (d *Dreams) Ended(ctx context.Context, s EventScope) (bool, error) {
	if s.Dream == "" {
		return false, nil
	}
	n, err := memory.One[*dream.Record](ctx, d.Memory, s.Agent.ID, s.Dream)
	if errors.Is(err, memory.ErrNotFound) { // forgotten meanwhile
		return true, nil
	}
	return err == nil && n.Status(d.Now()).Over() && !n.Unsettled(), err
}
