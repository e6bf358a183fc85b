package review_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/recall"
	"github.com/seed-56a03226/oneiros/internal/review"
)

const boatClaim = "The old boat does not come through the winter."

// stages adds a hypothesis that rests on these predictions.
func (l *scene) stages(id, claim string, predictions ...string) {
	l.Helper()
	h := &dream.Hypothesis{
		Head: dream.Head{
			ID:      id,
			Agent:   "a1",
			Kind:    dream.KindHypothesis,
			At:      evening,
			State:   dream.Live,
			Taint:   dream.FromDream,
			Dream:   "dream/echo/0001",
			Phase:   dream.Integration,
			Sources: predictions,
		},
		Claim: claim, Confidence: .2, Status: dream.HypothesisStaged,
	}
	_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: h.Dream, Add: []dream.Item{h}})
	require.NoError(l, err)
}

func (l *scene) hypothesis(id string) *dream.Hypothesis {
	l.Helper()
	h, err := memory.One[*dream.Hypothesis](l.Context(), l.store, "a1", id)
	require.NoError(l, err)
	return h
}

// inProse adds a prediction of a dream in prose that rests on an episode, which is lived before it.
func (l *scene) inProse(id string, taint dream.Taint) {
	l.Helper()
	l.lives("ep_of_"+id, -1, taint, "What "+id+" rests on.")
	p := &dream.Prediction{
		Head: dream.Head{
			ID:    id,
			Agent: "a1",
			Kind:  dream.KindPrediction,
			At:    evening,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: "dream/echo/0001",
			Phase: dream.REM,
		},
		Source:     dream.Creative,
		Claim:      boatClaim,
		Criterion:  "somebody says that the boat sank",
		Horizon:    evening.Add(14 * day),
		Confidence: .3,
		Session:    "dream/echo/0001",
		Episodes:   []string{"ep_of_" + id},
		Status:     dream.PredictionOpen,
	}
	_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: p.Dream, Add: []dream.Item{p}})
	require.NoError(l, err)
}

// decides resolves a prediction a day after the evening, or later, by an episode of its own.
func (l *scene) decides(id, status, because string) error {
	_, err := l.Resolve(l.Context(), "a1", id, prediction.Verdict{
		Status: status, By: dream.ByPerson, Evidence: because, At: l.now,
	})
	return err
}

func (l *scene) looks(days float64) {
	l.Helper()
	l.now = evening.Add(time.Duration(days * float64(day)))
	_, err := l.LookUp(l.Context(), "a1")
	require.NoError(l, err)
}

func TestAHypothesisWithACheckBecomesWhatItsClaimBecomes(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		id := l.foretells("A storm is followed by a leak.", stormThenLeak, 40*day)
		l.stages("h1", "The roof is why the cellar is wet.", id)
		h := l.hypothesis("h1")
		h.Claims = []string{claims.ID("a1", stormThenLeak)}
		_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: h.Dream, Change: []dream.Item{h}})
		require.NoError(l, err)

		end := l.storms(1, 3, true)
		l.claim(end)
		require.Equal(l, dream.HypothesisStaged, l.hypothesis("h1").Status, "its claim is tried")
		end = l.storms(end, 9, true)
		c := l.claim(end)
		require.Equal(l, dream.ClaimPassed, c.Status)
		h = l.hypothesis("h1")
		require.Equal(l, dream.HypothesisPromoted, h.Status)
		require.Equal(l, []string{c.Playbook}, h.Playbook)
		require.Len(l, l.playbook(), 1, "the entry is the claim's")
		require.NotContains(l, l.playbook()[0].Content, "roof", "no sentence of a model becomes knowledge")

		l.claim(l.storms(end, 13, false))
		h = l.hypothesis("h1")
		require.Equal(l, dream.HypothesisRetired, h.Status)
		require.Equal(l, dream.Archived, h.State)
		require.Equal(l, "it comes true too seldom since it passed", h.Reason)
		require.Equal(l, 3, l.announced(event.HypothesisChanged{}), "the outcome of its prediction, passed, retired")
	})
}

func TestAHypothesisWhoseClaimIsDroppedIsRefuted(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.past()
		id := l.foretells("A storm is followed by a leak.", stormThenLeak, 30*day)
		l.stages("h1", "The roof is why.", id)
		h := l.hypothesis("h1")
		h.Claims = []string{claims.ID("a1", stormThenLeak)}
		_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: h.Dream, Change: []dream.Item{h}})
		require.NoError(l, err)
		require.Equal(l, dream.ClaimDropped, l.claim(l.storms(1, 12, false)).Status)
		require.Equal(l, dream.HypothesisRefuted, l.hypothesis("h1").Status)
		require.Equal(l, "it comes true no more often than chance", l.hypothesis("h1").Reason)
	})
}

