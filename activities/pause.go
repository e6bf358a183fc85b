package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/purse"
)

// Wake asks an agent, or one dream, to wake up. Whoever raised the epoch names it; with the zero Wake, which a person may
// send with any tool, the epoch is raised where it arrives.
type Wake struct {
	Epoch   int64          `json:"epoch,omitempty"`
	Cause   presence.Cause `json:"cause,omitempty"`   // operator when empty; alarm for a signal of that name
	Client  string         `json:"client,omitempty"`  // who came
	At      time.Time      `json:"at,omitzero"`       // when the visit was received
	Raised  time.Time      `json:"raised,omitzero"`   // when its epoch was durable
	Trigger string         `json:"trigger,omitempty"` // of an alarm: "feed/rule"
	Hold    time.Duration  `json:"hold,omitempty"`    // how long an agent that nobody visits stays awake for it; 0: a minute
}

// alarmed begins the name of the client that an alarm comes as.
const alarmed = "alarm/"

// held is how long an agent stays awake for a wake that does not say.
const held = time.Minute

// visit is the wake as a visit, for one that came without an epoch.
func (w Wake) visit(agent string, now time.Time) presence.Visit {
	v := presence.Visit{Agent: agent, Client: w.Client, Cause: w.Cause, Now: now, For: w.Hold}
	if v.Cause == "" {
		v.Cause = presence.Operator
	}
	if v.For <= 0 {
		v.For = held
	}
	if v.Client == "" {
		v.Client = "signal"
	}
	if v.Cause == presence.Alarm && w.Trigger != "" {
		v.Client = alarmed + w.Trigger
	}
	return v
}

// RouseRequest asks to raise an agent's epoch for a wake that nobody raised it for.
type RouseRequest struct {
	Agent string    `json:"agent"`
	Wake  Wake      `json:"wake"`
	Now   time.Time `json:"now"`

	Lock time.Duration `json:"lock,omitempty"` // the wake lock (W7)
}

// Rouse raises the epoch of an agent and rings the bell, for a wake that reached its workflow by another tool than ours. It
// answers the wake with the epoch that holds now.
func (b *Bed) Rouse(ctx context.Context, r RouseRequest) (Wake, error) {
	now := b.now(Sitting{Now: r.Now})
	visit := r.Wake.visit(r.Agent, now)
	visit.Lock = r.Lock
	arrival, err := b.Presence.Arrive(ctx, visit)
	if err != nil {
		return r.Wake, tell(fmt.Errorf("raise the epoch of %s: %w", r.Agent, err))
	}
	w := r.Wake
	w.Epoch, w.Cause, w.Client, w.At, w.Raised = arrival.Epoch, arrival.Cause, arrival.Client, arrival.At, b.now(Sitting{Now: r.Now})
	if arrival.Raised {
		b.ring(ctx, r.Agent, w)
	}
	return w, nil
}

// ring tells every process; what it does not reach, the fence and the workflow do.
func (b *Bed) ring(ctx context.Context, agent string, w Wake) {
	if b.Bell != nil {
		_ = b.Bell.Ring(ctx, presence.Ring{Agent: agent, Epoch: w.Epoch, Cause: w.Cause, At: w.At, Raised: w.Raised})
	}
}

// PauseRequest ends a sitting that was woken.
type PauseRequest struct {
	Sitting
	Wake    Wake          `json:"wake"`   // what the workflow heard of it; zero when only its deeds were reached
	Number  int           `json:"number"` // of the sitting, from 1
	Phase   dream.Phase   `json:"phase"`
	Cycle   int           `json:"cycle,omitempty"`
	Kept    int           `json:"kept"`
	Tallies []dream.Tally `json:"tallies,omitempty"`
	Cuts    []Cut         `json:"cuts,omitempty"`
	Light   bool          `json:"light,omitempty"`
	Forced  bool          `json:"forced,omitempty"`
	TTL     time.Duration `json:"ttl"`

	Onset bool          `json:"onset,omitempty"` // an alarm in the onset ends the onset for good (H19)
	Spent budget.Micros `json:"spent,omitempty"` // of the onset
}

