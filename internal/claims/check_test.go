package claims_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

const day = 24 * time.Hour

var monday = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// lived makes one episode for each text, a day apart; an empty text is a day without one.
func lived(texts ...string) []claims.Episode {
	var all []claims.Episode
	for i, text := range texts {
		if text != "" {
			all = append(all, claims.Episode{
				ID: strings.Fields(text)[0], At: monday.Add(time.Duration(i) * day), Terms: claims.NameOf(text),
			})
		}
	}
	return all
}

func always(time.Time, time.Time) bool { return true }

func never(time.Time, time.Time) bool { return false }

func TestWhatBecomesOfACheck(t *testing.T) {
	t.Parallel()
	follows := dream.Check{When: "the kettle", Then: "the vane", Within: 2 * day}
	together := dream.Check{When: "Anna", Then: "the harbour"}
	for name, c := range map[string]struct {
		check   dream.Check
		lived   []claims.Episode
		after   int // days from the first episode's until now; the prediction is one hour older than that episode
		covered func(from, to time.Time) bool
		want    claims.Outcome
		shown   []string
	}{
		"what follows in time": {
			follows, lived("e1 kettle sang", "", "e2 The vane turned"), 2, always, claims.Right, []string{"e1", "e2"},
		},
		"what comes too late":   {follows, lived("e1 kettle", "", "", "e2 vane"), 3, always, claims.Wrong, []string{"e1"}},
		"the wait is not over":  {follows, lived("e1 kettle", "e2 rain"), 1, always, claims.Open, nil},
		"nothing came to see":   {follows, lived("e1 kettle"), 3, never, claims.Void, []string{"e1"}},
		"the condition is open": {follows, lived("e1 rain"), 3, always, claims.Open, nil},
		"the condition never arose": {
			follows, lived("e1 rain", "e2 vane"), 8, always, claims.Void, nil,
		},
		"what came before counts for nothing": {follows, lived("e1 vane", "e2 kettle"), 6, always, claims.Wrong, []string{"e2"}},
		"the same episode is not after it":    {follows, lived("e1 kettle and vane"), 4, always, claims.Wrong, []string{"e1"}},
		"together": {
			together, lived("e1 Anna at the harbour"), 0, always, claims.Right, []string{"e1"},
		},
		"the next that names one lacks the other": {
			together, lived("e1 Anna slept", "e2 Anna at the harbour"), 2, always, claims.Wrong, []string{"e1"},
		},
		"the same episode is seen whole": {
			together, lived("e1 Anna slept"), 1, never, claims.Wrong, []string{"e1"},
		},
		"it comes up again": {
			dream.Check{Then: "penicillin"}, lived("e1 rain", "e2 penicillin again"), 2, always, claims.Right, []string{"e2"},
		},
		"it does not come up": {dream.Check{Then: "penicillin"}, lived("e1 rain"), 8, always, claims.Wrong, nil},
		"it was not to come up": {
			dream.Check{Then: "penicillin", Not: true}, lived("e1 rain"), 8, always, claims.Right, nil,
		},
		"it came up all the same": {
			dream.Check{Then: "penicillin", Not: true}, lived("e1 penicillin"), 1, always, claims.Wrong, []string{"e1"},
		},
		"three times": {
			dream.Check{Then: "rain", Least: 3},
			lived("e1 rain", "e2 rain", "e3 rain", "e4 rain"), 4, always, claims.Right,
			[]string{"e1", "e2", "e3"},
		},
		"only twice": {
			dream.Check{Then: "rain", Least: 3}, lived("e1 rain", "e2 rain"), 8, always, claims.Wrong, []string{"e1", "e2"},
		},
		"a word of another name is not the name": {
			dream.Check{Then: "red kettle"}, lived("e1 red vane, grey kettle"), 8, always, claims.Wrong, nil,
		},
	} {
		from := monday.Add(-time.Hour)
		got := claims.Resolve(c.check, from, from.Add(7*day), monday.Add(time.Duration(c.after)*day+time.Minute), c.lived, c.covered)
		require.Equal(t, c.want, got.Outcome, name)
		require.Equal(t, c.shown, got.Evidence, name)
		require.Equal(t, c.want == claims.Void, got.Reason != "", name)
	}
}

