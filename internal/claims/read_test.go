package claims_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

func TestACriterionInTheseWordsIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]dream.Check{
		"a new memory names the vane.":                   {Then: "the vane"},
		"No new memory names the vane":                   {Then: "the vane", Not: true},
		"3 new memories name the vane.":                  {Then: "the vane", Least: 3},
		"fewer than 3 new memories name the vane.":       {Then: "the vane", Least: 3, Not: true},
		"the next memory that names A1 also names B2.":   {When: "A1", Then: "B2"},
		"the next memory that names A1 does not name B2": {When: "A1", Then: "B2", Not: true},
		"a memory names the vane within 3 days of the next that names the kettle.": {
			When: "the kettle", Then: "the vane", Within: 3 * day,
		},
		"no memory names B2 within 12 hours of the next that names A1": {
			When: "A1", Then: "B2", Within: 12 * time.Hour, Not: true,
		},
		"A memory names B2 within a week of the next that names A1.": {When: "A1", Then: "B2", Within: 7 * day},
	} {
		got, ok := claims.Read(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
		require.NoError(t, claims.Validate(got), text)
		again, ok := claims.Read(claims.Describe(got))
		require.True(t, ok, claims.Describe(got))
		require.Equal(t, got, again, claims.Describe(got))
	}
	for _, text := range []string{
		"", "it rains", "some new memories name rain", "0 new memories name rain", "a memory names rain",
		"a memory names rain within 0 days of the next that names fog",
		"a memory names rain within 99999999999999999999 days of the next that names fog",
		"the next memory that names rain",
	} {
		_, ok := claims.Read(text)
		require.False(t, ok, text)
	}
}

// What Describe says of any valid check is read as that check.
func FuzzRead(f *testing.F) {
	f.Add("the kettle", "the vane", int64(3), uint8(2), true, "a new memory names rain")
	f.Fuzz(func(t *testing.T, when, then string, minutes int64, least uint8, not bool, text string) {
		if c, ok := claims.Read(text); ok && claims.Validate(c) == nil {
			require.NotEmpty(t, claims.Describe(c))
		}
		c := dream.Check{
			When:   when,
			Then:   then,
			Within: time.Duration(minutes) * time.Minute,
			Least:  int(least),
			Not:    not,
		}
		if claims.Validate(c) != nil {
			return
		}
		_, ok := claims.Read(claims.Describe(c))
		require.True(t, ok, claims.Describe(c))
	})
}
