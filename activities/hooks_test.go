package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/hooks"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/inflight"
)

// warden is a hook with scripted answers that records what it was shown.
type warden struct {
	veto     string
	concerns []activities.Concern
	err      error
	hangs    bool
	panics   bool

	entries  []activities.HookEntry
	captures []activities.HookCapture
	exits    []activities.HookExit
}

func (w *warden) Entry(ctx context.Context, e activities.HookEntry) (string, error) {
	w.entries = append(w.entries, e)
	return w.veto, w.answer(ctx)
}

func (w *warden) Capture(ctx context.Context, c activities.HookCapture) ([]activities.Concern, error) {
	w.captures = append(w.captures, c)
	return w.concerns, w.answer(ctx)
}

func (w *warden) Exit(ctx context.Context, x activities.HookExit) error {
	w.exits = append(w.exits, x)
	return w.answer(ctx)
}

func (w *warden) answer(ctx context.Context) error {
	if w.panics {
		panic("it broke")
	}
	if w.hangs {
		<-ctx.Done()
	}
	return w.err
}

func ruleOf(name, silent string) activities.HookRule {
	return activities.HookRule{Name: name, At: activities.Borders, Timeout: activities.ShortestHook, Silent: silent}
}

// guarded begins a dream with hooks.
func guarded(t *testing.T, called activities.Hooks,
	rules ...activities.HookRule,
) (*rig, *hooks.Hooks, activities.Stretch) {
	t.Helper()
	r := newRig(t)
	r.live(3)
	r.ports.Hooks = called
	o := r.spec(1, tonight)
	o.Hooks = rules
	require.NoError(t, o.Validate())
	return r, &hooks.Hooks{Ports: r.ports}, r.begin(o)
}

func (r *rig) silences() []event.HookTimedOut {
	r.t.Helper()
	events, err := r.store.Events(context.Background(), "a", 0, 0)
	require.NoError(r.t, err)
	var silent []event.HookTimedOut
	for _, e := range events {
		var p event.HookTimedOut
		if e.Type == p.EventType() {
			require.NoError(r.t, json.Unmarshal(e.Data, &p))
			silent = append(silent, p)
		}
	}
	return silent
}

func TestAnEntryHookMayVetoAndGetsCopies(t *testing.T) {
	t.Parallel()
	w := &warden{veto: "the day has been long"}
	r, f, s := guarded(t, activities.Hooks{"night-watch": w, "other": &warden{}},
		ruleOf("other", activities.SilentAllow),
		ruleOf("night-watch", activities.SilentAllow))
	for range 2 { // a repetition does not call the hooks again
		result, err := f.Entry(context.Background(), activities.EntryHookRequest{
			Stretch:   s,
			Onset:     70,
			Remaining: 900,
			Cycles:    3,
			Gathered:  activities.GatherResult{Shown: 12},
		})
		require.NoError(t, err)
		require.Equal(t, "night-watch", result.Scope)
		require.Equal(t, "the day has been long", result.Reason)
	}
	require.Len(t, w.entries, 1)
	seen := w.entries[0]
	require.Equal(t, "dream/a/0001", seen.Dream)
	require.Equal(t, 12, seen.Memories)
	require.Len(t, seen.Depths, len(dream.Behaviours))
	require.Empty(t, r.silences())
}

func TestTheDefaultOfASilentHookAppliesAndIsAnnounced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hooks  activities.Hooks
		silent string
		vetoes bool
	}{
		"hangs, allows":   {activities.Hooks{"h": &warden{hangs: true}}, activities.SilentAllow, false},
		"hangs, refuses":  {activities.Hooks{"h": &warden{hangs: true}}, activities.SilentRefuse, true},
		"panics, refuses": {activities.Hooks{"h": &warden{panics: true}}, activities.SilentRefuse, true},
		"fails, allows": {
			activities.Hooks{"h": &warden{err: errors.New("no")}, "not in the spec": &warden{veto: "x"}},
			activities.SilentAllow,
			false,
		},
		"unknown, refuses": {activities.Hooks{}, activities.SilentRefuse, true},
		"answers":          {activities.Hooks{"h": &warden{}}, activities.SilentRefuse, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, f, s := guarded(t, c.hooks, ruleOf("h", c.silent))
			result, err := f.Entry(context.Background(), activities.EntryHookRequest{Stretch: s})
			require.NoError(t, err)
			require.Equal(t, c.vetoes, result.Scope == "h", result.Reason)
			if name == "answers" {
				require.Empty(t, r.silences())
				return
			}
			require.Equal(t, []event.HookTimedOut{{Hook: "h", Border: "entry", Default: c.silent}}, r.silences())
		})
	}
}

