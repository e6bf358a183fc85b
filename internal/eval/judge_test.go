package eval_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/eval"
)

// claimsOf are so many claims that share no name, each with the same outcomes.
func claimsOf(n, hits, trials, decoyHits, decoyTrials int) []eval.Claim {
	var all []eval.Claim
	for i := range n {
		all = append(all, eval.Claim{
			ID:          fmt.Sprintf("c%d", i),
			Status:      "passed",
			When:        fmt.Sprintf("cause%d", i),
			Then:        fmt.Sprintf("effect%d", i),
			Hits:        hits,
			Trials:      trials,
			DecoyHits:   decoyHits,
			DecoyTrials: decoyTrials,
		})
	}
	return all
}

// answersOf are the answers to n questions of which the first are not found.
func answersOf(n, lost int) []eval.Recalled {
	var all []eval.Recalled
	for i := range n {
		place := 1 + i%10
		if i < lost {
			place = 0
		}
		all = append(all, eval.Recalled{Question: fmt.Sprintf("q%d", i), Place: place})
	}
	return all
}

// clear is a result in which every arm that dreams foretells well, the placebo by chance, and recall stays.
func clear() eval.Result {
	r := eval.Result{Version: eval.Version, Plan: plan(), Finished: true}
	for _, name := range eval.Names() {
		a := eval.Arm{Name: name, Answers: answersOf(144, 10)}
		switch name {
		case eval.Placebo:
			a.Claims = claimsOf(10, 1, 5, 3, 40)
		case eval.NREM, eval.NoOnset, eval.All:
			a.Claims = claimsOf(10, 4, 5, 3, 40)
		}
		r.Arms = append(r.Arms, a)
	}
	return r
}

