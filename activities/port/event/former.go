package event

import "bytes"

// formerTypes are the names that earlier builds gave to event types, each with the name of today.
var formerTypes = map[string]string{
	"NightUndone":     DreamUndone{}.EventType(),
	"NothingAgain":    EmptyDreamsRepeated{}.EventType(),
	"ReviewAsked":     ReviewRequested{}.EventType(),
	"HookSilent":      HookTimedOut{}.EventType(),
	"HypothesisMoved": HypothesisChanged{}.EventType(),
}

// CurrentType is today's name of an event type: of a former name the one that replaced it, of any other name itself.
// Filters and triggers that people set up under a former name go through it.
func CurrentType(name string) string {
	if current, ok := formerTypes[name]; ok {
		return current
	}
	return name
}

// formerNames are the names that earlier builds gave to data of an event, by the event's type of today: each as it was
// written and as it is written now. None of them can stand inside a text, whose quotes are escaped.
var formerNames = map[string][][2][]byte{
	DreamInterrupted{}.EventType():    {pair(`"sitting":`, `"stretch":`), connected},
	DreamResumed{}.EventType():        {pair(`"sitting":`, `"stretch":`)},
	AgentAwake{}.EventType():          {connected},
	DreamUndone{}.EventType():         {pair(`"asked":`, `"checked":`)},
	EmptyDreamsRepeated{}.EventType(): {pair(`"nights":`, `"dreams":`)},
	ObserverDrifted{}.EventType():     {pair(`"asked":`, `"requested":`)},
}

var connected = pair(`"cause":"knock"`, `"cause":"connect"`)

func pair(was, is string) [2][]byte { return [2][]byte{[]byte(was), []byte(is)} }

// Current is an event with today's names of its type and in its data. Stores keep what earlier builds have written and
// hand it out in this form, so that every reader sees one schema.
func Current(e Event) Event {
	e.Type = CurrentType(e.Type)
	for _, name := range formerNames[e.Type] {
		e.Data = bytes.Replace(e.Data, name[0], name[1], 1)
	}
	return e
}
