package answers

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// Log is an open file of recorded answers. It is safe for concurrent use.
type Log struct {
	path string
	most budget.Micros

	mu       sync.Mutex // not held during a call of a model
	file     file
	contents *contents
	running  map[place]chan struct{} // closed when the call that asks for this answer has ended
	failed   error                   // why nothing can be written any more
	sent     int
	reused   int
}

// Scope names the cap of a Log where it refuses a call, as spend.OverCap.Scope.
const Scope = "recorded answers"

// file is what Log needs of an *os.File that was opened for appending.
type file interface {
	io.ReaderAt
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// Spent is what the calls of a file cost. Paid and Open together count against the cap, over all openings of the file.
type Spent struct {
	Paid budget.Micros // what ended calls cost, or may have cost where their provider's bill is not known
	Open budget.Micros // what is reserved for calls that run, and for those whose process was killed

	Calls  int // calls sent since the file was opened, those of free models included
	Reused int // requests answered since then without a call
}

// Open opens a file of recorded answers, and begins one where there is none. All its calls together, those of earlier
// openings included, may cost most; budget.Unlimited sets no cap. A last line that a kill has torn is cut off. Open
// refuses a file that another process has open, one of another format, and one with a changed line.
func Open(path string, most budget.Micros) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the file of recorded answers: %w", err)
	}
	l, err := openLocked(locked{f}, path, most)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// locked is a file whose lock ends when it is closed. Without the unlock, a program that another goroutine starts at that
// moment holds it for a little longer, by the descriptors that it inherits until it executes.
type locked struct{ *os.File }

func (f locked) Close() error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.File.Close())
}

func openLocked(f locked, path string, most budget.Micros) (*Log, error) {
	// The lock ends with the process, however it ends.
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf(
			"recorded answers %s: another process has the file open; wait until it has ended, or name another file",
			path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the recorded answers %s: %w", path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the file of recorded answers: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("recorded answers %s: it is no regular file", path)
	}
	l, err := open(f, info.Size(), path, most)
	if err == nil && info.Size() == 0 {
		err = syncFolder(filepath.Dir(path))
	}
	return l, err
}

// syncFolder puts the name of a new file on disk.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the folder of the recorded answers: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("sync the folder of the recorded answers: %w", err)
	}
	return nil
}

// open reads what f holds, cuts off a torn end, and writes the header of a new file.
func open(f file, size int64, path string, most budget.Micros) (*Log, error) {
	if most < 0 {
		return nil, fmt.Errorf("recorded answers %s: the cap is %d micro-dollars; it must not be negative", path, most)
	}
	c, err := read(io.NewSectionReader(f, 0, size))
	if err != nil {
		return nil, fmt.Errorf("recorded answers %s: %w", path, err)
	}
	if c.size < size {
		err = f.Truncate(c.size)
	}
	if err == nil && c.size == 0 {
		err = c.writeHeader(f)
	}
	if err != nil {
		return nil, fmt.Errorf("begin the recorded answers %s: %w", path, err)
	}
	return &Log{
		path:     path,
		most:     most,
		file:     f,
		contents: c,
		running:  map[place]chan struct{}{},
	}, nil
}

func (c *contents) writeHeader(f file) error {
	c.id = rand.Text()
	text, sum, err := encode(header{format, version, c.id}, 0)
	if err != nil {
		return err
	}
	c.sum, c.size = sum, int64(len(text))
	_, err = f.Write(text)
	return err
}

// Close closes the file. What runs then cannot record its answer, and stays counted in full.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = fmt.Errorf("recorded answers %s: the file is closed", l.path)
	}
	return errors.Join(l.file.Sync(), l.file.Close())
}

// Spent returns what was spent until now.
func (l *Log) Spent() Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Spent{Paid: l.contents.paid, Open: l.contents.reserved(), Calls: l.sent, Reused: l.reused}
}

// callKey is the idempotency key of a call.
func (l *Log) callKey(call int64) string { return fmt.Sprintf("%s-%d", l.contents.id, call) }

