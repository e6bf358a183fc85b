// Package starter is the client side of the workflows: it validates requests, freezes dream specs, begins, queries
// and ends dreams, and wakes agents.
package starter

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/workflows"
)

// DreamRequest is a request for a dream. Zero fields take the agent's or the deployment's value.
type DreamRequest struct {
	Agent  string // id or handle
	Tier   dream.Tier
	Theme  string
	Budget *budget.Micros // at most the agent's cap of one dream
	Seed   *uint64        // nil: drawn at random, and recorded
	AsOf   time.Time      // the dream's present; zero: now

	Models map[dream.Role]string // override those of the agent
}

// checkedRequest is a completed request without an id.
type checkedRequest struct {
	agent dream.Agent
	spec  activities.Spec
	theme string
	specs map[dream.Role]inference.Spec
}

// check checks a request against the agent and the catalogue. The error names the field and what would be right.
func (s drafter) check(ctx context.Context, w DreamRequest) (checkedRequest, error) {
	agent, err := s.Memory.Agent(ctx, w.Agent)
	if err != nil {
		return checkedRequest{}, fmt.Errorf("agent %q: %w", w.Agent, err)
	}
	s.wokenAgents.Store(w.Agent, agent) // its wake then needs no lookup
	if len([]rune(w.Theme)) > dream.LongestTheme {
		return checkedRequest{},
			fmt.Errorf("theme has %d characters; at most %d are kept", len([]rune(w.Theme)), dream.LongestTheme)
	}
	d := checkedRequest{agent: agent, theme: w.Theme, specs: map[dream.Role]inference.Spec{}}
	zone, err := time.LoadLocation(agent.Zone)
	if err != nil {
		return checkedRequest{},
			fmt.Errorf("agent %s: zone %q is not an IANA time zone: %w: %w", agent.Handle, agent.Zone,
				activities.ErrSettings, err)
	}
	asOf := w.AsOf
	if asOf.IsZero() {
		asOf = s.Now()
	}
	d.spec = activities.Spec{
		Version:    activities.SpecVersion,
		Agent:      agent.ID,
		Handle:     agent.Handle,
		Tier:       agent.Tier,
		AsOf:       asOf.UTC().Truncate(time.Millisecond),
		Day:        asOf.In(zone).Format(time.DateOnly),
		Models:     map[dream.Role]string{},
		Knobs:      s.Options.Knobs,
		Budget:     agent.Caps.Dream,
		DayLimit:   agent.Caps.Day,
		Free:       true,
		Searchable: s.Options.Searchable,

		Interruptions: s.Options.Searchable && s.Options.Interruptions,
	}
	o := &d.spec
	if w.Tier != "" {
		o.Tier = w.Tier
	}
	if w.Budget != nil {
		if *w.Budget > agent.Caps.Dream {
			return checkedRequest{},
				fmt.Errorf("budget %s is above the cap of one dream of %s (%s); raise the cap first", *w.Budget,
					agent.Handle, agent.Caps.Dream)
		}
		o.Budget = *w.Budget
	}
	if w.Seed != nil {
		o.Seed = *w.Seed
	} else {
		o.Seed, err = randomSeed()
		if err != nil {
			return checkedRequest{}, err
		}
	}
	if err := s.chooseModels(ctx, w, &d); err != nil {
		return checkedRequest{}, err
	}
	o.Hooks = s.Options.Hooks
	o.Review = agent.Review
	if o.Review == "" {
		o.Review = s.Options.Review
	}
	o.ResumeTTL, o.Stretches, o.Thresholds = s.Options.ResumeTTL, activities.MostStretches, s.Options.Thresholds
	settings := s.Options.Settings
	o.Holds = &activities.Holds{Alarm: settings.AlarmHold, Client: settings.ClientTimeout, Lock: settings.WakeLock}
	o.Behaviour, err = s.behaviour(ctx, agent, *o)
	if err != nil {
		return checkedRequest{}, err
	}
	if o.Knobs.Depth == dream.DepthAdaptive {
		o.Depth = &activities.DepthRule{Prior: hypnagogia.Prior(o.Knobs.Cycles)}
	}
	o.Knobs = hypnagogia.Bounded(o.Knobs, o.Behaviour)
	o.Observer, err = s.observer(ctx, *o, d.specs[dream.Observer])
	if err != nil {
		return checkedRequest{}, err
	}
	if o.Tier == dream.Hardened { // only the hardened tier is steered
		o.Steering = d.specs[dream.Generator].Steers.Ask(o.Knobs.SteerLayer, o.Knobs.SteerAlpha)
	}
	o.Policy = s.Options.PolicyOf(agent.Handle)
	curriculum := activities.DefaultCurriculum
	o.Curriculum = &curriculum
	o.Loosening = map[dream.Role]dream.Loosening{
		dream.Generator: LooseningOf(o.Knobs.Loosening, d.specs[dream.Generator]).Way,
	}
	return d, nil
}

