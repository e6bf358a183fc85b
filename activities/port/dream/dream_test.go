package dream_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

var noon = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)

var nan = math.NaN()

var nouns = map[dream.Kind]dream.Item{
	dream.KindEpisode: new(dream.Episode), dream.KindSemantic: new(dream.Semantic),
	dream.KindFragment: new(dream.Fragment),
	dream.KindScenario: new(dream.Scenario), dream.KindHypothesis: new(dream.Hypothesis),
	dream.KindGist:     new(dream.Gist),
	dream.KindPlaybook: new(dream.Playbook), dream.KindPrediction: new(dream.Prediction),
	dream.KindJournal: new(dream.Journal),
	dream.KindRecord:  new(dream.Record), dream.KindMarker: new(dream.Marker),
	dream.KindProposal: new(dream.Proposal), dream.KindClaim: new(dream.Claim),
}

// fill sets every field to a non-zero value, so that a field that JSON loses or confuses is found.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(noon.Add(time.Duration(*n) * time.Second)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.String:
		v.SetString("text " + time.Duration(*n).String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 1000)
	}
}

func TestItemsSurviveAJSONRoundTrip(t *testing.T) {
	t.Parallel()
	require.Len(t, dream.Kinds, len(nouns))
	for _, kind := range dream.Kinds {
		item := reflect.New(reflect.TypeOf(nouns[kind]).Elem())
		n := 0
		fill(item.Elem(), &n)
		item.Interface().(dream.Item).Header().Revision = 0 // set by the store, not part of the JSON
		body, err := json.Marshal(item.Interface())
		require.NoError(t, err)
		got, err := dream.Decode(kind, body)
		require.NoError(t, err)
		require.Equal(t, item.Interface(), got, kind)
		require.NotEmpty(t, got.Text(), kind)
		require.Equal(t, item.Interface().(dream.Item).Marks(), got.Marks(), kind)
		require.NotEmpty(t, got.Header().ID)
	}
}

func TestADreamRecordHasAPublicNameAndKeepsItsStoredOne(t *testing.T) {
	t.Parallel()
	require.Equal(t, "night", string(dream.KindRecord), "rows and index keys contain it")
	require.Equal(t, "dream_record", dream.KindRecord.String())
	require.Equal(t, "a dream_record", fmt.Sprintf("a %s", dream.KindRecord))
	written, err := json.Marshal([]any{dream.KindRecord, dream.KindCounts{dream.KindRecord: 2}, dream.KindCounts(nil)})
	require.NoError(t, err)
	require.JSONEq(t, `["dream_record", {"dream_record":2}, null]`, string(written))
	for _, name := range []string{"night", "dream_record"} {
		var read map[dream.Kind]dream.Kind
		require.NoError(t, json.Unmarshal([]byte(`{"`+name+`":"`+name+`"}`), &read))
		require.Equal(t, map[dream.Kind]dream.Kind{dream.KindRecord: dream.KindRecord}, read)
		kind, valid := dream.ParseKind(name)
		require.True(t, valid)
		require.Equal(t, dream.KindRecord, kind)
	}
	_, valid := dream.ParseKind("ghost")
	require.False(t, valid)
	require.Contains(t, dream.KindNames(), "dream_record")
	require.NotContains(t, dream.KindNames(), "night")
}

func TestDecodingErrors(t *testing.T) {
	t.Parallel()
	_, err := dream.Decode("ghost", []byte("{}"))
	require.EqualError(t, err, `unknown kind of memory "ghost"`)
	_, err = dream.Decode(dream.KindGist, []byte(`{"content":7}`))
	require.ErrorContains(t, err, "decode gist")
}

