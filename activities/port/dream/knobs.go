package dream

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Knobs are the numbers that shape a dream. They are frozen in its spec.
type Knobs struct {
	// Onset.
	OnsetEnabled         bool    `json:"onset_enabled"`
	BudgetFraction       float64 `json:"budget_fraction"` // of the dream's budget, for onset and return together
	Cycles               int     `json:"cycles"`          // Dali cycles
	Partials             int     `json:"partials"`        // per cycle, 3-5
	PartialTokens        int     `json:"partial_tokens"`  // visible tokens, 50 to 100
	InductionTemperature float64 `json:"induction_heat"`
	TemperatureHigh      float64 `json:"heat_high"` // at the peak, 1.3 to 1.5
	TemperatureLow       float64 `json:"heat_low"`  // the cold end, 0.3 to 0.5
	Cooling              float64 `json:"cooling"`   // temperature of the next cycle's peak, as a fraction of this one's
	MinP                 float64 `json:"min_p"`

	// of 32, scaled to the model's depth: the layer at which models are steered; 0: 16
	SteerLayer int     `json:"steer_layer,omitempty"`
	SteerAlpha float64 `json:"steer_alpha,omitempty"` // strength of steering; 0: none

	Loosening Loosening `json:"loosening"` // of all models; Auto or empty: by what each accepts

	ObserverTemperature float64 `json:"observer_heat"`
	ObserverTokens      int     `json:"observer_tokens"`
	FragmentFloor       float64 `json:"fragment_floor"`
	FragmentStart       float64 `json:"fragment_start"` // confidence of a kept fragment, 0.10 to 0.20
	CaptureTemperature  float64 `json:"capture_heat"`
	Judging             string  `json:"judging,omitempty"` // auto, single or batched; empty is auto
	Depth               string  `json:"depth,omitempty"`   // adaptive or fixed; empty means fixed
	// Choice of memories.
	Recent          int     `json:"recent"`
	Salient         int     `json:"salient"`
	SalientAbove    float64 `json:"salient_above"`
	Decaying        int     `json:"decaying"`
	Shuffle         float64 `json:"shuffle"`          // share of the order that is random
	ShownCharacters int     `json:"shown_characters"` // the most characters of memory in one prompt
	// Replay, imagination, integration.
	ReplayEpisodes      int     `json:"replay_episodes"` // per direction
	ReplayAlpha         float64 `json:"replay_alpha"`    // exponent of importance sampling (Schaul et al. 2016)
	ReplayTemperature   float64 `json:"replay_heat"`
	LastLookTemperature float64 `json:"last_look_heat"`
	LastLookEntries     int     `json:"last_look_entries"`
	ReviewedResiduals   int     `json:"reviewed_residuals"` // predictions whose reasoning is reviewed; 0: none
	Branches            int     `json:"branches"`           // scenarios imagined
	Keep                int     `json:"keep"`               // scenarios kept
	// of the search in REM; 0: scenarios are imagined in parallel and weighed once
	RemRounds            int     `json:"rem_rounds"`
	RemBeam              int     `json:"rem_beam"` // the most scenarios made in each round after the first
	RemTemperature       float64 `json:"rem_heat"`
	ScoreTemperature     float64 `json:"score_heat"`
	IntegrateTemperature float64 `json:"integrate_heat"`
	ReturnTemperature    float64 `json:"return_heat"`
	AnswerTokens         int     `json:"answer_tokens"`    // the most tokens of a structured answer
	ReasoningTokens      int     `json:"reasoning_tokens"` // added and reserved for reasoning models
	MaxStaged            int     `json:"max_staged"`       // the most hypotheses that may be staged
	// share of the way from the waking mood to the dream's, in [0, 1]
	MoodShift float64 `json:"mood_shift"`
	// Forgetting.
	HalfLife  time.Duration `json:"half_life"` // of a knowledge entry's strength, at volatility 0
	FadeBelow float64       `json:"fade_below"`
	// Money and time.
	Shares      budget.Shares `json:"shares"`
	CallTimeout time.Duration `json:"call_timeout"` // time limit of one call
	IdleToken   time.Duration `json:"idle_token"`   // the longest silence between two tokens
	Attempts    int           `json:"attempts"`     // per paid step, including the first
	DreamWall   time.Duration `json:"dream_wall"`   // time limit of one dream
	// Checks of the results.
	// number of empty dreams in a row that raises an alarm; 0: DefaultEmptyAlarm
	EmptyAlarm int `json:"empty_alarm,omitempty"`
	// number of memories that the probe checks before and after a dream; 0: none, and no dream is undone
	// automatically
	Probe int `json:"probe,omitempty"`
}