// chooseModels looks up the model of each role: that of the request, of the agent or of the deployment.
func (s drafter) chooseModels(ctx context.Context, w DreamRequest, d *checkedRequest) error {
	for _, role := range dream.Roles {
		model := cmp.Or(w.Models[role], d.agent.Models[role], s.Options.Models[role])
		spec, err := s.Catalog.Lookup(model)
		if role == dream.Embedder && w.Models[role] == "" {
			spec, err = s.embedderIn(ctx, d.agent)
			model = spec.Name
		}
		if err != nil {
			return fmt.Errorf("model of the role %s: %w", role, err)
		}
		if spec.Price == nil {
			return fmt.Errorf("model of the role %s: %w", role,
				&inference.Failure{Kind: inference.Unpriced, Message: fmt.Sprintf(
					"model %q has no price; state one under providers.%s.models (0 for a local model)", model,
					spec.Provider)})
		}
		if err := spec.Fit(role == dream.Embedder); err != nil {
			return fmt.Errorf("model of the role %s: %w", role, err)
		}
		d.specs[role], d.spec.Models[role] = spec, model
		d.spec.Free = d.spec.Free && *spec.Price == (budget.Price{})
	}
	return nil
}

// LooseningOf is how a model is loosened: by what it accepts, unless the deployment configures a way.
func LooseningOf(wanted dream.Loosening, model inference.Spec) hypnagogia.LooseningChoice {
	if wanted != "" && wanted != dream.Auto {
		return hypnagogia.LooseningChoice{Way: wanted, Why: "dream.loosening says so"}
	}
	return hypnagogia.Loosen(
		hypnagogia.ModelSupport{
			MaxTemperature: model.MaxTemperature, MinP: model.MinP, Reasoning: model.Reasoning,
			Judges: model.Judges,
		})
}

// behaviour is the agent's behaviour. With free models and without a configured vitality there is no limit, and the
// behaviour is empty.
func (s drafter) behaviour(ctx context.Context, agent dream.Agent, spec activities.Spec) (dream.Behaviour, error) {
	if s.Ledger == nil || spec.Free && agent.Vitality == nil {
		return "", nil
	}
	var caps []circadian.Cap
	// the accounts of its day and month
	for _, account := range activities.DayAccounts(agent, spec.Day, s.Options.FleetDay)[:2] {
		balance, err := s.Ledger.Balance(ctx, account.Scope)
		if err != nil {
			return "", fmt.Errorf("read account %s: %w", account.Scope, err)
		}
		caps = append(caps,
			circadian.Cap{Left: max(0, account.Limit-balance.Reserved-balance.Spent), Limit: account.Limit})
	}
	bounds := circadian.DefaultThresholds
	if spec.Thresholds != nil {
		bounds = *spec.Thresholds
	}
	return circadian.BehaviourOf(circadian.Vitality(agent.Vitality, caps...), bounds), nil
}

// nextSpec gives a checked request its id and validates the spec.
func (s drafter) nextSpec(ctx context.Context, d checkedRequest) (activities.Spec, error) {
	spec := d.spec
	dreamID, err := s.unusedID(ctx, spec.Agent, spec.Handle)
	if err != nil {
		return spec, fmt.Errorf("number the dream: %w", err)
	}
	spec.Dream = dreamID
	spec.Accounts = activities.DreamAccounts(spec.Dream, spec.Budget, d.agent, spec.Day, s.Options.FleetDay)
	if err := errors.Join(spec.Validate(), spec.Within(d.agent, s.Options.FleetDay, s.Catalog)); err != nil {
		return spec, fmt.Errorf("spec of %s: %w", spec.Dream, err)
	}
	return spec, nil
}

// unusedID takes the agent's next number of which Temporal knows no dream, and makes the id of it. Temporal knows dreams
// of the next numbers where the store was put back to an earlier state, or lost its newest writes. So that a store that
// is far behind catches up fast, ever more numbers are left out at a time.
func (s drafter) unusedID(ctx context.Context, agent, handle string) (string, error) {
	for leftOut := 1; ; leftOut *= 2 {
		number, err := s.Memory.NextDream(ctx, agent)
		if err != nil {
			return "", err
		}
		id := workflows.DreamID(handle, number)
		if s.Client == nil {
			return id, nil
		}
		used, err := s.Executions().Exists(ctx, id)
		if err != nil || !used {
			return id, err
		}
		for range leftOut - 1 {
			if _, err := s.Memory.NextDream(ctx, agent); err != nil {
				return "", err
			}
		}
	}
}

// createDream numbers a checked request and writes the dream's record. If a record of that number exists, the next
// number is taken.
func (s drafter) createDream(ctx context.Context, d checkedRequest) (activities.Spec, error) {
	affect, err := s.Memory.Affect(ctx, d.spec.Agent)
	if err != nil {
		return d.spec, err
	}
	for {
		spec, err := s.nextSpec(ctx, d)
		if err != nil {
			return spec, err
		}
		record := spec.Record(d.theme, affect, s.Now())
		record.Cluster = s.Options.Cluster
		opened, err := s.Memory.Commit(ctx,
			memory.Write{Agent: spec.Agent, Cause: spec.Dream, Add: []dream.Item{record}})
		if err != nil {
			return spec, fmt.Errorf("open the record of %s: %w", spec.Dream, err)
		}
		if opened.Added == 1 {
			return spec, nil
		}
	}
}

func randomSeed() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("draw a seed: %w", err)
	}
	return binary.BigEndian.Uint64(b[:]) >> 1, nil // 63 bits, which every JSON reader and flag parser accepts
}
