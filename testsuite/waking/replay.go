package waking

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/histories"
	"github.com/seed-56a03226/oneiros/workflows"
)

// unexpectedErrors returns errors in the logs of workers. One kind is expected: a query of an agent workflow whose
// worker has just been killed, with an accepted but unanswered Update, can fail in the SDK as if the code had
// changed, and succeeds when it is repeated. Those are counted; the replay of histories shows whether the fault was
// ours.
func (d *execution) unexpectedErrors() error {
	var faults []error
	for _, text := range d.crew.Stderr() {
		for line := range strings.Lines(text) {
			switch {
			case strings.Contains(line, "Workflow panic") && strings.Contains(line, "[TMPRL1100]"):
				d.tally.Again = append(d.tally.Again, retried(line))
			case strings.Contains(line, "panic:"), strings.Contains(line, "[panic]"),
				strings.Contains(line, "DATA RACE"):
				faults = append(faults, errors.New("standard error of a worker: "+line))
			}
		}
	}
	return errors.Join(faults...)
}

// retried is the message of a query that is repeated, without its stack.
func retried(line string) string {
	text, _, _ := strings.Cut(line, " StackTrace=")
	return text
}

// replay replays every history that Temporal recorded of dreams and agents against the code that made it, whatever
// happened to the workers.
func (d *execution) replay(ctx context.Context, e chaos.Evidence) error {
	var ids []string
	for _, one := range e.Dreams {
		if one.Begun {
			ids = append(ids, one.Record.ID)
		}
	}
	agents, err := d.deployment.Store.Agents(ctx)
	for _, agent := range agents {
		ids = append(ids, workflows.AgentID(agent.Handle))
	}
	faults := []error{err}
	folder, err := os.MkdirTemp("", "oneiros-replay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for i, id := range ids {
		name := fmt.Sprint(i)
		err := histories.Save(ctx, d.deployment.Client, id, "", folder, name)
		if err == nil {
			err = histories.Replay(filepath.Join(folder, name+".json.gz"), workflows.Register)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("replay %s: %w", id, err))
		}
	}
	d.tally.Replayed = len(ids)
	return errors.Join(faults...)
}
