package memory

import (
	"context"
	"time"
)

// Condition is how the server of a store is doing.
type Condition struct {
	Now      time.Time // by the server's clock
	Used     int64     // bytes of memory
	Limit    int64     // of its memory, in bytes; 0 for none
	Eviction string    // what a full server does with keys; empty when it does not say
	Replica  bool      // it follows another server
	Replicas int       // servers that follow it
	Faults   []string  // what keeps it from persisting its writes
}

// Conditioned is a store on a server of its own.
type Conditioned interface {
	Condition(ctx context.Context) (Condition, error)
}
