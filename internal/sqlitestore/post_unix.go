//go:build unix

package sqlitestore

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// How long, and how often, a process whose socket is full is tried again before what was rung is lost to it.
const (
	retryEvery = time.Millisecond
	retries    = 5
)

// roomForNotices is the bytes that the system is asked to hold for a socket. Some hold 2 KiB by themselves.
const roomForNotices = 16 * datagramMost

// unixBus carries rings to other processes of this host: one socket for datagrams per process that listens, in one
// folder.
type unixBus struct {
	dispatcher *dispatcher
	folder     string
	out        int // a socket without a name
	notices    chan presence.WakeNotice
	full       map[string]bool // sockets that took nothing last time; of the goroutine that carries
	end        chan struct{}
	served     sync.WaitGroup

	mu     sync.Mutex
	in     *net.UnixConn // nil until somebody listens
	name   string        // of that socket
	closed bool
}

func newUnixBus(t *dispatcher) (*unixBus, error) {
	syscall.ForkLock.RLock()
	out, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		unix.CloseOnExec(out)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.SetNonblock(out, true); err != nil {
		return nil, errors.Join(err, unix.Close(out))
	}
	_ = unix.SetsockoptInt(out, unix.SOL_SOCKET, unix.SO_SNDBUF, roomForNotices)
	p := &unixBus{
		dispatcher: t,
		folder:     socketDir(t.path),
		out:        out,
		notices:    make(chan presence.WakeNotice, noticesWaiting),
		end:        make(chan struct{}),
		full:       map[string]bool{},
	}
	p.served.Go(p.carry)
	return p, nil
}

// listen opens this process's socket, once.
func (p *unixBus) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in != nil || p.closed {
		return nil
	}
	name := newSocketName()
	in, err := p.open(name)
	// the last to leave took the folder away just now
	for try := 0; errors.Is(err, fs.ErrNotExist) && try < retries; try++ {
		in, err = p.open(name)
	}
	if err != nil {
		return err
	}
	p.in, p.name = in, name
	p.served.Go(func() { p.hear(in) })
	return nil
}

func (p *unixBus) open(name string) (*net.UnixConn, error) {
	if err := prepareSocketDir(p.folder); err != nil {
		return nil, err
	}
	in, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(p.folder, name), Net: "unixgram"})
	if err == nil {
		_ = in.SetReadBuffer(roomForNotices) // a wish; the default holds fewer
	}
	return in, err
}

// hear takes datagrams in until the socket is closed.
func (p *unixBus) hear(in *net.UnixConn) {
	datagram := make([]byte, datagramMost+1) // one byte more than allowed, to tell
	for {
		n, err := in.Read(datagram)
		if err != nil {
			return
		}
		p.dispatcher.heard(datagram[:n])
	}
}

// carry sends rings until the end, all that wait at once.
func (p *unixBus) carry() {
	for {
		select {
		case r := <-p.notices:
			p.deliver(p.more([]presence.WakeNotice{r}))
		case <-p.end:
			p.deliver(p.more(nil))
			return
		}
	}
}

// more adds what waits.
func (p *unixBus) more(notices []presence.WakeNotice) []presence.WakeNotice {
	for {
		select {
		case r := <-p.notices:
			notices = append(notices, r)
		default:
			return notices
		}
	}
}

func (p *unixBus) deliver(notices []presence.WakeNotice) {
	if len(notices) == 0 || checkSocketDir(p.folder) != nil {
		return // nobody listens, or nobody we know
	}
	datagrams := encodeNotices(notices)
	for _, path := range p.others() {
		p.tell(path, datagrams)
	}
}

// others are the sockets of other processes, dead ones among them.
func (p *unixBus) others() []string {
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	own := p.name
	p.mu.Unlock()
	var paths []string
	for _, entry := range entries {
		if name := entry.Name(); name != own && entry.Type()&fs.ModeSocket != 0 && socketName.MatchString(name) {
			paths = append(paths, filepath.Join(p.folder, name))
		}
	}
	return paths
}

// sweep removes the sockets that killed processes left, without a word to the living.
func (p *unixBus) sweep() {
	for _, path := range p.others() {
		conn, err := net.Dial("unixgram", path)
		if err == nil {
			_ = conn.Close()
		} else if errors.Is(err, unix.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
}

// tell sends datagrams to one socket. One that nobody answers is removed. One that is full is waited for, a little and
// once: until it takes something again, what does not fit is lost to it.
func (p *unixBus) tell(path string, datagrams [][]byte) {
	for i, datagram := range datagrams {
		err := p.send(path, datagram)
		for try := 0; crowded(err) && try < retries && !p.full[path]; try++ {
			time.Sleep(retryEvery)
			err = p.send(path, datagram)
		}
		switch {
		case err == nil:
			delete(p.full, path)
		case errors.Is(err, unix.ECONNREFUSED):
			_ = os.Remove(path) // the process is dead; another may have removed it before
			fallthrough
		case errors.Is(err, unix.ENOENT):
			delete(p.full, path)
			return
		default:
			p.full[path] = true
			p.dispatcher.lost.Add(int64(len(datagrams) - i))
			return
		}
	}
}

func (p *unixBus) send(path string, datagram []byte) error {
	for {
		err := unix.Sendto(p.out, datagram, 0, &unix.SockaddrUnix{Name: path})
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// crowded says that the other side has not read what it was sent before.
func crowded(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOBUFS)
}

// close sends what waits, and removes this process's socket, those that nobody answers, and the folder with the last of
// them.
func (p *unixBus) close() error {
	close(p.end)
	p.mu.Lock()
	p.closed = true
	in := p.in
	p.mu.Unlock()
	var err error
	if in != nil {
		err = in.Close()
		if notFound := os.Remove(filepath.Join(p.folder, p.name)); !errors.Is(notFound, fs.ErrNotExist) {
			err = errors.Join(err, notFound)
		}
	}
	p.served.Wait()
	if checkSocketDir(p.folder) == nil {
		p.sweep()
		_ = os.Remove(p.folder) // unless others still listen
	}
	return errors.Join(err, unix.Close(p.out))
}

// ours says whether this user owns a file.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
