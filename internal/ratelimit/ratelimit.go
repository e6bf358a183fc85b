// Package ratelimit says what is left to each of many callers of a limit a minute.
package ratelimit

import "time"

// Table keeps what is left to each caller. Package bucket has one. It is safe for concurrent use.
type Table interface {
	// Take uses one, unless none is left. limit is how many there are a minute. When the keys of a caller have
	// different limits, that of the key in use applies, and switching keys never gains anything.
	Take(caller string, limit int) (left State, taken bool)
	// Use uses n, an hour's worth at most, whether or not so many are left: what is lacking is made up for before
	// another may be used.
	Use(caller string, limit, n int)
	// Left says what is left.
	Left(caller string, limit int) State
}

// State is what is left of a minute's limit.
type State struct {
	Limit     int           // a minute; 0: none
	Remaining int           // that may be used at once
	Wait      time.Duration // until one may be used; 0: now
	Reset     time.Duration // until as many as Limit may be used at once
	At        time.Time     // when this held
}
