package hooks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
)

// answered is the answer of one hook at a border.
type answered struct {
	Hook     string               `json:"hook"`
	Silent   string               `json:"silent"`
	Fault    string               `json:"fault,omitempty"` // why there is no answer
	Veto     string               `json:"veto,omitempty"`
	Concerns []activities.Concern `json:"concerns,omitempty"`
}

// about says whether the hook holds a fragment, and why.
func (a answered) about(fragment string) (string, bool) {
	for _, c := range a.Concerns {
		if c.Fragment == fragment {
			return c.Reason, true
		}
	}
	return "the hook gave no answer, and its silence refuses: " + a.Fault, a.Fault != "" &&
		a.Silent == activities.SilentRefuse
}

// worded shortens the reasons of an answer. An answer without a reason is valid.
func (a answered) worded() answered {
	word := func(reason string) string { return cmp.Or(core.OneLine(reason), "it gave no reason") }
	if a.Veto != "" {
		a.Veto = word(a.Veto)
	}
	a.Concerns = slices.Clone(a.Concerns)
	for i := range a.Concerns {
		a.Concerns[i].Reason = word(a.Concerns[i].Reason)
	}
	a.Fault = core.OneLine(a.Fault)
	return a
}

// astray is the fault of an answer that holds a fragment the hook was not shown: the hook's default is applied then.
func astray(concerns []activities.Concern, shown []string) string {
	for _, c := range concerns {
		if !slices.Contains(shown, c.Fragment) {
			return fmt.Sprintf("it holds %q, which it was not shown", core.OneLine(c.Fragment))
		}
	}
	return ""
}
