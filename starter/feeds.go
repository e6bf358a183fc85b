package starter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/workflows"
)

// PutFeed stores a feed and sends its workflow the new rules, starting it if needed. An invalid feed is refused
// before anything is stored.
func (s *Starter) PutFeed(ctx context.Context, f dream.Feed) error {
	if err := alarm.ValidateFeed(f); err != nil {
		return err
	}
	if err := s.Feeds.PutFeed(ctx, f); err != nil {
		return fmt.Errorf("keep feed %s: %w", f.Name, err)
	}
	return s.Probe(ctx, f)
}

// Probe starts the workflow of a stored feed if it does not run, and sends it the feed's rules.
func (s *Starter) Probe(ctx context.Context, f dream.Feed) error {
	return s.signal(ctx, f, workflows.SignalFeedSettings, feedSettings(f))
}

// DropFeed removes a feed and ends its workflow; agents that follow it follow nothing. memory.ErrNotFound.
func (s *Starter) DropFeed(ctx context.Context, name string) error {
	if err := s.Feeds.DropFeed(ctx, name); err != nil {
		return fmt.Errorf("drop feed %s: %w", name, err)
	}
	err := s.Client.SignalWorkflow(ctx, workflows.FeedID(name), "", workflows.SignalStop, nil)
	var notFound *serviceerror.NotFound
	if err != nil && !errors.As(err, &notFound) {
		return fmt.Errorf("feed %s is dropped, but its workflow could not be informed: %w", name, err)
	}
	return nil
}

// Push sends readings to a feed's workflow, starting it if needed. A reading without a time counts as now.
// memory.ErrNotFound when there is no such feed. All readings are validated before any is sent; alarm.Untimely is the
// error of a wrong time.
func (s *Starter) Push(ctx context.Context, name string, readings []dream.Reading) error {
	_, err := s.PushReportingUnused(ctx, name, readings)
	return err
}

// PushReportingUnused is Push, and returns which of the readings no rule uses: empty, or the text of
// alarm.DescribeUnused.
func (s *Starter) PushReportingUnused(ctx context.Context, name string,
	readings []dream.Reading,
) (unused string, err error) {
	f, err := s.Feeds.Feed(ctx, name)
	if err != nil {
		return "", fmt.Errorf("push to feed %s: %w", name, err)
	}
	if err := s.admit(f, readings); err != nil {
		return "", fmt.Errorf("push to feed %s: %w", name, err)
	}
	return alarm.DescribeUnused(f.Rules, alarm.Unused(f.Rules, readings)),
		s.signal(ctx, f, workflows.SignalReading, readings)
}

func (s *Starter) admit(f dream.Feed, readings []dream.Reading) error {
	if len(readings) == 0 || len(readings) > alarm.MostReadings {
		return fmt.Errorf("there are %d readings; 1 to %d at once", len(readings), alarm.MostReadings)
	}
	var faults []error
	for _, r := range readings {
		faults = append(faults, alarm.Sane(r), alarm.Timely(r, alarm.Oldest(f.Rules), s.Now()))
	}
	return errors.Join(faults...)
}

// FeedState queries the state of a feed's workflow.
func (s *Starter) FeedState(ctx context.Context, name string) (workflows.FeedState, error) {
	var state workflows.FeedState
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	value, err := s.Client.QueryWorkflow(ctx, workflows.FeedID(name), "", workflows.QueryFeed)
	if err != nil {
		return state, fmt.Errorf("query the workflow of feed %s: %w", name, err)
	}
	return state, value.Get(&state)
}

// signal signals a feed's workflow, starting it if needed.
func (s *Starter) signal(ctx context.Context, f dream.Feed, signal string, arg any) error {
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	_, err := s.Client.SignalWithStartWorkflow(ctx, workflows.FeedID(f.Name), signal, arg,
		client.StartWorkflowOptions{
			TaskQueue:           s.queue(),
			WorkflowTaskTimeout: workflows.TaskTimeout,
			StaticSummary:       "feed " + f.Name,
			Memo:                workflows.FeedMemo(f.Name),
		},
		workflows.FeedType, workflows.FeedRequest{Feed: f.Name, Settings: feedSettings(f)})
	if err != nil {
		return fmt.Errorf("signal the workflow of feed %s: %w", f.Name, err)
	}
	return nil
}

// reportWithin limits how long a signal may take; the sender of a reading tries again.
const reportWithin = 10 * time.Second

// feedSettings are a feed's settings without what may be secret.
func feedSettings(f dream.Feed) workflows.FeedSettings {
	settings := workflows.FeedSettings{Rules: f.Rules}
	if f.URL != "" {
		settings.Every = f.Every
	}
	return settings
}