func TestTheTrialsOfACheckDoNotOverlap(t *testing.T) {
	t.Parallel()
	texts := []string{"e0 kettle", "e1 kettle", "e2 vane", "e3 kettle", "e4 rain", "e5 rain", "e6 kettle", "e7 rain"}
	from, now := monday.Add(-time.Hour), monday.Add(7*day+time.Minute)
	got := claims.Trials(dream.Check{When: "kettle", Then: "vane", Within: 2 * day}, from, now, 7*day, lived(texts...), always)
	require.Len(t, got, 2, "the wait of the last has not ended")
	require.Equal(t, []string{"e0", "e2"}, got[0].Evidence)
	require.Equal(t, claims.Right, got[0].Outcome)
	require.Equal(t, []string{"e3"}, got[1].Evidence)
	require.Equal(t, claims.Wrong, got[1].Outcome)

	got = claims.Trials(dream.Check{Then: "rain"}, from, now, 3*day, lived(texts...), always)
	var outcomes []claims.Outcome
	for _, r := range got {
		outcomes = append(outcomes, r.Outcome)
	}
	require.Equal(t, []claims.Outcome{claims.Wrong, claims.Right, claims.Right, claims.Right}, outcomes)
}

func TestChecksThatSayTheSameAreOne(t *testing.T) {
	t.Parallel()
	same := func(a, b dream.Check) bool { return claims.Key(a) == claims.Key(b) }
	require.True(t, same(dream.Check{When: "The kettle", Then: "vanes"}, dream.Check{When: "vane", Then: "kettles"}))
	require.True(t, same(dream.Check{Then: "rain"}, dream.Check{Then: "the rain", Least: 1}))
	require.False(t, same(dream.Check{When: "kettle", Then: "vane", Within: day},
		dream.Check{When: "vane", Then: "kettle", Within: day}), "what follows has an order")
	require.False(t, same(dream.Check{Then: "rain"}, dream.Check{Then: "rain", Not: true}))
	require.False(t, same(dream.Check{Then: "rain"}, dream.Check{Then: "rain", Least: 2}))
}

func TestACheckThatCannotBeLookedUpIsRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]dream.Check{
		"then is \"\"":                       {When: "rain"},
		"then is \"the\"":                    {Then: "the"},
		"when is \"it\"":                     {When: "it", Then: "rain"},
		"within is -1m0s":                    {When: "a storm", Then: "rain", Within: -time.Minute},
		"within is 24h0m0s without when":     {Then: "rain", Within: day},
		"at_least is -1":                     {Then: "rain", Least: -1},
		"at_least is 2 for the same episode": {When: "a storm", Then: "rain", Least: 2},
		"within is 1m1s":                     {When: "a storm", Then: "rain", Within: time.Minute + time.Second},
		"at_least is 101":                    {Then: "rain", Least: 101},
		"when and then are both \"rain\"":    {When: "rain", Then: "rain"},
		"then is 81 bytes long; 80 at most":  {Then: strings.Repeat("x", 81)},
	} {
		require.ErrorContains(t, claims.Validate(c), want)
	}
	require.NoError(t, claims.Validate(dream.Check{When: "rain", Then: "the rain", Within: day}), "it may recur")
	require.NoError(t, claims.Validate(dream.Check{Then: "雨"}))
}

func TestACopyShowsNothingAnew(t *testing.T) {
	t.Parallel()
	const long = "Dear reader, the famous kettle of our old harbour workshop comes with a vane this week"
	for name, c := range map[string]struct {
		lived []claims.Episode
		days  []int // of the episodes that are kept
	}{
		"short words on other days": {lived("The kettle sang.", "Rain came.", "The kettle sang."), []int{0, 1, 2}},
		"a long text on other days": {lived(long+".", "Rain came.", long+"!", "Fog came.", long), []int{0, 1, 3}},
		"a long text with another word": {
			lived(long, "Rain came.", long+", on Monday"), []int{0, 1, 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var days []int
			for _, e := range claims.WithoutCopies(c.lived) {
				days = append(days, int(e.At.Sub(monday)/day))
			}
			require.Equal(t, c.days, days)
		})
	}
}