func TestMarksOfEachKind(t *testing.T) {
	t.Parallel()
	due := noon.Add(time.Hour)
	for _, c := range []struct {
		item dream.Item
		want dream.Marks
	}{
		{
			&dream.Episode{Salience: .7, Surprise: .2, Session: "s"},
			dream.Marks{Salience: .7, Surprise: .2, Session: "s"},
		},
		{&dream.Episode{Origin: "talk/key/ann"}, dream.Marks{Owner: "talk/key/ann"}},
		{&dream.Episode{Origin: "diary.md:7"}, dream.Marks{}},
		{&dream.Semantic{Strength: .4, Due: due}, dream.Marks{Score: .4, Due: due}},
		{
			&dream.Fragment{Verdict: dream.Verdict{Composite: .3}, Status: dream.FragmentRaw},
			dream.Marks{Score: .3, Status: "raw"},
		},
		{&dream.Scenario{Score: .6, Kept: true}, dream.Marks{Score: .6, Status: "kept"}},
		{&dream.Scenario{Score: .6}, dream.Marks{Score: .6, Status: "dropped"}},
		{&dream.Hypothesis{Confidence: .25, Status: dream.HypothesisStaged}, dream.Marks{Score: .25, Status: "staged"}},
		{
			&dream.Prediction{Confidence: .3, Status: dream.PredictionOpen, Horizon: due, Session: "d"},
			dream.Marks{Score: .3, Status: "open", Due: due, Session: "d"},
		},
		{&dream.Record{Outcome: dream.Empty}, dream.Marks{Status: "empty"}},
	} {
		require.Equal(t, c.want, c.item.Marks())
	}
}

// The published defaults of the design.
func TestDefaultKnobs(t *testing.T) {
	t.Parallel()
	k := dream.DefaultKnobs()
	require.NoError(t, k.Validate())
	require.Equal(t, []float64{.15, 1.2, 1.5, .4, .95, .1, .4, .10, .15, .5, .7, .7, .6, .8}, []float64{
		k.BudgetFraction, k.InductionTemperature, k.TemperatureHigh, k.TemperatureLow, k.Cooling, k.MinP,
		k.ObserverTemperature, k.FragmentFloor,
		k.FragmentStart, k.CaptureTemperature, k.SalientAbove, k.Shuffle, k.ReplayAlpha, k.LastLookTemperature,
	})
	require.Equal(t, []int{3, 4, 80, 60, 200, 50, 20, 10}, []int{
		k.Cycles, k.Partials, k.PartialTokens, k.ObserverTokens, k.Recent, k.Salient, k.Decaying, k.MaxStaged,
	})
	require.Equal(t, budget.DefaultShares, k.Shares)
}

func TestEveryKnobOutOfRangeIsNamed(t *testing.T) {
	t.Parallel()
	k := dream.DefaultKnobs()
	k.Partials = 6
	k.PartialTokens = 20
	k.FragmentStart = .3
	k.MaxStaged = 11
	err := k.Validate()
	for _, name := range []string{
		"partials is 6", "partial_tokens is 20", "fragment_start is 0.3",
		"max_staged is 11",
	} {
		require.ErrorContains(t, err, name)
	}
}

func TestKnobsThatContradictEachOtherAreNamed(t *testing.T) {
	t.Parallel()
	for fault, turn := range map[string]func(*dream.Knobs){
		"cannot keep more scenarios":     func(k *dream.Knobs) { k.Keep = k.Branches + 1 },
		"silence cannot outlast":         func(k *dream.Knobs) { k.IdleToken = k.CallTimeout + time.Second },
		"shares of onset and return":     func(k *dream.Knobs) { k.BudgetFraction = .2 },
		"shares add up to":               func(k *dream.Knobs) { k.Shares.REM-- },
		"budget_fraction is NaN":         func(k *dream.Knobs) { k.BudgetFraction = nan },
		"half_life (hours) is 0":         func(k *dream.Knobs) { k.HalfLife = 0 },
		"cycles is -1":                   func(k *dream.Knobs) { k.Cycles = -1 },
		"temperature_high is 1.6":        func(k *dream.Knobs) { k.TemperatureHigh = 1.6 },
		"temperature_low is 0.2":         func(k *dream.Knobs) { k.TemperatureLow = .2 },
		"shown_characters is 10":         func(k *dream.Knobs) { k.ShownCharacters = 10 },
		"dream_wall (minutes) is 0":      func(k *dream.Knobs) { k.DreamWall = 0 },
		"attempts is 0":                  func(k *dream.Knobs) { k.Attempts = 0 },
		"mood_shift is 1.5":              func(k *dream.Knobs) { k.MoodShift = 1.5 },
		"observer_tokens is 5":           func(k *dream.Knobs) { k.ObserverTokens = 5 },
		"replay_alpha is 2; it must lie": func(k *dream.Knobs) { k.ReplayAlpha = 2 },
	} {
		k := dream.DefaultKnobs()
		turn(&k)
		require.ErrorContains(t, k.Validate(), fault)
	}
}