// claim looks for the answers of places. Those that are neither recorded nor asked for the caller asks for, and must free
// when it is done; mine is where they stand in places. Only where there is none does it return the end of another call
// to wait for, or nil when all are recorded.
func (l *Log) claim(places ...place) (mine []int, running <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, p := range places {
		_, recorded := l.contents.entries[p]
		other, taken := l.running[p]
		switch {
		case recorded:
		case !taken:
			l.running[p] = make(chan struct{})
			mine = append(mine, i)
		default:
			running = other
		}
	}
	if len(mine) > 0 {
		return mine, nil
	}
	return nil, running
}

// free ends what claim began.
func (l *Log) free(places ...place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range places {
		close(l.running[p])
		delete(l.running, p)
	}
}

// reserve books the most that a call can cost, and has it on disk before it returns.
func (l *Log) reserve(model string, amount budget.Micros) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counted := l.contents.counted()
	if amount > 0 && (counted > l.most || amount > l.most-counted) {
		over := &spend.OverCap{Scope: Scope, Limit: l.most, Counted: counted, Asks: amount}
		return 0, &inference.Failure{
			Kind:    inference.NoMoney,
			Message: fmt.Sprintf("%s: %v", l.path, over),
			Remedy:  fmt.Sprintf("raise the cap of the recorded answers above %s", l.most),
			Err:     over,
		}
	}
	call := l.contents.last + 1
	err := l.append(amount > 0, line{Reserve: &reservation{Call: call, Model: model, Amount: amount}})
	if err != nil {
		return 0, fileFailure(err, unwritable, false)
	}
	l.sent++
	return call, nil
}

// What helps against a fileFailure.
const (
	unwritable = "make the file of recorded answers writable and begin again"
	unreadable = "make the file of recorded answers readable and begin again"
)

// fileFailure fails a call for ever. A workflow's history shows its remedy, and not its message.
func fileFailure(err error, remedy string, billed bool) error {
	return &inference.Failure{
		Kind:    inference.BadRequest,
		Billed:  billed,
		Message: err.Error(),
		Remedy:  remedy,
		Err:     err,
	}
}

// release ends a call that was reserved and never sent.
func (l *Log) release(call int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent--
	return l.append(false, line{End: &end{Call: call, State: spend.Refused, Why: "not sent"}})
}

// settle ends a call by its lines.
func (l *Log) settle(amount budget.Micros, lines ...line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.append(amount > 0, lines...); err != nil {
		return fileFailure(err, unwritable, true)
	}
	return nil
}

// append writes lines and takes them. After the first failure nothing is written any more: what a broken write left
// would spoil what follows. The next opening cuts it off.
func (l *Log) append(durable bool, lines ...line) error {
	if l.failed != nil {
		return l.failed
	}
	var all []byte
	lengths, sums := make([]int, len(lines)), make([]uint32, len(lines))
	sum := l.contents.sum
	for i, each := range lines {
		text, next, err := encode(each, sum)
		if err != nil {
			return fmt.Errorf("record in %s: %w", l.path, err)
		}
		all, sum = append(all, text...), next
		lengths[i], sums[i] = len(text)-1, next
	}
	_, err := l.file.Write(all)
	if err == nil && durable {
		err = l.file.Sync()
	}
	if err != nil {
		l.failed = fmt.Errorf("record in %s: %w", l.path, err)
		return l.failed
	}
	for i, each := range lines {
		l.contents.take(each, sums[i], lengths[i])
	}
	return nil
}

// entry reads the recorded line of a place.
func (l *Log) entry(p place) (line, error) {
	l.mu.Lock()
	at := l.contents.entries[p]
	l.mu.Unlock()
	var each line
	text := make([]byte, at.length)
	_, err := l.file.ReadAt(text, at.offset)
	if err == nil {
		err = json.Unmarshal(text, &each)
	}
	if err != nil {
		err = fmt.Errorf("read the recorded answers %s: %w", l.path, err)
		return line{}, fileFailure(err, unreadable, false)
	}
	return each, nil
}

func (l *Log) countReuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reused++
}