// PauseResult is how long the dream may be resumed, and what woke it.
type PauseResult struct {
	Wake  Wake          `json:"wake"`
	Until time.Time     `json:"until,omitzero"` // zero: it cannot be resumed
	Left  budget.Micros `json:"left"`           // what every cap still allows
	Spent budget.Micros `json:"spent"`

	Tallies []dream.Tally `json:"tallies,omitempty"` // of the phases, by the ledger
}

// Pause books a sitting that was woken: it judges what the interrupted calls had said, keeps it in the journal or erases
// it (W4, W5), notes how the wake went, and frees the slot. Done twice it changes nothing.
func (b *Bed) Pause(ctx context.Context, r PauseRequest) (PauseResult, error) {
	result := PauseResult{Wake: r.Wake}
	night, err := memory.One[*dream.Night](ctx, b.Memory, r.Agent, r.Dream)
	if err != nil {
		return result, tell(err)
	}
	order, err := b.order(ctx, r.Sitting)
	if err != nil {
		return result, tell(err)
	}
	if result.Left, err = b.remaining(ctx, order); err != nil {
		return result, tell(err)
	}
	last, err := b.roused(ctx, r, &result)
	if err != nil {
		return result, tell(err)
	}
	judged, err := b.weigh(ctx, r.Sitting, r.Number, b.now(r.Sitting))
	if err != nil {
		return result, tell(err)
	}
	if night.Outcome == dream.Interrupted && night.Sittings == r.Number { // by a worker that died before it had erased them
		result.Until, result.Spent, result.Tallies = night.Until, night.Spent, night.Phases
		return result, tell(b.putDown(ctx, r, judged))
	}
	if err := b.book(ctx, r, night, order, &result, last, judged); err != nil {
		return result, tell(err)
	}
	return result, tell(b.putDown(ctx, r, judged))
}

// putDown erases what has been judged and frees the slot.
func (b *Bed) putDown(ctx context.Context, r PauseRequest, j judgedSnapshots) error {
	if len(j.keys) > 0 { // without a key all of the dream's notes would go
		if err := b.Memory.DropNotes(ctx, r.Agent, r.Dream, j.keys...); err != nil {
			return fmt.Errorf("erase what was judged of %s: %w", r.Dream, err)
		}
	}
	return b.Memory.FreeSlot(ctx, r.Agent, r.fence())
}

// roused finds what woke the agent, and wakes it when nobody has: then a plain signal reached the dream itself.
func (b *Bed) roused(ctx context.Context, r PauseRequest, result *PauseResult) (presence.Wake, error) {
	standing, err := b.Presence.Standing(ctx, r.Agent, b.now(r.Sitting))
	if err != nil {
		return presence.Wake{}, fmt.Errorf("ask what woke %s: %w", r.Agent, err)
	}
	if standing.Epoch <= r.Epoch {
		if result.Wake, err = b.Rouse(ctx, RouseRequest{Agent: r.Agent, Wake: r.Wake, Now: r.Now}); err != nil {
			return presence.Wake{}, err
		}
		if standing, err = b.Presence.Standing(ctx, r.Agent, b.now(r.Sitting)); err != nil {
			return presence.Wake{}, fmt.Errorf("ask what woke %s: %w", r.Agent, err)
		}
	}
	last := presence.Wake{Agent: r.Agent, Epoch: standing.Epoch, Cause: r.Wake.Cause, At: r.Wake.At}
	if standing.Last != nil {
		last = *standing.Last
	}
	if last.Dream != r.Dream { // of a later wake than the one that stopped this sitting
		last.Delta = 0
	}
	w := &result.Wake
	w.Epoch = last.Epoch
	if w.Cause == "" {
		w.Cause, w.Client = last.Cause, last.Client
	}
	if w.At.IsZero() {
		w.At = last.At
	}
	if w.Cause == presence.Alarm && w.Trigger == "" {
		w.Trigger = strings.TrimPrefix(last.Client, alarmed)
	}
	return last, nil
}

