package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Read reads a result file and checks it.
func Read(data []byte) (Result, error) {
	var r Result
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields() // a misspelt figure would count as 0
	if err := d.Decode(&r); err != nil {
		return Result{}, fmt.Errorf("this is no result of an evaluation: %w", err)
	}
	if d.More() {
		return Result{}, errors.New("this is no result of an evaluation: something follows the JSON object")
	}
	if err := r.Validate(); err != nil {
		return Result{}, err
	}
	return r, nil
}

// Validate returns everything that is wrong with a result.
func (r Result) Validate() error {
	var faults faults
	if r.Version != Version {
		faults.add("version is %d; this program reads version %d", r.Version, Version)
	}
	faults.join(r.Plan.Validate())
	seen := map[string]bool{}
	for _, a := range r.Arms {
		if !slices.Contains(AllArms(), a.Name) {
			faults.add("arm %q is none of: %s", a.Name, strings.Join(AllArms(), ", "))
		}
		if seen[a.Name] {
			faults.add("arm %q stands there twice; each must stand there once", a.Name)
		}
		seen[a.Name] = true
		faults.join(a.validate())
	}
	return errors.Join(faults...)
}

// Validate returns everything that is wrong with a plan.
func (p Plan) Validate() error {
	var faults faults
	if p.Subject == "" {
		faults.add("subject is empty; it must name an agent or a diary")
	}
	if _, err := Spread(p.Days, p.Nights, p.JudgingDays); err != nil {
		faults.join(err)
	}
	if !p.Split.After(p.From) || p.To.Before(p.Split) {
		faults.add("split is %s; it must lie after from (%s) and not after to (%s)", p.Split, p.From, p.To)
	}
	if p.Resamples < leastResamples || p.Resamples > mostResamples {
		faults.add("resamples is %d; it must lie between %d and %d", p.Resamples, leastResamples, mostResamples)
	}
	for _, m := range []struct {
		name  string
		value float64
	}{{"recall_margin", p.RecallMargin}, {"lift_margin", p.LiftMargin}} {
		if !(m.value > 0 && m.value < 1) { // NaN, too
			faults.add("%s is %v; it must lie between 0 and 1, such as 0.01 for one point", m.name, m.value)
		}
	}
	if p.Questions < 0 || p.MostLost < 0 || p.Budget < 0 {
		faults.add("questions is %d, most_lost is %d, budget_micros is %d; none may be negative", p.Questions,
			p.MostLost,
			int64(p.Budget))
	}
	return errors.Join(faults...)
}

// Limits of the number of bootstraps: with fewer an interval is inexact, and more show nothing further.
const (
	leastResamples = 200
	mostResamples  = 1_000_000
)

// mostTrials is more outcomes than a claim can have.
const mostTrials = 1_000_000

func (a Arm) validate() error {
	var faults faults
	if a.Spent < 0 {
		faults.add("arm %q: spent_micros is %d; it must not be negative", a.Name, int64(a.Spent))
	}
	seen := map[string]bool{}
	for _, r := range a.Answers {
		if r.Place < 0 || r.Place > First {
			faults.add("arm %q, question %q: place is %d; it must lie between 0 and %d", a.Name, r.Question, r.Place,
				First)
		}
		if seen[r.Question] {
			faults.add("arm %q, question %q: it stands there twice; each must stand there once", a.Name, r.Question)
		}
		seen[r.Question] = true
	}
	seen = map[string]bool{}
	for _, c := range a.Claims {
		if seen[c.ID] {
			faults.add("arm %q, claim %q: it stands there twice; each must stand there once", a.Name, c.ID)
		}
		seen[c.ID] = true
		if c.Status != dream.ClaimTried && c.Status != dream.ClaimPassed {
			faults.add("arm %q, claim %q: status is %q; it must be %s or %s", a.Name, c.ID, c.Status, dream.ClaimTried,
				dream.ClaimPassed)
		}
		for _, n := range []struct {
			name         string
			hits, trials int
		}{{"hits", c.Hits, c.Trials}, {"decoy_hits", c.DecoyHits, c.DecoyTrials}} {
			if n.hits < 0 || n.hits > n.trials || n.trials > mostTrials {
				faults.add(
					"arm %q, claim %q: %s is %d of %d trials; it must lie between 0 and the trials, at most %d",
					a.Name, c.ID, n.name, n.hits, n.trials, mostTrials)
			}
		}
	}
	return errors.Join(faults...)
}

// faults are what is wrong, one after the other.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) join(err error) {
	if err != nil {
		*f = append(*f, err)
	}
}
