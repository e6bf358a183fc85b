package cost_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/cost"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// full says whether the proof runs at its full size.
var full = os.Getenv("PROVE") == "full"

// patience bounds one night; nothing is measured by it.
const patience = 3 * time.Minute

// row is the estimate for one phase: what a hardened dream typically costs in it.
type row struct {
	phase     dream.Phase
	low, high budget.Micros
}

var stated = []row{
	{dream.Onset, 20_000, 50_000},
	{dream.NREM, 70_000, 150_000},
	{dream.REM, 70_000, 150_000},
	{dream.Integration, 30_000, 80_000},
	{dream.Return, 10_000, 30_000},
}

// The estimates for a core dream and for a fragment of the onset.
const (
	coreStated          = 1_000
	fragmentLow, toHigh = 2_000, 10_000
)

// night is what one dream cost.
type night struct {
	outcome   dream.Outcome
	reason    string
	calls     int
	fragments int // kept
	spent     map[dream.Phase]budget.Micros
	tokens    budget.Tokens // of the model, without the embedder
	total     budget.Micros
}

func (n night) of(phase dream.Phase) string { return dollars(n.spent[phase]) }

// perFragment is what the onset cost for each that was kept.
func (n night) perFragment() budget.Micros {
	return n.spent[dream.Onset] / budget.Micros(max(1, n.fragments))
}

func dollars(m budget.Micros) string { return fmt.Sprintf("$%.4f", float64(m)/1e6) }

// TestWhatANightCostsAtThreePriceLists runs a core and a hardened dream over the companion's sample diary at each
// price list: with answers of the length that the prompts ask for, uncached and cached, and with answers as long as
// every call allows. Every figure is the ledger's; the provider's own count must agree with it.
func TestWhatANightCostsAtThreePriceLists(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("dreams on a real Temporal server; make test runs it")
	}
	ways := []struct {
		name   string
		tier   dream.Tier
		length cost.Length
		caches bool
		budget budget.Micros
	}{
		{"core", dream.Core, cost.Usual, false, 100 * budget.Dollar},
		{"hardened, nothing cached", dream.Hardened, cost.Usual, false, 100 * budget.Dollar},
		{"hardened, cached", dream.Hardened, cost.Usual, true, 100 * budget.Dollar},
		{"hardened, longest answers", dream.Hardened, cost.Longest, false, 100 * budget.Dollar},
		{"hardened, capped at $0.50", dream.Hardened, cost.Usual, false, budget.Dollar / 2},
	}
	if !full { // the others take a minute more
		ways = ways[:3]
	}
	nights := map[string]map[string]night{}
	for _, way := range ways {
		nights[way.name] = map[string]night{}
		for _, class := range cost.Classes {
			nights[way.name][class.Name] = dreamAndReadLedger(t, class, way.tier, way.length, way.caches, way.budget)
		}
	}
	var out strings.Builder
	for _, class := range cost.Classes {
		fmt.Fprintf(&out, "\n%s: $%.2f in, $%.3f cached, $%.2f out, a million tokens\n", class.Name,
			float64(class.Price.In)/1e6, float64(class.Price.CachedIn)/1e6, float64(class.Price.Out)/1e6)
		for _, way := range ways {
			n := nights[way.name][class.Name]
			fmt.Fprintf(
				&out,
				"  %-26s %s: %d calls, %d tokens in (%d cached), %d out; onset %s, NREM %s, REM %s, integration %s, return %s; together %s; %d fragments, %s each of the onset %s\n",
				way.name,
				n.outcome,
				n.calls,
				n.tokens.In,
				n.tokens.Cached,
				n.tokens.Out,
				n.of(dream.Onset),
				n.of(dream.NREM),
				n.of(dream.REM),
				n.of(dream.Integration),
				n.of(dream.Return),
				dollars(n.total),
				n.fragments,
				dollars(n.perFragment()),
				n.reason,
			)
		}
		whole, core := nights["hardened, nothing cached"][class.Name], nights["core"][class.Name]
		fmt.Fprintf(&out, "  against the estimate: core %s\n", against(core.total, coreStated, coreStated))
		for _, s := range stated {
			fmt.Fprintf(&out, "    %-12s %s\n", s.phase, against(whole.spent[s.phase], s.low, s.high))
		}
		fmt.Fprintf(&out, "    %-12s %s\n", "a fragment", against(whole.perFragment(), fragmentLow, toHigh))
	}
	t.Log(out.String())

	small := cost.Classes[0].Name
	require.LessOrEqual(t, nights["core"][small].total, budget.Micros(coreStated), "a core dream at small models")
	for _, way := range ways {
		n := nights[way.name][small]
		require.Equal(t, dream.Completed, n.outcome, "%s at small models: %s", way.name, n.reason)
		for _, s := range stated {
			require.LessOrEqual(t, n.spent[s.phase], s.high, "%s of %s", s.phase, way.name)
		}
	}
	for _, class := range cost.Classes {
		plain, cached := nights["hardened, nothing cached"][class.Name], nights["hardened, cached"][class.Name]
		require.LessOrEqual(t, cached.total, plain.total, "what is cached is cheaper")
		if full {
			require.LessOrEqual(t, nights["hardened, capped at $0.50"][class.Name].total, budget.Dollar/2)
		}
	}
}

