package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/payload"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
	"github.com/seed-56a03226/oneiros/workers"
)

// checkTemporal connects to the cluster, reports its version, and explains which abilities it lacks.
func (d doctor) checkTemporal(ctx context.Context) Finding {
	cluster, err := d.cfg.Cluster()
	if err != nil {
		return failed("Correct the temporal section or the standard Temporal client environment.", "%v", err)
	}
	keys, _, err := sealingKeys(d.cfg)
	if err != nil {
		return failed("Correct seal.keys_file or seal.keys_env; docs/sealing.md says what a line of keys is.", "%v",
			err)
	}
	if !cluster.Configured {
		if _, running, _ := temporalchild.ReadRecord(d.cfg.DataDir); !running {
			return d.checkChild()
		}
	}
	e := newEngine(&Deployment{config: d.cfg})
	defer func() { _ = e.Stop() }()
	if err := e.dial(ctx); err != nil {
		return failed(
			"Check the address, the network and the credentials; the temporal command's `operator cluster health` asks the same.",
			"%v",
			err,
		)
	}
	found, err := workers.Look(ctx, e.client, clusterNamespace(cluster))
	if err != nil {
		return failed("Check the namespace and the rights of the key.", "%v", err)
	}
	text := fmt.Sprintf("%s, server %s, %s", e.places[0].Where, found.Server, sealedWith(keys))
	sealed, err := sealingKeysInUse(ctx, e.client, clusterNamespace(cluster), d.cfg.Temporal.TaskQueue)
	if err != nil {
		return failed("Check the rights of the key.", "%v", err)
	}
	if lack := lackingKeys(sealed, keys); lack != "" {
		return failed("Set seal.keys_file or seal.keys_env to the keys that every process of the deployment has "+
			"(docs/sealing.md). Workflows that a worker cannot read stand still until then.", "%s; %s", text, lack)
	}
	var missing, advice []string
	if lack := clockOff(ctx, e, clusterNamespace(cluster)); lack != "" {
		missing, advice = append(missing, lack), append(advice, "Let both follow one time server.")
	}
	if !found.WorkerCommands {
		missing = append(missing, "no worker commands")
		advice = append(
			advice,
			"Set frontend.WorkerCommandsEnabled and system.enableCancelActivityWorkerCommand on the cluster; without them a cancelled call ends a heartbeat later.",
		)
	}
	if lacks := found.Lacks(); lacks != "" {
		missing = append(missing, lacks)
		advice = append(advice, unsearchable(found))
	}
	if lack, mend := d.checkDeployment(ctx, e); lack != "" {
		missing, advice = append(missing, lack), append(advice, mend)
	}
	if lack, mend := d.heldElsewhere(ctx, found.ID); lack != "" {
		missing, advice = append(missing, lack), append(advice, mend)
	}
	if len(missing) == 0 {
		text += ", worker commands on, search attributes there"
	}
	if lack, mend := d.checkWorker(ctx, e); lack != "" {
		missing, advice = append(missing, lack), append(advice, mend)
	}
	if len(missing) > 0 {
		return warned(strings.Join(advice, " "), "%s; %s", text, strings.Join(missing, "; "))
	}
	return passed("%s", text)
}

// checkDeployment says what keeps the workers of worker.deployment from getting work, and what to do about it; empty
// when nothing does.
func (d doctor) checkDeployment(ctx context.Context, e *engine) (lack, advice string) {
	name := d.cfg.Worker.Deployment
	if name == "" {
		return "", ""
	}
	current, err := workers.CurrentBuild(ctx, e.client, name)
	switch {
	case errors.Is(err, workers.ErrNoDeployments):
		return fmt.Sprintf("no worker starts: worker.deployment is %q, and %v", name, err),
			"For worker.deployment, " + withoutDeployments + "."
	case err != nil:
		return err.Error(), "Check the rights of the key."
	case current == "":
		return fmt.Sprintf("no build of the Worker Deployment %s is its current version, so that no worker of it gets work",
				name), fmt.Sprintf("Start a worker, and make its build the current version: temporal worker deployment "+
				"set-current-version --deployment-name %s --build-id %s", name, e.buildID())
	}
	return "", ""
}

// lackingKeys names the sealing keys of open workflows that are not configured here; empty when all are.
func lackingKeys(used map[string]int, keys payload.Keys) string {
	var lack []string
	for _, id := range slices.Sorted(maps.Keys(used)) {
		if !slices.Contains(keys.IDs(), id) {
			lack = append(lack,
				fmt.Sprintf("sealing key %q is missing here, and open workflows are sealed with it (%d)", id, used[id]))
		}
	}
	return strings.Join(lack, "; ")
}

// clockOff says that the clocks of Temporal and this machine are apart; empty when they agree, or cannot be compared
// for want of rights.
func clockOff(ctx context.Context, e *engine, namespace string) string {
	skew, err := workers.Skew(ctx, e.client, namespace, time.Now)
	if err != nil || skew.Abs() <= skewed {
		return ""
	}
	return fmt.Sprintf("its clock and this machine's are %s apart", skew.Abs().Round(time.Second))
}

