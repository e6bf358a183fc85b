package deploy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// integrityWithin bounds each of the two parts of the check: of the file or server, and of the records in it.
const integrityWithin = 10 * time.Second

// checkIntegrity verifies the store: first what its kind can damage, then all its records, read once as an export
// reads them, with the sums of the ledger added up again. Large stores are not read to their end.
func (d doctor) checkIntegrity(ctx context.Context) Finding { return d.onStore(ctx, verifyStore) }

func verifyStore(ctx context.Context, h *Deployment) Finding {
	begun := time.Now()
	found, err := verified(ctx, h.store.store, integrityWithin)
	if err != nil {
		return failed("Fix the store first.", "%s cannot be checked: %v", h.store.name, err)
	}
	text := fmt.Sprintf("checked %s, in %s", strings.Join(found.Checked, ", "),
		time.Since(begun).Round(time.Millisecond))
	if len(found.Skipped) > 0 {
		text += "; not at " + strings.Join(found.Skipped, "; ")
	}
	if len(found.Faults) > 0 {
		return failed(
			"End every worker and server, keep a copy of the store as it is, and restore the last good one: an archive with oneiros store import into an "+
				"empty store, or a copy of the file or of Redis's own. docs/backup.md says how.",
			"broken: %s; %s",
			strings.Join(found.Faults, "; "),
			text,
		)
	}
	return passed("%s", text)
}

// Verify checks a store to its end, however long that takes. An error means that the store could not be reached.
func Verify(ctx context.Context, s memory.Movable) (memory.Integrity, error) {
	return verified(ctx, s, math.MaxInt64)
}

// Damaged says whether a store could not be opened because its file is damaged.
func Damaged(err error) bool { return sqlitestore.Damaged(err) }

// verified checks the store's own integrity, then all its records, each for at most so long.
func verified(ctx context.Context, s any, limit time.Duration) (found memory.Integrity, err error) {
	if v, ok := s.(memory.Verifier); ok {
		within, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		found, err = v.Verify(within)
		if err != nil || len(found.Faults) > 0 {
			return found, err
		}
	}
	m, ok := s.(memory.Movable)
	if !ok {
		return found, nil
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tally, err := archive.Count(ending(within, m.Export(within)))
	switch {
	case err == nil:
		found.Checked = append(found.Checked,
			fmt.Sprintf("all %d records and the sums of the ledger", tally.Records()))
	case errors.Is(err, memory.ErrTorn):
		found.Skipped = append(found.Skipped, "the records, because others wrote to the store meanwhile")
	case within.Err() != nil:
		found.Skipped = append(found.Skipped,
			fmt.Sprintf("all records, which takes longer than %s; oneiros store verify reads them to the end",
				limit))
	default:
		found.Faults = append(found.Faults, err.Error())
	}
	return found, nil
}

// ending stops the records when ctx ends.
func ending(ctx context.Context, records memory.Records) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		for r, err := range records {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
