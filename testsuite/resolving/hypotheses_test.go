package resolving_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// The model that judges, its price and what it may cost a day.
const (
	judgeModel = "paid/script"
	judgeDaily = budget.Dollar / 10
)

// fleet is how many predictions in prose each process finds, enough for one call: two of three come true, and of every
// fourth the quotation is invented.
const fleet = 8

// judged lets a paid provider judge, and lets hypotheses in prose be promoted.
func (m *machine) judged() *provider.Server {
	m.Helper()
	paid, err := provider.Start(provider.Options{
		Seed: 1, First: 20 * time.Millisecond,
		Say: func(q provider.Request) string { return outcomesOf(q.Prompt) },
	})
	require.NoError(m, err)
	m.Cleanup(paid.Close)
	path := filepath.Join(m.dir, "oneiros.yaml")
	settings, err := os.ReadFile(path)
	require.NoError(m, err)
	settings = fmt.Appendf(settings, `predictions: {gate: strict, judge_daily: %q}
consent: {auto_paid: true}
providers:
  paid:
    profile: generic
    base_url: %s
    models:
      - {name: script, price: {in: "0.15", cached_in: "0.15", out: "0.60"}, context: 32000, json: json_schema, judges: true}
roles: {observer: paid/script}
`, strings.TrimPrefix(judgeDaily.String(), "$"), paid.URL)
	require.NoError(m, os.WriteFile(path, settings, 0o600))
	return paid
}

var claimOfShip = regexp.MustCompile(`(?m)^- \[(p\d+)\] made .*: The ship (\w+) comes home\. What would show it: .* Compare it with (.+)\.$`)

// outcomesOf is what the judge says of the ships that a prompt names.
func outcomesOf(prompt string) string {
	outcomes := []map[string]string{}
	for _, match := range claimOfShip.FindAllStringSubmatch(prompt, -1) {
		for ref := range strings.SplitSeq(match[3], ", ") {
			_, line, _ := strings.Cut(prompt, "["+ref+"] ")
			line, _, _ = strings.Cut(line, "\n")
			quotation, verdict := "The ship "+match[2]+" came home tonight.", dream.PredictionRight
			if !strings.Contains(line, quotation) {
				quotation, verdict = "The ship "+match[2]+" was lost at sea.", dream.PredictionWrong
			}
			if !strings.Contains(line, quotation) {
				continue
			}
			if isInventedShip(match[2]) {
				quotation = "The ship " + match[2] + " came"
			}
			outcomes = append(outcomes, map[string]string{
				"ref": match[1], "verdict": verdict, "memory": ref, "quotation": quotation,
			})
		}
	}
	body, err := json.Marshal(map[string]any{"outcomes": outcomes})
	if err != nil {
		return ""
	}
	return string(body)
}

// ship is a name of one word; i counts from 0.
func ship(i int) string {
	return "Z" + string("aeiou"[i%5]) + string("bdfgklmnprstvz"[i/5%14]) + string("lrn"[i%3]) + string("xq"[boolOf(i%4 == 3)])
}

func boolOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

func isInventedShip(name string) bool { return strings.HasSuffix(name, "q") }

func isLostShip(name string) bool { return name[3] == 'n' }

