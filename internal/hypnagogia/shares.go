package hypnagogia

import (
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// ShareWindow is over how many of an agent's dreams its shares are taken, the newest.
const ShareWindow = 30

// Fragments of one dream, counted.
type Fragments struct {
	Caught int // that the observer kept
	Used   int // of those: developed in REM, into a scenario that was kept or not
	Staged int // of those: a hypothesis that was staged rests on them
}

// CountFragments counts those of one dream: caught are what the observer kept, whatever lucid capture made of it.
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

// State of a share.
type State string

// The states: in its healthy range, beside it, beyond its alarm, or of nothing.
const (
	Healthy State = "healthy"
	Beside  State = "beside"
	Alarmed State = "alarm"
	Unknown State = "unknown"
)

// Band is the healthy range of a share, and its alarm: below the one, above the other.
type Band struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	AlarmBelow float64 `json:"alarm_below"`
	AlarmAbove float64 `json:"alarm_above"`
}

// The bands (validation metrics: REM seed utilisation and hypothesis promotion rate).
var (
	UsedBand   = Band{Low: .20, High: .50, AlarmBelow: .10, AlarmAbove: .70}
	StagedBand = Band{Low: .05, High: .15, AlarmBelow: .02, AlarmAbove: .30}
)

// Share is a part of a whole and how it stands. Shares are watched: no law takes one as its argument, so that nothing
// is ever chosen or staged to reach one.
type Share struct {
	Part  int     `json:"part"`
	Whole int     `json:"whole"`
	Value float64 `json:"value"` // 0 of nothing
	State State   `json:"state"`
	Band  Band    `json:"band"`
}

// Shares are those of fragments used and of used ones staged, over the newest dreams of a window; nights are newest
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
	s.Value, s.State = float64(part)/float64(whole), Beside
	switch {
	case s.Value < band.AlarmBelow || s.Value > band.AlarmAbove:
		s.State = Alarmed
	case s.Value >= band.Low && s.Value <= band.High:
		s.State = Healthy
	}
	return s
}