func (r *rig) caught(s activities.Stretch, texts ...string) []string {
	r.t.Helper()
	w := memory.Write{Agent: "a", Cause: s.Dream, Fence: s.Fence()}
	for i, text := range texts {
		w.Add = append(w.Add, &dream.Fragment{
			Head: newRun(r.ports, r.spec(1, tonight), activities.Stretch{}).Head(dream.Onset, dream.KindFragment,
				core.FragmentStep(1, i+1), nil),
			Content:    text,
			Cycle:      1,
			Stage:      dream.Peak,
			Confidence: .15,
			Status:     dream.FragmentRaw,
			Verdict:    dream.Verdict{Composite: .4},
		})
	}
	_, err := r.store.Commit(context.Background(), w)
	require.NoError(r.t, err)
	return core.IdsOf(w.Add)
}

func TestAHeldFragmentIsFlaggedAnnouncedAndStored(t *testing.T) {
	t.Parallel()
	reader, blind := &warden{}, &warden{}
	rule := ruleOf("reader", activities.SilentAllow)
	rule.Text = true
	r, f, s := guarded(t, activities.Hooks{"reader": reader, "blind": blind}, rule,
		ruleOf("blind", activities.SilentAllow))
	caught := r.caught(s, "a lantern is a slow clock", "burn the ledger")
	reader.concerns = []activities.Concern{
		{Fragment: caught[1], Reason: "it speaks of fire"},
		{Fragment: "dream/b/0001/onset/1.1", Reason: "of another dream"},
	}
	for range 2 {
		result, err := f.Capture(context.Background(),
			activities.CaptureHookRequest{Stretch: s, Cycle: 1, Fragments: caught})
		require.NoError(t, err)
		require.Equal(t, []activities.MadeItem{{ID: caught[0], Score: .4, Kept: true}, {ID: caught[1], Score: .4}},
			result.Made)
	}
	require.Len(t, reader.captures, 1)
	require.Equal(t, "burn the ledger", reader.captures[0].Fragments[1].Text)
	require.Empty(t, blind.captures[0].Fragments[1].Text)

	held := memory.As[*dream.Fragment](r.find(s, dream.KindFragment))
	require.Len(t, held, 2, "nothing is dropped")
	flags := 0
	for _, fragment := range held {
		require.Equal(t, dream.FragmentRaw, fragment.Status)
		if flag, barred := fragment.Barred(); barred {
			flags++
			require.Equal(t, caught[1], fragment.ID)
			require.Equal(t, dream.Flag{By: "hook/reader", Reason: "it speaks of fire", Bars: true}, flag)
		}
	}
	require.Equal(t, 1, flags)
	events, err := r.store.Events(context.Background(), "a", 0, 0)
	require.NoError(t, err)
	count := 0
	for _, e := range events {
		if e.Type == (event.FragmentFlagged{}).EventType() {
			count++
			require.NotContains(t, string(e.Data), "fire")
		}
	}
	require.Equal(t, 1, count)
}

// A concern about a fragment that the hook was not shown cannot be applied; the rest of the answer must not be lost.
func TestAConcernAboutAnUnknownFragmentAppliesTheDefaultToTheRest(t *testing.T) {
	t.Parallel()
	for _, silent := range []string{activities.SilentAllow, activities.SilentRefuse} {
		t.Run(silent, func(t *testing.T) {
			t.Parallel()
			w := &warden{}
			r, f, s := guarded(t, activities.Hooks{"h": w}, ruleOf("h", silent))
			caught := r.caught(s, "a lantern is a slow clock", "burn the ledger")
			w.concerns = []activities.Concern{
				{Fragment: caught[1], Reason: "it speaks of fire"},
				{Fragment: "onset/1.1", Reason: "so does this"},
			}
			result, err := f.Capture(t.Context(),
				activities.CaptureHookRequest{Stretch: s, Cycle: 1, Fragments: caught})
			require.NoError(t, err)
			require.Equal(t, silent == activities.SilentAllow, result.Made[0].Kept,
				"its default applies to the other fragments")
			require.False(t, result.Made[1].Kept, "the valid concern applies")
			require.Equal(t, []event.HookTimedOut{{Hook: "h", Border: "capture", Default: silent}}, r.silences())
			held := memory.As[*dream.Fragment](r.find(s, dream.KindFragment))
			reasons := map[string]string{}
			for _, fragment := range held {
				flag, _ := fragment.Barred()
				reasons[fragment.ID] = flag.Reason
			}
			require.Equal(t, "it speaks of fire", reasons[caught[1]])
			if silent == activities.SilentRefuse {
				require.Contains(t, reasons[caught[0]], `"onset/1.1", which it was not shown`)
			}
		})
	}
}

