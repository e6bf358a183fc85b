package storecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func dropped(d deploy.Deposit, err error) error {
	if d.Drop != nil {
		d.Drop()
	}
	return err
}

func occupied(d deploy.Deposit, err error) error {
	if errors.Is(err, memory.ErrOccupied) {
		return exit.Refusedf("%s: %w; name another, or remove what it keeps (%s)", d.Name, err, d.Remove)
	}
	return err
}

// idle refuses a store that is in use, as far as can be seen.
func idle(d deploy.Deposit, work []string, force bool) error {
	if len(work) == 0 || force {
		return nil
	}
	return exit.Refusedf("%s is in use: %s. End that first, or add --force; what is written meanwhile would be lost",
		d.Name, strings.Join(work, "; "))
}

// refuseListeners refuses to fill a store that other processes listen to. Its import checks the rest of it.
func refuseListeners(ctx context.Context, app *cli.App, d deploy.Deposit, force bool) error {
	work, err := listening(ctx, d)
	if err != nil {
		return err
	}
	return idle(d, work, force)
}

func listening(ctx context.Context, d deploy.Deposit) ([]string, error) {
	n, err := d.Store.Listeners(ctx)
	if err != nil || n == 0 {
		return nil, err
	}
	return []string{
		cli.Plural(n, "worker or server is connected to it", "workers and servers are connected to it"),
	}, nil
}

// atWork lists who uses a store.
func atWork(ctx context.Context, app *cli.App, d deploy.Deposit) ([]string, error) {
	work, err := listening(ctx, d)
	if err != nil {
		return nil, err
	}
	slots, err := d.Store.Slots(ctx)
	if err != nil {
		return nil, err
	}
	agents, err := d.Store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if slot, dreams := slots[a.ID]; dreams {
			work = append(work, fmt.Sprintf("%s dreams (%s)", a.Handle, slot.Dream))
			delete(slots, a.ID)
		}
		st, err := d.Store.Status(ctx, a.ID, app.Now())
		if err != nil {
			return nil, err
		}
		for _, l := range st.Leases {
			work = append(work, fmt.Sprintf("%s is held awake by %s", a.Handle, view.Called(l.Client, l.Cause)))
		}
	}
	for id, slot := range slots {
		work = append(work, fmt.Sprintf("agent %s dreams (%s)", id, slot.Dream))
	}
	return work, nil
}
