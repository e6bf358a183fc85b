package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// marker is the first argument of a process that Confine takes over.
const marker = "hermes-confined-command"

// running is the program of this process, even when a command has put another one in the place of its file.
const running = "/proc/self/exe"

// fullABI is the first version of Landlock that confines files, TCP, signals and abstract sockets (Linux 6.12).
const fullABI = 6

// audit are the numbers that seccomp has for processors (linux/audit.h). Others have no filter here.
var audit = map[string]uint32{
	"amd64":   unix.AUDIT_ARCH_X86_64,
	"arm64":   unix.AUDIT_ARCH_AARCH64,
	"riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

// confinement reports whether commands are confined in full.
func confinement() (bool, string) {
	abi, err := ll.LandlockGetABIVersion()
	switch {
	case err != nil:
		return false, "Commands are not confined: the kernel has no Landlock, or it is switched off."
	case abi < fullABI:
		return false, fmt.Sprintf("Commands are confined in part only: the kernel has version %d of Landlock, and %d "+
			"(Linux 6.12) confines files, TCP and signals.", abi, fullABI)
	case audit[runtime.GOARCH] == 0:
		return false, fmt.Sprintf("Commands are confined in part only: there is no filter of sockets for %s.", runtime.GOARCH)
	}
	return true, ""
}

// supervised is a command under a supervisor: a process between Hermes and the command that ends all that the command
// started, and does so as well when Hermes dies. It lives until the last of them is gone.
type supervised struct {
	control *os.File // the supervisor kills when it is closed; a byte asks it to send SIGINT
	ended   chan struct{}
	end     outcome

	supervisor *os.Process
}

func start(s Settings, folder string, what spec, env []string, out io.Writer) (process, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	controlRead, controlWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reportRead, reportWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, controlRead.Close(), controlWrite.Close())
	}
	program := s.Self
	executable, err := os.Executable()
	if err == nil && executable == s.Self {
		program = running
	}
	c := exec.Command(program, marker, string(text))
	c.Dir = folder
	c.Env = env
	c.Stdout, c.Stderr = out, out
	c.ExtraFiles = []*os.File{controlRead, reportWrite}
	// Its own session: the terminal's Ctrl-C does not reach it, and it cannot type into the terminal.
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// Nobody is left to write when the supervisor is gone, except after it was killed from outside.
	c.WaitDelay = time.Second
	err = c.Start()
	controlRead.Close()
	reportWrite.Close()
	if err != nil {
		return nil, errors.Join(err, controlWrite.Close(), reportRead.Close())
	}
	p := &supervised{control: controlWrite, ended: make(chan struct{}), supervisor: c.Process}
	go func() {
		defer close(p.ended)
		report := json.NewDecoder(reportRead).Decode(&p.end)
		err := c.Wait()
		if report != nil {
			p.end = outcome{Failed: fmt.Sprintf("its supervisor ended early: %v", err)}
		}
		reportRead.Close()
	}()
	return p, nil
}

func (p *supervised) interrupt()            { _, _ = p.control.Write([]byte{'i'}) }
func (p *supervised) done() <-chan struct{} { return p.ended }

// kill lets the supervisor kill. One that does not come to an end, because the kernel does not let go of a process, is
// given up.
func (p *supervised) kill() {
	const patience = 5 * time.Second
	_ = p.control.Close()
	time.AfterFunc(patience, func() { _ = p.supervisor.Kill() })
}

func (p *supervised) wait() outcome {
	<-p.ended
	_ = p.control.Close()
	return p.end
}

// Confine is the first thing that the main of Settings.Self calls, with os.Args. When they say that this process
// supervises or starts a command, it does that and does not return.
func Confine(args []string) (handled bool) {
	if len(args) != 3 || args[1] != marker {
		return false
	}
	var s spec
	err := json.Unmarshal([]byte(args[2]), &s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hermes: what a command may do cannot be read:", err)
		os.Exit(125)
	}
	if s.Stage == "start" {
		startConfined(s)
	}
	supervise(args[0], s)
	return true
}

// supervise starts the command, ends it when it is told to or Hermes is gone, and then ends all that it left.
func supervise(self string, s spec) {
	runtime.LockOSThread() // the command dies with this thread
	const control, report = 3, 4
	unix.CloseOnExec(control)
	unix.CloseOnExec(report)
	reports := os.NewFile(report, "report")
	end := outcome{Failed: "it did not begin"}
	defer func() {
		_ = json.NewEncoder(reports).Encode(end)
		os.Exit(0)
	}()
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if err != nil {
		end.Failed = fmt.Sprintf("its descendants cannot be held: %v", err)
		return
	}
	s.Stage = "start"
	text, err := json.Marshal(s)
	if err != nil {
		end.Failed = err.Error()
		return
	}
	failedRead, failedWrite, err := os.Pipe()
	if err != nil {
		end.Failed = err.Error()
		return
	}
	child, err := os.StartProcess(running, []string{self, marker, string(text)}, &os.ProcAttr{
		Env:   os.Environ(),
		Files: []*os.File{nil, os.Stdout, os.Stderr, failedWrite},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL},
	})
	failedWrite.Close()
	if err != nil {
		end.Failed = err.Error()
		return
	}
	go obey(os.NewFile(control, "control"), child.Pid)
	failed, _ := io.ReadAll(failedRead) // ends when the shell has begun
	end = outcome{Failed: string(failed), Exit: reap(child.Pid)}
	// Orphans of those that are killed become children of this process, until there are none.
	for {
		killChildren()
		_, err := unix.Wait4(-1, nil, 0, nil)
		if errors.Is(err, unix.ECHILD) {
			return
		}
		if err == nil {
			end.Ended++
		}
	}
}

