package screen

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// reportRemark describes what the policy and hooks said of a fragment, or that they did not answer in time. An
// unknown event is named.
func reportRemark(e event.Event) (about string, colour ink, text string) {
	switch e.Type {
	case "FragmentFlagged":
		return read(e, func(p event.FragmentFlagged) (string, ink, string) {
			fate := "for review"
			if p.Bars {
				fate = "never developed"
			}
			return "flagged", amber,
				fmt.Sprintf("%s: by %s, %s", own(e, p.Fragment), strings.Replace(p.By, "/", " ", 1), fate)
		})
	case "OutputBarred":
		return read(e, func(p event.OutputBarred) (string, ink, string) {
			return "barred", amber,
				fmt.Sprintf("%s %s: by %s, archived", p.Kind, own(e, p.Item), strings.Replace(p.By, "/", " ", 1))
		})
	case "HookTimedOut":
		return read(e, func(p event.HookTimedOut) (string, ink, string) {
			return "hook", red, fmt.Sprintf("%s gave no answer at %s; %s holds", p.Hook, p.Border, p.Default)
		})
	}
	return e.Type, faint, fmt.Sprintf("not known to this version (%d bytes)", len(e.Data))
}