func TestAnInvalidAgentIsRefused(t *testing.T) {
	t.Parallel()
	good := dream.Agent{
		ID:     "a-1",
		Handle: "echo",
		Zone:   "UTC",
		Tier:   dream.Core,
		Caps:   dream.DefaultCaps,
	}
	require.NoError(t, good.Validate())
	for fault, change := range map[string]func(*dream.Agent){
		"handle \"Echo!\" must be":          func(a *dream.Agent) { a.Handle = "Echo!" },
		"id is empty":                       func(a *dream.Agent) { a.ID = "" },
		"tier \"\" must be":                 func(a *dream.Agent) { a.Tier = "" },
		"zone is empty":                     func(a *dream.Agent) { a.Zone = "" },
		"zone \"Mars/Olympus\" is not":      func(a *dream.Agent) { a.Zone = "Mars/Olympus" },
		"zone \"Local\" is not":             func(a *dream.Agent) { a.Zone = "Local" },
		"caps must not be negative":         func(a *dream.Agent) { a.Caps.Dream = -1 },
		"is above the cap of a day ($2.00)": func(a *dream.Agent) { a.Caps.Dream = 3 * budget.Dollar },
		"is above the cap of a month":       func(a *dream.Agent) { a.Caps.Day = 16 * budget.Dollar },
		"model role \"judge\" is unknown":   func(a *dream.Agent) { a.Models = map[dream.Role]string{"judge": "m"} },
		"vitality is 1.5; it must lie":      func(a *dream.Agent) { a.Vitality = new(1.5) },
		"vitality is -1; it must lie":       func(a *dream.Agent) { a.Vitality = new(-1.0) },
		"vitality is NaN; it must lie":      func(a *dream.Agent) { a.Vitality = &nan },
	} {
		a := good
		change(&a)
		require.ErrorContains(t, a.Validate(), fault)
	}
	good.Vitality = new(0.0)
	good.Models = map[dream.Role]string{}
	for _, role := range dream.Roles {
		good.Models[role] = "m"
	}
	require.NoError(t, good.Validate())
}

// $0.50 a dream, $2 an agent-day, $15 an agent-month.
func TestDefaultCaps(t *testing.T) {
	t.Parallel()
	require.Equal(t, dream.Caps{Dream: 500_000, Day: 2_000_000, Month: 15_000_000}, dream.DefaultCaps)
}

// The phases in the order they are dreamt.
func TestListsAreCompleteAndWithoutDuplicates(t *testing.T) {
	t.Parallel()
	require.Equal(t, []dream.Phase{"onset", "nrem", "rem", "integration", "return"}, dream.Phases)
	kinds, roles := slices.Clone(dream.Kinds), slices.Clone(dream.Roles)
	slices.Sort(kinds)
	slices.Sort(roles)
	require.Len(t, slices.Compact(kinds), 13)
	require.Len(t, slices.Compact(roles), 6)
	require.NoError(t, mood.PAD{}.Validate())
}
