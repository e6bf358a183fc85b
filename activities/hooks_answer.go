package activities

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// answered is what one hook said at a border.
type answered struct {
	Hook     string    `json:"hook"`
	Silent   string    `json:"silent"`
	Fault    string    `json:"fault,omitempty"` // why it gave no answer
	Veto     string    `json:"veto,omitempty"`
	Concerns []Concern `json:"concerns,omitempty"`
}

// about says whether the hook holds a fragment, and why.
func (a answered) about(fragment string) (string, bool) {
	for _, c := range a.Concerns {
		if c.Fragment == fragment {
			return c.Reason, true
		}
	}
	return "the hook gave no answer, and its silence refuses: " + a.Fault, a.Fault != "" && a.Silent == SilentRefuse
}

// mostReason is how many characters of a reason are kept: it crosses Temporal and stands in lists.
const mostReason = 400

// oneLine is what a hook said, on one line and no longer than it may be.
func oneLine(text string) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) > mostReason {
		letters = append(letters[:mostReason-1], '…')
	}
	return string(letters)
}

// worded is an answer whose reasons are as they are kept. One that gives none is no less an answer.
func (a answered) worded() answered {
	word := func(reason string) string { return cmp.Or(oneLine(reason), "it gave no reason") }
	if a.Veto != "" {
		a.Veto = word(a.Veto)
	}
	a.Concerns = slices.Clone(a.Concerns)
	for i := range a.Concerns {
		a.Concerns[i].Reason = word(a.Concerns[i].Reason)
	}
	a.Fault = oneLine(a.Fault)
	return a
}

// astray tells of concerns about fragments that the hook was not shown: nobody can hold those, so its default answers
// for them.
func astray(concerns []Concern, shown []string) string {
	for _, c := range concerns {
		if !slices.Contains(shown, c.Fragment) {
			return fmt.Sprintf("it holds %q, which it was not shown", oneLine(c.Fragment))
		}
	}
	return ""
}