// DefaultEmptyAlarm is how many empty dreams in a row raise an alarm: two can be chance.
const DefaultEmptyAlarm = 3

// DefaultKnobs are the default values; the configuration reference has the reason of each.
func DefaultKnobs() Knobs {
	return Knobs{
		OnsetEnabled:         true,
		BudgetFraction:       .15,
		Cycles:               3,
		Partials:             4,
		PartialTokens:        80,
		InductionTemperature: 1.2,
		TemperatureHigh:      1.5,
		TemperatureLow:       .4,
		Cooling:              .95,
		MinP:                 .1,
		Loosening:            Auto,
		SteerLayer:           16,
		SteerAlpha:           1.5,
		ObserverTemperature:  .4,
		ObserverTokens:       60,
		FragmentFloor:        .10,
		FragmentStart:        .15,
		CaptureTemperature:   .5,
		Judging:              JudgingAuto,
		Depth:                DepthAdaptive,
		Recent:               200,
		Salient:              50,
		SalientAbove:         .7,
		Decaying:             20,
		Shuffle:              .7,
		ShownCharacters:      12_000,
		ReplayEpisodes:       8,
		ReplayAlpha:          .6,
		ReplayTemperature:    .7,
		LastLookTemperature:  .8,
		LastLookEntries:      20,
		ReviewedResiduals:    50,
		Branches:             3,
		Keep:                 2,
		RemRounds:            3,
		RemBeam:              2,
		RemTemperature:       1.0,
		ScoreTemperature:     .3,
		IntegrateTemperature: .4,
		ReturnTemperature:    .6,
		AnswerTokens:         600,
		ReasoningTokens:      2000,
		MaxStaged:            10,
		MoodShift:            .3,
		HalfLife:             30 * 24 * time.Hour,
		FadeBelow:            .2,
		Shares:               budget.DefaultShares,
		CallTimeout:          3 * time.Minute,
		IdleToken:            60 * time.Second,
		Attempts:             3,
		DreamWall:            2 * time.Hour,
		EmptyAlarm:           DefaultEmptyAlarm,
		Probe:                200,
	}
}

