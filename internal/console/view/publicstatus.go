package view

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// PublicStatus is who holds an agent awake, for --json.
type PublicStatus struct {
	presence.Status
	Leases []presence.Lease `json:"leases"` // never null
	Lock   time.Time        `json:"lock,omitzero"`

	RecordedEpoch int64 `json:"recorded"`       // the newest epoch that the agent's workflow has recorded
	Hidden        *int  `json:"told,omitempty"` // never set; hides the stored name
}

// PublicStatusOf converts a status for --json. Where nothing of dreams is shown, the ids of the digest's items are
// left out, too.
func PublicStatusOf(s presence.Status, untold bool) PublicStatus {
	if s.Last != nil {
		last := WithoutDigest(*s.Last, untold)
		s.Last = &last
	}
	return PublicStatus{Status: s, Leases: cli.OrEmpty(s.Leases), Lock: s.Lock, RecordedEpoch: s.Recorded}
}

// WithoutDigest removes the digest from a wake where nothing of dreams is shown.
func WithoutDigest(w presence.Wake, untold bool) presence.Wake {
	if untold || w.Digest == nil {
		w.Digest = []string{}
	}
	return w
}