// against compares an amount with the estimate.
func against(m, low, high budget.Micros) string {
	text := dollars(low)
	if high > low {
		text += " to " + dollars(high)
	}
	switch {
	case m > high:
		return fmt.Sprintf("%s, above %s: %.1f times", dollars(m), text, float64(m)/float64(high))
	case m < low:
		return fmt.Sprintf("%s, below %s: %.2f of it", dollars(m), text, float64(m)/float64(low))
	}
	return fmt.Sprintf("%s, within %s", dollars(m), text)
}

// prose is what the provider answers with: sentences of the other sample diary.
func prose(t *testing.T) []string {
	t.Helper()
	var texts []string
	for line := range strings.Lines(string(sample.Diaries()[1].Memories)) {
		var m struct{ Content string }
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		if m.Content != "" {
			texts = append(texts, m.Content)
		}
	}
	require.NotEmpty(t, texts)
	return texts
}

// dreamAndReadLedger runs one dream and reads its ledger.
func dreamAndReadLedger(t *testing.T, class cost.Class, tier dream.Tier, length cost.Length, caches bool,
	amount budget.Micros,
) night {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	clerk := cost.Open(prose(t), length, caches)
	defer clerk.Close()
	server := temporal.Shared(t)
	deployment, err := testdeploy.Open(ctx, testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue:    server.TaskQueue,
		Provider: clerk.URL, Model: class.Name, Specs: cost.Specs(class), Knobs: dream.DefaultKnobs(),
	}, server.Dial(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, deployment.Close()) }()
	w, err := deployment.StartWorker()
	require.NoError(t, err)
	defer w.Stop()
	agent, err := deployment.AddAgent(ctx, 0, fmt.Sprintf("%s-%s-%d-%t-%d", class.Name, tier, length, caches, amount))
	require.NoError(t, err)
	agent.Caps = dream.Caps{Dream: amount, Day: 1000 * budget.Dollar, Month: 1000 * budget.Dollar}
	require.NoError(t, deployment.Store.PutAgent(ctx, agent))
	seed := uint64(11)
	begun, err := deployment.Starter.Begin(ctx, starter.DreamRequest{
		Agent:  agent.Handle,
		Tier:   tier,
		Seed:   &seed,
		AsOf:   testdeploy.Night,
		Budget: &amount,
	})
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)

	n := night{
		outcome: result.Outcome, reason: result.Reason, spent: map[dream.Phase]budget.Micros{},
		calls: clerk.Calls(),
	}
	rows, err := deployment.Store.Ledger().Rows(ctx, spend.Query{Dream: begun.Dream})
	require.NoError(t, err)
	var vectors budget.Tokens
	for _, r := range rows {
		require.Equal(t, spend.Settled, r.State, "%s: every call ended with a plausible usage", r.Step)
		n.spent[dream.Phase(r.Phase)] += r.Counted
		n.total += r.Counted
		into := &n.tokens
		if r.Model == "scripted/vectors" {
			into = &vectors
		}
		into.In, into.Cached, into.Out = into.In+r.Tokens.In, into.Cached+r.Tokens.Cached, into.Out+r.Tokens.Out
	}
	require.Equal(t, n.total, result.Spent)
	require.Equal(t, clerk.Bill(class.Name), n.tokens, "the ledger counts what the provider sold")
	require.Equal(t, clerk.Bill("vectors"), vectors)
	sold := class.Price.Cost(n.tokens) + inference.Table(cost.Specs(class))["scripted/vectors"].Price.Cost(vectors)
	require.GreaterOrEqual(t, n.total, sold)
	require.Less(t, n.total-sold, budget.Micros(len(rows)+2), "only rounding, a micro-dollar a call at most")
	items, err := deployment.Store.Find(ctx,
		memory.Query{Agent: agent.ID, Dream: begun.Dream, Kinds: []dream.Kind{dream.KindFragment}})
	require.NoError(t, err)
	for _, f := range memory.As[*dream.Fragment](items) {
		if f.Status != dream.FragmentDiscarded {
			n.fragments++
		}
	}
	return n
}
