package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// dive is the onset of a hardened dream whose activities succeed at once; it logs their requests.
type dive struct {
	env      *testsuite.TestWorkflowEnvironment
	log      []string
	aim      *dream.Depth
	sense    func(cycle, turn int) *hypnagogia.Sense
	partial  func(context.Context, activities.StepRequest) (activities.StepResult, error)
	captured []string // the fragments that the lucid capture was asked about
	risen    activities.Ending
}

func newDive(t *testing.T, aim *dream.Depth) *dive {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	d := &dive{env: suite.NewTestWorkflowEnvironment(), aim: aim}
	d.env.SetStartTime(time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC))
	d.env.RegisterWorkflowWithOptions(Dream, workflow.RegisterOptions{Name: DreamType})
	activityName := func(name string, do any) {
		d.env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
	}
	activityName(activities.DreamBegin, func(context.Context, activities.BeginRequest) (activities.BeginResult, error) {
		return activities.BeginResult{Remaining: 1 << 40}, nil
	})
	activityName(activities.DreamFinish,
		func(_ context.Context, r activities.FinishRequest) (activities.FinishResult, error) {
			d.risen = r.Ending
			return activities.FinishResult{}, nil
		})
	activityName(activities.DreamRecordProgress,
		func(_ context.Context, r activities.ProgressRequest) ([]dream.Tally, error) {
			for _, m := range r.Marks {
				d.mark(m)
			}
			return make([]dream.Tally, len(r.Marks)), nil
		})
	activityName(activities.OnsetGather,
		func(_ context.Context, r activities.GatherRequest) (activities.GatherResult, error) {
			g := activities.GatherResult{Shown: 3, Selected: 3, Cycle: r.Cycle, Same: r.Cycle > 0}
			if r.Cycle == 0 {
				g.Depth = d.aim
			}
			if m := r.Deeper; m != nil {
				d.logf("%s to %s at %.3f", m.From, m.To, m.Temperature)
			}
			return g, nil
		})
	activityName(activities.OnsetInduce, func(_ context.Context, r activities.StepRequest) (activities.StepResult, error) {
		d.logf("induction at %.3f, requested at %q", r.Temperature, r.Stage)
		return activities.StepResult{Made: []activities.MadeItem{{ID: "f", Score: .5, Kept: true}}}, nil
	})
	d.partial = func(_ context.Context, r activities.StepRequest) (activities.StepResult, error) {
		if r.Turn == 1 {
			d.logf("cycle %d from %.3f, requested at %q", r.Cycle, r.Temperature, r.Stage)
		}
		return activities.StepResult{}, nil
	}
	activityName(activities.OnsetPartials,
		func(ctx context.Context, r activities.SideBySideRequest) (activities.SideBySideResult, error) {
			return activities.SideBySide(ctx, r, 0,
				func(ctx context.Context, s activities.SideStep) (activities.StepResult, error) {
					var one activities.StepRequest
					if err := json.Unmarshal(s.Request, &one); err != nil || s.Activity != activities.OnsetPartial {
						return activities.StepResult{}, fmt.Errorf("%s: %w", s.Activity, err)
					}
					return d.partial(ctx, one)
				})
		})
	activityName(activities.OnsetJudge, func(_ context.Context, r activities.StepRequest) (activities.StepResult, error) {
		made := activities.MadeItem{ID: fmt.Sprintf("f%d.%d", r.Cycle, r.Turn), Score: .5, Kept: true}
		if d.sense != nil {
			made.Sense = d.sense(r.Cycle, r.Turn)
		}
		return activities.StepResult{Made: []activities.MadeItem{made}}, nil
	})
	step := func(context.Context, activities.StepRequest) (activities.StepResult, error) {
		return activities.StepResult{}, nil
	}
	activityName(activities.AwakeningSurface, step)
	activityName(activities.OnsetCapture,
		func(_ context.Context, r activities.CaptureRequest) (activities.StepResult, error) {
			d.captured = r.Fragments
			return activities.StepResult{}, nil
		})
	activityName(activities.AwakeningSettleMood,
		func(context.Context, activities.SettleMoodRequest) (activities.SettleMoodResult, error) {
			return activities.SettleMoodResult{}, nil
		})
	return d
}

func (d *dive) logf(format string, args ...any) { d.log = append(d.log, fmt.Sprintf(format, args...)) }

func (d *dive) mark(m activities.Mark) {
	if m.Phase != dream.Onset {
		return
	}
	if m.Deeper != nil {
		d.logf("%s to %s at %.3f", m.Deeper.From, m.Deeper.To, m.Deeper.Temperature)
	}
	if m.Dali == nil {
		return
	}
	for _, move := range m.Moves {
		d.logf("%s to %s at %.3f", move.From, move.To, move.Temperature)
	}
	d.logf("interrupt %d, too deep: %q", m.Dali.Cycle, m.Dali.TooDeep)
}

