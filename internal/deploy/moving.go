package deploy

import (
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/config"
)

// StorePlace names a store other than the configured one.
type StorePlace struct {
	To    string       // a Redis server's address, or a file
	Store config.Store // the other settings of a Redis server
}

// Deposit is a store opened to be moved or filled. An import that was cut off does not hinder the next one.
type Deposit struct {
	Store interface {
		memory.Store
		memory.Movable
		presence.Store
	}
	Name   string   // its file, or its address without the password
	Use    []string // the settings with which Oneiros uses it
	Remove string   // how to remove it when it is no longer needed
	Drop   func()   // removes it at once if opening has made it; nil otherwise
}
