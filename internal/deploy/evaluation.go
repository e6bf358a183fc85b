package deploy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/answers"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/eval"
	"github.com/seed-56a03226/oneiros/internal/exit"
	questions "github.com/seed-56a03226/oneiros/internal/probe"
	"github.com/seed-56a03226/oneiros/starter"
)

// EvaluationRequest says what is evaluated, and how.
type EvaluationRequest struct {
	Agent     dream.Agent // whose memory is read from Store, which is not changed; not with Diary
	Store     memory.Store
	Diary     string         // a diary in the place of an agent: as in ChronicleRequest.Path
	Dialogue  string         // of a LoCoMo file; empty reads all
	Dir       string         // where it is played; empty: below "eval" in the data folder
	Nights    int            // dreams of each arm that dreams; 0: as eval.Fit has it
	Judging   int            // days at the end that are lived without a dream; 0: as eval.Fit has it
	Questions int            // questions of recall
	Seed      uint64         // of the choice of questions, of the dreams, of the placebo and of the intervals
	Budget    *budget.Micros // the most that all arms together may cost; nil: nothing may be paid
	Arms      []string       // empty: all
	Fresh     bool           // forget what the folder holds, except for recorded answers
}

// Evaluation is an evaluation that is prepared or begun.
type Evaluation struct {
	Plan       eval.Plan
	Arms       []string        // in the order in which they are played
	Detectable eval.Detectable // what it will be able to see
	Most       budget.Micros   // the most that it may cost, as the caller allows; 0 where nothing may be paid
	Free       bool            // neither its dreams nor its embedder cost anything
	Dir        string
	Result     eval.Result // of the arms that are done

	NeedsConsent bool // Most is so much that a person is to agree

	process *Process
	config  config.Config
	history history
	log     *answers.Log
	night   budget.Micros // the most that one dream may cost
}

// Files of the folder of an evaluation.
const (
	evaluationResult  = "result.json"
	evaluationAnswers = "answers.jsonl"
	evaluationMark    = "evaluation-of-oneiros"
)

// Evaluation prepares an evaluation, or finds the one that was begun in its folder. It reads the agent's memory,
// changes nothing in it, and calls no model.
func (d *Process) Evaluation(ctx context.Context, r EvaluationRequest) (*Evaluation, error) {
	c, err := d.config()
	if err != nil {
		return nil, err
	}
	h, err := d.readHistory(ctx, r)
	if err != nil {
		return nil, err
	}
	e := &Evaluation{
		Dir:  cmp.Or(r.Dir, filepath.Join(c.DataDir, "eval", h.agent.Handle)),
		Arms: r.Arms, process: d, config: c, history: h,
	}
	if len(e.Arms) == 0 {
		e.Arms = eval.Names()
	}
	r.Nights, r.Judging = eval.Fit(len(h.days), r.Nights, r.Judging)
	if err := e.plan(r); err != nil {
		return nil, exit.AsUsage(err)
	}
	if err := e.price(ctx, r); err != nil {
		return nil, err
	}
	if err := e.openFolder(r.Fresh); err != nil {
		return nil, err
	}
	e.log, err = answers.Open(filepath.Join(e.Dir, evaluationAnswers), e.Most)
	if err != nil {
		return nil, fmt.Errorf("open the recorded answers: %w", err)
	}
	return e, nil
}

