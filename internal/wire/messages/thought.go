package messages

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// A signature says in which field of a chat completion a thought came, so that it can be sent back in the same one.
// Anthropic's own signatures have another form: nobody else can read those. Where the thought's text is not shown,
// the signature carries it.
const signed = "oneiros:"

// signature is that of a thought which came in a field; carried is its text where the block has none.
func signature(field, carried string) string {
	if carried == "" {
		return signed + field
	}
	return signed + field + ":" + base64.StdEncoding.EncodeToString([]byte(carried))
}

// proven is the field of a signature that carries a proof: what the provider wants back with the results of calls.
const proven = "proof"

// proof are the members of a message in which providers prove thoughts, or hold them in a form of their own.
type proof struct {
	Details   json.RawMessage `json:"reasoning_details,omitempty"`
	Blocks    json.RawMessage `json:"thinking_blocks,omitempty"`
	Signature json.RawMessage `json:"thought_signature,omitempty"`
}

// callProof is a proof with those that stand in calls, by their ids.
type callProof struct {
	proof
	Calls map[string]json.RawMessage `json:"extra_content,omitempty"`
}

// add adds a member that came in a piece. Lists of the same name are joined; of anything else the newest counts.
func (p *proof) add(field string, raw json.RawMessage) {
	to := map[string]*json.RawMessage{
		"reasoning_details": &p.Details, "thinking_blocks": &p.Blocks, "thought_signature": &p.Signature,
	}[field]
	if to == nil || len(raw) == 0 {
		return
	}
	before, err := jsonscan.Elements(*to)
	more, again := jsonscan.Elements(raw)
	if err == nil && again == nil {
		raw = jsonobject.Marshalled(append(before, more...))
	}
	*to = raw
}

// prove adds a proof to an earlier answer, and reports whether it is one.
func (m *chatMessage) prove(text string) bool {
	var p callProof
	if json.Unmarshal([]byte(text), &p) != nil {
		return false
	}
	m.add("reasoning_details", p.Details)
	m.add("thinking_blocks", p.Blocks)
	m.add("thought_signature", p.Signature)
	if m.calls == nil {
		m.calls = map[string]json.RawMessage{}
	}
	maps.Copy(m.calls, p.Calls)
	return true
}

// think adds a thought to an earlier answer, if it belongs to the present round and the provider sent it in a field
// that it takes back. It reports whether it did.
func (m *chatMessage) think(signature, text string, loop bool) bool {
	rest, ours := strings.CutPrefix(signature, signed)
	if !ours || !loop {
		return false
	}
	field, carried, _ := strings.Cut(rest, ":")
	if carried != "" {
		raw, err := base64.StdEncoding.DecodeString(carried)
		if err != nil {
			return false
		}
		text = string(raw)
	}
	to := &m.Reasoning
	switch field {
	case proven:
		return m.prove(text)
	case "reasoning":
	case "reasoning_content":
		to = &m.Thoughts
	default:
		return false
	}
	if *to != nil {
		text = **to + text
	}
	*to = &text
	return true
}

// unreadable is the name under which a tool's input is passed on that is no JSON object, as a model may write it.
// Anthropic's documentation uses the same.
const unreadable = "INVALID_JSON"

// inputOf is a tool's input from the arguments that a model wrote.
func inputOf(arguments string) json.RawMessage {
	text := strings.TrimSpace(arguments)
	switch {
	case text == "":
		return json.RawMessage("{}")
	case text[0] == '{' && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return jsonobject.Marshalled(map[string]string{unreadable: arguments})
}

// arguments are a model's arguments from the input of a call: the reverse of inputOf.
func arguments(input json.RawMessage) string {
	var wrapped map[string]json.RawMessage
	if json.Unmarshal(input, &wrapped) == nil && len(wrapped) == 1 {
		var text string
		if raw, ok := wrapped[unreadable]; ok && json.Unmarshal(raw, &text) == nil {
			return text
		}
	}
	return jsonobject.Compact(input)
}
