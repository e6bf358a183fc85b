package healthcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// archive compares the archive of events with the log, where there is an archive.
func (e *examination) archive(ctx context.Context, agents []dream.Agent) []healthLine {
	if e.app.Archive == nil {
		return nil
	}
	l := healthLine{Name: "archive", State: Fine}
	a, err := e.app.Archive()
	if err != nil {
		l.is(Wrong, err.Error(), "Correct archive.url; oneiros doctor says more.")
		return []healthLine{l}
	}
	ctx, cancel := context.WithTimeout(ctx, temporalWithin)
	defer cancel()
	heads, err := e.app.Events.Heads(ctx)
	var other, late []string
	waits := 0
	for _, agent := range agents {
		if err != nil {
			break
		}
		s, fault := a.Status(ctx, agent.ID, heads[agent.ID])
		switch err = fault; {
		case s.Fault != "":
			other = append(other, agent.Handle)
		case s.Late(e.now, a.Every):
			late = append(late,
				fmt.Sprintf("%s (%d since %s)", agent.Handle, s.Behind(), cli.When(s.Waits, agent.Zone)))
		}
		waits += int(s.Behind())
	}
	switch {
	case err != nil:
		l.is(Wrong, "it cannot be read: "+err.Error(),
			"See that it can be reached, and that its keys are right; the events are kept in the store until then.")
	case len(other) > 0:
		l.is(Wrong, "it holds other events than the store of "+firstIDs(other)+", and nothing more is archived of them",
			"Give this store an archive.url of its own, or move the old archive away.")
	case len(late) > 0:
		l.is(Look, "events wait longer than archive.every says: "+strings.Join(late, ", "),
			"See that a worker runs (oneiros up), and what its log says of the archive.")
	default:
		l.Found = a.Bucket.Where() + "; " + cli.Plural(waits, "event waits", "events wait")
	}
	return []healthLine{l}
}
