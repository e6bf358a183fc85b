package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/feeds"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
)

// probe is the running workflow of a feed.
type probe struct {
	name  string
	state FeedState

	reading, settings, stop workflow.ReceiveChannel
	stopping                bool                       // the feed may have been removed from the store
	pull                    workflow.Future            // a pull in progress; nil for none
	sounds                  map[string]workflow.Future // alarms being sounded, by RaisedAlarm.id
	timer                   workflow.Future
	due                     time.Time // when the timer fires
	quit                    workflow.CancelFunc
}

func (p *probe) setup(ctx workflow.Context, r FeedRequest) error {
	if err := r.Settings.validate(); err != nil || r.Feed == "" {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("feed %q: its settings: %v", r.Feed, err),
			InvalidRequest, nil)
	}
	p.name, p.sounds = r.Feed, map[string]workflow.Future{}
	p.state = FeedState{Settings: r.Settings, Watch: alarm.Watch{Since: workflow.Now(ctx)}}
	if r.Carried != nil {
		p.state = *r.Carried
	}
	p.reading = workflow.GetSignalChannel(ctx, SignalReading)
	p.settings = workflow.GetSignalChannel(ctx, SignalFeedSettings)
	p.stop = workflow.GetSignalChannel(ctx, SignalStop)
	return workflow.SetQueryHandler(ctx, QueryFeed, func() (FeedState, error) { return p.state, nil })
}

func (p *probe) run(ctx workflow.Context) error {
	for {
		p.begin(ctx)
		p.show(ctx)
		if err := p.wait(ctx); err != nil {
			return err
		}
		p.catchUp(ctx)
		if p.stopping && p.removed(ctx) {
			return ctx.Err()
		}
		if shouldContinue(ctx) {
			p.drain(ctx) // nothing below may block: signals would be lost
			if p.pull != nil {
				p.state.RequestedAt = time.Time{} // the answer of the running pull is lost with this run: pull again
			}
			return continueAsNew(ctx, FeedType,
				FeedRequest{Feed: p.name, Settings: p.state.Settings, Carried: &p.state})
		}
	}
}

// begin starts what is due, without waiting for it: a pull, and the sounding of new alarms.
func (p *probe) begin(ctx workflow.Context) {
	now := workflow.Now(ctx)
	if p.pull == nil && p.state.Settings.Every > 0 && !p.state.RequestedAt.Add(p.state.Settings.Every).After(now) {
		p.state.RequestedAt = now
		p.pull = workflow.ExecuteActivity(pollOptions(ctx, "ask "+p.name), activities.FeedPoll,
			feeds.PollRequest{Feed: p.name, Rules: p.state.Settings.Rules})
	}
	for _, s := range p.state.Delivering {
		if p.sounds[s.id()] == nil {
			p.sounds[s.id()] = workflow.ExecuteActivity(
				alarmOptions(ctx, s.At.Add(patience).Sub(now), "alarm "+p.name+"/"+s.Rule), activities.FeedDeliverAlarm,
				feeds.AlarmRequest{
					Feed:  p.name,
					Rule:  s.Rule,
					Kind:  s.Kind,
					At:    s.At,
					What:  s.What,
					Quiet: s.Quiet,
				})
		}
	}
}

func (s RaisedAlarm) id() string { return s.Rule + " " + s.At.UTC().Format(time.RFC3339Nano) }

// wait blocks until a signal, the result of an activity, or the next time to pull or to notice a silence. The timer
// is kept when that time moves later; it then fires too early, once.
func (p *probe) wait(ctx workflow.Context) error {
	next, ok := p.next()
	if p.timer != nil && (!ok || next.Before(p.due)) {
		p.quit()
		p.timer = nil
	}
	if ok && p.timer == nil {
		timed, quit := workflow.WithCancel(ctx)
		p.due, p.quit = next, quit
		p.timer = workflow.NewTimerWithOptions(timed, max(time.Millisecond, next.Sub(workflow.Now(ctx))),
			workflow.TimerOptions{Summary: "look at " + p.name})
	}
	err := workflow.Await(ctx, func() bool {
		return p.timerFired() || p.answered() || p.sounded() || p.reading.Len() > 0 || p.settings.Len() > 0 ||
			p.stop.Len() > 0
	})
	if err == nil && p.timerFired() {
		p.timer = nil
	}
	return err
}

// timerFired says whether the time to look again has come.
func (p *probe) timerFired() bool { return p.timer != nil && p.timer.IsReady() }

// answered says whether the poll has returned.
func (p *probe) answered() bool { return p.pull != nil && p.pull.IsReady() }

func (p *probe) sounded() bool {
	return slices.ContainsFunc(p.state.Delivering, func(s RaisedAlarm) bool {
		f := p.sounds[s.id()]
		return f != nil && f.IsReady()
	})
}

// next is when to look again if nothing arrives.
func (p *probe) next() (time.Time, bool) {
	at, ok := p.state.Watch.Due(p.state.Settings.Rules)
	if p.pull == nil && p.state.Settings.Every > 0 {
		if poll := p.state.RequestedAt.Add(p.state.Settings.Every); !ok || poll.Before(at) {
			at, ok = poll, true
		}
	}
	return at, ok
}

// catchUp handles everything that has arrived, and the time that has passed.
func (p *probe) catchUp(ctx workflow.Context) {
	if p.answered() {
		p.pulled(ctx)
	}
	p.settleSounded(ctx)
	p.drain(ctx)
}

