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

// PutFeed keeps a feed and gives its probe the new rules; a feed without a probe gets one. What is wrong with the feed
// is told before anything is kept.
func (s *Starter) PutFeed(ctx context.Context, f dream.Feed) error {
	if err := alarm.ValidateFeed(f); err != nil {
		return err
	}
	if err := s.Feeds.PutFeed(ctx, f); err != nil {
		return fmt.Errorf("keep feed %s: %w", f.Name, err)
	}
	return s.Probe(ctx, f)
}

// Probe starts the probe of a feed that is kept, if it has none, and gives it the feed's rules.
func (s *Starter) Probe(ctx context.Context, f dream.Feed) error {
	return s.signal(ctx, f, workflows.SignalFeedSettings, feedSettings(f))
}

// DropFeed forgets a feed, and its probe ends; agents that follow it follow nothing. memory.ErrNotFound.
func (s *Starter) DropFeed(ctx context.Context, name string) error {
	if err := s.Feeds.DropFeed(ctx, name); err != nil {
		return fmt.Errorf("drop feed %s: %w", name, err)
	}
	err := s.Client.SignalWorkflow(ctx, workflows.FeedID(name), "", workflows.SignalStop, nil)
	var notFound *serviceerror.NotFound
	if err != nil && !errors.As(err, &notFound) {
		return fmt.Errorf("feed %s is dropped, but its probe could not be told: %w", name, err)
	}
	return nil
}

// Push gives readings to a feed's probe; a feed without a probe gets one. Readings without a time are of now.
// memory.ErrNotFound when there is no such feed; what is wrong with a reading is told before any is given, and is an
// alarm.Untimely where its time is.
func (s *Starter) Push(ctx context.Context, name string, readings []dream.Reading) error {
	_, err := s.Give(ctx, name, readings)
	return err
}

// Give is Push, and says which of the readings no rule takes: empty, or what alarm.Unheard tells of them.
func (s *Starter) Give(ctx context.Context, name string, readings []dream.Reading) (unheard string, err error) {
	f, err := s.Feeds.Feed(ctx, name)
	if err != nil {
		return "", fmt.Errorf("push to feed %s: %w", name, err)
	}
	if err := s.admit(f, readings); err != nil {
		return "", fmt.Errorf("push to feed %s: %w", name, err)
	}
	return alarm.Unheard(f.Rules, alarm.Strays(f.Rules, readings)), s.signal(ctx, f, workflows.SignalReading, readings)
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

// FeedState asks a feed's probe where it stands.
func (s *Starter) FeedState(ctx context.Context, name string) (workflows.FeedState, error) {
	var state workflows.FeedState
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	value, err := s.Client.QueryWorkflow(ctx, workflows.FeedID(name), "", workflows.QueryFeed)
	if err != nil {
		return state, fmt.Errorf("ask the probe of feed %s where it stands: %w", name, err)
	}
	return state, value.Get(&state)
}

// signal signals a feed's probe, and starts it when it does not run.
func (s *Starter) signal(ctx context.Context, f dream.Feed, signal string, arg any) error {
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	_, err := s.Client.SignalWithStartWorkflow(ctx, workflows.FeedID(f.Name), signal, arg,
		client.StartWorkflowOptions{
			TaskQueue:           s.queue(),
			WorkflowTaskTimeout: workflows.TaskTimeout,
			StaticSummary:       "the probe of feed " + f.Name,
			Memo:                workflows.FeedMemo(f.Name),
		},
		workflows.FeedType, workflows.FeedRequest{Feed: f.Name, Settings: feedSettings(f)})
	if err != nil {
		return fmt.Errorf("tell the probe of feed %s: %w", f.Name, err)
	}
	return nil
}

// reportWithin bounds how long a signal may take; whoever pushes tries again.
const reportWithin = 10 * time.Second

// feedSettings are a feed without what may be secret of it.
func feedSettings(f dream.Feed) workflows.FeedSettings {
	settings := workflows.FeedSettings{Rules: f.Rules}
	if f.URL != "" {
		settings.Every = f.Every
	}
	return settings
}
