package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Validate joins every fault in the relations between knobs. Limits of single knobs are checked when they are read.
func (c Config) Validate() error {
	return errors.Join(
		c.Store.validate(), c.validDream(), c.Money.validate(), c.Agent.validate(),
		validListen("feed.listen", c.Feed.Listen, "127.0.0.1:7412"), c.Policy.validate(), c.Archive.validate(),
		validListen("metrics.listen", c.Metrics.Listen, "127.0.0.1:7413"), c.Temporal.validate(), c.Seal.validate(),
		c.Serve.validate(), c.validTalk(), c.validRoles(), c.Worker.validate(), c.Predictions.validate(),
		c.Matrix.validate(), c.Retention.validate())
}

// faultList collects what is wrong.
type faultList []error

func (f *faultList) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (w Worker) validate() error {
	var faults faultList
	if strings.ContainsAny(w.Deployment,
		".:") { // Temporal's own rule; its SDK only logs it, and the worker gets no work
		faults.add("worker.deployment is %q; a Worker Deployment has no dot and no colon in its name", w.Deployment)
	}
	return errors.Join(faults...)
}

func (c Config) validDream() error {
	var faults faultList
	for _, fault := range faultsOf(c.Dream.Validate()) {
		faults.add("dream: %w", fault)
	}
	return errors.Join(faults...)
}

func (m Money) validate() error {
	var faults faultList
	atMost := func(low, high string, a, b budget.Micros) {
		if a > b {
			faults.add("money.%s is %s and money.%s is %s; the longer cap must not be the smaller one", low, a,
				high, b)
		}
	}
	atMost("dream", "day", m.Dream, m.Day)
	atMost("day", "month", m.Day, m.Month)
	atMost("dream", "fleet_day", m.Dream, m.FleetDay)
	return errors.Join(faults...)
}

func (t Temporal) validate() error {
	var faults faultList
	if err := validAddress(t.Address); err != nil {
		faults.add("%w", err)
	}
	if (t.TLS.CertFile == "") != (t.TLS.KeyFile == "") {
		faults.add("temporal.tls.cert_file and temporal.tls.key_file go together; one of them is empty")
	}
	if t.KeyEnv != "" && t.KeyFile != "" {
		faults.add("temporal names its key twice, by api_key_env and by api_key_file; keep one")
	}
	if t.TaskQueue == "" {
		faults.add("temporal.task_queue is empty; workers and starters need a name to meet at, such as oneiros")
	}
	if t.Address == "" && (t.KeyEnv != "" || t.KeyFile != "" || t.TLS != (TLS{})) {
		faults.add(
			"temporal.address is empty, yet a key or TLS is set for it; set the address, or use the standard Temporal client environment for all of them")
	}
	if t.Address != "" && t.Profile != "" {
		faults.add("temporal.address and temporal.profile are both set; a profile has an address of its own, so keep one")
	}
	return errors.Join(faults...)
}

// miniLM is the built-in embedder whose files the user provides.
const miniLM = BuiltIn + "/minilm"

// validRoles checks that every role names a model that is configured and, if it must be paid for, has a price.
func (c Config) validRoles() error {
	var faults faultList
	models := c.Roles.Models()
	for _, role := range dream.Roles {
		spec, err := c.Spec(models[role])
		switch {
		case err != nil:
			faults.add("roles.%s: %w", role, err)
		case spec.Fit(role == dream.Embedder) != nil:
			faults.add("roles.%s: %w", role, spec.Fit(role == dream.Embedder))
		case spec.Price == nil:
			faults.add("roles.%s: %s", role, spec.WithoutPrice())
		case spec.Name == miniLM && c.Embedder.MiniLMDir == "":
			faults.add("roles.%s: %s needs the files of all-MiniLM-L6-v2; set embedder.minilm_dir to their folder (docs/models.md says where to get them)",
				role, miniLM)
		}
	}
	return errors.Join(faults...)
}