// book writes the record, the events and the journal entry of an interrupted sitting, in one step.
func (b *Bed) book(ctx context.Context, r PauseRequest, night *dream.Night, o Order, result *PauseResult, last presence.Wake, j judgedSnapshots) error {
	now := b.now(r.Sitting)
	rows, err := b.Purse.Ledger.Rows(ctx, purse.Query{Dream: r.Dream})
	if err != nil {
		return fmt.Errorf("sum up %s: %w", r.Dream, err)
	}
	night.Spent = 0
	for _, row := range rows {
		night.Spent += row.Counted
	}
	night.Phases = nil
	for _, t := range r.Tallies {
		night.Phases = append(night.Phases, sumUp(t, rows))
	}
	if o.ResumeTTL > 0 && (o.Free || result.Left > 0) {
		result.Until = now.Add(o.ResumeTTL)
	}
	night.Outcome, night.Ended, night.Until, night.Sittings = dream.Interrupted, now.UTC(), result.Until.UTC(), r.Number
	night.Reason = becauseOf(result.Wake)
	if last.Dream == r.Dream {
		night.After = last.Affect
	}
	result.Spent, result.Tallies = night.Spent, night.Phases

	times := r.times(result.Wake, now)
	told := event.DreamInterrupted{
		Cause: string(result.Wake.Cause), Epoch: result.Wake.Epoch, Sitting: r.Number, Phase: r.Phase, Cycle: r.Cycle,
		Light: r.Light, Forced: r.Forced, Receipt: milliseconds(times.Receipt), Stop: milliseconds(times.Stop),
		Preserve: milliseconds(times.Preserve), Switch: milliseconds(times.Switch), Partials: j.partials, Significance: j.significance,
		Delta: last.Delta, Until: result.Until.UTC(),
	}
	w := memory.Write{Late: true, Change: []dream.Item{night}}
	if j.entry != nil {
		j.entry.Wake = &times
		told.Journal = j.entry.ID
		w.Add = append(w.Add, j.entry)
	}
	deed := fmt.Sprintf("sitting-%d/%s", r.Number, r.Run)
	if r.Onset && result.Wake.Cause == presence.Alarm {
		w.Events = append(w.Events, b.event(r.Sitting, deed, event.AlarmAbort{Trigger: result.Wake.Trigger, Fragments: r.Kept, Spent: r.Spent}))
	}
	w.Events = append(w.Events, b.event(r.Sitting, deed, told))
	return b.write(ctx, r.Sitting, w)
}

// becauseOf says what woke a dream, as its record tells it.
func becauseOf(w Wake) string {
	switch {
	case w.Cause == presence.Alarm && w.Trigger != "":
		return "an alarm: " + w.Trigger
	case w.Cause == presence.Alarm:
		return "an alarm"
	case w.Cause == presence.Knock:
		return "somebody connected"
	default:
		return "an operator woke it"
	}
}

