package console

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// publicStatus is who holds an agent awake, for --json.
type publicStatus struct {
	presence.Status
	Leases []presence.Lease `json:"leases"` // never null
	Lock   time.Time        `json:"lock,omitzero"`

	RecordedEpoch int64 `json:"recorded"`       // the newest epoch that the agent's workflow has recorded
	Hidden        *int  `json:"told,omitempty"` // never set; hides the stored name
}

// publicStatusOf converts a status for --json. Where nothing of dreams is shown, the ids of the digest's items are
// left out, too.
func publicStatusOf(s presence.Status, untold bool) publicStatus {
	if s.Last != nil {
		last := withoutDigest(*s.Last, untold)
		s.Last = &last
	}
	return publicStatus{Status: s, Leases: orEmpty(s.Leases), Lock: s.Lock, RecordedEpoch: s.Recorded}
}

// withoutDigest removes the digest from a wake where nothing of dreams is shown.
func withoutDigest(w presence.Wake, untold bool) presence.Wake {
	if untold || w.Digest == nil {
		w.Digest = []string{}
	}
	return w
}

// hidesDreams reports whether this deployment shows clients nothing of dreams unless they ask and may.
func (h *Deployment) hidesDreams() bool { return h.Private || h.Digest == journal.DigestOff }