func TestTheWordOfAnArm(t *testing.T) {
	t.Parallel()
	const (
		dedupe  = 1
		all     = 4
		placebo = 5
	)
	for name, c := range map[string]struct {
		change func(r *eval.Result)
		of     string
		word   eval.Word
		reason string
	}{
		"helps": {
			change: func(*eval.Result) {},
			of:     eval.All, word: eval.Helps,
			reason: "more often than chance and than what the placebo foretold, and recall is not worse: " +
				"40 of 50 outcomes came true (80 %), of decoys 8 %, +73 points",
		},
		"a placebo that is silent": {
			change: func(r *eval.Result) { r.Arms[placebo].Claims = nil },
			of:     eval.All, word: eval.Helps,
			reason: "than chance (nothing that the placebo foretold was decided)",
		},
		"a placebo of one claim": {
			change: func(r *eval.Result) { r.Arms[placebo].Claims = r.Arms[placebo].Claims[:1] },
			of:     eval.All, word: eval.TooLittle, reason: "too few to compare with",
		},
		"a placebo that is as good": {
			change: func(r *eval.Result) { r.Arms[placebo].Claims = claimsOf(10, 4, 5, 3, 40) },
			of:     eval.All, word: eval.TooLittle, reason: "not clearly better than the placebo (+73 points)",
		},
		"a placebo that is as good, many outcomes": {
			change: func(r *eval.Result) {
				for i := range r.Arms {
					r.Arms[i].Claims = claimsOf(60, 16, 20, 3, 40)
				}
			},
			of: eval.All, word: eval.NoDifference, reason: "the margins (10 and 1 points)",
		},
		"a good placebo is no help itself": {
			change: func(r *eval.Result) { r.Arms[placebo].Claims = claimsOf(10, 5, 5, 0, 40) },
			of:     eval.Placebo, word: eval.TooLittle, reason: "sentences alone foretell something",
		},
		"a placebo by chance": {
			change: func(r *eval.Result) { r.Arms[placebo].Claims = claimsOf(60, 1, 10, 4, 40) },
			of:     eval.Placebo, word: eval.NoDifference, reason: "This is the control",
		},
		"no placebo": {
			change: func(r *eval.Result) { r.Arms = r.Arms[:placebo] },
			of:     eval.All, word: eval.TooLittle, reason: "no finished placebo",
		},
		"a placebo that was dropped": {
			change: func(r *eval.Result) { r.Arms[placebo].Dropped = "the provider refused" },
			of:     eval.All, word: eval.TooLittle, reason: "no finished placebo",
		},
		"no arm raw": {
			change: func(r *eval.Result) { r.Arms = r.Arms[dedupe:] },
			of:     eval.All, word: eval.TooLittle, reason: "no finished arm raw",
		},
		"an arm that was dropped": {
			change: func(r *eval.Result) { r.Arms[all].Dropped = "its money was spent" },
			of:     eval.All, word: eval.TooLittle, reason: "was not finished: its money was spent.",
		},
		"an evaluation that goes on": {
			change: func(r *eval.Result) { r.Finished = false },
			of:     eval.All, word: eval.TooLittle, reason: "is not finished",
		},
		"few outcomes": {
			change: func(r *eval.Result) { r.Arms[all].Claims = claimsOf(4, 4, 4, 0, 40) },
			of:     eval.All, word: eval.TooLittle,
			reason: "Too few outcomes: 16 in 4 groups of claims, of at least 20 in 4",
		},
		"claims that share a name": {
			change: func(r *eval.Result) {
				for i := range r.Arms[all].Claims {
					r.Arms[all].Claims[i].Then = "the Wind"
				}
			},
			of: eval.All, word: eval.TooLittle, reason: "50 in 1 groups of claims",
		},
		"no outcome": {
			change: func(r *eval.Result) { r.Arms[all].Claims = claimsOf(9, 0, 0, 0, 40) },
			of:     eval.All, word: eval.TooLittle, reason: "nothing that it foretold was decided on the judging days",
		},
		"chance": {
			change: func(r *eval.Result) { r.Arms[all].Claims = claimsOf(10, 1, 5, 8, 40) },
			of:     eval.All, word: eval.TooLittle, reason: "no more often than chance may explain",
		},
		"chance with many outcomes": {
			change: func(r *eval.Result) {
				r.Arms[all].Claims, r.Arms[placebo].Claims = claimsOf(60, 1, 10, 4, 40), claimsOf(60, 1, 10, 4, 40)
			},
			of: eval.All, word: eval.NoDifference, reason: "Neither foretelling nor recall",
		},
		"less often than chance": {
			change: func(r *eval.Result) { r.Arms[all].Claims = claimsOf(30, 1, 10, 16, 40) },
			of:     eval.All, word: eval.Harms, reason: "less often than chance",
		},
		"finds less": {
			change: func(r *eval.Result) { r.Arms[all].Answers = answersOf(144, 25) },
			of:     eval.All, word: eval.Harms,
			reason: "of 144 questions it finds 119 among the first ten and raw 134 (15 lost, 0 gained, -10.4 points [",
		},
		"finds a little less": {
			change: func(r *eval.Result) { r.Arms[all].Answers = answersOf(144, 13) },
			of:     eval.All, word: eval.TooLittle, reason: "may be worse by more than the margin (2 of 144 questions)",
		},
		"loses as many as it may": {
			change: func(r *eval.Result) { r.Arms[all].Answers = answersOf(144, 12) },
			of:     eval.All, word: eval.Helps, reason: "2 lost",
		},
		"looks harmful": {
			change: func(r *eval.Result) { r.Arms[all].Answers = answersOf(144, 17) },
			of:     eval.All, word: eval.TooLittle, reason: "not clearly enough for one of 5 arms",
		},
		"few questions": {
			change: func(r *eval.Result) {
				for i := range r.Arms {
					r.Arms[i].Answers = answersOf(99, 10)
				}
			},
			of: eval.All, word: eval.TooLittle, reason: "99 questions are too few",
		},
		"many questions, a loss beyond the margin cannot be excluded": {
			change: func(r *eval.Result) {
				for i := range r.Arms {
					r.Arms[i].Answers = answersOf(1000, 100)
				}
				r.Arms[all].Answers = answersOf(1000, 108)
			},
			of: eval.All, word: eval.TooLittle, reason: "more than the margin (1 points)",
		},
		"copies left out, nothing lost": {
			change: func(*eval.Result) {},
			of:     eval.Dedupe, word: eval.NoDifference, reason: "no more than the margin (2 of 144 questions)",
		},
		"copies left out, more found": {
			change: func(r *eval.Result) { r.Arms[dedupe].Answers = answersOf(144, 0) },
			of:     eval.Dedupe, word: eval.Helps, reason: "finds more than raw",
		},
		"copies left out, a few more found": {
			change: func(r *eval.Result) { r.Arms[dedupe].Answers = answersOf(144, 5) },
			of:     eval.Dedupe, word: eval.TooLittle, reason: "may differ by more than the margin",
		},
		"copies left out, less found": {
			change: func(r *eval.Result) { r.Arms[dedupe].Answers = answersOf(144, 30) },
			of:     eval.Dedupe, word: eval.Harms, reason: "20 lost",
		},
		"copies left out, few questions": {
			change: func(r *eval.Result) { r.Arms[dedupe].Answers = answersOf(60, 10) },
			of:     eval.Dedupe, word: eval.TooLittle, reason: "Only 60 questions; 100 are needed.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := clear()
			c.change(&r)
			require.NoError(t, r.Validate())
			a, found := eval.Judge(r).Arm(c.of)
			require.True(t, found)
			require.Equal(t, c.word, a.Word, a.Reason)
			require.Contains(t, a.Reason, c.reason)
		})
	}
}

