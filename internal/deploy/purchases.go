package deploy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/config"
)

// A process keeps its newest purchases in a file of its own, journals/purchases-ID.jsonl in the data folder, while it
// runs. The system keeps what was written when the process is killed; nothing is synced, so what a machine loses that
// fails is lost. The next process that begins takes what killed ones have left into purchasesFile.
const (
	journalsFolder = "journals"
	inTurnFile     = "lock"     // one process at a time reads and writes the purchases of the folder
	enteringFile   = "entering" // one process at a time enters them into the ledger again
	journalName    = "purchases-*.jsonl"
	fullSuffix     = ".full" // of the part before, which is complete
)

// purchaseJournal is the file of one process. It holds a lock on it, which ends with the process, however it ends.
type purchaseJournal struct {
	store string // its name
	path  string

	mu     sync.Mutex
	file   *os.File
	ended  int                      // attempts in the file
	open   map[string]*journaledAsk // attempts that have not ended
	torn   bool                     // the last line is not whole
	closed bool
}

// journaledAsk, and an end of it, are the lines of a journal.
type journaledAsk struct {
	Store string     `json:"store"`
	Key   string     `json:"key"`
	Ask   *spend.Ask `json:"ask"`
}

type journaledEnd struct {
	Key  string      `json:"key"`
	Bill *spend.Bill `json:"bill"`
}

// journaled is either of them.
type journaled struct {
	journaledAsk
	Bill *spend.Bill `json:"bill"`
}

func newJournal(dir, store string) (*purchaseJournal, error) {
	file, err := os.CreateTemp(dir, journalName)
	if err != nil {
		return nil, err
	}
	err = lockFile(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &purchaseJournal{store: store, path: file.Name(), file: file, open: map[string]*journaledAsk{}}, nil
}

func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// Began writes a reservation.
func (j *purchaseJournal) Began(key string, a spend.Ask) {
	j.mu.Lock()
	defer j.mu.Unlock()
	line := &journaledAsk{Store: j.store, Key: key, Ask: &a}
	j.open[key] = line
	j.write(line)
}

// Ended writes how a reservation ended.
func (j *purchaseJournal) Ended(key string, b spend.Bill) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.open, key)
	j.write(journaledEnd{Key: key, Bill: &b})
	j.ended++
	if j.ended >= spend.KeptPurchases && !j.closed {
		_ = j.renew() // on a full disk: with the next one
	}
}

// write adds a line. On a full disk it is missing, and the ledger alone has the purchase.
func (j *purchaseJournal) write(line any) {
	text, err := json.Marshal(line)
	if err != nil || j.closed {
		return
	}
	if j.torn {
		text = append([]byte{'\n'}, text...)
	}
	_, err = j.file.Write(append(text, '\n'))
	j.torn = err != nil
}

// renew puts the file aside, in the place of the one before it, and begins another one with what has not ended.
func (j *purchaseJournal) renew() error {
	next, err := os.OpenFile(j.path+".next", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = lockFile(next)
	if err == nil {
		err = os.Rename(j.path, j.path+fullSuffix)
	}
	if err == nil {
		err = os.Rename(next.Name(), j.path)
	}
	if err != nil {
		return errors.Join(err, next.Close())
	}
	before := j.file
	j.file, j.ended, j.torn = next, 0, false
	for _, line := range j.open {
		j.write(line)
	}
	return before.Close()
}

// end removes the file, once everything in it is kept elsewhere.
func (j *purchaseJournal) end() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	return removeJournal(j.path, j.file)
}

func removeJournal(path string, f *os.File) error {
	err := os.Remove(path + fullSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(path), f.Close())
}

// readJournal reads what a process has bought on a store, the part before first. How an attempt ended that was running
// when the process was killed is not known. A last line that was cut off is left out.
func readJournal(path, store string) ([]spend.Purchase, error) {
	var all []spend.Purchase
	open := map[string]spend.Ask{}
	for _, part := range []string{path + fullSuffix, path} {
		body, err := os.ReadFile(part)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(body))
		lines.Buffer(nil, len(body)+1)
		for lines.Scan() {
			var line journaled
			if json.Unmarshal(lines.Bytes(), &line) != nil {
				continue
			}
			ask, begun := open[line.Key]
			switch {
			case line.Ask != nil && line.Store == store:
				open[line.Key] = *line.Ask
			case line.Bill != nil && begun:
				delete(open, line.Key)
				if line.Bill.State != spend.Refused {
					all = append(all, spend.Purchase{Ask: ask, Bill: *line.Bill})
				}
			}
		}
	}
	for _, ask := range open {
		all = append(all, spend.Purchase{Ask: ask, Bill: spend.Bill{State: spend.Lost, Amount: ask.Amount, At: ask.At}})
	}
	return all, nil
}

