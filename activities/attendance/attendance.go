// Package attendance holds the activity that does what is due for an agent in rooms.
package attendance

import (
	"context"
	"errors"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
)

// Attendance has the activity of an agent's attendant.
type Attendance struct{ activities.Ports }

// Attend does what is due for an agent, and says when something is due again. Repeating it changes nothing: an item is
// answered once, and a call is paid once.
func (a *Attendance) Attend(ctx context.Context, r activities.AttendRequest) (activities.AttendResult, error) {
	if a.Rooms == nil {
		return activities.AttendResult{}, errors.New("this worker attends nobody in rooms; start one that does")
	}
	ctx, done := core.WithHeartbeat(ctx)
	defer done()
	next, err := a.Rooms.Attend(ctx, r.Agent)
	return activities.AttendResult{Next: next}, err
}
