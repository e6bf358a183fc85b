package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// quietHook returns nothing, or fails.
type quietHook struct{ err error }

func (q quietHook) Entry(context.Context, activities.HookEntry) (string, error) { return "", q.err }
func (q quietHook) Capture(context.Context, activities.HookCapture) ([]activities.Concern, error) {
	return nil, q.err
}
func (q quietHook) Exit(context.Context, activities.HookExit) error { return q.err }

// hooked is a fixture with a hook whose address holds a secret.
func hooked(t *testing.T, hook activities.Hook) *fixture {
	t.Helper()
	d := newFixture(t).furnish()
	rule := activities.HookRule{
		Name: "guard", At: activities.Borders, Timeout: 2 * time.Second,
		Silent: activities.SilentAllow,
	}
	d.hooks = hooks{
		Rules: func() ([]activities.HookRule, map[string]string, error) {
			return []activities.HookRule{rule},
				map[string]string{"guard": "https://guard.example:8443/services/hush?key=hush"}, nil
		},
		Fit: func(string) (activities.Hook, activities.HookRule, error) { return hook, rule, nil },
	}
	return d
}

// Numbers of --json are in milliseconds and say so in their names; none is in nanoseconds.
func TestDurationsInJSONAreMilliseconds(t *testing.T) {
	t.Parallel()
	agentState := workflows.AgentState{
		State: "sleeping", LastActive: now,
		Settings: workflows.Settings{TryAgain: time.Minute},
		Triggering: workflows.Triggering{
			Urgency: &circadian.Urgency{Input: circadian.UrgencyInput{Since: time.Hour}},
		},
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"an agent": {
			[]string{"agents", "show", "echo"},
			[]string{`"since_ms": 3600000`, `"try_again_ms": 60000`},
		},
		"a feed's rules":   {[]string{"feed", "show", "harbour"}, []string{`"every_ms": 30000`, `"window_ms": 600000`}},
		"all feeds":        {[]string{"feed", "list"}, []string{`"every_ms": 30000`, `"window_ms": 600000`}},
		"hooks":            {[]string{"hooks", "list"}, []string{`"timeout_ms": 2000`}},
		"a hook's test":    {[]string{"hooks", "test", "guard"}, []string{`"took_ms": `}},
		"a dry run":        {[]string{"dream", "--dry-run", "-a", "echo"}, []string{`"timeout_ms": 5000`}},
		"an agent's calls": {[]string{"triggers", "list", "-a", "echo"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := hooked(t, quietHook{}).asleep(&sleeper{}, 40_000)
			d.guarded(&porter{agentState: agentState})
			d.dream.Rehearse = func(ctx context.Context, w starter.DreamRequest) (starter.Rehearsal, error) {
				e, err := d.dream.Estimate(ctx, w)
				return rehearsed(e), err
			}
			require.NoError(t, d.store.PutFeed(t.Context(), dream.Feed{
				Name: "harbour", URL: "https://harbour.example/v1", Every: 30 * time.Second,
				Rules: []dream.Rule{{Name: "r", Kind: dream.Stale, Window: 10 * time.Minute}},
			}))
			d.ok(0, append(c.args, "--json")...)
			for _, want := range c.want {
				require.Contains(t, d.out.String(), want)
			}
			for _, unit := range []string{`_ns"`, `"window":`, `"every":`, `"timeout":`, `"try_again":`, `"took": "`} {
				require.NotContains(t, d.out.String(), unit)
			}
			require.True(t, json.Valid(bytes.TrimSpace(d.out.Bytes())))
		})
	}
}

// The address of a hook may hold a secret, also in its path: only the host is shown.
func TestTheAddressOfAHookIsShownWithoutWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	d := hooked(t, quietHook{errors.New("no")})
	for _, args := range [][]string{{"hooks", "list"}, {"hooks", "list", "--json"}} {
		d.ok(200, args...)
		require.Contains(t, d.out.String(), "https://guard.example:8443")
		require.NotContains(t, d.out.String(), "hush")
	}
	require.Equal(t, exit.Failure, d.run(0, "hooks", "test", "guard", "--json"))
	require.Contains(t, d.out.String(), `"fault": "no"`)
}
