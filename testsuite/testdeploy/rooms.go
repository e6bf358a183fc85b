package testdeploy

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// Rooms are the rooms of a deployment, as one part of a process runs them.
type Rooms struct {
	*rooms.Service
	Mind *psyche.Service
}

// OpenRooms opens the rooms of the deployment for a part of this process, which Close stops.
func (d *Deployment) OpenRooms(part string) *Rooms {
	mind := psyche.New(psyche.Ports{
		Memory: d.Store, Guard: d.Ports.Guard, Waker: d.Starter.ForPsyche(),
	}, psyche.Options{
		Models: modelsByRole(d.Config), FleetDay: d.Config.FleetDay, Hold: d.Config.Settings.ClientTimeout,
	})
	r := &Rooms{
		Mind: mind,
		Service: rooms.New(rooms.Ports{
			Rooms: d.Store.Rooms(), Agents: d.Store, Minds: mind, Waker: d.Starter.ForPsyche(),
			Attendants: d.Starter.ForRooms(), Now: time.Now,
		}, part, rooms.Options{Lease: d.Config.RoomLease, Hold: d.Config.Settings.ClientTimeout}),
	}
	d.rooms = append(d.rooms, r)
	return r
}

// stop lets answers under way end.
func (r *Rooms) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = r.Service.Close(ctx)
	_ = r.Mind.Close(ctx)
}