// confirmed are three confirmations of a hypothesis in prose, each from another episode and with another event.
func (l *scene) confirmed(taints ...dream.Taint) {
	l.Helper()
	var ids []string
	for i, taint := range taints {
		ids = append(ids, fmt.Sprintf("p%d", i+1))
		l.inProse(ids[i], taint)
	}
	l.stages("h1", boatClaim, ids...)
	for i, id := range ids {
		l.now = evening.Add(time.Duration(i+1) * day)
		require.NoError(l, l.decides(id, dream.PredictionRight, fmt.Sprintf("I saw it at pier %d.", i)))
	}
}

func TestAHypothesisInProseIsPromotedByTheStrictPresetAlone(t *testing.T) {
	t.Parallel()
	for _, gate := range []string{"", dream.GateMeasured, dream.GateStrict} {
		t.Run(gate, func(t *testing.T) {
			onBoth(t, func(l *scene) {
				l.Rules.Gate = gate
				l.confirmed(dream.FromHuman, dream.FromTool, dream.FromHuman)
				h := l.hypothesis("h1")
				require.Len(l, h.Confirmed, 3)
				if gate != dream.GateStrict {
					require.Equal(l, dream.HypothesisStaged, h.Status)
					require.Empty(l, l.playbook())
					return
				}
				require.Equal(l, dream.HypothesisPromoted, h.Status)
				require.Len(l, l.playbook(), 1)
				entry := l.playbook()[0]
				require.Equal(l, []string{entry.ID}, h.Playbook)
				require.Equal(l, "The old boat does not come through the winter (dreamt; held 3 of 3 times since 20 March "+
					"2026, not measured against chance)", entry.Content)
				require.Equal(l, "h1", entry.Hypothesis)
				found, err := recall.Find(l.Context(), l.store, recall.Question{
					Agent: "a1", Text: "Does the old boat come through the winter?", Limit: 6,
					Filter: memory.Filter{Kinds: recall.Kinds, Dreamt: memory.NoneDreamt},
				})
				require.NoError(l, err)
				require.Contains(l, idsOf(found), entry.ID, "it is recalled while awake")
			})
		})
	}
}

func TestWhatWasPromotedInProseIsWatchedAndRetired(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.Rules.Gate = dream.GateStrict
		l.confirmed(dream.FromHuman, dream.FromTool, dream.FromHuman)
		for i := range 2 {
			l.looks(float64(10 + i))
			items, err := l.store.Find(l.Context(), memory.Query{
				Agent: "a1", Kinds: []dream.Kind{dream.KindPrediction}, Statuses: []string{dream.PredictionOpen},
			})
			require.NoError(l, err)
			open := memory.As[*dream.Prediction](items)
			require.Len(l, open, 1, "it is foretold anew, once")
			require.Equal(l, boatClaim, open[0].Claim)
			require.Equal(l, "somebody says that the boat sank", open[0].Criterion)
			require.Equal(l, dream.HypothesisPromoted, l.hypothesis("h1").Status)
			require.NoError(l, l.decides(open[0].ID, dream.PredictionWrong, fmt.Sprintf("It swam on day %d.", i)))
		}
		h := l.hypothesis("h1")
		require.Equal(l, dream.HypothesisRetired, h.Status)
		require.Equal(l, dream.Archived, h.State)
		require.Empty(l, l.playbook(), "what stopped holding is acted by no longer")
		l.looks(20)
		require.Empty(l, l.playbook())
	})
}

func TestOnlyWhatPeopleAndToolsGaveSupportsAHypothesis(t *testing.T) {
	t.Parallel()
	for name, taint := range map[string]dream.Taint{
		"web": dream.FromWeb, "dream": dream.FromDream, "agent": dream.FromAgent,
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(l *scene) {
				l.Rules.Gate = dream.GateStrict
				l.confirmed(dream.FromHuman, dream.FromHuman, taint)
				h := l.hypothesis("h1")
				require.Equal(l, dream.HypothesisStaged, h.Status)
				require.Len(l, prediction.Independent(h), 2)
				require.Empty(l, l.playbook())
			})
		})
	}
}

