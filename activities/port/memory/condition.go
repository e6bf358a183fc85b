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
	Disk     int64     // bytes of the file that it appends its writes to; 0 for none
	Eviction string    // what a full server does with keys; empty when it does not say
	Evicted  int64     // keys that it deleted because it was full, since its start
	Replica  bool      // it follows another server
	Replicas int       // servers that follow it
	Lag      int64     // bytes of its writes that the last of them has not confirmed
	Faults   []string  // what keeps it from persisting its writes
	Missing  []string  // rights that the store's user lacks, in the server's words
}

// Conditioned is a store on a server of its own.
type Conditioned interface {
	Condition(ctx context.Context) (Condition, error)
}