// pulled handles the result of a pull.
func (p *probe) pulled(ctx workflow.Context) {
	var answer feeds.PollResult
	err := p.pull.Get(ctx, &answer)
	p.pull = nil
	if answer.Fault != "" {
		err = errors.New(answer.Fault)
	}
	switch {
	case err != nil:
		p.state.InARow++
		if p.state.InARow == 1 {
			workflow.GetLogger(ctx).Warn("a feed cannot be read", "feed", p.name, "reason",
				cut(plain(err), longestFailure))
		}
		p.failed(ctx, err)
	case answer.Removed:
		p.stopping = true
	default:
		if p.state.InARow > 0 {
			workflow.GetLogger(ctx).Warn("a feed can be read again", "feed", p.name, "failures", p.state.InARow)
		}
		p.state.InARow = 0
		p.judge(ctx, append(answer.Readings, answer.Rest...), 0)
		p.state.Unused.Readings += answer.More
	}
}

func (p *probe) failed(ctx workflow.Context, err error) {
	p.state.Failures++
	p.state.Failure, p.state.Failed = cut(plain(err), longestFailure), workflow.Now(ctx)
}

// settleSounded removes the alarms whose activity has ended, successful or not.
func (p *probe) settleSounded(ctx workflow.Context) {
	p.state.Delivering = slices.DeleteFunc(slices.Clone(p.state.Delivering), func(s RaisedAlarm) bool {
		f := p.sounds[s.id()]
		if f == nil || !f.IsReady() {
			return false
		}
		delete(p.sounds, s.id())
		var to feeds.AlarmResult
		if err := f.Get(ctx, &to); err != nil {
			p.failed(ctx, err)
		} else if p.state.Last != nil && p.state.Last.id() == s.id() {
			p.state.Last.Agents = to.Agents
		}
		return true
	})
}

// drain reads every signal, so that none is lost at continue-as-new, and judges the readings and the time that has
// passed.
func (p *probe) drain(ctx workflow.Context) {
	for p.stop.Len() > 0 {
		p.stop.ReceiveAsync(nil)
		p.stopping = true
	}
	for p.settings.Len() > 0 {
		var settings FeedSettings
		if p.settings.ReceiveAsync(&settings) {
			p.adopt(ctx, settings)
		}
	}
	var fresh []dream.Reading
	for p.reading.Len() > 0 {
		var readings []dream.Reading
		if p.reading.ReceiveAsync(&readings) {
			fresh = append(fresh, readings...)
		}
	}
	p.judge(ctx, fresh, alarm.Oldest(p.state.Settings.Rules))
}

// adopt replaces the settings; invalid ones are refused and counted as a failure.
func (p *probe) adopt(ctx workflow.Context, settings FeedSettings) {
	if err := settings.validate(); err != nil {
		p.failed(ctx, fmt.Errorf("new settings were refused: %w", err))
		return
	}
	p.state.Watch = p.state.Watch.Carry(p.state.Settings.Rules, settings.Rules)
	p.state.Settings, p.state.Unused = settings, p.state.Unused.Under(settings.Rules)
}

// judge evaluates readings that are at most oldest old (0: of any age) and the time that has passed, and queues the
// alarms, one per rule.
func (p *probe) judge(ctx workflow.Context, fresh []dream.Reading, oldest time.Duration) {
	now := workflow.Now(ctx)
	var fired []alarm.FiredRule
	p.state.Watch, fired = p.state.Watch.Update(p.state.Settings.Rules, p.admitted(fresh, oldest, now), now)
	for _, f := range fired {
		s := RaisedAlarm{
			Rule:  f.Rule,
			Kind:  f.Kind,
			What:  f.String(),
			At:    now,
			Quiet: p.quiet(f.Rule),
		}
		if slices.ContainsFunc(p.state.Delivering, func(o RaisedAlarm) bool { return o.id() == s.id() }) {
			continue
		}
		p.state.Delivering = append(p.state.Delivering, s)
		if s.Quiet {
			p.state.Hints++
			continue
		}
		p.state.Alarms++
		p.state.Last = &s
	}
}

// quiet says whether a rule wakes nobody.
func (p *probe) quiet(rule string) bool {
	return slices.ContainsFunc(p.state.Settings.Rules, func(r dream.Rule) bool { return r.Name == rule && r.Quiet })
}

// admitted are the readings that can be judged. Refused ones are counted.
func (p *probe) admitted(fresh []dream.Reading, oldest time.Duration, now time.Time) []dream.Reading {
	var admitted []dream.Reading
	for _, r := range alarm.WithMetrics(fresh, p.state.Settings.Rules) {
		if err := errors.Join(alarm.ValidateReading(r), alarm.Timely(r, oldest, now)); err != nil {
			p.state.Refused++
			p.state.Refusal, p.state.RefusedAt = cut(err.Error(), longestFailure), now
			continue
		}
		admitted, p.state.LastReading = append(admitted, r), now
		if alarm.Uses(p.state.Settings.Rules, r) {
			p.state.Readings++
		} else {
			if r.At.IsZero() {
				r.At = now
			}
			p.state.Unused = p.state.Unused.Add(r)
		}
	}
	return admitted
}

// removed asks the store whether the feed still exists, and takes its current rules if it does: the signals that it
// was removed and that it was created again may arrive in either order.
func (p *probe) removed(ctx workflow.Context) bool {
	p.stopping = false
	var now feeds.FeedSettingsResult
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, "is the feed still there"), activities.FeedLoadSettings,
		feeds.FeedSettingsRequest{Feed: p.name}).Get(ctx, &now)
	switch {
	case err != nil:
		p.failed(ctx, err)
	case !now.Removed:
		p.adopt(ctx, FeedSettings{Every: now.Every, Rules: now.Rules})
	default:
		return p.settings.Len() == 0
	}
	return false
}
