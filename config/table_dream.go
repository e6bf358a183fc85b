package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// dreamKnobs describes every field of dream.Knobs. The defaults are those of dream.DefaultKnobs, by their JSON names.
func dreamKnobs() []Knob {
	rows := append(append(onsetRows(), choiceRows()...), append(laterRows(), limitRows()...)...)
	defaults := dreamDefaults()
	for i := range rows {
		stored := rows[i].Key
		if rows[i].Was != "" { // recorded dreams have their knobs under the former names
			stored = rows[i].Was
			rows[i].Was = "dream." + stored
		}
		rows[i].Default = defaults[stored]
		rows[i].Field = "dream." + stored
		if n, ok := rows[i].Default.(float64); ok && rows[i].Sort == Span {
			rows[i].Default = spanText(time.Duration(n))
		}
		rows[i].Key = "dream." + rows[i].Key
	}
	return rows
}

// dreamDefaults flattens dream.DefaultKnobs: "cycles" to 3, "shares.onset" to 10.
func dreamDefaults() map[string]any {
	body, err := json.Marshal(dream.DefaultKnobs())
	nested := map[string]any{}
	if err == nil {
		err = json.Unmarshal(body, &nested)
	}
	if err != nil { // cannot happen: it is a plain struct of numbers
		panic(fmt.Sprintf("config: default knobs: %v", err))
	}
	flat := map[string]any{}
	flatten("", nested, flat)
	return flat
}

func flatten(prefix string, nested, flat map[string]any) {
	for key, value := range nested {
		name := strings.TrimPrefix(prefix+"."+key, ".")
		if inner, ok := value.(map[string]any); ok {
			flatten(name, inner, flat)
			continue
		}
		flat[name] = value
	}
}

func formerLoosenings() map[string]string {
	names := map[string]string{}
	for former, now := range dream.FormerLoosenings {
		names[former] = string(now)
	}
	return names
}

func onsetRows() []Knob {
	return []Knob{
		{
			Key: "onset_enabled", Sort: YesNo,
			Reason: "Every dream begins with an onset; without it the dream goes straight to NREM and the share goes there too.",
		},
		{
			Key:    "budget_fraction",
			Sort:   Number,
			High:   1,
			Unit:   "share",
			Reason: "Onset and return together, of the dream's budget. Must equal their shares.",
		},
		{
			Key:    "cycles",
			Sort:   Whole,
			High:   20,
			Unit:   "Dali cycles",
			Reason: "Three cycles.",
		},
		{
			Key:    "partials",
			Sort:   Whole,
			Low:    3,
			High:   5,
			Unit:   "per cycle",
			Reason: "Three to five partial completions, four by default.",
		},
		{
			Key:    "partial_tokens",
			Sort:   Whole,
			Low:    50,
			High:   100,
			Unit:   "tokens",
			Reason: "A partial is halted at 50 to 100 visible tokens, 80 by default.",
		},
		{
			Key:    "induction_temperature",
			Was:    "induction_heat",
			Sort:   Number,
			High:   2,
			Unit:   "temperature",
			Reason: "Induction starts at 1.2.",
		},
		{
			Key:    "temperature_high",
			Was:    "heat_high",
			Sort:   Number,
			Low:    1.2,
			High:   1.5,
			Unit:   "temperature",
			Reason: "The peak of a cycle lies between 1.3 and 1.5.",
		},
		{
			Key:    "temperature_low",
			Was:    "heat_low",
			Sort:   Number,
			Low:    .3,
			High:   .5,
			Unit:   "temperature",
			Reason: "The cold end of a cycle lies between 0.3 and 0.5.",
		},
		{
			Key:    "cooling",
			Sort:   Number,
			Low:    .5,
			High:   1,
			Unit:   "share",
			Reason: "The next cycle's peak as a share of this one's.",
		},
		{
			Key:    "min_p",
			Sort:   Number,
			High:   1,
			Unit:   "probability",
			Reason: "0.1 keeps high temperatures readable by dropping tokens far below the likeliest.",
		},
		{
			Key:    "steer_layer",
			Sort:   Whole,
			High:   31,
			Unit:   "layer of 32",
			Reason: "The creativity vector is added at layer 16 of 32, which 0 means too; scaled to the depth of the model. Only of models whose entry names a vector (docs/steering.md).",
		},
		{
			Key:    "steer_alpha",
			Sort:   Number,
			Low:    -10,
			High:   10,
			Unit:   "strength",
			Reason: "1.5, of a vector of length 1 at one layer. Over many layers at once far less is borne: give such an entry an alpha of its own (docs/steering.md). 0 steers nothing.",
		},
		{
			Key:     "loosening",
			Sort:    Choice,
			Choices: []string{"auto", "temperature", "temperature+min_p", "verbalised", "two_phase"},
			Former:  formerLoosenings(),
			Reason:  "auto: by what the generator takes, see models.md. The others force one way on every model, to compare them.",
		},
		{
			Key:    "observer_temperature",
			Was:    "observer_heat",
			Sort:   Number,
			High:   2,
			Unit:   "temperature",
			Reason: "The observer judges coldly.",
		},
		{
			Key:    "observer_tokens",
			Sort:   Whole,
			Low:    20,
			High:   1000,
			Unit:   "tokens",
			Reason: "A verdict takes at most 60 tokens.",
		},
		{
			Key:    "fragment_floor",
			Sort:   Number,
			High:   1,
			Unit:   "composite",
			Reason: "A fragment is kept above 0.10.",
		},
		{
			Key:    "fragment_start",
			Sort:   Number,
			Low:    .1,
			High:   .2,
			Unit:   "confidence",
			Reason: "A kept fragment starts between 0.10 and 0.20.",
		},
		{
			Key:    "capture_temperature",
			Was:    "capture_heat",
			Sort:   Number,
			High:   2,
			Unit:   "temperature",
			Reason: "Lucid capture rates at 0.5.",
		},
		{
			Key: "judging", Sort: Choice, Choices: []string{dream.JudgingAuto, dream.BySingle, dream.ByTogether},
			Reason: "auto: the partials of a cycle are judged in one call where that saves a tenth of the price, else each in a call of its own (observer.md).",
		},
		{
			Key: "depth", Sort: Choice, Choices: []string{dream.DepthAdaptive, dream.DepthFixed},
			Reason: "adaptive: surprise and a change of regime choose how deep the onset goes (see depth.md). fixed: always to the peak, with all the cycles.",
		},
	}
}

