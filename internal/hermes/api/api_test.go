package api_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
)

// notOurs are fields that plain OpenAI servers have and Oneiros does not.
var notOurs = []string{"Model.context_length", "Model.pricing"}

// Every field that Hermes reads is one that the server's description has.
func TestTheResourcesAreThoseOfTheDescription(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "openapi.json"))
	require.NoError(t, err)
	var described struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(text, &described))
	for name, resource := range map[string]any{
		"Model":        api.Model{},
		"Status":       api.Status{},
		"Kept":         api.Kept{},
		"RecallCounts": api.RecallCounts{},

		"Emotion":      api.Emotion{},
		"Session":      api.Session{},
		"JournalEntry": api.JournalEntry{},
		"Dream":        api.Dream{},

		"Record":   api.Record{},
		"Usage":    api.Usage{},
		"Counters": api.Counters{},
		"Summary":  api.Summary{},

		"Fragment": api.Fragment{},
		"Verdict":  api.Verdict{},
		"Scenario": api.Scenario{},
		"Insight":  api.Insight{},

		"Claim":            api.Claim{},
		"ClaimOutcome":     api.ClaimOutcome{},
		"ClaimExplanation": api.ClaimExplanation{},

		"Decoy":      api.Decoy{},
		"SourceText": api.SourceText{},
		"Morning":    api.Morning{},
		"Finding":    api.Finding{},

		"Sighting":   api.Sighting{},
		"Who":        api.Who{},
		"RoomView":   api.Room{},
		"MemberView": api.Member{},

		"DormancyState": api.Dormancy{},
		"Post":          api.Post{},
		"Memory":        api.Memory{},
		"AddedMemory":   api.Added{},

		"Prediction": api.Prediction{},
		"Event":      api.Event{},
	} {
		properties := slices.Collect(maps.Keys(described.Components.Schemas[name].Properties))
		require.NotEmpty(t, properties, name)
		for _, field := range fieldsOf(reflect.TypeOf(resource)) {
			if !slices.Contains(notOurs, name+"."+field) {
				require.Contains(t, properties, field, name)
			}
		}
	}
}

func fieldsOf(of reflect.Type) []string {
	var fields []string
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			fields = append(fields, fieldsOf(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	return fields
}

func TestPricesAreNumbersOrStrings(t *testing.T) {
	t.Parallel()
	var m api.Model
	require.NoError(t, json.Unmarshal([]byte(`{"id":"a","pricing":{"prompt":"0.0000001","completion":2e-7,"image":"1"},"new":{}}`), &m))
	require.InDelta(t, 1e-7, float64(m.Pricing.Prompt), 1e-12)
	require.InDelta(t, 2e-7, float64(m.Pricing.Completion), 1e-12)
	require.False(t, m.Free())
	require.NoError(t, json.Unmarshal([]byte(`{"pricing":{"prompt":"0","completion":null}}`), &m))
	require.True(t, m.Free())
	require.False(t, api.Model{}.Free(), "a price that is not stated is not zero")
	require.ErrorContains(t, json.Unmarshal([]byte(`{"pricing":{"prompt":"free"}}`), &m), "a price must be a number of dollars per token")
}

func TestRefusalsNameTheRole(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]api.RoleError{
		"This needs a key of the role operator.":                                {Need: "operator"},
		"this needs a key of role owner; this one has role client":              {Need: "owner", Has: "client"},
		"read the room: only an owner of the room may remove somebody from it.": {},
	} {
		got := api.RoleRefusal(words)
		want.Says = words
		require.Equal(t, want, got)
		require.ErrorIs(t, got, api.ErrRole)
		require.NotEmpty(t, got.Error())
	}
	require.NotErrorIs(t, errors.New("x"), api.ErrRole)
	require.ErrorIs(t, api.MissingError{What: "rooms"}, api.ErrMissing)
}

func TestSpansAreRoundedUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                       "1 second",
		400 * time.Millisecond:  "1 second",
		8400 * time.Millisecond: "9 seconds",
		2 * time.Minute:         "120 seconds",

		121 * time.Second: "3 minutes",
		3 * time.Hour:     "3 hours",
		25 * time.Hour:    "25 hours",
	} {
		require.Equal(t, want, api.Span(d))
	}
}

func TestOnlyAnEventOfQualityIsOne(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 1, 0, 0, 0, time.UTC)
	e := event.New("id", "a", "dream/iris/0005", at, event.DreamQuality{Dreams: 5, Metrics: []event.QualityMetric{{Name: "novelty"}}})
	q, ok := api.QualityOf(api.Event{Event: e})
	require.True(t, ok)
	require.Equal(t, "dream/iris/0005", q.Dream)
	require.Equal(t, 5, q.Dreams)
	_, ok = api.QualityOf(api.Event{Event: event.New("id", "a", "", at, event.AgentAsleep{})})
	require.False(t, ok)
	e.Data = json.RawMessage(`[`)
	_, ok = api.QualityOf(api.Event{Event: e})
	require.False(t, ok)
}
