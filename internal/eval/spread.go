package eval

import "fmt"

// How many nights an evaluation has, and how many days judge them, where nobody says it; our choice. The demonstration
// has as many days that judge.
const (
	DefaultNights  = 14
	DefaultJudging = 14
)

// Fit fills in the nights and the judging days of a history where they are 0: the defaults, or what a shorter history
// has room for, of whose days a third judge.
func Fit(days, nights, judging int) (fitNights, fitJudging int) {
	if judging == 0 {
		judging = max(1, min(DefaultJudging, days/3))
	}
	if nights == 0 {
		nights = max(1, min(DefaultNights, days-judging))
	}
	return nights, judging
}

// Spread returns which of the days with entries, counted from 0, end with a night: so many, evenly spread over the
// days before the judging days, the last of which ends with one.
func Spread(days, nights, judging int) ([]int, error) {
	past := days - judging
	switch {
	case judging < 1:
		return nil, fmt.Errorf("%d judging days; at least 1 is needed to judge what was foretold", judging)
	case nights < 1:
		return nil, fmt.Errorf("%d nights; at least 1 is needed", nights)
	case past < 1:
		return nil, fmt.Errorf("%d judging days of %d days with entries leave no day to dream of; at most %d can judge",
			judging, days, max(0, days-1))
	case nights > past:
		return nil,
			fmt.Errorf("--nights is %d, and there are %d days with entries before those that judge (%d of %d); at most %d "+
				"nights fit, or give %d days of entries", nights, past, judging, days, past, nights+judging)
	}
	at := make([]int, nights)
	for i := range at {
		at[i] = (i+1)*past/nights - 1
	}
	return at, nil
}