// checkWorker says why no worker takes work, and what to do about it; empty when one does, or when the key may not
// know.
func (d doctor) checkWorker(ctx context.Context, e *engine) (lack, advice string) {
	const start = "Start one: oneiros up, or oneiros worker."
	queue := d.cfg.Temporal.TaskQueue
	found, err := e.client.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err == nil && len(found.GetPollers()) == 0 {
		return "no worker polls the task queue " + queue + ", so that nothing dreams", start
	}
	current := found.GetVersioningInfo().GetCurrentDeploymentVersion()
	if current != nil && !slices.ContainsFunc(found.GetPollers(), isOf(current)) {
		name := current.GetDeploymentName()
		return fmt.Sprintf("new work is for build %s of the Worker Deployment %s, and no worker of it polls the task "+
				"queue %s, so that nothing dreams", current.GetBuildId(), name, queue),
			fmt.Sprintf("Start a worker of that build, or give the work to others: temporal worker deployment "+
				"set-current-version --deployment-name %s, with --build-id or --unversioned.", name)
	}
	if handle := d.unanswered(ctx, e); handle != "" {
		return fmt.Sprintf("no worker answers for %s within %s, so that nothing dreams", handle, AgentStateWithin),
			start + " Temporal lists a worker that was killed for some minutes."
	}
	return "", ""
}

// heldElsewhere names a dream that holds its agent on another cluster, and says what to do when that one is gone; empty
// for none.
func (d doctor) heldElsewhere(ctx context.Context, cluster string) (lack, advice string) {
	d.onStore(ctx, func(ctx context.Context, h *Deployment) Finding { // checkStore reports the store's errors
		slots, _ := h.store.Slots(ctx)
		for _, agent := range slices.Sorted(maps.Keys(slots)) {
			held := slots[agent]
			if !activities.Elsewhere(held.Cluster, cluster) {
				continue
			}
			lack = fmt.Sprintf("%s holds its agent on another Temporal cluster, %s", held.Dream, held.Cluster)
			advice = "If that cluster is gone for good, " + activities.Abandoning(held.Dream) + "."
			break
		}
		return Finding{}
	})
	return lack, advice
}

// isOf reports whether a poller is a worker of a version.
func isOf(v *deployment.WorkerDeploymentVersion) func(*taskqueue.PollerInfo) bool {
	return func(p *taskqueue.PollerInfo) bool {
		o := p.GetDeploymentOptions()
		return o.GetDeploymentName() == v.GetDeploymentName() && o.GetBuildId() == v.GetBuildId()
	}
}

// unanswered names the first agent with a workflow for which no worker answers; empty when one does, or when no agent
// has a workflow.
func (d doctor) unanswered(ctx context.Context, e *engine) (handle string) {
	d.onStore(ctx, func(ctx context.Context, h *Deployment) Finding { // checkStore reports the store's errors
		agents, _ := h.store.Agents(ctx)
		w := &waker{engine: e}
		for _, a := range agents {
			query, cancel := context.WithTimeout(ctx, AgentStateWithin)
			_, err := w.AgentState(query, a.Handle)
			cancel()
			switch {
			case errors.Is(err, memory.ErrNotFound):
				continue
			case err != nil && ctx.Err() == nil:
				handle = a.Handle
			}
			break
		}
		return Finding{}
	})
	return handle
}

// unsearchable advises on a cluster that lacks the search attributes of dreams.
func unsearchable(found workers.Cluster) string {
	advice := "Dreams run all the same, but cannot be searched by agent, phase or spend."
	if found.Searchable {
		advice = "Dreams run all the same, but cannot be searched by the days on which they were interrupted."
	}
	if len(found.Missing) > 0 {
		advice += " Add them: " + createCommand(found.Missing)
	}
	if len(found.Wrong) > 0 {
		advice += " Remove the attributes of another type, or use a namespace of our own."
	}
	if found.Unlisted != "" {
		advice += " Give the key the right to list them."
	}
	return advice
}

// createCommand is the temporal command that adds search attributes to a cluster.
func createCommand(missing []workers.Attribute) string {
	line := "temporal operator search-attribute create"
	for _, a := range missing {
		line += " --name " + a.Name + " --type " + a.Type
	}
	return line
}

func clusterNamespace(c config.Cluster) string {
	if c.Options.Namespace == "" {
		return config.DefaultNamespace
	}
	return c.Options.Namespace
}

// checkChild reports which server `oneiros up` would start.
func (d doctor) checkChild() Finding {
	if d.cfg.Temporal.Child == "never" {
		return failed("Set temporal.address.", "no cluster is configured, and temporal.child is never")
	}
	binary, err := temporalchild.Find(d.Getenv("ONEIROS_TEMPORALD"), self(), lookPath)
	if err != nil {
		return failed("make build builds one.", "%v", err)
	}
	return passed("no cluster is configured and none of ours runs; oneiros up will start %s", binary.Path)
}
