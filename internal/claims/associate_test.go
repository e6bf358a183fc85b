package claims_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// diary makes an episode a day of three words drawn from a vocabulary, and what more names of that day.
func diary(days int, more func(day int) string) []claims.Text {
	dice := rand.New(rand.NewPCG(7, 8))
	var all []claims.Text
	for d := range days {
		text := more(d)
		for range 3 {
			text += fmt.Sprintf(" w%c%c", 'a'+dice.IntN(5), 'a'+dice.IntN(8))
		}
		all = append(all, claims.Text{ID: fmt.Sprintf("e%02d", d), At: monday.Add(time.Duration(d) * day), Content: text})
	}
	return all
}

func TestWhatIsNamedTogetherMoreOftenThanChanceIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more func(day int) string
		want []string // descriptions
	}{
		"nothing": {func(int) string { return "" }, nil},
		"together": {func(d int) string {
			switch d % 6 {
			case 0:
				return "The rain came in. Is the vane stuck?"
			case 3:
				return "the rain"
			}
			return ""
		}, []string{"the next memory that names stuck also names rain."}},
		"in the next episode": {func(d int) string {
			switch d % 7 {
			case 2:
				return "Somebody rang a Bell."
			case 3:
				return "Then a ferry."
			}
			return ""
		}, []string{"a memory names ferry within 1 day of the next that names Bell."}},
		"a name of two words": {func(d int) string {
			if d%5 == 0 {
				return "Door Dash"
			}
			return ""
		}, nil},
		"on one day only is no regularity": {func(d int) string {
			if d == 5 {
				return "kettle lamp."
			}
			return ""
		}, nil},
	} {
		var got []string
		for _, a := range claims.Associate(diary(60, c.more)) {
			got = append(got, claims.Describe(a.Check))
		}
		require.Subset(t, got, c.want, name)
		if c.want == nil {
			require.Empty(t, got, name)
		}
	}
}

func TestAnAssociationSaysWhatItRestsOn(t *testing.T) {
	t.Parallel()
	found := claims.Associate(diary(60, func(d int) string {
		switch {
		case d%6 == 0 && d != 30:
			return "a kettle beside our lamp"
		case d%6 == 0:
			return "kettle"
		case d%20 == 1:
			return "lamp"
		}
		return ""
	}))
	require.Len(t, found, 1)
	a := found[0]
	require.Equal(t, dream.Check{When: "kettle", Then: "lamp"}, a.Check, "the rarer name is the condition")
	require.Equal(t, 9, a.Hits)
	require.Equal(t, 10, a.Trials)
	require.InDelta(t, 4./52, a.Base, 1e-9, "3 of the 50 other episodes, with one of each kind added")
	require.InDelta(t, (9+2*a.Base)/12, a.Rate(), 1e-9)
	require.Equal(t, []string{"e54", "e48", "e42", "e36"}, a.Evidence)
	require.Equal(t, 12, a.Days(), "kettles come up every 5.9 days")
	require.Less(t, a.P, 1e-6)
}

// Of associations that are due to chance at most a tenth may be among those found; where there are none, none is found
// in at least nine of ten lives.
func TestALifeWithoutRegularitiesHasNoAssociations(t *testing.T) {
	t.Parallel()
	lives := 0
	const most = 60
	for seed := range uint64(most) {
		dice := rand.New(rand.NewPCG(seed, 9))
		var all []claims.Text
		for i := range 150 {
			var words []string
			for w := range 30 {
				if dice.Float64() < .02+.01*float64(w%12) {
					words = append(words, fmt.Sprintf("x%c%c", 'a'+w/6, 'a'+w%6))
				}
			}
			at := monday.Add(time.Duration(i)*7*time.Hour + time.Duration(dice.IntN(300))*time.Minute)
			all = append(all, claims.Text{ID: fmt.Sprint(i), At: at, Content: strings.Join(words, " ")})
		}
		if len(claims.Associate(all)) > 0 {
			lives++
		}
	}
	require.LessOrEqual(t, lives, most/5, "of %d lives; a tenth is expected for each of five waits at most", most)
}

func TestTheSameEpisodesGiveTheSameAssociations(t *testing.T) {
	t.Parallel()
	texts := diary(80, func(d int) string {
		if d%4 == 0 {
			return "storm, leak, ladder and bucket"
		}
		return ""
	})
	first := claims.Associate(texts)
	require.NotEmpty(t, first)
	for range 5 {
		require.Equal(t, first, claims.Associate(texts))
	}
	require.Empty(t, claims.Associate(nil))
}

func TestCopiesOfAnEpisodeShowNoRegularity(t *testing.T) {
	t.Parallel()
	var all []claims.Text
	for _, text := range diary(40, func(d int) string {
		if d == 7 || d == 22 {
			return "kettle, lamp,"
		}
		return ""
	}) {
		for range 3 {
			all = append(all, text)
		}
	}
	require.Empty(t, claims.Associate(all))
}

func FuzzAssociate(f *testing.F) {
	f.Add("rain vane\nrain\n\nrain vane\nкот 雨 naïve", int64(3600))
	f.Fuzz(func(t *testing.T, text string, step int64) {
		var all []claims.Text
		for i, line := range strings.Split(text, "\n") {
			at := monday.Add(time.Duration(i) * time.Duration(step%(1<<40)))
			if len(all) > 0 && at.Before(all[len(all)-1].At) {
				at = all[len(all)-1].At
			}
			all = append(all, claims.Text{ID: fmt.Sprint(i), At: at, Content: line})
		}
		for _, a := range claims.Associate(all) {
			require.NoError(t, claims.Validate(a.Check))
			read, ok := claims.Read(claims.Describe(a.Check))
			require.True(t, ok)
			require.Equal(t, a.Check, read)
			require.LessOrEqual(t, a.Hits, a.Trials)
		}
	})
}

func BenchmarkAssociate(b *testing.B) {
	dice := rand.New(rand.NewPCG(1, 1))
	var all []claims.Text
	for i := range claims.MostTexts {
		var words strings.Builder
		for range 60 {
			n := int(8000 * dice.Float64() * dice.Float64() * dice.Float64())
			fmt.Fprintf(&words, "w%c%c%c ", 'a'+n/400, 'a'+n/20%20, 'a'+n%20)
		}
		all = append(all, claims.Text{ID: fmt.Sprint(i), At: monday.Add(time.Duration(i) * time.Hour), Content: words.String()})
	}
	for b.Loop() {
		claims.Associate(all)
	}
}