func choiceRows() []Knob {
	return []Knob{
		{
			Key:    "recent",
			Sort:   Whole,
			Low:    1,
			High:   5000,
			Unit:   "episodes",
			Reason: "The 200 most recent.",
		},
		{
			Key:    "salient",
			Sort:   Whole,
			High:   5000,
			Unit:   "episodes",
			Reason: "50 that mattered.",
		},
		{
			Key:    "salient_above",
			Sort:   Number,
			High:   1,
			Unit:   "salience",
			Reason: "Mattering begins at 0.7.",
		},
		{
			Key:    "decaying",
			Sort:   Whole,
			High:   5000,
			Unit:   "entries",
			Reason: "20 that are about to fade.",
		},
		{
			Key:    "shuffle",
			Sort:   Number,
			High:   1,
			Unit:   "share",
			Reason: "70 % of the order is chance.",
		},
		{
			Key:    "shown_characters",
			Sort:   Whole,
			Low:    500,
			High:   1_000_000,
			Unit:   "characters",
			Reason: "Most memory shown in one prompt: about 3,000 tokens, which fits a model with a window of 4,096 beside its answer. What is cut is counted.",
		},
	}
}

func laterRows() []Knob {
	return []Knob{
		{
			Key:    "replay_episodes",
			Sort:   Whole,
			Low:    1,
			High:   100,
			Unit:   "per direction",
			Reason: "Episodes read in one replay: enough to hold a pattern, few enough to read whole.",
		},
		{
			Key:    "replay_alpha",
			Sort:   Number,
			High:   1,
			Unit:   "exponent",
			Reason: "Exponent of importance sampling (Schaul 2016); 0 is uniform.",
		},
		{
			Key:    "replay_temperature",
			Was:    "replay_heat",
			Sort:   Number,
			High:   2,
			Unit:   "temperature",
			Reason: "Replay retells more than it invents.",
		},
		{
			Key:    "last_look_temperature",
			Was:    "last_look_heat",
			Sort:   Number,
			High:   2,
			Unit:   "temperature",
			Reason: "The last look at what fades is taken at 0.8.",
		},
		{
			Key:    "last_look_entries",
			Sort:   Whole,
			High:   200,
			Unit:   "entries",
			Reason: "Fading entries looked at in one dream, as many as the choice above takes.",
		},
		{
			Key:    "branches",
			Sort:   Whole,
			Low:    1,
			High:   16,
			Unit:   "scenarios",
			Reason: "Scenarios branched in the first round of REM; three differ enough to be worth comparing.",
		},
		{
			Key:    "keep",
			Sort:   Whole,
			Low:    1,
			High:   16,
			Unit:   "scenarios",
			Reason: "Scenarios kept. Never more than branches.",
		},
		{
			Key:    "rem_rounds",
			Sort:   Whole,
			High:   8,
			Unit:   "rounds",
			Reason: "Rounds of the search in REM: the first branches, the others refine, merge and backtrack. Three with a beam of two make at most ten calls. 0 imagines the branches side by side and weighs them once.",
		},
		{
			Key:    "rem_beam",
			Sort:   Whole,
			High:   8,
			Unit:   "scenarios",
			Reason: "Scenarios made in each round after the first, at most. Two: the best can be refined while the best two become one.",
		},
		{
			Key:    "rem_temperature",
			Was:    "rem_heat",
			Sort:   Number,
			High:   2,
			Unit:   "temperature",
			Reason: "Imagination is warm, and colder than the onset.",
		},
		{
			Key:    "score_temperature",
			Was:    "score_heat",
			Sort:   Number,
			High:   2,
			Unit:   "temperature",
			Reason: "Scores should not depend on luck.",
		},
		{
			Key:    "integrate_temperature",
			Was:    "integrate_heat",
			Sort:   Number,
			High:   2,
			Unit:   "temperature",
			Reason: "Integration argues; it does not roam.",
		},
		{
			Key:    "return_temperature",
			Was:    "return_heat",
			Sort:   Number,
			High:   2,
			Unit:   "temperature",
			Reason: "The return speaks plainly, with some colour left.",
		},
		{
			Key:    "answer_tokens",
			Sort:   Whole,
			Low:    100,
			High:   32_000,
			Unit:   "tokens",
			Reason: "Most tokens of a structured answer. The worst case is reserved, so a larger figure needs a larger budget.",
		},
		{
			Key:    "reasoning_tokens",
			Sort:   Whole,
			High:   200_000,
			Unit:   "tokens",
			Reason: "Added for models that think before they answer, and reserved too.",
		},
		{
			Key:    "max_staged",
			Sort:   Whole,
			Low:    1,
			High:   10,
			Unit:   "hypotheses",
			Reason: "At most ten are staged at once.",
		},
		{
			Key:    "mood_shift",
			Sort:   Number,
			High:   1,
			Unit:   "share",
			Reason: "How far the waking mood moves toward the dream's on return: gradually.",
		},
		{
			Key:    "half_life",
			Sort:   Span,
			Low:    3600,
			High:   3650 * day,
			Reason: "Of an entry's strength when nothing is volatile: a month untouched halves it.",
		},
		{
			Key:    "fade_below",
			Sort:   Number,
			High:   1,
			Unit:   "strength",
			Reason: "The demurrage threshold: an entry below it is archived after its last look.",
		},
	}
}

