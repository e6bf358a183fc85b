package fleet_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/testsuite/program"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/soak"
)

// versioned are the settings of workers of a build under Worker Versioning.
func versioned(build string) string {
	return fmt.Sprintf("worker: {deployment: oneiros, build_id: %q}\n", build)
}

// Workers of two builds run side by side under Worker Versioning, as docs/upgrading.md says: a dream ends on the build
// that began it, later ones run on the new one, and the old workers go once none of their dreams is left.
func TestATeamMovesToAnotherBuildByWorkerVersions(t *testing.T) {
	t.Parallel()
	skipShort(t)
	if !full {
		t.Skip("runs in full with PROVE=full")
	}
	name := newRelay(t, redis.Start(t).Address)
	other, _, what := program.Other(t)
	t.Logf("build one is %s", what)
	at := site{redis: name.url(), commands: places, worker: versioned("one"), program: other}
	r := openTrialOn(t, at, 9, 2)
	r.makeCurrent("one")
	r.calm()
	began := time.Now()
	r.beginDreams(1)
	leave := r.people()
	r.answered(r.principals)
	second, first := r.startBeside(at)
	r.answered(r.principals)
	leave() // dreams that were woken go on, on the build that they are on
	r.drain(first)
	leave = r.people()
	for place := range firstServer {
		require.NoError(t, r.fleet.End(place))
	}
	r.fleet.Program, r.fleet.Settings = second.Program, second.Settings
	for place := firstServer; place < len(places); place++ {
		require.NoError(t, r.fleet.End(place))
		require.NoError(t, r.fleet.Start(place))
	}
	r.answered(r.principals)
	leave()
	r.audit()
	t.Logf("all workers are replaced under Worker Versioning: sound after %s; %d runs of dreams ended on the build that "+
		"began them; %d exchanges, %d of them lost; %d dreams", time.Since(began).Round(100*time.Millisecond), len(first),
		len(r.crowd.exchanges()), r.figures.lost, len(r.requested))
	require.Zero(t, r.figures.lost)
	require.NoError(t, errors.Join(r.fleet.Panics(), second.Panics()))
}

// startBeside starts workers of another build beside those that run, and makes it the current one. It returns them, and
// the runs of dreams, by dream, that were on the first build until then.
func (t *trial) startBeside(at site) (second *soak.Fleet, first map[string]string) {
	t.Helper()
	require.Eventually(t, func() bool {
		first = t.runsOn("one")
		return len(first) > 0
	}, settledWithin, often, "no dream runs on the first build")
	at.worker = versioned("two")
	second = &soak.Fleet{
		Program: program.Oneiros(t), Dir: t.TempDir(), Commands: places[:firstServer],
		Settings: t.settings(at),
	}
	t.Cleanup(second.KillAll)
	for place := range firstServer {
		require.NoError(t, second.Start(place))
	}
	maps.Copy(first, t.runsOn("one"))
	t.makeCurrent("two")
	return second, first
}

// drain waits until no dream runs on the first build any more, while later dreams begin on the second.
func (t *trial) drain(first map[string]string) {
	t.Helper()
	t.beginOn("two")
	late := t.beginDreams(2)
	require.Eventually(t, func() bool { return len(t.runsOn("one")) == 0 }, settledWithin, 200*time.Millisecond,
		"dreams of the first build do not end")
	for id, run := range first {
		require.Equal(t, "one", t.buildOf(id, run), "%s has left the build that began it", id)
	}
	for _, id := range late {
		require.NotEqual(t, "one", t.buildOf(id, ""), "%s has begun on the build before", id)
	}
}

// beginOn begins dreams until one of them is on a build: agents with whom people talk begin none.
func (t *trial) beginOn(build string) {
	t.Helper()
	var begun []string
	for until := time.Now().Add(settledWithin); time.Now().Before(until); t.wait(time.Second) {
		begun = append(begun, t.beginDreams(2)...)
		if slices.ContainsFunc(begun, func(id string) bool { return t.buildOf(id, "") == build }) {
			return
		}
	}
	require.Fail(t, "no dream runs on build "+build)
}

// makeCurrent makes a build the current one of the Worker Deployment, once a worker of it has polled.
func (t *trial) makeCurrent(build string) {
	t.Helper()
	handle := t.reader.Client.WorkerDeploymentClient().GetHandle("oneiros")
	var err error
	require.Eventually(t, func() bool {
		_, err = handle.SetCurrentVersion(t.ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	}, settledWithin, 50*time.Millisecond, "%v", err)
}

// runsOn returns the runs of dreams that are running on a build.
func (t *trial) runsOn(build string) map[string]string {
	t.Helper()
	found, err := t.reader.Client.ListWorkflow(t.ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: t.cluster.Namespace, Query: `WorkflowType = "Dream" AND ExecutionStatus = "Running"`,
	})
	require.NoError(t, err)
	all := map[string]string{}
	for _, w := range found.GetExecutions() {
		id, run := w.GetExecution().GetWorkflowId(), w.GetExecution().GetRunId()
		if t.buildOf(id, run) == build {
			all[id] = run
		}
	}
	return all
}

// buildOf is the build that a run is on; empty before its first task has ended.
func (t *trial) buildOf(workflow, run string) string {
	t.Helper()
	found, err := t.reader.Client.DescribeWorkflowExecution(t.ctx, workflow, run)
	require.NoError(t, err)
	return found.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId()
}
