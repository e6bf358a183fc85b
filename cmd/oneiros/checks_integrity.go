package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/archive"
)

// integrityWithin bounds each of the two parts of the look at the store: at its file or server, and at what it keeps.
const integrityWithin = 10 * time.Second

// checkIntegrity looks whether the store is whole: what its kind can damage, and then everything that it keeps, read
// once as an export reads it, with the sums of the ledger added up again. Large stores are not read to their end.
func (d *app) checkIntegrity(ctx context.Context) console.Finding {
	if _, err := d.config(); err != nil {
		return warn("Correct the configuration first.", "not looked at")
	}
	h, err := build(ctx, d.told, d.told.StorePath())
	if err != nil {
		return warn("Mend the store first.", "not looked at")
	}
	defer func() { _ = h.store.Close() }()
	begun := time.Now()
	found, err := verified(ctx, h.store.store)
	if err != nil {
		return ill("Mend the store first.", "%s cannot be looked at: %v", h.store.name, err)
	}
	text := fmt.Sprintf("looked at %s, in %s", strings.Join(found.Checked, ", "),
		time.Since(begun).Round(time.Millisecond))
	if len(found.Skipped) > 0 {
		text += "; not at " + strings.Join(found.Skipped, "; ")
	}
	if len(found.Faults) > 0 {
		return ill(
			"End every worker and server, keep a copy of the store as it is, and restore the last good one: an archive with oneiros store import into an "+
				"empty store, or a copy of the file or of Redis's own. docs/storage.md says how.", "broken: %s; %s",
			strings.Join(found.Faults, "; "), text)
	}
	return well("%s", text)
}

// verified looks at the store by its kind, then at all that it keeps.
func verified(ctx context.Context, s store) (found memory.Integrity, err error) {
	if v, ok := s.(memory.Verifier); ok {
		within, cancel := context.WithTimeout(ctx, integrityWithin)
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
	within, cancel := context.WithTimeout(ctx, integrityWithin)
	defer cancel()
	tally, err := archive.Count(ending(within, m.Export(within)))
	switch {
	case err == nil:
		found.Checked = append(found.Checked, fmt.Sprintf("all %d records and the sums of the ledger", tally.Records()))
	case errors.Is(err, memory.ErrTorn):
		found.Skipped = append(found.Skipped, "what it keeps, because others wrote to it meanwhile")
	case within.Err() != nil:
		found.Skipped = append(found.Skipped,
			fmt.Sprintf("all that it keeps, which takes longer than %s; oneiros store export reads it to its end",
				integrityWithin))
	default:
		found.Faults = append(found.Faults, err.Error())
	}
	return found, nil
}

// ending ends records when ctx does.
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