// obey sends SIGINT to the command's group at each byte, and kills when there are no more: Hermes wants it, or is gone.
func obey(control *os.File, command int) {
	var one [1]byte
	for {
		_, err := control.Read(one[:])
		if err != nil {
			killChildren()
			return
		}
		_ = unix.Kill(-command, unix.SIGINT)
	}
}

// reap waits for the command itself, and for orphans that end before it.
func reap(command int) int {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 125
		}
		if pid != command {
			continue
		}
		if status.Signaled() {
			return 128 + int(status.Signal())
		}
		return status.ExitStatus()
	}
}

// killChildren kills the children of this process. The supervisor has no threads that make other children.
func killChildren() {
	list, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range list {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// The name of the program stands in parentheses and may have any characters. State and parent follow.
		_, rest, _ := cutLast(string(text), ")")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// startConfined gives up what the command may not do, and becomes the shell.
func startConfined(s spec) {
	const report = 3
	unix.CloseOnExec(report)
	runtime.LockOSThread()
	err := restrict(s)
	if err == nil {
		err = unix.Exec("/bin/sh", []string{"sh", "-c", s.Command}, os.Environ())
	}
	fmt.Fprintf(os.NewFile(report, "report"), "%v", err)
	os.Exit(125)
}

// restrict confines this process and all that it starts. What the kernel does not have is an error if Full is set.
func restrict(s spec) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil && s.Full {
		return fmt.Errorf("the kernel no longer has Landlock: %w", err)
	}
	config := landlock.V6
	if s.Network {
		config.HandledAccessNet = 0
	}
	if !s.Full {
		config = config.BestEffort()
	}
	// No devices are made, and ioctl is left to terminals that are open already.
	var write landlock.AccessFSSet = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile |
		ll.AccessFSTruncate | ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSMakeReg | ll.AccessFSMakeDir |
		ll.AccessFSMakeSym | ll.AccessFSMakeFifo | ll.AccessFSMakeSock
	if abi >= 2 {
		write |= ll.AccessFSRefer
	}
	rules := []landlock.Rule{
		landlock.PathAccess(write, s.Write...),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty").IgnoreIfMissing(),
	}
	for _, name := range s.Read {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return fmt.Errorf("a folder that it may read: %w", err)
		case info.IsDir():
			rules = append(rules, landlock.RODirs(name))
		default:
			rules = append(rules, landlock.ROFiles(name))
		}
	}
	if abi > 0 {
		err = config.Restrict(rules...)
		if err != nil {
			return err
		}
	}
	return filter(s.Network)
}

// forbidden are calls of the kernel that Landlock does not confine and no command needs: other ways to files, devices,
// memory and sockets, and what only an administrator may do. io_uring makes sockets past a filter.
var forbidden = []uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_ACCT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX,
	unix.SYS_CLOCK_ADJTIME,
}

// filter installs a seccomp filter: it refuses the forbidden calls, other sets of calls than the processor's own, and
// sockets. Pairs of connected sockets stay, which reach nobody else.
func filter(network bool) error {
	arch := audit[runtime.GOARCH]
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err != nil || arch == 0 {
		return err
	}
	var families []uint32
	if network {
		families = []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	program := sockets(arch, families)
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return fmt.Errorf("the filter of sockets cannot be installed: %w", errno)
	}
	return nil
}

// sockets returns the program of the filter. It may make sockets of the families.
func sockets(arch uint32, families []uint32) []unix.SockFilter {
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		above  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		and    = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		answer = unix.BPF_RET | unix.BPF_K
		// Places in struct seccomp_data (linux/seccomp.h); of the arguments, the lower halves.
		number, processor, first, second = 0, 4, 16, 24
		allow                            = unix.SECCOMP_RET_ALLOW
		refuse                           = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
		unknown                          = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
		// Calls of the x32 set have this bit on x86-64, and there are no others so high.
		x32 = 0x40000000
	)
	p := []unix.SockFilter{
		{Code: load, K: processor},
		{Code: equal, K: arch, Jt: 1},
		{Code: answer, K: unknown},
		{Code: load, K: number},
		{Code: above, K: x32, Jf: 1},
		{Code: answer, K: unknown},
	}
	for _, call := range forbidden {
		p = append(p, unix.SockFilter{Code: equal, K: call, Jf: 1}, unix.SockFilter{Code: answer, K: refuse})
	}
	// A pair of datagram sockets could be connected anew.
	p = append(p,
		unix.SockFilter{Code: equal, K: unix.SYS_SOCKETPAIR, Jf: 4},
		unix.SockFilter{Code: load, K: second},
		unix.SockFilter{Code: and, K: 0xf},
		unix.SockFilter{Code: equal, K: unix.SOCK_DGRAM, Jf: 1},
		unix.SockFilter{Code: answer, K: refuse},
		unix.SockFilter{Code: load, K: number},
		unix.SockFilter{Code: equal, K: unix.SYS_SOCKET, Jt: 1},
		unix.SockFilter{Code: answer, K: allow},
		unix.SockFilter{Code: load, K: first})
	for _, family := range families {
		p = append(p, unix.SockFilter{Code: equal, K: family, Jf: 1}, unix.SockFilter{Code: answer, K: allow})
	}
	return append(p, unix.SockFilter{Code: answer, K: refuse})
}
