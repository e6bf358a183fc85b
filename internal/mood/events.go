package mood

import (
	"fmt"
	"strings"
)

// Event is something that moves a mood, and whither.
type Event struct {
	Name string
	Move PAD    // at intensity 1, before momentum and guard
	From string // the emotion of the literature whose place gives the direction
}

// impulse is how much of an emotion's place one event adds to a mood: an emotion is where somebody is for a moment, a
// mood what it leaves behind. Ours.
const impulse = .4

// appraise gives an event the direction of an emotion.
func appraise(name, from string, p, a, d float64) Event {
	return Event{Name: name, Move: PAD{p * impulse, a * impulse, d * impulse}, From: from}
}

// Events are what a mood can be told, in a fixed order. Their emotions are the appraisals of Ortony, Clore and Collins
// (1988) at the places that Gebhard gives them (ALMA, AAMAS 2005, table 2); what that appraisal does not know is taken
// from Russell and Mehrabian (1977), whose terms were rated by people.
var Events = []Event{
	appraise("success", "OCC satisfaction", .30, -.20, .40),
	appraise("achievement", "OCC pride", .40, .30, .30),
	appraise("joy", "OCC joy", .40, .20, .10),
	appraise("praise", "OCC gratification", .60, .50, .40),
	appraise("help", "OCC gratitude", .40, .20, -.30),
	appraise("connection", "OCC love", .30, .10, .20),
	appraise("hope", "OCC hope", .20, .20, -.10),
	appraise("relief", "OCC relief", .20, -.30, .40),
	appraise("curiosity", "curious, Russell and Mehrabian 1977", .22, .62, -.01),
	appraise("surprise", "surprised, Russell and Mehrabian 1977", .40, .67, -.13),
	appraise("rest", "relaxed, Russell and Mehrabian 1977", .68, -.46, .06),
	appraise("failure", "OCC disappointment", -.30, .10, -.40),
	appraise("criticism", "OCC shame", -.30, .10, -.60),
	appraise("threat", "OCC fear", -.64, .60, -.43),
	appraise("injustice", "OCC anger", -.51, .59, .25),
	appraise("loss", "OCC distress", -.40, -.20, -.50),
	appraise("boredom", "bored, Russell and Mehrabian 1977", -.65, -.62, -.33),
}

// EventNames lists the names of Events.
func EventNames() []string {
	names := make([]string, len(Events))
	for i, e := range Events {
		names[i] = e.Name
	}
	return names
}

// EventNamed finds an event; the error lists those that there are.
func EventNamed(name string) (Event, error) {
	for _, e := range Events {
		if e.Name == name {
			return e, nil
		}
	}
	return Event{}, fmt.Errorf("no event is called %q; events are %s", name, strings.Join(EventNames(), ", "))
}
