package activities

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// ReplayRequest is the input of Replay.Run.
type ReplayRequest struct {
	StepRequest
	Backward bool `json:"backward"`
}

// Curriculum is what NREM replays first, frozen in a spec.
type Curriculum struct {
	Large float64 `json:"large"` // absolute residual from which it counts as large
	Share float64 `json:"share"` // largest share of a direction's episodes that may come first, in [0, 1]
}

// Validate returns what is wrong with a curriculum.
func (c Curriculum) Validate() error {
	if !(c.Large > 0 && c.Large <= 1) || !(c.Share >= 0 && c.Share <= 1) {
		return fmt.Errorf("curriculum is large %v, share %v; both must lie between 0 and 1, and large above 0",
			c.Large, c.Share)
	}
	return nil
}

// DefaultCurriculum leaves half of the replay to surprise, so that one error does not fill a dream.
var DefaultCurriculum = Curriculum{Large: circadian.LargeResidual, Share: .5}
