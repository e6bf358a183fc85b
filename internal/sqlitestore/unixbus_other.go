//go:build !unix

package sqlitestore

import (
	"io/fs"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// unixBus does not exist on this system: notices stay in their process, and other processes learn of a wake from
// Temporal.
type unixBus struct{ notices chan presence.WakeNotice }

func newUnixBus(*dispatcher) (*unixBus, error) { return nil, nil }
func (p *unixBus) listen() error               { return nil }
func (p *unixBus) close() error                { return nil }
func ownedByUser(fs.FileInfo) bool             { return true }