// plan fills in the plan, which holds all that the verdict depends on, but for the answers of models.
func (e *Evaluation) plan(r EvaluationRequest) error {
	h := e.history
	if _, err := eval.Spread(len(h.days), r.Nights, r.Judging); err != nil {
		return err
	}
	past := len(h.days) - r.Judging
	for _, arm := range e.Arms {
		if !slices.Contains(eval.AllArms(), arm) {
			return fmt.Errorf("--arms names %q; the arms are %s", arm, strings.Join(eval.AllArms(), ", "))
		}
	}
	if !slices.Contains(e.Arms, eval.Raw) {
		return fmt.Errorf("--arms leaves out %q, which the others are compared with", eval.Raw)
	}
	knobs, err := json.Marshal(e.config.Dream)
	if err != nil {
		return fmt.Errorf("describe the settings of dreams: %w", err)
	}
	sum := sha256.Sum256(append(knobs, h.digest...))
	e.Plan = eval.Plan{
		Subject:      h.agent.Handle,
		Nights:       r.Nights,
		Days:         len(h.days),
		JudgingDays:  r.Judging,
		From:         h.days[0],
		Split:        h.days[past],
		To:           h.evening(len(h.days) - 1),
		Questions:    len(questionsAbout(h.items[:past], r.Questions, r.Seed)),
		Seed:         r.Seed,
		Resamples:    eval.DefaultResamples,
		RecallMargin: eval.DefaultRecallMargin,
		LiftMargin:   eval.DefaultLiftMargin,
		Models:       map[string]string{},
		Knobs:        hex.EncodeToString(sum[:]),
	}
	e.Plan.MostLost = questions.Margin(e.Plan.Questions)
	e.Detectable = eval.Power(h.expected(past, e.Plan.Questions, e.dreaming()), e.Plan.RecallMargin)
	return nil
}

// price finds out what the dreams may cost, and that the caller allows it.
func (e *Evaluation) price(ctx context.Context, r EvaluationRequest) error {
	return aside(ctx, e.history.agent,
		func(dir string) (*Deployment, error) { return e.build(ctx, dir, e.config.Dream) },
		func(h *Deployment) error { return e.priceIn(ctx, h, r) })
}

func (e *Evaluation) priceIn(ctx context.Context, h *Deployment, r EvaluationRequest) error {
	estimate, err := h.Planner.Estimate(ctx, starter.DreamRequest{Agent: e.history.agent.ID})
	if err != nil {
		return exit.AsUsage(err)
	}
	for role, model := range estimate.Models {
		e.Plan.Models[string(role)] = model
	}
	embedder, err := h.embedder(ctx, e.history.agent, "")
	if err != nil {
		return exit.AsUsage(err)
	}
	dreams := budget.Micros(r.Nights * e.dreaming())
	e.night = estimate.Cap
	return e.agreeOn(r.Budget, dreams, estimate.Free || dreams == 0, embedder)
}

// agreeOn holds the dreams and the embedder to a budget, which must be given where either of them costs money.
func (e *Evaluation) agreeOn(most *budget.Micros, dreams budget.Micros, freeDreams bool, embedder inference.Spec) error {
	freeEmbedder := embedder.Price != nil && *embedder.Price == (budget.Price{})
	e.Free = freeDreams && freeEmbedder
	switch {
	case most == nil && e.Free:
		return nil
	case most == nil && freeDreams:
		return exit.Usagef("the embedder %s costs money; say with --budget how much it may cost", embedder.Name)
	case most == nil:
		return exit.Usagef("these models cost money: %d dreams of at most %s are %s; say with --budget how much all of "+
			"them together may cost", dreams, e.night, (dreams * e.night))
	}
	e.Most = *most
	e.NeedsConsent = !e.Free && e.Most > e.config.Consent.ConfirmAbove
	if freeDreams {
		return nil
	}
	e.night = min(e.night, e.Most/dreams)
	if e.night <= 0 {
		return exit.Usagef("--budget %s is too little for %d dreams", e.Most, dreams)
	}
	e.Plan.Budget = e.night * budget.Micros(e.Plan.Nights)
	return nil
}

// dreaming is how many arms dream.
func (e *Evaluation) dreaming() int {
	n := 0
	for _, arm := range e.Arms {
		if eval.Dreams(arm) {
			n++
		}
	}
	return n
}

// openFolder makes the folder, or reads what an earlier process did in it.
func (e *Evaluation) openFolder(fresh bool) error {
	own := markedFolder{
		dir: e.Dir, server: filepath.Join(e.Dir, armFolder), mark: evaluationMark, of: "an evaluation",
		says: "oneiros eval works here. result.json is the result, answers.jsonl what models answered.\n",
	}
	if err := own.check(); err != nil {
		return err
	}
	if err := own.create(); err != nil {
		return err
	}
	e.Result = eval.Result{Version: eval.Version, Plan: e.Plan}
	data, err := os.ReadFile(e.ResultFile())
	if errors.Is(err, os.ErrNotExist) || fresh {
		return nil
	}
	if err != nil {
		return err
	}
	before, err := eval.Read(data)
	if err != nil {
		return fmt.Errorf("%s: %w; --fresh begins anew", e.ResultFile(), err)
	}
	if before.Plan.Hash() != e.Plan.Hash() {
		return exit.Refusedf("%s holds an evaluation with another plan, made before memory or settings changed; "+
			"--fresh begins anew and keeps the recorded answers, --dir names another folder", e.Dir)
	}
	e.Result = before
	return nil
}

