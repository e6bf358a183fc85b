package starter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Feeds stores feeds and directs their workflows, which judge readings by the feeds' rules.
type Feeds struct{ starter *Starter }

// ForFeeds is the part of the starter for feeds.
func (s *Starter) ForFeeds() Feeds { return Feeds{s} }

// PutFeed stores a feed and sends its workflow the new rules, starting it if needed. An invalid feed is refused
// before anything is stored.
func (s Feeds) PutFeed(ctx context.Context, f dream.Feed) error {
	if err := alarm.ValidateFeed(f); err != nil {
		return err
	}
	if err := s.starter.Feeds.PutFeed(ctx, f); err != nil {
		return fmt.Errorf("keep feed %s: %w", f.Name, err)
	}
	return s.Probe(ctx, f)
}

// Probe starts the workflow of a stored feed if it does not run, and sends it the feed's rules.
func (s Feeds) Probe(ctx context.Context, f dream.Feed) error {
	return s.signal(ctx, f, workflows.SignalFeedSettings, feedSettings(f))
}

// DropFeed removes a feed and ends its workflow; agents that follow it follow nothing. memory.ErrNotFound.
func (s Feeds) DropFeed(ctx context.Context, name string) error {
	if err := s.starter.Feeds.DropFeed(ctx, name); err != nil {
		return fmt.Errorf("drop feed %s: %w", name, err)
	}
	if err := s.starter.signalRunning(ctx, workflows.FeedID(name), workflows.SignalStop, nil); err != nil {
		return fmt.Errorf("feed %s is dropped, but its workflow could not be informed: %w", name, err)
	}
	return nil
}

// Push sends readings to a feed's workflow, starting it if needed. A reading without a time counts as now.
// memory.ErrNotFound when there is no such feed. All readings are validated before any is sent; alarm.UntimelyError is
// the error of a wrong time.
func (s Feeds) Push(ctx context.Context, name string, readings []dream.Reading) error {
	_, err := s.PushReportingUnused(ctx, name, readings)
	return err
}

// PushReportingUnused is Push, and returns which of the readings no rule uses: empty, or the text of
// alarm.DescribeUnused.
func (s Feeds) PushReportingUnused(ctx context.Context, name string,
	readings []dream.Reading,
) (unused string, err error) {
	f, err := s.starter.Feeds.Feed(ctx, name)
	if err != nil {
		return "", fmt.Errorf("push to feed %s: %w", name, err)
	}
	if err := s.admit(f, readings); err != nil {
		return "", fmt.Errorf("push to feed %s: %w", name, err)
	}
	return alarm.DescribeUnused(f.Rules, alarm.Unused(f.Rules, readings)),
		s.signal(ctx, f, workflows.SignalReading, readings)
}

func (s Feeds) admit(f dream.Feed, readings []dream.Reading) error {
	if len(readings) == 0 || len(readings) > alarm.MostReadings {
		return fmt.Errorf("there are %d readings; 1 to %d at once", len(readings), alarm.MostReadings)
	}
	var faults []error
	for _, r := range readings {
		faults = append(faults, alarm.ValidateReading(r), alarm.Timely(r, alarm.Oldest(f.Rules), s.starter.Now()))
	}
	return errors.Join(faults...)
}

// FeedState queries the state of a feed's workflow.
func (s Feeds) FeedState(ctx context.Context, name string) (workflows.FeedState, error) {
	var state workflows.FeedState
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	value, err := s.starter.Client.QueryWorkflow(ctx, workflows.FeedID(name), "", workflows.QueryFeed)
	if err != nil {
		return state, fmt.Errorf("query the workflow of feed %s: %w", name, err)
	}
	return state, value.Get(&state)
}

// signal signals a feed's workflow, starting it if needed.
func (s Feeds) signal(ctx context.Context, f dream.Feed, signal string, arg any) error {
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	_, err := s.starter.Client.SignalWithStartWorkflow(ctx, workflows.FeedID(f.Name), signal, arg,
		s.starter.Options.workflow("feed "+f.Name, workflows.FeedMemo(f.Name)),
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