// sails plants the n-th fleet of predictions in prose, and what was lived of them.
func (m *machine) sails(n int) {
	m.Helper()
	w := memory.Write{Agent: m.agent.ID, Cause: "test"}
	for i := n * fleet; i < (n+1)*fleet; i++ {
		id, name := fmt.Sprintf("pr_ship_%02d", i), ship(i)
		spoken := "The ship " + name + " came home tonight."
		if isLostShip(name) {
			spoken = "The ship " + name + " was lost at sea."
		}
		before := episode(m.agent.ID, fmt.Sprintf("ep_left_%02d", i), m.made.Add(-time.Hour), "The ship "+name+" left.")
		w.Add = append(w.Add, before, episode(m.agent.ID, fmt.Sprintf("ep_ship_%02d", i),
			m.made.Add(time.Hour+time.Duration(i)*time.Minute/2), spoken),
			&dream.Prediction{
				Head: dream.Head{
					ID:    id,
					Agent: m.agent.ID,
					Kind:  dream.KindPrediction,
					At:    m.made,
					State: dream.Live,
					Taint: dream.FromHuman,
				},
				Source: dream.Analytical, Claim: "The ship " + name + " comes home.",
				Criterion: "Somebody says that " + name + " came home.", Horizon: m.made.AddDate(0, 0, 7), Confidence: .3,
				Session: dream.ByPerson, Status: dream.PredictionOpen, Episodes: []string{before.ID},
			})
	}
	_, err := m.deployment.Store.Commit(m.Context(), w)
	require.NoError(m, err)
}

func episode(agent, id string, at time.Time, text string) *dream.Episode {
	return &dream.Episode{
		Head: dream.Head{
			ID:    id,
			Agent: agent,
			Kind:  dream.KindEpisode,
			At:    at,
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: text, Salience: .5,
	}
}

// supposes plants the hypotheses: one is promoted by a claim, one retired with a claim that stopped holding, one
// promoted and one refuted by what the judge says, and one can come to nothing.
func (m *machine) supposes() {
	m.Helper()
	var home, lost []string
	for i := range 2 * fleet {
		id, name := fmt.Sprintf("pr_ship_%02d", i), ship(i)
		switch {
		case isInventedShip(name):
		case isLostShip(name) && len(lost) < 3:
			lost = append(lost, id)
		case !isLostShip(name) && len(home) < 3:
			home = append(home, id)
		}
	}
	old := m.made.AddDate(0, 0, -30)
	w := memory.Write{Agent: m.agent.ID, Cause: "test"}
	add := func(id, status string, sources, claimed []string) {
		h := &dream.Hypothesis{
			Head: dream.Head{
				ID:      id,
				Agent:   m.agent.ID,
				Kind:    dream.KindHypothesis,
				At:      old,
				State:   dream.Live,
				Taint:   dream.FromDream,
				Dream:   "dream/iris/0001",
				Sources: sources,
			},
			Claim: "What " + id + " says.", Confidence: .25, Status: status, Claims: claimed,
		}
		w.Add = append(w.Add, h)
	}
	storm := claims.ID(m.agent.ID, dream.Check{When: "storm", Then: "leak"})
	add("h_claimed", dream.HypothesisStaged, nil, []string{storm})
	add("h_stopped", dream.HypothesisPromoted, nil, []string{"cl_stopped"})
	add("h_home", dream.HypothesisStaged, home, nil)
	add("h_lost", dream.HypothesisStaged, lost, nil)
	add("h_idle", dream.HypothesisStaged, nil, nil)
	w.Add = append(w.Add, &dream.Claim{
		Head: dream.Head{
			ID:    "cl_stopped",
			Agent: m.agent.ID,
			Kind:  dream.KindClaim,
			At:    old,
			State: dream.Live,
			Taint: dream.FromAgent,
		},
		Check: dream.Check{When: "frost", Then: "crack"}, Says: "Where frost comes up, crack comes up too.",
		Status: dream.ClaimRetired, Reason: "it comes true too seldom since it passed", Ended: m.made, From: old,
	})
	_, err := m.deployment.Store.Commit(m.Context(), w)
	require.NoError(m, err)
}

// TestAKilledServerLosesAndDoublesNoHypothesisAndNoMoney kills the process of a server again and again while a paid
// model judges, hypotheses rise and fall by that and by claims, and others lapse. Another process finishes, six minutes
// later by its clock: so long a call belongs to the process that died in it.
func TestAKilledServerLosesAndDoublesNoHypothesisAndNoMoney(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	kills := 4
	if full {
		kills = 24
	}
	for _, kind := range []string{"SQLite", "Redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, kind)
			paid := m.judged()
			m.plant(20)
			m.supposes()
			for i := range kills {
				m.sails(i)
				m.start()
				m.awaitStep(paid, i%2 == 0)
				m.kill()
				m.cover(paid)
			}
			m.finish()
			m.cover(paid)
			m.auditHypotheses()
			m.auditJudge(paid, kills*fleet)
			t.Logf("%s: %d kills, %d calls of the provider, %d completed", kind, kills, len(paid.Billing.Calls()),
				completed(paid))
		})
	}
}

