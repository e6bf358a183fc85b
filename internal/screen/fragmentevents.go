package screen

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// remarkEvents say what the policy and hooks said of a fragment, or that they did not answer in time.
var remarkEvents = []shown{
	show(func(e occurrence, p event.FragmentFlagged) caption {
		fate := "for review"
		if p.Bars {
			fate = "never developed"
		}
		return caption{
			"flagged", amber,
			fmt.Sprintf("%s: by %s, %s", own(e, p.Fragment), strings.Replace(p.By, "/", " ", 1), fate),
		}
	}),
	show(func(e occurrence, p event.OutputBarred) caption {
		return caption{
			"barred", amber,
			fmt.Sprintf("%s %s: by %s, archived", p.Kind, own(e, p.Item), strings.Replace(p.By, "/", " ", 1)),
		}
	}),
	show(func(e occurrence, p event.HookTimedOut) caption {
		return caption{"hook", red, fmt.Sprintf("%s gave no answer at %s; %s holds", p.Hook, p.Border, p.Default)}
	}),
}