func TestAVerdictHasItsFigures(t *testing.T) {
	t.Parallel()
	r := clear()
	r.Arms[4].Claims[0].Status = "tried"
	r.Arms[4].Spent = 1234
	v := eval.Judge(r)
	require.Equal(t, r.Plan.Hash(), v.Plan)
	require.Equal(t, eval.Recall{Questions: 144, Found: 134, First: 14}, v.Raw)
	require.Len(t, v.Arms, 5)
	a, _ := v.Arm(eval.All)
	require.InDelta(t, .8, a.Rate, 1e-9)
	require.InDelta(t, 3./40, a.Chance, 1e-9)
	require.InDelta(t, .725, a.Lift.Mean, 1e-9)
	require.InDelta(t, .6, a.OverPlacebo.Mean, 1e-9)
	require.NotNil(t, a.PassedLift)
	require.Zero(t, a.RecallChange.Mean)
	a.Reason, a.RecallChange = "", nil
	a.Lift, a.OverPlacebo, a.PassedLift = nil, nil, nil
	require.Equal(t, eval.Assessment{
		Name:     eval.All,
		Word:     eval.Helps,
		Spent:    1234,
		Claims:   10,
		Passed:   9,
		Judged:   10,
		Groups:   10,
		Outcomes: 50,
		Hits:     40,
		Rate:     a.Rate,
		Chance:   a.Chance,
		Recall:   v.Raw,
	}, a)
	_, found := v.Arm(eval.Raw)
	require.False(t, found)
	require.Equal(t, v, eval.Judge(r), "the same result has the same verdict")
}

// Were decoys pooled, claims of what comes up often would look good at chance.
func TestEachClaimIsComparedWithItsOwnDecoys(t *testing.T) {
	t.Parallel()
	r := clear()
	often, seldom := claimsOf(5, 10, 20, 10, 20), claimsOf(5, 0, 2, 0, 100)
	for i := range seldom {
		seldom[i].ID += "s"
		seldom[i].When += "s"
		seldom[i].Then += "s"
	}
	r.Arms[4].Claims = append(often, seldom...)
	a, _ := eval.Judge(r).Arm(eval.All)
	require.InDelta(t, 0, a.Lift.Mean, 1e-9)
	require.Equal(t, 10, a.Groups)
}