func completed(paid *provider.Server) (n int) {
	for _, c := range paid.Billing.Calls() {
		if c.Completed {
			n++
		}
	}
	return n
}

// awaitStep waits until one more call has arrived at the provider, or until a prediction or hypothesis has changed.
func (m *machine) awaitStep(paid *provider.Server, isCall bool) {
	m.Helper()
	changes := func() int {
		count := m.progress()
		return count[resolved] + count[event.HypothesisChanged{}.EventType()]
	}
	calls, before := len(paid.Billing.Calls()), changes()
	ctx, cancel := context.WithTimeout(m.Context(), patience)
	defer cancel()
	for {
		if isCall && len(paid.Billing.Calls()) > calls || !isCall && changes() > before {
			return
		}
		require.NoError(m, ctx.Err(), "nothing happens; the server wrote: %s%s", &m.out, &m.err)
	}
}

// finish resolves the rest in this process, whose clock is ahead.
func (m *machine) finish() {
	m.Helper()
	model := &silent{}
	judge := review.Judge{
		Resolver: review.Resolver{
			Memory: m.deployment.Store, Now: func() time.Time { return time.Now().Add(6 * time.Minute) },
			Rules: dream.PredictionRules{Gate: dream.GateStrict, JudgeDaily: judgeDaily},
		},
		Guard: &spend.Guard{
			Ledger: m.deployment.Store.Ledger(), Model: model, Now: time.Now,
			Catalog: inference.Table{
				judgeModel: {
					Name:           judgeModel,
					Provider:       "paid",
					Wire:           "script",
					Price:          &provider.DefaultPrice,
					Context:        32_000,
					MaxTemperature: 2,
					JSON:           inference.JSONSchema,
					Judges:         true,
				},
			},
		},
		Model: judgeModel, Holder: "finish",
	}
	for range 4 { // until nothing is left
		_, err := judge.Check(m.Context(), m.agent, false)
		require.NoError(m, err)
	}
}

// silent is the judge of the last process; it costs what the ledger reserved.
type silent struct{ calls int }

func (s *silent) Generate(_ context.Context, r inference.Request, _ func(string) bool) (inference.Answer, error) {
	s.calls++
	var prompt strings.Builder
	for _, message := range r.Messages {
		prompt.WriteString(message.Content + "\n")
	}
	return inference.Answer{
		Text: outcomesOf(prompt.String()), Finish: inference.Stopped, UsageFrom: inference.ByProvider,
		Tokens: budget.Tokens{In: 1000, Out: 100},
	}, nil
}

func (s *silent) Embed(context.Context, string, []string, string) (inference.Vectors, error) {
	return inference.Vectors{}, errors.New("it does not embed")
}

// cover checks that the ledger counts at least what the provider billed, call by call.
func (m *machine) cover(paid *provider.Server) {
	m.Helper()
	book := paid.Billing.Book()
	rows, err := m.deployment.Store.Ledger().Rows(m.Context(), spend.Query{Agent: m.agent.ID})
	require.NoError(m, err)
	require.Empty(m, chaos.Covered(book, rows))
}

