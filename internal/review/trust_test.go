package review_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
)

func TestOnlyTrustedWordsAreEvidence(t *testing.T) {
	onBoth(t, func(l *scene) {
		for i, c := range []struct {
			name, origin, speaker, text string
			trust                       []string
			counts                      bool
		}{
			{"anybody's, where nobody is named", "talk/app/guest", "user", "A leak.", nil, true},
			{"a principal's", "talk/anna/", "user", "A leak.", []string{"anna"}, true},
			{"every user of a principal", "talk/app/ben", "user", "A leak.", []string{"app"}, true},
			{"one user of a principal", "talk/app/ben", "user", "A leak.", []string{"app/ben"}, true},
			{"another user of the principal", "talk/app/guest", "user", "A leak.", []string{"app/ben"}, false},
			{"another principal's", "talk/mallory/", "user", "A leak.", []string{"anna"}, false},
			{"one who calls himself a principal", "talk/app/anna", "anna", "A leak.", []string{"anna"}, false},
			{"without a key", "talk//", "user", "A leak.", []string{"local"}, true},
			{"without a key, not named", "talk//", "user", "A leak.", []string{"anna"}, false},
			{"a diary", "diary.md:3", "", "A leak.", []string{"anna"}, true},
			{"a speaker of a chat", "chat.json:1", "Anna", "Anna: A leak.", []string{"Anna"}, true},
			{"another speaker of a chat", "chat.json:1", "Ben", "Ben: A leak.", []string{"Anna"}, false},
			{"one who answers in a chat", "chat.json:1", "Anna", "Anna: Hello.\nBen: A leak.", []string{"Anna"}, false},
		} {
			id := l.foretells(c.name, dream.Check{Then: "leak"}, 7*day)
			e := &dream.Episode{
				Head: dream.Head{
					ID:    "ep_" + string(rune('a'+i)),
					Agent: "a1",
					Kind:  dream.KindEpisode,
					At:    evening.Add(day),
					State: dream.Live,
					Taint: dream.FromHuman,
				},
				Content: c.text, Origin: c.origin, Speaker: c.speaker,
			}
			_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: "test", Add: []dream.Item{e}})
			require.NoError(l, err)
			l.Rules.Trust = c.trust
			want := dream.PredictionOpen
			if c.counts {
				want = dream.PredictionRight
			}
			require.Equal(l, want, l.becomes(id, 2).Status, c.name)
			e, err = memory.One[*dream.Episode](l.Context(), l.store, "a1", e.ID)
			require.NoError(l, err)
			e.State = dream.Archived
			_, err = l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: "test", Change: []dream.Item{e}})
			require.NoError(l, err)
			_, err = l.Resolve(l.Context(), "a1", id,
				prediction.Verdict{Status: dream.PredictionVoid, By: dream.ByPerson, Again: true})
			require.NoError(l, err)
			l.now = evening
		}
	})
	require.NoError(t, review.ValidateTrust([]string{"anna", "app/ben", "local", "Anna Lee"}))
	require.ErrorContains(t, review.ValidateTrust([]string{"anna", "/ben"}), `"/ben" names nobody`)
	require.ErrorContains(t, review.ValidateTrust([]string{""}), "names nobody")
	require.ErrorContains(t, review.ValidateTrust([]string{"app/"}), "names nobody")
}

func TestMoreThanMayBeOpenIsVoid(t *testing.T) {
	onBoth(t, func(l *scene) {
		checked := l.foretells("A leak.", dream.Check{Then: "leak"}, 7*day)
		prose := func(claim string) string {
			p, _, err := l.AddPrediction(l.Context(), l.agent, review.PredictionRequest{
				Claim:      claim,
				Criterion:  "Somebody says so.",
				Horizon:    evening.Add(7 * day),
				Confidence: .3,
				By:         dream.ByPerson,
			})
			require.NoError(l, err)
			return p.ID
		}
		first := prose("Something happens.")
		l.now = evening.Add(1)
		second := prose("Something else happens.")
		n, err := l.DropSurplus(l.Context(), "a1")
		require.NoError(l, err)
		require.Zero(l, n, "no bound")
		l.Rules.MostOpen = 2
		n, err = l.DropSurplus(l.Context(), "a1")
		require.NoError(l, err)
		require.Equal(l, 1, n)
		for id, want := range map[string]string{
			checked: dream.PredictionOpen, second: dream.PredictionOpen, first: dream.PredictionVoid,
		} {
			p, err := memory.One[*dream.Prediction](l.Context(), l.store, "a1", id)
			require.NoError(l, err)
			require.Equal(l, want, p.Status)
			if id == first {
				require.Equal(l, dream.ByLimit, p.ResolvedBy)
				require.Contains(l, p.Evidence, "3 predictions were open, 2 may be (predictions.most_open)")
			}
		}
		n, err = l.DropSurplus(l.Context(), "a1")
		require.NoError(l, err)
		require.Zero(l, n)
	})
}