// The figures stay figures, whatever an arm did: JSON knows no infinity, and an interval holds its estimate.
func TestAnyResultHasAVerdict(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		r := eval.Result{Version: eval.Version, Plan: plan(), Finished: true}
		r.Plan.Resamples = 200
		for _, name := range eval.Names() {
			if dice.IntN(10) == 0 {
				continue
			}
			a := eval.Arm{Name: name, Answers: answersOf(dice.IntN(5)*dice.IntN(60), dice.IntN(20))}
			for i := range dice.IntN(6) {
				trials, decoyTrials := dice.IntN(12), dice.IntN(40)
				c := claimsOf(1, dice.IntN(trials+1), trials, dice.IntN(decoyTrials+1), decoyTrials)[0]
				c.ID, c.When, c.Then = fmt.Sprint(i), fmt.Sprintf("n%d", dice.IntN(9)), fmt.Sprintf("n%d", dice.IntN(9))
				a.Claims = append(a.Claims, c)
			}
			r.Arms = append(r.Arms, a)
		}
		require.NoError(t, r.Validate())
		v := eval.Judge(r)
		_, err := json.Marshal(v)
		require.NoError(t, err)
		for _, a := range v.Arms {
			require.NotEmpty(t, a.Reason)
			for _, e := range []*eval.Estimate{a.Lift, a.OverPlacebo, a.PassedLift, a.RecallChange} {
				if e != nil {
					require.False(t, math.IsNaN(e.Low+e.High+e.Mean), "%+v", a)
					require.LessOrEqual(t, e.Low, e.High)
				}
			}
			require.False(t, a.Word == eval.Helps && a.Name == eval.Placebo)
		}
	}
}

func TestThePlanHasAHash(t *testing.T) {
	t.Parallel()
	first := plan().Hash()
	require.Len(t, first, 64)
	moved := plan()
	zone := time.FixedZone("CEST", 7200)
	moved.From, moved.Split, moved.To = moved.From.In(zone), moved.Split.In(zone), moved.To.In(zone)
	require.Equal(t, first, moved.Hash(), "the same instants")
	bare := plan()
	bare.Models = nil
	empty := bare
	empty.Models = map[string]string{}
	require.Equal(t, bare.Hash(), empty.Hash())
	seen := map[string]bool{first: true}
	for _, change := range []func(p *eval.Plan){
		func(p *eval.Plan) { p.Subject = "oncall" },
		func(p *eval.Plan) { p.Nights++ },
		func(p *eval.Plan) { p.Days++ },
		func(p *eval.Plan) { p.JudgingDays++ },
		func(p *eval.Plan) { p.From = p.From.Add(1) },
		func(p *eval.Plan) { p.Split = p.Split.Add(1) },
		func(p *eval.Plan) { p.To = p.To.Add(1) },
		func(p *eval.Plan) { p.Questions++ },
		func(p *eval.Plan) { p.Seed++ },
		func(p *eval.Plan) { p.Resamples++ },
		func(p *eval.Plan) { p.RecallMargin = .02 },
		func(p *eval.Plan) { p.LiftMargin = .2 },
		func(p *eval.Plan) { p.MostLost++ },
		func(p *eval.Plan) { p.Budget++ },
		func(p *eval.Plan) { p.Models = map[string]string{"dream": "another"} },
		func(p *eval.Plan) { p.Knobs = "4567" },
	} {
		p := plan()
		change(&p)
		require.False(t, seen[p.Hash()], "%+v", p)
		seen[p.Hash()] = true
	}
}

