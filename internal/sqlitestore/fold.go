package sqlitestore

import (
	"context"
	"sync"
	"sync/atomic"
)

// The write-ahead log is folded into the file after so many transactions, a few hundred pages. A writer folds what is
// left itself, while everybody waits, only when the log has grown to so many pages: that happens when writes never
// pause.
const (
	foldAfter = 64
	foldMost  = 8000 // 32 MB
)

// folding moves what is committed from the log into the file, beside those who write: it costs some milliseconds, and
// whoever knocks may wait behind the writer that has to do it.
type folding struct {
	written atomic.Int64
	due     chan struct{}
	end     chan struct{}
	gone    sync.WaitGroup
	// held by whoever folds or empties the log: SQLite lets only one do so, and lets the other not wait
	busy   sync.Mutex
	dbConn *dbConn
}

// begin makes the connection that folds, and the goroutine that does.
func (f *folding) begin(ctx context.Context, s *Store) error {
	l, err := newConn(ctx, s.writeDB)
	if err != nil {
		return err
	}
	f.dbConn, f.due, f.end = l, make(chan struct{}, 1), make(chan struct{})
	f.gone.Go(func() {
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
	default: // it is folding
	}
}

// fold moves what nobody reads in an older state. What stays is moved the next time, so that a failure means nothing.
func (f *folding) fold() {
	f.busy.Lock()
	defer f.busy.Unlock()
	var held, pages, moved int64
	_, _ = tx{f.dbConn, context.Background()}.one("PRAGMA wal_checkpoint(PASSIVE)", nil, &held, &pages, &moved)
}

func (f *folding) close() error {
	if f.dbConn == nil {
		return nil
	}
	close(f.end)
	f.gone.Wait()
	return f.dbConn.close()
}