func TestWhatIsPromotedFromTheTalksOfSeveralIsToldToNobody(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.Rules.Gate = dream.GateStrict
		for _, id := range []string{"p1", "p2"} {
			e := &dream.Episode{
				Head: dream.Head{
					ID:    "ep_talk_" + id,
					Agent: "a1",
					Kind:  dream.KindEpisode,
					At:    evening.Add(-day),
					State: dream.Live,
					Taint: dream.FromHuman,
				},
				Content: "A word of " + id, Origin: dream.TalkOrigin + "app/" + id, Salience: .5,
			}
			_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: "test", Add: []dream.Item{e}})
			require.NoError(l, err)
		}
		for _, id := range []string{"p1", "p2", "p3"} {
			l.inProse(id, dream.FromHuman)
		}
		for _, id := range []string{"p1", "p2"} {
			p, err := memory.One[*dream.Prediction](l.Context(), l.store, "a1", id)
			require.NoError(l, err)
			p.Episodes = append(p.Episodes, "ep_talk_"+id)
			_, err = l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: "test", Change: []dream.Item{p}})
			require.NoError(l, err)
		}
		l.stages("h1", boatClaim, "p1", "p2", "p3")
		for i, id := range []string{"p3", "p1"} {
			require.NoError(l, l.decides(id, dream.PredictionRight, fmt.Sprintf("I saw it at pier %d.", i)))
		}
		require.Equal(l, []string{"talk/app/p1", "talk/app/p2"}, l.hypothesis("h1").Owners,
			"also of those whose prediction is open: its words may be theirs")
		require.NoError(l, l.decides("p2", dream.PredictionRight, "I saw it at pier 2."))
		require.Len(l, l.playbook(), 1)
		require.Equal(l, dream.FromDream, l.playbook()[0].Taint)
	})
}

func TestAHypothesisThatNothingDecidesLapsesAndMayBeRestored(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.inProse("p1", dream.FromHuman)
		l.stages("h1", boatClaim, "p1")
		l.now = evening.Add(15 * day)
		require.NoError(l, l.decides("p1", dream.PredictionVoid, "nobody knows"))
		l.looks(15)
		h := l.hypothesis("h1")
		require.Equal(l, []string{dream.HypothesisLapsed, string(dream.Archived)}, []string{h.Status, string(h.State)})
		require.Equal(l, "no prediction that it rests on is open any more", h.Reason)
		require.Equal(l, 1, l.announced(event.HypothesisChanged{}))
		l.looks(16)
		require.Equal(l, h.Revision, l.hypothesis("h1").Revision, "it lapses once")

		restoring := review.Restorer{Memory: l.store, Now: func() time.Time { return l.now }}
		_, err := restoring.Restore(l.Context(), "a1", "h1")
		require.NoError(l, err)
		l.looks(17)
		require.Equal(l, dream.HypothesisStaged, l.hypothesis("h1").Status)
		l.looks(120)
		require.Equal(l, dream.HypothesisLapsed, l.hypothesis("h1").Status)
	})
}

func TestAnUndoneHypothesisLeavesThePlaybook(t *testing.T) {
	onBoth(t, func(l *scene) {
		l.Rules.Gate = dream.GateStrict
		l.confirmed(dream.FromHuman, dream.FromTool, dream.FromHuman)
		require.Len(l, l.playbook(), 1)
		h := l.hypothesis("h1")
		h.State = dream.Archived
		_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: "undo", Change: []dream.Item{h}})
		require.NoError(l, err)
		l.looks(5)
		require.Empty(l, l.playbook())
	})
}

func TestAKillAtAnyStepOfAPromotionLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 3; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(at, after), func(t *testing.T) {
				onBoth(t, func(l *scene) {
					l.Rules.Gate = dream.GateStrict
					l.confirmed(dream.FromHuman, dream.FromTool)
					l.inProse("p3", dream.FromHuman)
					h := l.hypothesis("h1")
					h.Sources = append(h.Sources, "p3")
					_, err := l.store.Commit(l.Context(), memory.Write{Agent: "a1", Cause: h.Dream, Change: []dream.Item{h}})
					require.NoError(l, err)
					l.stages("h2", "Nothing can come of this one.")
					l.now = evening.Add(9 * day)

					m := &mortal{at: at, after: after}
					killed := l.Resolver
					killed.Memory = mortalStore{l.store, m}
					_, err = killed.Resolve(l.Context(), "a1", "p3", prediction.Verdict{
						Status: dream.PredictionRight, By: dream.ByPerson, Evidence: "I saw it at pier 3.", At: l.now,
					})
					if err == nil {
						_, err = killed.LookUp(l.Context(), "a1")
					}
					if m.dead {
						require.ErrorIs(l, err, errKilled)
					} else {
						require.NoError(l, err)
					}
					require.NoError(l, l.decides("p3", dream.PredictionRight, "I saw it at pier 3."))
					l.looks(9)
					l.looks(9)
					require.Equal(l, dream.HypothesisPromoted, l.hypothesis("h1").Status)
					require.Equal(l, dream.HypothesisLapsed, l.hypothesis("h2").Status)
					require.Len(l, l.playbook(), 1)
					require.Equal(l, 4, l.announced(event.HypothesisChanged{}), "three outcomes, and one that lapsed")
					require.Equal(l, 2, l.hypothesis("h2").Revision)
				})
			})
		}
	}
}
