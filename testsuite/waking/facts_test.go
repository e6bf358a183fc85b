package waking_test

import (
	"encoding/json"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
)

func (r *scene) night(agent dream.Agent, id string) *dream.Record {
	r.t.Helper()
	record, err := memory.One[*dream.Record](r.ctx, r.deployment.Store, agent.ID, id)
	require.NoError(r.t, err)
	return record
}

func (r *scene) events(agent dream.Agent, payload event.Payload) []event.Event {
	r.t.Helper()
	all, err := r.deployment.Store.Events(r.ctx, agent.ID, 0, 0)
	require.NoError(r.t, err)
	var found []event.Event
	for _, e := range all {
		if e.Type == payload.EventType() {
			found = append(found, e)
		}
	}
	return found
}

// audit gathers the evidence and checks what must hold after any test. This many stretches must have been woken.
func (r *scene) audit(woken int) (chaos.Evidence, chaos.Wakes) {
	r.t.Helper()
	e, w := r.auditAll()
	require.Equal(r.t, woken, w.Total, "stretches that were woken")
	return e, w
}

func (r *scene) auditAll() (chaos.Evidence, chaos.Wakes) {
	r.t.Helper()
	e, err := chaos.Gather(r.ctx, r.deployment, r.upstream.Billing)
	require.NoError(r.t, err)
	require.NoError(r.t, e.Audit())
	require.NoError(r.t, e.AuditOnce())
	caught, err := e.AuditPartials()
	require.NoError(r.t, err)
	require.LessOrEqual(r.t, caught.Twins, r.twins, "calls that were made twice at once")
	w, err := e.Wakes(r.ctx, r.deployment)
	require.NoError(r.t, err)
	require.NoError(r.t, w.Audit())
	return e, w
}

// wakes are the wakes of an agent's dreams in its log.
func (r *scene) wakes(agent dream.Agent) []event.DreamInterrupted {
	r.t.Helper()
	var all []event.DreamInterrupted
	for _, e := range r.events(agent, event.DreamInterrupted{}) {
		var result event.DreamInterrupted
		require.NoError(r.t, json.Unmarshal(e.Data, &result))
		all = append(all, result)
	}
	return all
}

// length is how many events a workflow's history has.
func (r *scene) length(id string) int {
	r.t.Helper()
	described, err := r.deployment.Client.DescribeWorkflowExecution(r.ctx, id, "")
	require.NoError(r.t, err)
	return int(described.GetWorkflowExecutionInfo().GetHistoryLength())
}