// Validate returns every fault, including contradictions between knobs.
func (k Knobs) Validate() error {
	var faults []error
	in := func(name string, v, low, high float64) {
		if !(v >= low && v <= high) {
			faults = append(faults, fmt.Errorf("%s is %v; it must lie between %v and %v", name, v, low, high))
		}
	}
	in("budget_fraction", k.BudgetFraction, 0, 1)
	in("cycles", float64(k.Cycles), 0, 20)
	in("partials", float64(k.Partials), 3, 5)
	in("partial_tokens", float64(k.PartialTokens), 50, 100)
	in("induction_temperature", k.InductionTemperature, 0, 2)
	in("temperature_high", k.TemperatureHigh, 1.2, 1.5)
	in("temperature_low", k.TemperatureLow, .3, .5)
	in("cooling", k.Cooling, .5, 1)
	in("min_p", k.MinP, 0, 1)
	in("steer_layer", float64(k.SteerLayer), 0, 31)
	in("steer_alpha", k.SteerAlpha, -10, 10)
	if k.Loosening != "" && k.Loosening != Auto && !slices.Contains(Loosenings, k.Loosening) {
		faults = append(faults,
			fmt.Errorf("loosening is %q; it must be %s or one of %v", k.Loosening, Auto, Loosenings))
	}
	in("observer_temperature", k.ObserverTemperature, 0, 2)
	in("observer_tokens", float64(k.ObserverTokens), 20, 1000)
	in("fragment_floor", k.FragmentFloor, 0, 1)
	in("fragment_start", k.FragmentStart, .10, .20)
	in("capture_temperature", k.CaptureTemperature, 0, 2)
	in("recent", float64(k.Recent), 1, 5000)
	in("salient", float64(k.Salient), 0, 5000)
	in("salient_above", k.SalientAbove, 0, 1)
	in("decaying", float64(k.Decaying), 0, 5000)
	in("shuffle", k.Shuffle, 0, 1)
	in("shown_characters", float64(k.ShownCharacters), 500, 1_000_000)
	in("replay_episodes", float64(k.ReplayEpisodes), 1, 100)
	in("replay_alpha", k.ReplayAlpha, 0, 1)
	in("replay_temperature", k.ReplayTemperature, 0, 2)
	in("last_look_temperature", k.LastLookTemperature, 0, 2)
	in("last_look_entries", float64(k.LastLookEntries), 0, 200)
	in("reviewed_residuals", float64(k.ReviewedResiduals), 0, 200)
	in("branches", float64(k.Branches), 1, 16)
	in("keep", float64(k.Keep), 1, 16)
	in("rem_rounds", float64(k.RemRounds), 0, 8)
	in("rem_beam", float64(k.RemBeam), 0, 8)
	in("rem_temperature", k.RemTemperature, 0, 2)
	in("score_temperature", k.ScoreTemperature, 0, 2)
	in("integrate_temperature", k.IntegrateTemperature, 0, 2)
	in("return_temperature", k.ReturnTemperature, 0, 2)
	in("answer_tokens", float64(k.AnswerTokens), 100, 32_000)
	in("reasoning_tokens", float64(k.ReasoningTokens), 0, 200_000)
	in("max_staged", float64(k.MaxStaged), 1, 10)
	in("mood_shift", k.MoodShift, 0, 1)
	in("fade_below", k.FadeBelow, 0, 1)
	in("half_life (hours)", k.HalfLife.Hours(), 1, 24*3650)
	in("call_timeout (seconds)", k.CallTimeout.Seconds(), 1, 3600)
	in("idle_token (seconds)", k.IdleToken.Seconds(), 1, 3600)
	in("attempts", float64(k.Attempts), 1, 10)
	in("empty_alarm", float64(k.EmptyAlarm), 0, 50)
	in("probe", float64(k.Probe), 0, 2000)
	in("dream_wall (minutes)", k.DreamWall.Minutes(), 1, 24*60)
	if !slices.Contains([]string{"", JudgingAuto, BySingle, ByTogether}, k.Judging) {
		faults = append(faults,
			fmt.Errorf("judging is %q; it must be %s, %s or %s", k.Judging, JudgingAuto, BySingle, ByTogether))
	}
	if k.Depth != "" && k.Depth != DepthAdaptive && k.Depth != DepthFixed {
		faults = append(faults, fmt.Errorf("depth is %q; it must be %s or %s", k.Depth, DepthAdaptive, DepthFixed))
	}
	if k.Keep > k.Branches {
		faults = append(faults,
			fmt.Errorf("keep is %d and branches is %d; a dream cannot keep more scenarios than it imagines", k.Keep,
				k.Branches))
	}
	if k.RemRounds > 1 && k.RemBeam < 1 {
		faults = append(faults,
			fmt.Errorf("rem_rounds is %d and rem_beam is %d; a search of several rounds needs a beam of at least 1",
				k.RemRounds, k.RemBeam))
	}
	if k.TemperatureLow >= k.TemperatureHigh {
		faults = append(faults,
			fmt.Errorf("temperature_low is %v and temperature_high is %v; the cold end must lie below the hot one",
				k.TemperatureLow, k.TemperatureHigh))
	}
	if k.IdleToken > k.CallTimeout {
		faults = append(faults,
			fmt.Errorf("idle_token is %s and call_timeout is %s; silence cannot outlast the call", k.IdleToken,
				k.CallTimeout))
	}
	if err := k.Shares.Validate(); err != nil {
		faults = append(faults, err)
	} else if got := float64(k.Shares.Onset+k.Shares.Return) / 100; got-k.BudgetFraction > 1e-9 ||
		k.BudgetFraction-got > 1e-9 {
		faults = append(faults,
			fmt.Errorf("shares of onset and return make %v and budget_fraction is %v; they must be equal", got,
				k.BudgetFraction))
	}
	return errors.Join(faults...)
}