func limitRows() []Knob {
	return []Knob{
		{
			Key:    "shares.onset",
			Sort:   Whole,
			High:   100,
			Unit:   "percent",
			Reason: "The usual split. The five shares make 100.",
		},
		{
			Key:    "shares.nrem",
			Sort:   Whole,
			High:   100,
			Unit:   "percent",
			Reason: "The usual split.",
		},
		{
			Key:    "shares.rem",
			Sort:   Whole,
			High:   100,
			Unit:   "percent",
			Reason: "The usual split.",
		},
		{
			Key:    "shares.integration",
			Sort:   Whole,
			High:   100,
			Unit:   "percent",
			Reason: "The usual split.",
		},
		{
			Key:    "shares.return",
			Sort:   Whole,
			High:   100,
			Unit:   "percent",
			Reason: "The usual split.",
		},
		{
			Key:    "call_timeout",
			Sort:   Span,
			Low:    1,
			High:   3600,
			Reason: "Wall of one call. A long answer of a slow local model takes minutes.",
		},
		{
			Key:    "idle_token",
			Sort:   Span,
			Low:    1,
			High:   3600,
			Reason: "Longest silence between two tokens, the first included: a local model may read its prompt for most of a minute. Never above call_timeout.",
		},
		{
			Key:    "attempts",
			Sort:   Whole,
			Low:    1,
			High:   10,
			Unit:   "per paid step",
			Reason: "The first included. Each needs a reservation of its own.",
		},
		{
			Key:    "dream_wall",
			Sort:   Span,
			Low:    60,
			High:   1 * day,
			Reason: "Wall of one dream, so that one that hangs gives the agent back by morning.",
		},
		{
			Key:    "empty_alarm",
			Sort:   Whole,
			High:   50,
			Unit:   "nights",
			Reason: "So many nights in a row that kept nothing raise the alarm: the event NothingAgain, and exit code 7 of oneiros health. One or two can be chance; three are a model that does not follow, a floor too high, or nothing new to dream about. 0 means 3.",
		},
		{
			Key:    "probe",
			Sort:   Whole,
			High:   2000,
			Unit:   "memories",
			Reason: "So many of the agent's own memories are asked for before and after each night, without a model. A night by which more than 2 of them, or 1 in 100, are no longer among the first 10 answers, or come behind what it made, is undone by itself. Costs no call; with 10,000 memories about 0.7 s of one core before a night and 0.15 s after it. 0 asks nothing.",
		},
	}
}