func TestTheReasonOfAHookIsOneShortLineAndNeverEmpty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" \n ":              "it gave no reason",
		"not\n\ttonight":    "not tonight",
		longReason("word "): longReason("word ")[:core.MostReason-1] + "…",
	} {
		w := &warden{veto: text}
		_, f, s := guarded(t, activities.Hooks{"h": w}, ruleOf("h", activities.SilentAllow))
		result, err := f.Entry(t.Context(), activities.EntryHookRequest{Stretch: s})
		require.NoError(t, err)
		require.Equal(t, "h", result.Scope, "a veto without a reason is a veto")
		require.Equal(t, want, result.Reason)
	}
}

func longReason(word string) string { return strings.Repeat(word, 1000) }

func TestAnExitHookReceivesTheResultOfTheDream(t *testing.T) {
	t.Parallel()
	w := &warden{}
	r, f, s := guarded(t, activities.Hooks{"audit": w, "away": &warden{hangs: true}},
		ruleOf("audit", activities.SilentAllow),
		ruleOf("away", activities.SilentAllow))
	r.caught(s, "one", "two")
	r.finish(s)
	err := f.Exit(context.Background(), activities.ExitHookRequest{
		Stretch: s, Ending: activities.Ending{Outcome: dream.Completed}, Cost: activities.FinishResult{Spent: 1234},
		Rules:  []activities.HookRule{ruleOf("audit", activities.SilentAllow), ruleOf("away", activities.SilentAllow)},
		Handle: "a", Budget: 5000,
	})
	require.NoError(t, err)
	require.Equal(t, dream.Completed, w.exits[0].Outcome)
	require.EqualValues(t, 1234, w.exits[0].Spent)
	require.Equal(t, 2, w.exits[0].Fragments)
	require.Len(t, r.silences(), 1)
}

func TestAWakeIsNotSilenceOfAHook(t *testing.T) {
	t.Parallel()
	r, f, s := guarded(t, activities.Hooks{"h": &warden{hangs: true}},
		activities.HookRule{
			Name: "h", At: activities.Borders, Timeout: activities.LongestHook,
			Silent: activities.SilentRefuse,
		})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(&inflight.Woken{})
	_, err := f.Entry(ctx, activities.EntryHookRequest{Stretch: s})
	require.Error(t, err)
	_, err = r.store.Note(context.Background(), "a", s.Dream, "hooks/entry")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

func TestAHookRuleReportsEveryFault(t *testing.T) {
	t.Parallel()
	err := activities.HookRule{
		Name: "a/b", At: []activities.Border{"noon"}, Timeout: time.Hour,
		Silent: "shrug",
	}.Validate()
	require.ErrorContains(t, err, `hook name "a/b" must be a word without a slash`)
	require.ErrorContains(t, err, `the borders are [entry capture exit]`)
	require.ErrorContains(t, err, `it must lie between 100ms and 8s`)
	require.ErrorContains(t, err, `say allow or refuse`)
	require.ErrorContains(t,
		activities.HookRule{Name: "a", Timeout: time.Second, Silent: activities.SilentAllow}.Validate(),
		"has no border")
}

// If a call has less time than the hook's timeout, the hook's silence is recorded before the call's time is over.
func TestTheDefaultOfAHookAppliesWhenTheActivityHasLessTime(t *testing.T) {
	t.Parallel()
	rule := ruleOf("h", activities.SilentRefuse)
	rule.Timeout = activities.LongestHook
	_, f, s := guarded(t, activities.Hooks{"h": &warden{hangs: true}}, rule)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	result, err := f.Entry(ctx, activities.EntryHookRequest{Stretch: s})
	require.NoError(t, err)
	require.Equal(t, "h", result.Scope)
	require.Contains(t, result.Reason, "its silence refuses")
}
