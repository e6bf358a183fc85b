//go:build !unix

package sqlitestore

import (
	"io/fs"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// post does not exist here: rings stay in their process, and other processes learn of a wake from Temporal.
type post struct{ rings chan presence.Ring }

func newPost(*tower) (*post, error) { return nil, nil }
func (p *post) listen() error       { return nil }
func (p *post) close() error        { return nil }
func ours(fs.FileInfo) bool         { return true }
