package sqlitestore

import (
	"context"
	"sync"
	"sync/atomic"
)

// The write-ahead log is folded into the file (checkpointed) after so many transactions, which are a few hundred pages.
// A writer checkpoints by itself, while all others wait, only when the log has grown to so many pages. That happens
// when writes never pause.
const (
	foldAfter  = 64
	foldAtMost = 8000 // 32 MB
)

// folding checkpoints the log in the background. A checkpoint takes some milliseconds, and a connecting client might
// otherwise wait behind the writer that makes it.
type folding struct {
	written atomic.Int64
	due     chan struct{}
	end     chan struct{}
	running sync.WaitGroup
	// Held while the log is folded or emptied: SQLite lets only one connection do so, and does not let a second wait.
	busy   sync.Mutex
	dbConn *dbConn
}

// begin opens the folding connection and starts its goroutine.
func (f *folding) begin(ctx context.Context, s *file) error {
	l, err := newConn(ctx, s.writeDB)
	if err != nil {
		return err
	}
	f.dbConn, f.due, f.end = l, make(chan struct{}, 1), make(chan struct{})
	f.running.Go(func() {
		for {
			select {
			case <-f.due:
				f.fold()
			case <-f.end:
				return
			}
		}
	})
	return nil
}

// note counts a transaction.
func (f *folding) note() {
	if f.written.Add(1)%foldAfter != 0 || f.due == nil {
		return
	}
	select {
	case f.due <- struct{}{}:
	default: // a checkpoint is already due
	}
}

// fold moves all pages that no reader needs in an older state. The rest is moved the next time, so a failure is
// harmless.
func (f *folding) fold() {
	f.busy.Lock()
	defer f.busy.Unlock()
	var held, pages, moved int64
	d := &tx{dbConn: f.dbConn, ctx: context.Background()}
	d.one("PRAGMA wal_checkpoint(PASSIVE)", nil, &held, &pages, &moved)
}

func (f *folding) close() error {
	if f.dbConn == nil {
		return nil
	}
	close(f.end)
	f.running.Wait()
	return f.dbConn.close()
}
