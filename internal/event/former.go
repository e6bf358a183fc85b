package event

import "bytes"

// former are the names that earlier builds gave to data of an event, by the event's type: each as it was written and as
// it is written now. None of them can stand inside a text, whose quotes are escaped.
var former = map[string][][2][]byte{
	DreamInterrupted{}.EventType(): {pair(`"sitting":`, `"stretch":`), connected},
	DreamResumed{}.EventType():     {pair(`"sitting":`, `"stretch":`)},
	AgentAwake{}.EventType():       {connected},
	NightUndone{}.EventType():      {pair(`"asked":`, `"checked":`)},
	NothingAgain{}.EventType():     {pair(`"nights":`, `"dreams":`)},
	ObserverDrifted{}.EventType():  {pair(`"asked":`, `"requested":`)},
}

var connected = pair(`"cause":"knock"`, `"cause":"connect"`)

func pair(was, is string) [2][]byte { return [2][]byte{[]byte(was), []byte(is)} }

// Current is an event with the names of today in its data. Stores keep what earlier builds have written and hand it out
// in this form, so that every reader sees one schema.
func Current(e Event) Event {
	for _, name := range former[e.Type] {
		e.Data = bytes.Replace(e.Data, name[0], name[1], 1)
	}
	return e
}
