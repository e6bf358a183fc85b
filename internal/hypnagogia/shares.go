package hypnagogia

import (
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// ShareWindow is the number of newest dreams that an agent's shares are computed over.
const ShareWindow = 30

// Fragments are the counts of one dream's fragments.
type Fragments struct {
	Caught int // kept by the observer
	Used   int // of those, developed in REM, in a scenario that was kept or not
	Staged int // of those, the source of a staged hypothesis
}

// CountFragments counts the fragments of one dream; Caught includes those that lucid capture discarded.
func CountFragments(fragments []*dream.Fragment, scenarios []*dream.Scenario) Fragments {
	used := map[string]bool{}
	for _, s := range scenarios {
		for _, id := range s.Develops() {
			used[id] = true
		}
	}
	var n Fragments
	for _, f := range fragments {
		if f.Status == dream.FragmentDiscarded && !strings.HasPrefix(f.Reason, dream.LucidDiscard) {
			continue
		}
		n.Caught++
		if used[f.ID] {
			n.Used++
			if f.Hypothesis != "" {
				n.Staged++
			}
		}
	}
	return n
}

// State is the assessment of a share.
type State string

// The states: within the healthy range, outside of it, beyond the alarm, or unknown.
const (
	Healthy     State = "healthy"
	OutsideBand State = "beside"
	Alarmed     State = "alarm"
	Unknown     State = "unknown"
)

// Band is the healthy range of a share, and the limits of its alarm.
type Band struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	AlarmBelow float64 `json:"alarm_below"`
	AlarmAbove float64 `json:"alarm_above"`
}

// The bands of the share of fragments used in REM and of the share of those staged.
var (
	UsedBand   = Band{Low: .20, High: .50, AlarmBelow: .10, AlarmAbove: .70}
	StagedBand = Band{Low: .05, High: .15, AlarmBelow: .02, AlarmAbove: .30}
)

// Share is a share and its assessment. Shares are only observed: no rule takes one as input, so that nothing is ever
// chosen or staged to reach one.
type Share struct {
	Part  int     `json:"part"`
	Whole int     `json:"whole"`
	Value float64 `json:"value"` // 0 for a whole of 0
	State State   `json:"state"`
	Band  Band    `json:"band"`
}

// Shares are the share of fragments used and the share of used ones staged, over the newest dreams; nights are newest
// first.
func Shares(nights []Fragments) (used, staged Share) {
	var all Fragments
	for _, f := range nights[:min(len(nights), ShareWindow)] {
		all.Caught += f.Caught
		all.Used += f.Used
		all.Staged += f.Staged
	}
	return shareOf(all.Used, all.Caught, UsedBand), shareOf(all.Staged, all.Used, StagedBand)
}

func shareOf(part, whole int, band Band) Share {
	s := Share{Part: part, Whole: whole, State: Unknown, Band: band}
	if whole <= 0 {
		return s
	}
	s.Value, s.State = float64(part)/float64(whole), OutsideBand
	switch {
	case s.Value < band.AlarmBelow || s.Value > band.AlarmAbove:
		s.State = Alarmed
	case s.Value >= band.Low && s.Value <= band.High:
		s.State = Healthy
	}
	return s
}