func TestAResultIsRead(t *testing.T) {
	t.Parallel()
	want := clear()
	data, err := json.Marshal(want)
	require.NoError(t, err)
	got, err := eval.Read(data)
	require.NoError(t, err)
	require.Equal(t, want, got)

	for fault, change := range map[string]func(r *eval.Result){
		"version is 2; this program reads version 1": func(r *eval.Result) { r.Version = 2 },
		`arm "rem" is none of: raw, dedupe`:          func(r *eval.Result) { r.Arms[1].Name = "rem" },
		`arm "raw" stands there twice`:               func(r *eval.Result) { r.Arms[1].Name = eval.Raw },
		"subject is empty":                           func(r *eval.Result) { r.Plan.Subject = "" },
		"nights fit":                                 func(r *eval.Result) { r.Plan.Nights = 29 },
		"split is":                                   func(r *eval.Result) { r.Plan.Split = r.Plan.From },
		"resamples is 10; it must lie":               func(r *eval.Result) { r.Plan.Resamples = 10 },
		"recall_margin is 1":                         func(r *eval.Result) { r.Plan.RecallMargin = 1 },
		"lift_margin is 0":                           func(r *eval.Result) { r.Plan.LiftMargin = 0 },
		"most_lost is -1":                            func(r *eval.Result) { r.Plan.MostLost = -1 },
		`arm "raw": spent_micros is -1`:              func(r *eval.Result) { r.Arms[0].Spent = -1 },
		`question "q0": place is 11`:                 func(r *eval.Result) { r.Arms[0].Answers[0].Place = 11 },
		`question "q1": it stands there twice`:       func(r *eval.Result) { r.Arms[0].Answers[0].Question = "q1" },
		`claim "c1": it stands there twice`:          func(r *eval.Result) { r.Arms[4].Claims[0].ID = "c1" },
		`claim "c0": status is "dropped"`:            func(r *eval.Result) { r.Arms[4].Claims[0].Status = "dropped" },
		`claim "c0": hits is 6 of 5 trials`:          func(r *eval.Result) { r.Arms[4].Claims[0].Hits = 6 },
		`decoy_hits is -1 of 40`:                     func(r *eval.Result) { r.Arms[4].Claims[0].DecoyHits = -1 },
	} {
		r := clear()
		change(&r)
		data, err := json.Marshal(r)
		require.NoError(t, err)
		_, err = eval.Read(data)
		require.ErrorContains(t, err, fault)
	}
	nan := plan()
	nan.LiftMargin = math.NaN()
	require.ErrorContains(t, nan.Validate(), "lift_margin is NaN")
	for _, text := range []string{"", "[]", `{"versoin": 1}`, string(data) + "{}"} {
		_, err := eval.Read([]byte(text))
		require.ErrorContains(t, err, "no result of an evaluation", text)
	}
}

func FuzzRead(f *testing.F) {
	r := clear()
	r.Plan.Resamples = 200
	for i := range r.Arms { // a long text would take long to vary
		r.Arms[i].Answers = r.Arms[i].Answers[:3]
		r.Arms[i].Claims = r.Arms[i].Claims[:min(2, len(r.Arms[i].Claims))]
	}
	data, err := json.Marshal(r)
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"version":1,"plan":{"models":{"a":"b"}},"arms":[{"name":"all","claims":[{"trials":9}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := eval.Read(data)
		if err != nil || r.Plan.Resamples > 1000 || len(r.Arms) > 10 {
			return
		}
		v := eval.Judge(r)
		_, err = json.Marshal(v)
		require.NoError(t, err)
	})
}

func TestNothingIsVisibleOfTooLittle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    eval.Expected
		want eval.Detectable
	}{
		{eval.Expected{}, eval.Detectable{}},
		{eval.Expected{Questions: 4, Claims: 3, Outcomes: 90, Arms: 4}, eval.Detectable{}},
		{eval.Expected{Questions: 4, Claims: 9, Outcomes: 19, Arms: 4}, eval.Detectable{}},
	} {
		require.Equal(t, c.want, eval.Power(c.e, .01))
	}
	last := eval.Detectable{Lift: 1, OverPlacebo: 1, Loss: 1}
	for _, times := range []int{1, 2, 4, 8, 16} {
		e := eval.Expected{Questions: 100 * times, Claims: 10 * times, Outcomes: 40 * times, Arms: 4}
		s := eval.Power(e, .01)
		require.Less(t, s.Lift, last.Lift)
		require.Less(t, s.OverPlacebo, last.OverPlacebo)
		require.Less(t, s.Loss, last.Loss)
		require.Positive(t, s.Lift*s.OverPlacebo*s.Loss)
		last = s
	}
}