// auditHypotheses checks that each hypothesis has come to its end once, and that each outcome was announced once.
func (m *machine) auditHypotheses() {
	m.Helper()
	ctx, store := m.Context(), m.deployment.Store
	events, err := store.Events(ctx, m.agent.ID, 0, 0)
	require.NoError(m, err)
	became, moved := map[string]int{}, map[string]int{}
	for _, e := range events {
		var h event.HypothesisChanged
		if e.Type != h.EventType() {
			continue
		}
		require.NoError(m, json.Unmarshal(e.Data, &h))
		if h.Status != dream.HypothesisStaged {
			became[h.Hypothesis+" "+h.Status]++
		}
		if h.Prediction != "" {
			moved[h.Hypothesis+" "+h.Prediction]++
		}
	}
	require.Equal(m, map[string]int{
		"h_claimed " + dream.HypothesisPromoted: 1,
		"h_stopped " + dream.HypothesisRetired:  1,
		"h_home " + dream.HypothesisPromoted:    1,
		"h_lost " + dream.HypothesisRefuted:     1,
		"h_idle " + dream.HypothesisLapsed:      1,
	}, became)
	for what, n := range moved {
		require.Equal(m, 1, n, what)
	}
	for id, want := range map[string][2]int{"h_home": {3, 0}, "h_lost": {0, 3}, "h_claimed": {0, 0}, "h_idle": {0, 0}} {
		h, err := memory.One[*dream.Hypothesis](ctx, store, m.agent.ID, id)
		require.NoError(m, err)
		require.Equal(m, want, [2]int{len(h.Confirmed), len(h.Contradicted)}, id)
	}
	items, err := store.Find(ctx, memory.Query{
		Agent: m.agent.ID, Kinds: []dream.Kind{dream.KindPlaybook}, States: []dream.State{dream.Live, dream.Archived},
	})
	require.NoError(m, err)
	of := map[string]int{}
	for _, entry := range memory.As[*dream.Playbook](items) {
		require.Equal(m, dream.Live, entry.State)
		of[entry.Hypothesis]++
	}
	require.Equal(m, map[string]int{"": 1, "h_home": 1}, of, "the entry of the claim, and that of the hypothesis in prose")
}

// auditJudge checks that each prediction was resolved once and by no invented quotation, that no answer was bought
// twice, and that the judge kept to its cap.
func (m *machine) auditJudge(paid *provider.Server, ships int) {
	m.Helper()
	ctx, store := m.Context(), m.deployment.Store
	events, err := store.Events(ctx, m.agent.ID, 0, 0)
	require.NoError(m, err)
	announced := map[string]int{}
	for _, e := range events {
		var r event.PredictionResolved
		if e.Type == resolved {
			require.NoError(m, json.Unmarshal(e.Data, &r))
			announced[r.Prediction]++
		}
	}
	for i := range ships {
		id, name := fmt.Sprintf("pr_ship_%02d", i), ship(i)
		p, err := memory.One[*dream.Prediction](ctx, store, m.agent.ID, id)
		require.NoError(m, err)
		want, once := dream.PredictionRight, 1
		switch {
		case isInventedShip(name):
			want, once = dream.PredictionOpen, 0
		case isLostShip(name):
			want = dream.PredictionWrong
		}
		require.Equal(m, want, p.Status, name)
		require.Equal(m, once, announced[id], name)
		require.Equal(m, 1+once, p.Revision, "%s was resolved once", name)
	}
	rows, err := store.Ledger().Rows(ctx, spend.Query{Agent: m.agent.ID})
	require.NoError(m, err)
	answered, counted := map[string]int{}, map[string]budget.Micros{}
	for _, row := range rows {
		if row.State == spend.Settled {
			answered[row.Step]++
		}
		counted[row.Day] += row.Counted
	}
	for step, n := range answered {
		require.Equal(m, 1, n, "%s was answered once", step)
	}
	for day, sum := range counted {
		require.LessOrEqual(m, sum, judgeDaily, "%s", day)
	}
	require.Positive(m, completed(paid), "real processes have asked")
}
