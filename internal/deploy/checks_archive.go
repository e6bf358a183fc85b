package deploy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed-56a03226/oneiros/internal/archive"
)

// archiveWithin bounds how long the doctor waits for the archive.
const archiveWithin = 10 * time.Second

// checkArchive compares the archive with the event log. It writes nothing: a folder that does not exist yet is made
// by the worker that archives, so that it gets the worker's owner.
func (d doctor) checkArchive(ctx context.Context) Finding {
	if d.cfg.Archive.URL == "" {
		return passed("events are kept in the store alone (archive.url is empty)")
	}
	return d.onStore(ctx, d.lookAtArchive)
}

func (d doctor) lookAtArchive(ctx context.Context, h *Deployment) Finding {
	a, err := h.openArchive()()
	if err != nil {
		return failed("Correct archive.url; docs/events.md says what it takes.", "%v", err)
	}
	if folder, ok := a.Bucket.(*archive.Folder); ok {
		if err := writable(folder.Where()); err != nil {
			return failed("Give the folder to the user that runs the worker, or set archive.url to another.", "%v",
				err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, archiveWithin)
	defer cancel()
	return d.compareArchive(ctx, h, a)
}

// compareArchive reports agents whose archive holds another log, and agents whose events wait for longer than
// archive.every.
func (d doctor) compareArchive(ctx context.Context, h *Deployment, a *archive.Archive) Finding {
	away := func(err error) Finding {
		return failed(
			"See that it can be reached and that its keys are right; docs/events.md says where they come from.",
			"%s: %v", a.Bucket.Where(), err)
	}
	agents, err := h.store.Agents(ctx)
	if err != nil {
		return warned("Fix the store first.", "not checked: %v", err)
	}
	heads, err := h.store.Heads(ctx)
	if err != nil {
		return warned("Fix the store first.", "not checked: %v", err)
	}
	if len(agents) == 0 { // checked even so: an archive that cannot be reached is reported before it is needed
		if _, err := a.Status(ctx, "nobody", 0); err != nil {
			return away(err)
		}
	}
	var other, late []string
	waits := int64(0)
	for _, agent := range agents {
		s, err := a.Status(ctx, agent.ID, heads[agent.ID])
		if err != nil {
			return away(err)
		}
		if s.Fault != "" {
			other = append(other, agent.Handle)
			continue
		}
		waits += s.Behind()
		if s.Late(time.Now(), a.Every) {
			late = append(
				late,
				fmt.Sprintf("%s (%d since %s)", agent.Handle, s.Behind(),
					s.Waits.UTC().Format("2006-01-02 15:04 MST")),
			)
		}
	}
	switch {
	case len(other) > 0:
		return failed("Give this store an archive.url of its own, or move the old archive away.",
			"%s holds other events than the store of %s, and nothing more is archived of them", a.Bucket.Where(),
			strings.Join(other, ", "))
	case len(late) > 0:
		return warned("See that a worker runs (oneiros up), and what its log says of the archive.",
			"%s: events wait longer than the %s of archive.every: %s", a.Bucket.Where(), d.cfg.Archive.Every,
			strings.Join(late, ", "))
	}
	return passed("%s, every %s: agents %d, events waiting %d", a.Bucket.Where(), d.cfg.Archive.Every, len(agents),
		waits)
}

// writable returns why a folder cannot be written, or why it cannot be made when it does not exist.
func writable(path string) error {
	for dir := path; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir):
			continue
		case err != nil:
			return fmt.Errorf("the archive's folder %s cannot be examined: %w", path, err)
		}
		const write = 2 | 1 // and enter
		if err := syscall.Access(dir, write); err != nil {
			return fmt.Errorf("the archive's folder %s cannot be written: %w", dir, err)
		}
		return nil
	}
}
