package mood

import (
	"fmt"
	"strings"
)

// Event is something that moves a mood, and its direction.
type Event struct {
	Name string
	Move PAD    // at intensity 1, before momentum and limits
	From string // the emotion in the literature that gives the direction
}

// impulse is the share of an emotion's coordinates that one event adds to a mood: an emotion is momentary, a mood is
// what remains. Our choice.
const impulse = .4

// appraise gives an event the direction of an emotion.
func appraise(name, from string, p, a, d float64) Event {
	return Event{Name: name, Move: PAD{p * impulse, a * impulse, d * impulse}, From: from}
}

// Events are the events that can move a mood, in a fixed order. Their emotions are the appraisals of Ortony, Clore
// and Collins (1988) at the coordinates of Gebhard (ALMA, AAMAS 2005, table 2); others are taken from the ratings of
// Russell and Mehrabian (1977).
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

// EventNamed finds an event; the error lists the existing ones.
func EventNamed(name string) (Event, error) {
	for _, e := range Events {
		if e.Name == name {
			return e, nil
		}
	}
	return Event{}, fmt.Errorf("there is no event %q; events are %s", name, strings.Join(EventNames(), ", "))
}
