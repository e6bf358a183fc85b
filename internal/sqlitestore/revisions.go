package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Revisions returns every revision of an item, oldest first.
func (s *Store) Revisions(ctx context.Context, agent, id string) ([]memory.Revision, error) {
	var out []memory.Revision
	err := s.read(ctx, func(d tx) error {
		var err error
		out, err = d.revisions(agent, id)
		return err
	})
	if err == nil && len(out) == 0 {
		err = memory.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("revisions of %s of %s: %w", id, agent, err)
	}
	return out, nil
}

func (d tx) revisions(agent, id string) ([]memory.Revision, error) {
	var out []memory.Revision
	err := d.each(`SELECT number, kind, cause, at, body, packed, '' FROM revisions WHERE agent = ? AND id = ?
		UNION ALL SELECT revision, kind, cause, changed, body, packed, text FROM items WHERE agent = ? AND id = ? ORDER BY 1`,
		[]any{agent, id, agent, id}, func(scan func(...any) error) error {
			var r memory.Revision
			var kind, text string
			var at int64
			var body, short []byte
			if err := scan(&r.Number, &kind, &r.Cause, &at, &body, &short, &text); err != nil {
				return err
			}
			body, err := unpacked(body, short, text, id)
			if err != nil {
				return fmt.Errorf("revision %d: %w", r.Number, err)
			}
			item, err := decode(kind, body, r.Number)
			if err != nil {
				return err
			}
			r.At, r.Item = time.Unix(0, at).UTC(), item
			out = append(out, r)
			return nil
		})
	return out, err
}
