package message

import "time"

// Entry is one line of a session: something that was added to its conversation, or a change of what was there. Exactly
// one of the pointers is set, or Note.
type Entry struct {
	At      time.Time `json:"at"`
	Message *Message  `json:"message,omitempty"`
	// Rewind is how many messages of the conversation are kept; the later ones no longer count.
	Rewind *int `json:"rewind,omitempty"`
	// Compact replaces the whole conversation by these messages.
	Compact []Message `json:"compact,omitempty"`
	// Note is a line for the person that no model gets.
	Note string `json:"note,omitempty"`
}

// Fold returns the conversation that entries leave. Calls that have no result get one that says they were interrupted:
// the process ended while they ran.
func Fold(entries []Entry) []Message {
	var conversation []Message
	for _, e := range entries {
		switch {
		case e.Message != nil:
			conversation = append(conversation, *e.Message)
		case e.Rewind != nil:
			conversation = conversation[:max(0, min(*e.Rewind, len(conversation)))]
		case e.Compact != nil:
			conversation = append([]Message(nil), e.Compact...)
		}
	}
	return Complete(conversation)
}

// Interrupted is the result of a call that a person stopped before it began, or whose process ended.
const Interrupted = `{"error":"interrupted"}`

// Complete adds a result to each call that has none, right behind the results that there are, since a server refuses a
// conversation with an open call.
func Complete(conversation []Message) []Message {
	whole := make([]Message, 0, len(conversation))
	var open []string
	settle := func() {
		for _, id := range open {
			whole = append(whole, Message{Role: FromTool, CallID: id, Content: Interrupted})
		}
		open = nil
	}
	for _, m := range conversation {
		if m.Role == FromTool {
			at := index(open, m.CallID)
			if at < 0 {
				continue // answers nothing
			}
			open = append(open[:at:at], open[at+1:]...)
			whole = append(whole, m)
			continue
		}
		settle()
		whole = append(whole, m)
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	settle()
	return whole
}

func index(ids []string, id string) int {
	for i, each := range ids {
		if each == id {
			return i
		}
	}
	return -1
}