// run runs the dream and returns the log of the onset. The phases after the onset have no activities here and fail.
func (d *dive) run(t *testing.T, rule *activities.DepthRule) string {
	t.Helper()
	o := testSpec("dream/echo/0001")
	o.Tier, o.Depth = dream.Hardened, rule
	d.env.ExecuteWorkflow(Dream, o)
	require.True(t, d.env.IsWorkflowCompleted())
	return strings.Join(d.log, "\n") + "\n"
}

func adaptive() *activities.DepthRule {
	return &activities.DepthRule{Prior: hypnagogia.Prior(3)}
}

// The onset descends to the target and no deeper, with the temperatures of each stage.
func TestAnOnsetDescendsToItsTargetAndNoDeeper(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		aim  dream.Depth
		want string
	}{
		{dream.Depth{Stage: dream.Shallow, Cycles: 1}, `induction at 1.000, requested at "shallow"
cycle 1 from 1.000, requested at "shallow"
interrupt 1, too deep: ""
`},
		{dream.Depth{Stage: dream.Transitional, Cycles: 2}, `shallow to transitional at 1.200
induction at 1.200, requested at "transitional"
cycle 1 from 1.200, requested at "transitional"
interrupt 1, too deep: ""
cycle 2 from 1.140, requested at "transitional"
interrupt 2, too deep: ""
`},
		{dream.Depth{Stage: dream.Peak, Cycles: 3}, `shallow to transitional at 1.200
induction at 1.200, requested at "transitional"
transitional to peak at 1.500
cycle 1 from 1.500, requested at "peak"
interrupt 1, too deep: ""
cycle 2 from 1.425, requested at "peak"
interrupt 2, too deep: ""
cycle 3 from 1.354, requested at "peak"
interrupt 3, too deep: ""
`},
	} {
		d := newDive(t, &c.aim)
		require.Equal(t, c.want, d.run(t, adaptive()))
		value, err := d.env.QueryWorkflow(QueryProgress)
		require.NoError(t, err)
		var p Progress
		require.NoError(t, value.Get(&p))
		require.Equal(t, c.aim.Stage, p.Target)
	}
}

// A cycle that goes too deep triggers a Dali interrupt and a return to the peak at a lower temperature.
func TestAnOnsetThatGoesTooDeepComesBackCooler(t *testing.T) {
	t.Parallel()
	d := newDive(t, &dream.Depth{Stage: dream.Peak, Cycles: 3})
	d.sense = func(cycle, turn int) *hypnagogia.Sense {
		if cycle == 1 && turn > 1 {
			return &hypnagogia.Sense{Coherence: .05, Fresh: 1}
		}
		return &hypnagogia.Sense{Coherence: .9, Fresh: 1}
	}
	require.Equal(t, `shallow to transitional at 1.200
induction at 1.200, requested at "transitional"
transitional to peak at 1.500
cycle 1 from 1.500, requested at "peak"
peak to too_deep at 1.500
too_deep to peak at 1.286
interrupt 1, too deep: "incoherent"
cycle 2 from 1.286, requested at "peak"
interrupt 2, too deep: ""
cycle 3 from 1.222, requested at "peak"
interrupt 3, too deep: ""
`, d.run(t, adaptive()))
	value, err := d.env.QueryWorkflow(QueryProgress)
	require.NoError(t, err)
	var p Progress
	require.NoError(t, value.Get(&p))
	require.Equal(t, 1, p.Collapses)
	require.Equal(t, dream.Peak, p.Stage)
}

// One incoherent thought of four is not a collapse.
func TestOneIncoherentThoughtIsNotTooDeep(t *testing.T) {
	t.Parallel()
	d := newDive(t, &dream.Depth{Stage: dream.Peak, Cycles: 1})
	d.sense = func(_, turn int) *hypnagogia.Sense {
		if turn < 3 {
			return &hypnagogia.Sense{Coherence: .05, Fresh: 1}
		}
		return &hypnagogia.Sense{Coherence: .9, Fresh: 1}
	}
	require.NotContains(t, d.run(t, adaptive()), "too_deep")
}

// A spec without a depth rule goes to the peak, whatever its partials contain, as recorded histories did.
func TestASpecWithoutDepthRuleGoesToThePeakAndNeverCollapses(t *testing.T) {
	t.Parallel()
	d := newDive(t, nil)
	d.sense = func(int, int) *hypnagogia.Sense { return &hypnagogia.Sense{} }
	require.Equal(t, `shallow to transitional at 1.200
induction at 1.200, requested at ""
transitional to peak at 1.500
cycle 1 from 1.500, requested at ""
interrupt 1, too deep: ""
cycle 2 from 1.425, requested at ""
interrupt 2, too deep: ""
cycle 3 from 1.354, requested at ""
interrupt 3, too deep: ""
`, d.run(t, nil))
}

func TestTheLiveSummaryShowsTheDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at        dream.Stage
		phase     dream.Phase
		collapses int
		want      string
	}{
		{dream.Shallow, dream.Onset, 0, ", down to peak, now shallow"},
		{dream.Peak, dream.Onset, 0, ", down to peak"},
		{dream.Peak, dream.Onset, 1, ", down to peak, too deep once"},
		{dream.Peak, dream.NREM, 2, ", down to peak, too deep 2 times"},
	} {
		d := descent{aim: &dream.Depth{Stage: dream.Peak}, collapses: c.collapses}
		require.Equal(t, c.want, d.summary(Progress{Phase: c.phase, Stage: c.at}))
	}
}

// Every generating call is at least as hot as its stage's lower bound, also without a depth rule.
func TestAnInductionIsNeverBelowTheTemperatureOfItsStage(t *testing.T) {
	t.Parallel()
	for knob, want := range map[float64]float64{.3: 1, 1.2: 1.2, 1.4: 1.4} {
		d := descent{spec: &activities.Spec{Knobs: dream.Knobs{InductionTemperature: knob}}}
		require.InDelta(t, want, d.inductionTemperature(), 1e-9)
	}
}

func TestADreamWhosePartialsAllFailedSaysWhy(t *testing.T) {
	t.Parallel()
	unreadable := func(reason string) func(context.Context, activities.StepRequest) (activities.StepResult, error) {
		return func(context.Context, activities.StepRequest) (activities.StepResult, error) {
			return activities.StepResult{CallOutcome: activities.CallOutcome{
				End:    activities.EndUnreadable,
				Reason: reason,
			}}, nil
		}
	}
	for _, c := range []struct {
		name, want string
		partial    func(context.Context, activities.StepRequest) (activities.StepResult, error)
	}{
		{"an unreadable answer with a reason", "no idea was in it", unreadable("no idea was in it")},
		{"an unreadable answer without a reason", "the answer could not be read", unreadable("")},
		{
			"a failure without a message", activities.FailMissing,
			func(context.Context, activities.StepRequest) (activities.StepResult, error) {
				return activities.StepResult{},
					temporal.NewNonRetryableApplicationError("", activities.FailMissing, nil)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDive(t, &dream.Depth{Stage: dream.Shallow, Cycles: 1})
			d.partial = c.partial
			d.run(t, adaptive())
			require.Equal(t, dream.Aborted, d.risen.Outcome)
			require.Equal(t, "all 4 partials of Dali cycle 1 failed: "+c.want, d.risen.Reason)
		})
	}
}

func TestOnlyPartialsWithoutAVerdictHaveAJudgeOfTheirOwn(t *testing.T) {
	t.Parallel()
	d := newDive(t, &dream.Depth{Stage: dream.Shallow, Cycles: 1})
	var judged []int
	d.partial = func(_ context.Context, r activities.StepRequest) (activities.StepResult, error) {
		if r.Turn == 2 || r.JudgeTemperature == nil { // its judge gave no verdict
			return activities.StepResult{}, nil
		}
		made := activities.MadeItem{ID: fmt.Sprint("at once ", r.Turn), Kept: r.Turn != 3}
		return activities.StepResult{Judged: &activities.StepResult{Made: []activities.MadeItem{made}}}, nil
	}
	d.env.OnActivity(activities.OnsetJudge, mock.Anything, mock.Anything).Return(
		func(_ context.Context, r activities.StepRequest) (activities.StepResult, error) {
			judged = append(judged, r.Turn)
			return activities.StepResult{Made: []activities.MadeItem{{ID: "alone 2", Kept: true}}}, nil
		})
	d.run(t, adaptive())
	require.Equal(t, []int{2}, judged)
	require.Equal(t, []string{"f", "at once 1", "alone 2", "at once 4"}, d.captured)
}

// A failure of one step of a round is counted as it is in an activity of its own, and the others count.
func TestAFailedPartialDoesNotUndoTheOthersOfItsCycle(t *testing.T) {
	t.Parallel()
	d := newDive(t, &dream.Depth{Stage: dream.Shallow, Cycles: 1})
	d.partial = func(_ context.Context, r activities.StepRequest) (activities.StepResult, error) {
		if r.Turn == 3 {
			return activities.StepResult{}, temporal.NewNonRetryableApplicationError("gone", activities.FailMissing, nil)
		}
		return activities.StepResult{}, nil
	}
	d.run(t, adaptive())
	require.Equal(t, []string{"f", "f1.1", "f1.2", "f1.4"}, d.captured)
}

// A dream that is refused for good by its provider ends, whichever step of a round was refused.
func TestARefusedPartialEndsTheDream(t *testing.T) {
	t.Parallel()
	d := newDive(t, &dream.Depth{Stage: dream.Shallow, Cycles: 1})
	d.partial = func(_ context.Context, r activities.StepRequest) (activities.StepResult, error) {
		if r.Turn == 2 {
			return activities.StepResult{}, temporal.NewNonRetryableApplicationError("no key", activities.FailRefused, nil)
		}
		return activities.StepResult{}, nil
	}
	d.run(t, adaptive())
	require.Equal(t, dream.Aborted, d.risen.Outcome)
	require.Equal(t, "no key", d.risen.Reason)
}