// times are the four phases of the wake, as far as clocks were read: the visit and its epoch by whoever knocked, the cut
// and its safety by the deeds, the rest here.
func (r PauseRequest) times(w Wake, now time.Time) dream.WakeTimes {
	t := dream.WakeTimes{Light: r.Light, Forced: r.Forced}
	at, raised := w.At, w.Raised
	var stopped, saved time.Time
	for _, c := range r.Cuts {
		if at.IsZero() || !c.At.IsZero() && c.At.Before(at) {
			at = c.At
		}
		if raised.IsZero() {
			raised = c.Raised
		}
		if c.Stopped.After(stopped) {
			stopped = c.Stopped
		}
		if c.Saved.After(saved) {
			saved = c.Saved
		}
	}
	marks := []time.Time{at, raised, stopped, saved, now}
	into := []*time.Duration{&t.Receipt, &t.Stop, &t.Preserve, &t.Switch}
	before := time.Time{}
	for i, mark := range marks {
		if mark.IsZero() {
			continue
		}
		if !before.IsZero() && i > 0 {
			*into[i-1] = max(0, mark.Sub(before))
		}
		before = mark
	}
	return t
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// goOn lies down again for a later sitting of an interrupted dream.
func (b *Bed) goOn(ctx context.Context, s Sitting, r LieDownRequest, night *dream.Night) (LieDownResult, error) {
	left, err := b.remaining(ctx, r.Order)
	if err != nil {
		return LieDownResult{}, tell(err)
	}
	result := LieDownResult{Remaining: left, Epoch: s.Epoch}
	if night.Outcome == dream.Dreaming && night.Sittings >= r.Sitting {
		return result, nil
	}
	if !r.Order.Free && left <= 0 {
		result.Refused, result.Reason = dream.Interrupted, "nothing is left of its budget to go on with"
		return result, tell(b.Memory.FreeSlot(ctx, s.Agent, s.fence()))
	}
	night.Outcome, night.Reason, night.Ended, night.Until, night.Sittings = dream.Dreaming, "", time.Time{}, time.Time{}, r.Sitting
	err = b.write(ctx, s, memory.Write{
		Change: []dream.Item{night},
		Events: []event.Event{b.event(s, fmt.Sprintf("sitting-%d/%s", r.Sitting, s.Run), event.DreamResumed{Sitting: r.Sitting, Phase: r.Phase, Left: left})},
	})
	if errors.Is(err, memory.ErrWoken) { // between the slot and this write
		result.Refused, result.Awake, result.Reason = dream.Canceled, true, r.Order.Handle+" was woken again"
		return result, tell(b.Memory.FreeSlot(ctx, s.Agent, s.fence()))
	}
	return result, tell(err)
}

// GreetRequest notes that an agent's life has recorded a wake, or that nobody holds the agent awake any more.
type GreetRequest struct {
	Agent string    `json:"agent"`
	Epoch int64     `json:"epoch"`
	Cause string    `json:"cause,omitempty"`
	Dream string    `json:"dream,omitempty"`
	Now   time.Time `json:"now"`

	Asleep bool `json:"asleep,omitempty"` // the wake left it asleep: there is nothing to announce
}

// GreetResult tells of a wake whose epoch nobody has raised.
type GreetResult struct {
	Forged bool  `json:"forged,omitempty"`
	Epoch  int64 `json:"epoch,omitempty"` // the agent's newest, when the one that was told is above it
}

// Greet announces that the agent is awake and notes that its life knows. Of a forged epoch it notes the newest that is true.
func (b *Bed) Greet(ctx context.Context, r GreetRequest) (GreetResult, error) {
	newest, err := b.Presence.Epoch(ctx, r.Agent)
	if err != nil {
		return GreetResult{}, tell(fmt.Errorf("ask for the epoch of %s: %w", r.Agent, err))
	}
	var result GreetResult
	if r.Epoch > newest {
		r.Epoch, result = newest, GreetResult{Forged: true, Epoch: newest}
	}
	if !r.Asleep {
		e := event.New(fmt.Sprintf("awake/%d", r.Epoch), r.Agent, r.Dream, b.now(Sitting{Now: r.Now}), event.AgentAwake{Epoch: r.Epoch, Cause: r.Cause, Dream: r.Dream})
		if _, err := b.Memory.Commit(ctx, memory.Write{Agent: r.Agent, Cause: "wake", Events: []event.Event{e}}); err != nil {
			return result, tell(fmt.Errorf("announce that %s is awake: %w", r.Agent, err))
		}
	}
	return result, tell(b.Presence.Told(ctx, r.Agent, r.Epoch))
}

// LookRequest asks who holds an agent awake.
type LookRequest struct {
	Agent string    `json:"agent"`
	Now   time.Time `json:"now"`
}

// LookResult tells until when an agent stays awake.
type LookResult struct {
	Until time.Time     `json:"until,omitzero"` // not after now: it is free to sleep
	Epoch int64         `json:"epoch"`
	Last  Wake          `json:"last"` // the newest wake
	Seen  time.Time     `json:"seen,omitzero"`
	Hold  time.Duration `json:"hold,omitempty"`
}

// Look asks who holds an agent awake; when nobody does, it announces that the agent sleeps.
func (b *Bed) Look(ctx context.Context, r LookRequest) (LookResult, error) {
	now := b.now(Sitting{Now: r.Now})
	standing, err := b.Presence.Standing(ctx, r.Agent, now)
	if err != nil {
		return LookResult{}, tell(fmt.Errorf("ask who is connected to %s: %w", r.Agent, err))
	}
	result := LookResult{Until: standing.Until(), Epoch: standing.Epoch, Seen: standing.Seen}
	if last := standing.Last; last != nil {
		result.Last = Wake{Epoch: last.Epoch, Cause: last.Cause, Client: last.Client, At: last.At}
	}
	if standing.Awake(now) || standing.Epoch == 0 {
		return result, nil
	}
	e := event.New(fmt.Sprintf("asleep/%d", standing.Epoch), r.Agent, "", now, event.AgentAsleep{Epoch: standing.Epoch})
	_, err = b.Memory.Commit(ctx, memory.Write{Agent: r.Agent, Cause: "sleep", Events: []event.Event{e}})
	return result, tell(err)
}
