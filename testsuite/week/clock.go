// Package week runs seven days of many agents in minutes, on a real server that skips the time in which nothing
// happens, and checks every night of them.
package week

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// most is how often a workflow may skip between two calls to Forward: the server's own bound of 200 is a guard
// against endless loops.
const most = 1_000_000

// Clock is the time of one agent's workflow, which the server lets run ahead of real time when told to, and no
// other's. Its dreams begin at the workflow's time and then run in real time: the server skips nothing for a workflow
// whose dream has not closed.
type Clock struct {
	client    client.Client
	namespace string
	workflow  string

	ahead atomic.Int64 // of real time, at the last reading
	leaps int
}

// NewClock is the clock of a running workflow.
func NewClock(c client.Client, namespace, workflow string) *Clock {
	return &Clock{client: c, namespace: namespace, workflow: workflow}
}

// Now is the time by the server's last answer; exact while nothing is skipped.
func (k *Clock) Now() time.Time { return time.Now().UTC().Add(time.Duration(k.ahead.Load())) }

// Ahead is how far it is ahead of real time by the server's last answer.
func (k *Clock) Ahead() time.Duration { return time.Duration(k.ahead.Load()) }

// Read reads the time of the workflow from the server.
func (k *Clock) Read(ctx context.Context) (time.Time, error) {
	d, err := k.client.DescribeWorkflowExecution(ctx, k.workflow, "")
	if err != nil {
		return time.Time{}, fmt.Errorf("ask what time it is in %s: %w", k.workflow, err)
	}
	if result := d.GetWorkflowExtendedInfo().GetTimeSkippingInfo().GetCurrentTime(); result != nil {
		k.ahead.Store(int64(time.Until(result.AsTime())))
	}
	return k.Now(), nil
}

// Forward lets the workflow skip until its time is to, and returns when it is there and runs in real time again.
func (k *Clock) Forward(ctx context.Context, to time.Time) error {
	requested := false
	for {
		now, err := k.Read(ctx)
		if err != nil || !now.Before(to) {
			return err
		}
		if !requested {
			if err := k.leap(ctx, to.Sub(now)); err != nil {
				return err
			}
		}
		arrived, err := k.arrive(ctx)
		if err != nil {
			return err
		}
		requested = arrived != enumspb.FAST_FORWARD_POLLING_RESULT_FAST_FORWARD_FAILED
	}
}

// Run lets the workflow skip all its waits from now on.
func (k *Clock) Run(ctx context.Context) error {
	return configure(ctx, k.client, k.namespace, k.workflow, &commonpb.TimeSkippingConfig{
		Enabled: true, DisablePropagation: true, MaxSessionSkipCount: most,
	})
}

func (k *Clock) name() string { return fmt.Sprintf("leap-%d", k.leaps) }

func (k *Clock) leap(ctx context.Context, far time.Duration) error {
	k.leaps++
	return configure(ctx, k.client, k.namespace, k.workflow, &commonpb.TimeSkippingConfig{
		Enabled: true, DisablePropagation: true, MaxSessionSkipCount: most,
		FastForwardConfig: &commonpb.FastForwardConfig{Id: k.name(), Duration: durationpb.New(far)},
	})
}

// arrive waits for the skip to end, or for a second.
func (k *Clock) arrive(ctx context.Context) (enumspb.FastForwardPollingResult, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	polled, err := k.client.WorkflowService().PollWorkflowExecutionTimeSkipping(ctx,
		&workflowservice.PollWorkflowExecutionTimeSkippingRequest{
			Namespace: k.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: k.workflow},
			FastForwardId: k.name(),
		})
	if err != nil {
		return 0, fmt.Errorf("wait for %s to skip: %w", k.workflow, err)
	}
	return polled.GetFastForwardPollingResult(), nil
}

// SkipAll lets another workflow, such as a dream that waits to be resumed, skip all its waits.
func SkipAll(ctx context.Context, c client.Client, namespace, workflow string) error {
	return configure(ctx, c, namespace, workflow,
		&commonpb.TimeSkippingConfig{Enabled: true, MaxSessionSkipCount: most})
}

func configure(ctx context.Context, c client.Client, namespace, workflow string,
	config *commonpb.TimeSkippingConfig,
) error {
	_, err := c.WorkflowService().UpdateWorkflowExecutionOptions(ctx,
		&workflowservice.UpdateWorkflowExecutionOptionsRequest{
			Namespace: namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflow},
			WorkflowExecutionOptions: &workflowpb.WorkflowExecutionOptions{TimeSkippingConfig: config},
			UpdateMask:               &fieldmaskpb.FieldMask{Paths: []string{"time_skipping_config"}},
		})
	if err != nil {
		return fmt.Errorf("let %s skip time: %w", workflow, err)
	}
	return nil
}