// Done says whether an arm has its result.
func (e *Evaluation) Done(arm string) bool {
	return slices.ContainsFunc(e.Result.Arms, func(a eval.Arm) bool { return a.Name == arm })
}

// Keep adds the result of an arm and writes the file: the whole of it is replaced, or nothing is.
func (e *Evaluation) Keep(a eval.Arm) error {
	e.Result.Arms = append(e.Result.Arms, a)
	e.Result.Finished = true
	for _, arm := range e.Arms {
		e.Result.Finished = e.Result.Finished && e.Done(arm)
	}
	body, err := json.MarshalIndent(e.Result, "", "  ")
	if err != nil {
		return err
	}
	path := e.ResultFile()
	if err := os.WriteFile(path+".new", append(body, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return os.Rename(path+".new", path)
}

// ResultFile is where the result is written.
func (e *Evaluation) ResultFile() string { return filepath.Join(e.Dir, evaluationResult) }

// Spent is what models were paid, in this process and before.
func (e *Evaluation) Spent() answers.Spent { return e.log.Spent() }

// Close ends the work in the folder.
func (e *Evaluation) Close() error { return e.log.Close() }

// build builds a deployment of its own in a folder, with the models of the configuration.
func (e *Evaluation) build(ctx context.Context, dir string, knobs dream.Knobs) (*Deployment, error) {
	plain, err := plainConfig(dir)
	if err != nil {
		return nil, err
	}
	plain = plain.WithModelsOf(e.config)
	plain.Dream, plain.Temporal.Child, plain.Money.FleetDay = knobs, "auto", budget.Unlimited
	plain.Predictions.JudgeDaily = 0 // a model would judge beside the nights, at another time in each run
	h, err := build(ctx, plain, plain.StorePath())
	if err != nil {
		return nil, err
	}
	h.Dir = dir
	return h, nil
}

// knobsOf are the settings of the dreams of an arm. What phases that are left out may cost goes to the first that is
// not, so that all arms may spend the same.
func knobsOf(arm string, k dream.Knobs) dream.Knobs {
	if arm == eval.NREM || arm == eval.NoOnset {
		k.OnsetEnabled = false
		k.Shares.NREM += k.Shares.Onset
		k.Shares.Onset = 0
		k.BudgetFraction = float64(k.Shares.Return) / 100
	}
	switch arm {
	case eval.NREM, eval.NoREM:
		k.Shares.NREM += k.Shares.REM
		k.Shares.REM = 0
	case eval.NoNREM:
		k.Shares.REM += k.Shares.NREM
		k.Shares.NREM = 0
	case eval.NoIntegration:
		k.Shares.NREM += k.Shares.Integration
		k.Shares.Integration = 0
	}
	return k
}

// questionsAbout are those of the probe about the entries of some days.
func questionsAbout(days [][]dream.Item, n int, seed uint64) []questions.Question {
	var docs []questions.Doc
	var ids []string
	for _, day := range days {
		for _, item := range day {
			docs = append(docs, questions.Doc{ID: item.Header().ID, Text: item.Text()})
			ids = append(ids, item.Header().ID)
		}
	}
	return questions.Ask(docs, questions.Sample(ids, n, seed), seed)
}

// expected is what can be known of an evaluation before it runs.
func (h history) expected(past, questions, arms int) eval.Expected {
	var texts []claims.Text
	for _, day := range h.items[:past] {
		for _, item := range day {
			texts = append(texts, claims.Text{ID: item.Header().ID, At: item.Header().At, Content: item.Text()})
		}
	}
	expected, outcomes := claims.Expect(texts, h.evening(len(h.days)-1).Sub(h.evening(past-1)))
	return eval.Expected{Questions: questions, Claims: expected, Outcomes: outcomes, Arms: arms}
}
