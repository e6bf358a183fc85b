package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// Agent configures when agents dream by themselves, how long they are held awake, and how an interrupted dream resumes.
type Agent struct {
	Auto        bool          `json:"auto"`
	IdleTimeout time.Duration `json:"idle_timeout"`
	MinGap      time.Duration `json:"min_gap"`
	Jitter      time.Duration `json:"jitter"`
	Windows     string        `json:"windows"` // as written; Hours splits it
	Quiet       string        `json:"quiet"`

	UrgentIdle      time.Duration `json:"urgent_idle"` // 0: urgency has no effect
	Urgent          float64       `json:"urgent"`
	UrgentUncertain float64       `json:"urgent_uncertain"`

	ClientTimeout time.Duration `json:"client_timeout"`
	WakeLock      time.Duration `json:"wake_lock"`
	AlarmHold     time.Duration `json:"alarm_hold"`
	ResumeAfter   time.Duration `json:"resume_after"`
	ResumeTTL     time.Duration `json:"resume_ttl"` // 0: a dream ends with its first interruption

	Digest  string `json:"digest"`  // how much of dreams clients see: off, header or message
	Private bool   `json:"private"` // clients see nothing of dreams
	Shared  bool   `json:"shared"`  // every client sees dreams, even if they quote other users' conversations

	// What happens to the results of dreams, for agents without a setting of their own.
	Review dream.Review `json:"review"`

	Vitality circadian.Thresholds `json:"vitality"`
}

// Hours returns the entries of windows and quiet hours in the form that circadian.ParseHours reads; nil when there are
// none.
func (a Agent) Hours() (windows, quiet []string) {
	return circadian.SplitHours(a.Windows), circadian.SplitHours(a.Quiet)
}

// UrgencyRule returns when an urgent agent may idle for a shorter time.
func (a Agent) UrgencyRule() circadian.UrgencyRule {
	return circadian.UrgencyRule{Idle: a.UrgentIdle, Urgent: a.Urgent, Uncertain: a.UrgentUncertain}
}

// limitDefaults limits values that were not set by those that were: an agent that idles for ten seconds should not wait
// five minutes more by default.
func (c *Config) limitDefaults() {
	a := &c.Agent
	c.unlessSet("agent.jitter", &a.Jitter, (a.IdleTimeout / 6).Truncate(time.Second))
	c.unlessSet("agent.urgent_idle", &a.UrgentIdle, (a.IdleTimeout / 3).Truncate(time.Second))
	most := a.IdleTimeout
	if half := a.ResumeTTL / 2; half > 0 {
		most = min(most, half)
	}
	c.unlessSet("agent.resume_after", &a.ResumeAfter, most)
}

func (c *Config) unlessSet(key string, value *time.Duration, most time.Duration) {
	for i := range c.settings {
		if s := &c.settings[i]; s.Key == key && s.Source == fromDefault && *value > most {
			*value, s.Value = most, spanText(most)
		}
	}
}

func (a Agent) validate() error {
	var faults faultList
	if a.WakeLock > a.ClientTimeout {
		faults.add("agent.wake_lock is %s and agent.client_timeout is %s; the lock must not outlast the visit",
			spanText(a.WakeLock), spanText(a.ClientTimeout))
	}
	if a.AlarmHold < a.WakeLock {
		faults.add("agent.alarm_hold is %s and agent.wake_lock is %s; an alarm must hold for as long as the lock",
			spanText(a.AlarmHold), spanText(a.WakeLock))
	}
	if a.ResumeTTL > 0 && a.ResumeAfter >= a.ResumeTTL {
		faults.add(
			"agent.resume_after is %s and agent.resume_ttl is %s; a dream must be let go on before its time runs out, or set resume_ttl to 0s to end it when it is woken",
			spanText(a.ResumeAfter), spanText(a.ResumeTTL))
	}
	if a.UrgentIdle > a.IdleTimeout {
		faults.add(
			"agent.urgent_idle is %s and agent.idle_timeout is %s; an urgent agent must not wait for longer than another",
			spanText(a.UrgentIdle), spanText(a.IdleTimeout))
	}
	if err := a.UrgencyRule().Validate(); err != nil {
		faults.add("agent: %w", err)
	}
	if err := a.Vitality.Validate(); err != nil {
		faults.add("agent.vitality: %w", err)
	}
	return errors.Join(append(faults, a.validHours())...)
}

func (a Agent) validHours() error {
	entries, silent := a.Hours()
	windows, err := circadian.ParseHours(entries)
	if err != nil {
		err = fmt.Errorf("agent.windows: %w", err)
	}
	quiet, wrong := circadian.ParseHours(silent)
	if wrong != nil {
		wrong = fmt.Errorf("agent.quiet: %w", wrong)
	}
	if err := errors.Join(err, wrong); err != nil {
		return err
	}
	if err := circadian.Opens(windows, quiet); err != nil {
		return fmt.Errorf("agent.windows and agent.quiet: %w", err)
	}
	return nil
}

// Feed configures where readings are received.
type Feed struct {
	Listen string `json:"listen"` // host:port; empty: nowhere
}

// validListen checks an address to listen on; an empty one is valid.
func validListen(knob, address, example string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || (host == "" && n == 0) {
		return fmt.Errorf("%s is %s; it must be an address of this machine and a port, such as %s, or empty", knob,
			quoted(address), example)
	}
	return nil
}
