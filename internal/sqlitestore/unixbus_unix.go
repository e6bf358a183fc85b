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

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// How often, and in what interval, sending to a full socket is tried again before the notices are dropped.
const (
	retryEvery = time.Millisecond
	retries    = 5
)

// receiveBuffer is the size of the receive buffer to ask for. Some systems use 2 KiB by default.
const receiveBuffer = 16 * maxDatagram

// unixBus carries wake notices to other processes of this host: one datagram socket per listening process, all in one
// folder.
type unixBus struct {
	dispatcher *dispatcher
	folder     string
	notices    chan presence.WakeNotice
	full       map[string]bool // sockets that were full last time; used by run alone
	end        chan struct{}
	served     sync.WaitGroup

	mu     sync.Mutex
	socket *net.UnixConn // nil until there is a listener
	name   string        // of that socket
	closed bool
}

func newUnixBus(t *dispatcher) (*unixBus, error) {
	p := &unixBus{
		dispatcher: t,
		folder:     socketDir(t.path),
		notices:    make(chan presence.WakeNotice, maxWaitingNotices),
		end:        make(chan struct{}),
		full:       map[string]bool{},
	}
	p.served.Go(p.run)
	return p, nil
}

// newSender opens a socket without a name, to send from.
func newSender() (int, error) {
	syscall.ForkLock.RLock()
	out, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		unix.CloseOnExec(out)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	if err := unix.SetNonblock(out, true); err != nil {
		return 0, errors.Join(err, unix.Close(out))
	}
	_ = unix.SetsockoptInt(out, unix.SOL_SOCKET, unix.SO_SNDBUF, receiveBuffer)
	return out, nil
}

// listen opens this process's socket, once.
func (p *unixBus) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.socket != nil || p.closed {
		return nil
	}
	name := newSocketName()
	in, err := p.open(name)
	// Another process may have removed the folder just now.
	for try := 0; errors.Is(err, fs.ErrNotExist) && try < retries; try++ {
		in, err = p.open(name)
	}
	if err != nil {
		return err
	}
	p.socket, p.name = in, name
	p.served.Go(func() { p.receive(in) })
	return nil
}

func (p *unixBus) open(name string) (*net.UnixConn, error) {
	if err := prepareSocketDir(p.folder); err != nil {
		return nil, err
	}
	in, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(p.folder, name), Net: "unixgram"})
	if err == nil {
		_ = in.SetReadBuffer(receiveBuffer) // if it fails, the default size is used
	}
	return in, err
}

// receive reads datagrams until the socket is closed.
func (p *unixBus) receive(in *net.UnixConn) {
	datagram := make([]byte, maxDatagram+1) // one byte more than allowed, to notice longer datagrams
	for {
		n, err := in.Read(datagram)
		if err != nil {
			return
		}
		p.dispatcher.receive(datagram[:n])
	}
}

// run sends notices until the end, all that wait at once.
func (p *unixBus) run() {
	for {
		select {
		case r := <-p.notices:
			p.deliver(p.drain([]presence.WakeNotice{r}))
		case <-p.end:
			p.deliver(p.drain(nil))
			return
		}
	}
}

// drain appends all waiting notices.
func (p *unixBus) drain(notices []presence.WakeNotice) []presence.WakeNotice {
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
		return // no other process listens, or the folder is not safe to use
	}
	datagrams := encodeNotices(notices)
	for _, path := range p.others() {
		p.sendAll(path, datagrams)
	}
}

// others lists the sockets of other processes, including those of dead ones.
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

// sweep removes the sockets of killed processes without sending anything to the others.
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

// sendAll sends datagrams to one socket. A socket that no process reads is removed. A full socket is retried for a
// short time, once; until it accepts a datagram again, what does not fit is dropped. It sends from a socket of its own:
// what a receiver has not read counts against its sender's buffer, so that one receiver could fill that for all.
func (p *unixBus) sendAll(path string, datagrams [][]byte) {
	sender, err := newSender()
	if err != nil {
		p.dispatcher.lost.Add(int64(len(datagrams)))
		return
	}
	defer func() { _ = unix.Close(sender) }()
	for i, datagram := range datagrams {
		err := send(sender, path, datagram)
		for try := 0; full(err) && try < retries && !p.full[path]; try++ {
			time.Sleep(retryEvery)
			err = send(sender, path, datagram)
		}
		switch {
		case err == nil:
			delete(p.full, path)
		case errors.Is(err, unix.ECONNREFUSED):
			_ = os.Remove(path) // the process is dead; another one may have removed the socket already
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

func send(sender int, path string, datagram []byte) error {
	for {
		err := unix.Sendto(sender, datagram, 0, &unix.SockaddrUnix{Name: path})
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// full reports whether the receiver has not yet read earlier datagrams.
func full(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOBUFS)
}

// close sends the waiting notices, and removes this process's socket, those of dead processes, and the folder if it is
// empty then.
func (p *unixBus) close() error {
	close(p.end)
	p.mu.Lock()
	p.closed = true
	in := p.socket
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
		_ = os.Remove(p.folder) // fails while other processes listen
	}
	return err
}

// ownedByUser reports whether this user owns a file.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
