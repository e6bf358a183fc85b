package console

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// publicStatus is who holds an agent awake, as --json tells it.
type publicStatus struct {
	presence.Status
	Leases []presence.Lease `json:"leases"` // never null
	Lock   time.Time        `json:"lock,omitzero"`
}

// publicly gives a standing for --json. Where nothing of dreams is told, neither are the ids of what there would be to
// tell.
func publicly(s presence.Status, untold bool) publicStatus {
	if s.Last != nil {
		last := tellable(*s.Last, untold)
		s.Last = &last
	}
	return publicStatus{Status: s, Leases: orEmpty(s.Leases), Lock: s.Lock}
}

// tellable is a wake without its digest where nothing of dreams is told.
func tellable(w presence.Wake, untold bool) presence.Wake {
	if untold || w.Digest == nil {
		w.Digest = []string{}
	}
	return w
}

// untold says whether this deployment tells clients nothing of dreams, unless they ask and may.
func (h *Deployment) untold() bool { return h.Private || h.Digest == journal.DigestOff }
