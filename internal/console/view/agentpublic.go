package view

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/workflows"
)

// PublicAgentView is an agent's state for --json: times that never were are left out, and durations are in
// milliseconds.
type PublicAgentView struct {
	AgentView
	Status     PublicStatus   `json:"presence"`
	Next       publicNext     `json:"next"`
	AgentState *workflowState `json:"workflow,omitempty"`
}

// workflowState is what the agent's workflow reports.
type workflowState struct {
	workflows.AgentState
	LastActive time.Time      `json:"last_active,omitzero"`
	LastDream  time.Time      `json:"last_dream,omitzero"`
	LastTry    time.Time      `json:"last_try,omitzero"`
	Settings   publicSettings `json:"settings"`
	Wake       *publicWake    `json:"wake,omitempty"`
	Unraised   *publicWake    `json:"unraised,omitempty"`

	Triggering publicTriggering `json:"triggering,omitzero"`
}

// publicNext is when it dreams next.
type publicNext struct {
	nextDream
	Urgency *publicUrgency `json:"urgency,omitempty"`
}

// publicTriggering is what the workflow reports of its triggers.
type publicTriggering struct {
	workflows.Triggering
	Urgency *publicUrgency `json:"urgency,omitempty"`
}

// publicUrgency is an urgency and its terms.
type publicUrgency struct {
	circadian.Urgency
	Lived publicLived `json:"basis"` // what the terms were computed from

	Hidden *int `json:"lived,omitempty"` // never set; hides the stored name
}

type publicLived struct {
	circadian.UrgencyInput
	Since   *int64  `json:"since_ns,omitempty"` // never set; hides the field in nanoseconds
	SinceMS float64 `json:"since_ms"`
}

func urgencyOf(u *circadian.Urgency) *publicUrgency {
	if u == nil {
		return nil
	}
	return &publicUrgency{
		Urgency: *u,
		Lived:   publicLived{UrgencyInput: u.Input, SinceMS: cli.Millis(u.Input.Since)},
	}
}

// publicSettings are the knobs of the agent's workflow. The fields in milliseconds shadow the embedded ones.
type publicSettings struct {
	workflows.Settings
	IdleTimeout   *int64 `json:"idle_timeout,omitempty"` // never set; hides the field in nanoseconds
	MinGap        *int64 `json:"min_gap,omitempty"`
	ClientTimeout *int64 `json:"client_timeout,omitempty"`
	WakeLock      *int64 `json:"wake_lock,omitempty"`
	AlarmHold     *int64 `json:"alarm_hold,omitempty"`
	ResumeAfter   *int64 `json:"resume_after,omitempty"`
	Jitter        *int64 `json:"jitter,omitempty"`
	TryAgain      *int64 `json:"try_again,omitempty"`

	IdleTimeoutMS   float64 `json:"idle_timeout_ms"`
	MinGapMS        float64 `json:"min_gap_ms"`
	ClientTimeoutMS float64 `json:"client_timeout_ms"`
	WakeLockMS      float64 `json:"wake_lock_ms"`
	AlarmHoldMS     float64 `json:"alarm_hold_ms"`
	ResumeAfterMS   float64 `json:"resume_after_ms"`
	JitterMS        float64 `json:"jitter_ms"`
	TryAgainMS      float64 `json:"try_again_ms"`

	Eager *publicEager `json:"eager,omitempty"`
}

// publicEager are the thresholds of urgency.
type publicEager struct {
	circadian.UrgencyRule
	Idle   *int64  `json:"idle,omitempty"` // never set; hides the field in nanoseconds
	IdleMS float64 `json:"idle_ms"`
}

// publicWake is a wake as the workflow remembers it.
type publicWake struct {
	workflows.Wake
	Hold   *int64  `json:"hold,omitempty"` // never set; hides the field in nanoseconds
	HoldMS float64 `json:"hold_ms,omitempty"`
}

// Public returns the view for --json.
func (l AgentView) Public(app *cli.App) PublicAgentView {
	p := PublicAgentView{
		AgentView: l, Status: PublicStatusOf(l.Status, app.HidesDreams()),
		Next: publicNext{l.Next, urgencyOf(l.Next.Urgency)},
	}
	if w := l.AgentState; w != nil {
		p.AgentState = &workflowState{
			AgentState: *w,
			LastActive: w.LastActive,
			LastDream:  w.LastDream,
			LastTry:    w.LastTry,
			Settings:   publicKnobs(w.Settings),
			Wake:       publicWakeOf(w.Wake),
			Unraised:   publicWakeOf(w.Unraised),
			Triggering: publicTriggering{w.Triggering, urgencyOf(w.Triggering.Urgency)},
		}
	}
	return p
}

func publicKnobs(s workflows.Settings) publicSettings {
	p := publicSettings{
		Settings:        s,
		IdleTimeoutMS:   cli.Millis(s.IdleTimeout),
		MinGapMS:        cli.Millis(s.MinGap),
		ClientTimeoutMS: cli.Millis(s.ClientTimeout),
		WakeLockMS:      cli.Millis(s.WakeLock),
		AlarmHoldMS:     cli.Millis(s.AlarmHold),
		ResumeAfterMS:   cli.Millis(s.ResumeAfter),
		JitterMS:        cli.Millis(s.Jitter),
		TryAgainMS:      cli.Millis(s.TryAgain),
	}
	if s.UrgencyRule != nil {
		p.Eager = &publicEager{UrgencyRule: *s.UrgencyRule, IdleMS: cli.Millis(s.UrgencyRule.Idle)}
	}
	return p
}

func publicWakeOf(w *workflows.Wake) *publicWake {
	if w == nil {
		return nil
	}
	return &publicWake{Wake: *w, HoldMS: cli.Millis(w.Hold)}
}