// journalPurchases begins the journal of this process. It returns what earlier ones have bought, and whether one of them
// was killed.
func (h *Deployment) journalPurchases() (earlier []spend.Purchase, killed bool, err error) {
	err = inTurn(h.config, func(dir string) error {
		earlier, killed, err = takePurchases(h.config, dir, h.store.name)
		own, fault := newJournal(dir, h.store.name)
		if fault == nil {
			h.journal = own
			h.guard.KeepIn(own)
		}
		return errors.Join(err, fault)
	})
	return earlier, killed, err
}

// keepPurchases writes what this process has bought beside what others of its data folder had. The next process looks
// for it if the store was put back meanwhile.
func (h *Deployment) keepPurchases() {
	err := inTurn(h.config, func(string) error {
		earlier, err := readRemembered[[]spend.Purchase](h.config, purchasesFile, h.store.name)
		all := mergePurchases(earlier, h.guard.Purchases())
		if len(all) > 0 {
			err = errors.Join(err, remember(h.config, purchasesFile, h.store.name, all))
		}
		if err == nil && h.journal != nil {
			err = h.journal.end()
		}
		return err
	})
	if err != nil {
		h.log.Warn("what was bought last could not be noted in the data folder", "error", err)
	}
}

// openJournals opens a file of the folder of journals, to be locked.
func openJournals(c config.Config, name string) (*os.File, error) {
	dir := filepath.Join(c.DataDir, journalsFolder)
	err := folder(dir)
	if err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
}

// inTurn works on the folder of journals, one process at a time.
func inTurn(c config.Config, work func(dir string) error) error {
	turn, err := openJournals(c, inTurnFile)
	if err != nil {
		return err
	}
	defer func() { _ = turn.Close() }() // and with it the lock
	err = syscall.Flock(int(turn.Fd()), syscall.LOCK_EX)
	if err != nil {
		return fmt.Errorf("wait for other processes of the data folder: %w", err)
	}
	return work(filepath.Dir(turn.Name()))
}

// reenter enters what is missing in the ledger. Processes of one data folder remember the same earlier purchases, so
// one at a time does it; errHeld while it is another one.
func (h *Deployment) reenter(ctx context.Context) (entered []spend.Purchase, err error) {
	turn, err := openJournals(h.config, enteringFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = turn.Close() }() // and with it the lock
	if lockFile(turn) != nil {
		return nil, errHeld
	}
	return h.guard.Reenter(ctx)
}

// takePurchases writes the purchases of killed processes, which are in their journals, into purchasesFile, and returns
// what is in it, and whether there were any.
func takePurchases(c config.Config, dir, store string) (all []spend.Purchase, killed bool, err error) {
	left, journals, err := leftPurchases(dir, store)
	earlier, fault := readRemembered[[]spend.Purchase](c, purchasesFile, store)
	err = errors.Join(err, fault)
	all = mergePurchases(earlier, left)
	if len(left) > 0 {
		fault = remember(c, purchasesFile, store, all)
		err = errors.Join(err, fault)
	}
	for _, f := range journals {
		if fault != nil { // the next process tries again
			err = errors.Join(err, f.Close())
			continue
		}
		err = errors.Join(err, removeJournal(f.Name(), f))
	}
	return all, len(left) > 0, err
}

// leftPurchases reads the journals of processes that have ended, and returns their files, locked.
func leftPurchases(dir, store string) (all []spend.Purchase, journals []*os.File, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, journalName))
	for _, path := range paths {
		f, fault := os.Open(path)
		if fault == nil && lockFile(f) != nil { // its process runs
			fault = f.Close()
			err = errors.Join(err, fault)
			continue
		}
		if fault == nil {
			journals = append(journals, f)
			var one []spend.Purchase
			one, fault = readJournal(path, store)
			all = append(all, one...)
		}
		err = errors.Join(err, fault)
	}
	return all, journals, err
}

// mergePurchases returns the newest of all purchases, each once, oldest first. A later list knows better how one ended.
func mergePurchases(lists ...[]spend.Purchase) (all []spend.Purchase) {
	key := func(p spend.Purchase) string { return p.Ask.Step + p.Ask.At.UTC().Format(time.RFC3339Nano) }
	at := map[string]int{}
	for _, one := range slices.Concat(lists...) {
		if i, seen := at[key(one)]; seen {
			all[i] = one
			continue
		}
		at[key(one)] = len(all)
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b spend.Purchase) int { return a.Bill.At.Compare(b.Bill.At) })
	return all[max(0, len(all)-spend.KeptPurchases):]
}
