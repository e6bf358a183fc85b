package workers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/workflows"
)

// Cluster is what a Temporal server offers.
type Cluster struct {
	// id of its namespace, with the name: "default/0f7e…"; clusters have different ones, replicas of one cluster the
	// same
	ID             string
	Server         string // its version
	WorkerCommands bool   // cancellations reach running activities without waiting for a heartbeat
	Searchable     bool   // it has our search attributes; otherwise dreams run without them
	Interruptions  bool   // it has the one that came last, too; otherwise dreams run without that one
	Missing        []Attribute
	Wrong          []string // our attributes that exist with another type, each in words
	Unlisted       string   // why its search attributes could not be listed; empty if they were
}

// Attribute is a search attribute, with its type as Temporal's tools write it.
type Attribute struct{ Name, Type string }

// attributes are the search attributes that a cluster should have, with the types that temporald registers.
var attributes = []Attribute{
	{workflows.AttrAgent.GetName(), "Keyword"},
	{workflows.AttrPhase.GetName(), "Keyword"},
	{workflows.AttrDepth.GetName(), "Keyword"},
	{workflows.AttrOutcome.GetName(), "Keyword"},
	{workflows.AttrSpend.GetName(), "Int"},
	{workflows.AttrAgentState.GetName(), "Keyword"},
}

// interruptedOn came with a later release: a cluster that lacks it alone keeps the others.
var interruptedOn = Attribute{workflows.AttrInterruptedOn.GetName(), "KeywordList"}

// Unsearchable says why dreams cannot be searched on this cluster; empty when they can.
func (c Cluster) Unsearchable() string {
	if c.Searchable {
		return ""
	}
	return c.Lacks()
}

// Lacks says which search attributes the cluster does not have as they should be; empty when it has all.
func (c Cluster) Lacks() string {
	var reasons []string
	if c.Unlisted != "" {
		reasons = append(reasons, "it does not list its search attributes ("+c.Unlisted+")")
	}
	if len(c.Missing) > 0 {
		names := make([]string, len(c.Missing))
		for i, a := range c.Missing {
			names[i] = a.Name
		}
		reasons = append(reasons, "it lacks the search attributes "+strings.Join(names, ", "))
	}
	return strings.Join(append(reasons, c.Wrong...), "; ")
}

// Look reads what a cluster offers. A cluster that does not list its search attributes can be used without them.
func Look(ctx context.Context, c client.Client, namespace string) (Cluster, error) {
	var found Cluster
	info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return found, fmt.Errorf("ask the Temporal server for its version: %w", err)
	}
	found.Server = info.GetServerVersion()
	described, err := c.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return found, fmt.Errorf("describe namespace %q: %w", namespace, err)
	}
	found.WorkerCommands = described.GetNamespaceInfo().GetCapabilities().GetWorkerCommands()
	if id := described.GetNamespaceInfo().GetId(); id != "" {
		found.ID = namespace + "/" + id
	}
	existing, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if denied(err) {
		found.Unlisted = err.Error()
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("list search attributes of namespace %q: %w", namespace, err)
	}
	found.compare(existing.GetCustomAttributes())
	return found, nil
}

// denied says whether the cluster refuses the request permanently.
func denied(err error) bool {
	var forbidden *serviceerror.PermissionDenied
	var unknown *serviceerror.Unimplemented
	return errors.As(err, &forbidden) || errors.As(err, &unknown)
}

// compare records missing attributes and those with another type: writing one of those would fail the workflow task.
func (c *Cluster) compare(existing map[string]enumspb.IndexedValueType) {
	for _, want := range attributes {
		c.look(want, existing)
	}
	c.Searchable = len(c.Missing)+len(c.Wrong) == 0
	c.Interruptions = c.look(interruptedOn, existing)
}

// look records one attribute that is missing or of another type. It reports whether it is as it should be.
func (c *Cluster) look(want Attribute, existing map[string]enumspb.IndexedValueType) bool {
	kind, ok := existing[want.Name]
	if !ok {
		c.Missing = append(c.Missing, want)
		return false
	}
	if kind.String() != want.Type {
		c.Wrong = append(c.Wrong,
			fmt.Sprintf("its search attribute %s is of type %s and should be %s", want.Name, kind, want.Type))
		return false
	}
	return true
}
