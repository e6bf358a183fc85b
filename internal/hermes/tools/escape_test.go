//go:build linux

package tools

import (
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const canary = "the canary sings"

// attempt is one way out of the workspace. In its texts, OUT is the folder outside, WS the workspace, STATE the folder
// of the checkpoints and HPID the process of Hermes.
type attempt struct {
	name string
	tool string // empty: run
	args map[string]any
	// command is a command for run. It must fail when it is confined.
	command string
	// works reports that the same command reaches its aim when nothing confines it: a control that the attempt is one.
	works bool
	needs string // a program, without which the attempt is left out
	root  bool   // needs an administrator
	// served reports that the call may succeed, as long as what is outside stays as it is and unread.
	served bool
	setup  func(t *testing.T, p place)
}

func link(name, target string) func(*testing.T, place) {
	return func(t *testing.T, p place) {
		t.Helper()
		require.NoError(t, os.Symlink(p.fill(target), filepath.Join(p.workspace, name)))
	}
}

func all(steps ...func(*testing.T, place)) func(*testing.T, place) {
	return func(t *testing.T, p place) {
		t.Helper()
		for _, step := range steps {
			step(t, p)
		}
	}
}

func folder(name string) func(*testing.T, place) {
	return func(t *testing.T, p place) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Join(p.workspace, name), 0o755))
	}
}

func fifo(t *testing.T, p place) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(filepath.Join(p.workspace, "pipe"), 0o644))
}

func socket(t *testing.T, p place) {
	t.Helper()
	// A path of a socket is at most 108 bytes long.
	t.Chdir(p.workspace)
	l, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
}

func device(t *testing.T, p place) {
	t.Helper()
	const zero = 1<<8 | 5
	require.NoError(t, syscall.Mknod(filepath.Join(p.workspace, "device"), syscall.S_IFCHR|0o666, zero))
}

func hardLink(t *testing.T, p place) {
	t.Helper()
	require.NoError(t, os.Link(filepath.Join(p.outside, "canary"), filepath.Join(p.workspace, "twin")))
}

func read(name, path string, setup func(*testing.T, place)) attempt {
	return attempt{name: "read " + name, tool: "read_file", args: map[string]any{"path": path}, setup: setup}
}

func write(name, path string, setup func(*testing.T, place)) attempt {
	return attempt{
		name: "write " + name, tool: "write_file", setup: setup,
		args: map[string]any{"path": path, "content": "taken over"},
	}
}

func edits(name, path string, setup func(*testing.T, place)) attempt {
	return attempt{
		name: "edit " + name, tool: "edit_file", setup: setup,
		args: map[string]any{"path": path, "old": "canary", "new": "cat"},
	}
}

// paths lead out, with what lies in the workspace for them.
var paths = []struct {
	name, path string
	setup      func(*testing.T, place)
}{
	{"the parent", "../outside/canary", nil},
	{"the parent of a folder", "a/../../outside/canary", folder("a")},
	{"many parents", "a/b/../../../../../../../../../OUT/canary", folder("a/b")},
	{"an absolute path", "OUT/canary", nil},
	{"an absolute path with two slashes", "/OUT/canary", nil},
	{"an absolute path over the workspace", "WS/../outside/canary", nil},
	{"a sibling with the same beginning", "WS-other/canary", func(t *testing.T, p place) {
		require.NoError(t, os.Symlink(p.outside, p.workspace+"-other"))
	}},
	{"a relative link", "link", link("link", "../outside/canary")},
	{"an absolute link", "link", link("link", "OUT/canary")},
	{"a link to a folder", "link/canary", link("link", "../outside")},
	{"an absolute link to a folder", "link/canary", link("link", "OUT")},
	{"two links", "one", all(link("one", "two"), link("two", "../outside/canary"))},
	{"a link that leads out and in again", "link", link("link", "../workspace/../outside/canary")},
	{"the parent of a link", "link/../../../outside/canary", all(folder("a/b"), link("link", "a/b"))},
	{"a link to its own parent", "up/outside/canary", link("up", "..")},
	{"a link by /proc", "link/OUT/canary", link("link", "/proc/self/root")},
	{"a link to the working folder of a process", "link/../outside/canary", link("link", "/proc/self/cwd")},
	{"a link with a slash at its end", "link/", link("link", "../outside/canary")},
	{"a link below folders", "a/b/link", all(folder("a/b"), link("a/b/link", "../../../outside/canary"))},
}

func fileAttempts() []attempt {
	var list []attempt
	for _, p := range paths {
		list = append(list, read(p.name, p.path, p.setup), write(p.name, p.path, p.setup), edits(p.name, p.path, p.setup))
	}
	list = append(list,
		read("a file of the system", "/etc/passwd", nil),
		read("the environment of a process", "/proc/self/environ", nil),
		read("a loop of links", "loop", link("loop", "loop")),
		read("an input", "link", link("link", "/dev/stdin")),
		read("an endless device", "link", link("link", "/dev/zero")),
		read("a FIFO", "pipe", fifo),
		read("a socket", "socket", socket),
		attempt{
			name: "read a device", tool: "read_file", root: true, setup: device,
			args: map[string]any{"path": "device"},
		},
		read("a folder", ".", nil),
		read("nothing", "", nil),
		read("the root's parent", "..", nil),
		read("a NUL", "canary\x00.md", nil),
		read("a terminal's escape", "\x1b[2Jcanary", nil),
		read("a change of direction", "\u202eyranac", nil),
		read("a home", "~/.ssh/id_rsa", nil),
		read("a variable", "$HOME/.ssh/id_rsa", nil),
		read("an address", "file:///etc/passwd", nil),
		read("a coded parent", "%2e%2e/outside/canary", nil),
		read("a parent of Windows", "..\\outside\\canary", nil),
		write("a new file outside", "../outside/new", nil),
		write("a new folder outside", "../outside/a/b/new", nil),
		write("a link to nothing outside", "link", link("link", "../outside/new")),
		write("below a link to nothing outside", "link/new", link("link", "../outside/a")),
		write("a FIFO", "pipe", fifo),
		write("a socket", "socket", socket),
		write("a folder", "a", folder("a")),
		write("the workspace", ".", nil),
		write("below a file", "notes.md/a", nil),
		write("a name that is too long", strings.Repeat("a", 300), nil),
		write("a name of two lines", "a\nb", nil),
		write("settings of git", ".git/config", folder(".git")),
		write("a hook of git", ".git/hooks/pre-commit", folder(".git/hooks")),
		write("git in capitals", ".GIT/config", folder(".GIT")),
		write("git of a module", "module/.git/config", folder("module/.git")),
		write("git by a link", "link/config", all(folder(".git"), link("link", ".git"))),
		attempt{
			name:   "write a second name of a file outside",
			tool:   "write_file",
			args:   map[string]any{"path": "twin", "content": "taken over"},
			served: true,
			setup:  hardLink,
		},
		attempt{name: "list the parent", tool: "list_files", args: map[string]any{"path": ".."}},
		attempt{name: "list outside", tool: "list_files", args: map[string]any{"path": "OUT"}},
		attempt{
			name: "list a link", tool: "list_files", args: map[string]any{"path": "link"},
			setup: link("link", "../outside"),
		},
		attempt{
			name: "search the parent", tool: "search_files", args: map[string]any{"path": "..", "pattern": "sings"},
		},
		attempt{
			name: "search a link to a folder", tool: "search_files", setup: link("link", "../outside"),
			args: map[string]any{"path": "link", "pattern": "sings"},
		},
		attempt{
			name: "search a link", tool: "search_files", setup: link("link", "../outside/canary"),
			args: map[string]any{"path": "link", "pattern": "sings"},
		},
		attempt{
			name:   "search over links",
			tool:   "search_files",
			args:   map[string]any{"pattern": "sings"},
			served: true,
			setup:  all(link("file", "../outside/canary"), link("folder", "../outside")),
		},
		attempt{
			name:   "search a FIFO",
			tool:   "search_files",
			args:   map[string]any{"pattern": "x"},
			served: true,
			setup:  fifo,
		},
		attempt{
			name:   "list with rules from outside",
			tool:   "list_files",
			args:   map[string]any{},
			served: true,
			setup:  link(".gitignore", "../outside/canary"),
		},
	)
	return list
}

// script makes an attempt of a command that works where nothing confines it.
func script(name, command string) attempt {
	return attempt{name: name, command: command, works: true}
}

func python(name, text string) attempt {
	return script(name, "python3 - <<'END'\n"+text+"\nEND").needing("python3")
}

// direct is the beginning of a program in Python that makes calls of the kernel.
const direct = `import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(value):
    if value < 0: sys.exit(os.strerror(ctypes.get_errno()))
`

func commandAttempts() []attempt {
	return []attempt{
		script("read", "cat OUT/canary"),
		script("read by the parent", "cat ../outside/canary"),
		script("read by a link", "ln -s OUT/canary link && cat link"),
		script("read by a link to a folder", "ln -s OUT link && cat link/canary"),
		script("read by a descriptor", "exec 9<OUT/canary; cat <&9"),
		script("read from the folder", "cd OUT && cat canary"),
		script("read by /proc", "cat /proc/self/cwd/../outside/canary"),
		script("read by the root of a process", "cat /proc/HPID/root/OUT/canary"),
		script("copy", "cp OUT/canary copy && cat copy"),
		script("a second name", "ln OUT/canary twin && cat twin"),
		script("list", "ls OUT | grep canary && echo "+canary),
		script("find", "find OUT -name canary -exec cat {} + | grep ."),
		script("pack", "tar -cf out.tar -C OUT canary && tar -xOf out.tar canary"),
		script("overwrite", "echo taken >OUT/canary"),
		script("append", "echo taken >>OUT/canary"),
		script("cut", "truncate -s 0 OUT/canary"),
		script("delete", "rm -f OUT/canary"),
		script("delete a folder", "rm -rf OUT/canary OUT/folder"),
		script("rename", "mv OUT/canary OUT/other"),
		script("rename into the workspace", "mv OUT/canary taken"),
		script("rename over it", "echo taken >new && mv -f new OUT/canary"),
		script("a new file", "touch OUT/new"),
		script("a new folder", "mkdir OUT/new"),
		script("a new link", "ln -s /etc/passwd OUT/new"),
		script("a new FIFO", "mkfifo OUT/new"),
		script("a second name outside", "echo taken >new && ln new OUT/new"),
		script("edit", "sed -i s/canary/cat/ OUT/canary"),
		script("from the background", "(echo taken >OUT/new) & wait; test -e OUT/new"),
		script("from a session of its own", "setsid -w sh -c 'echo taken >OUT/new'"),
		script("from a script", "printf '#!/bin/sh\\ncat OUT/canary\\n' >script && chmod +x script && ./script"),
		script("unpack a name with parents",
			"echo taken >new && tar -cPf a.tar --transform=s,new,../outside/new, new && tar -xPf a.tar && test -e OUT/new"),
		script("unpack an absolute name",
			"echo taken >new && tar -cPf a.tar --transform=s,new,OUT/new, new && tar -xPf a.tar && test -e OUT/new"),
		script("unpack a link and what goes through it", "mkdir a && ln -s OUT a/link && tar -cf a.tar -C a link && rm -r a && "+
			"mkdir -p a/link && echo taken >a/link/new && tar -rf a.tar -C a link/new && rm -r a && mkdir a && "+
			"tar -xPf a.tar -C a --keep-directory-symlink; test -e OUT/new"),
		script("unpack a second name and what overwrites it", "ln -s OUT/canary a && tar -cf a.tar a && rm a && "+
			"tar -xPf a.tar && echo taken >a"),
		python("unpack by Python", `import io, tarfile
t = tarfile.open("a.tar", "w")
i = tarfile.TarInfo("../outside/new"); i.size = 5
t.addfile(i, io.BytesIO(b"taken")); t.close()
tarfile.open("a.tar").extractall(".")`),
		python("unpack a zip by hand", `import zipfile
z = zipfile.ZipFile("a.zip", "w"); z.writestr("../outside/new", "taken"); z.close()
z = zipfile.ZipFile("a.zip")
for n in z.namelist(): open(n, "wb").write(z.read(n))`),
		python("cut by a name", `import os; os.truncate("OUT/canary", 0)`),
		python("swap two names", direct+`open("new", "w").write("taken")
check(libc.renameat2(-100, b"new", -100, b"OUT/canary", 2))`),
		python("read through shared memory", `import mmap
f = open("OUT/canary", "rb"); print(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:])`),
		python("start a program outside", `import os
os.execv("OUT/program", ["program"])`),
		python("read by a name of the kernel", direct+`class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_char * 128)]
h = Handle(128); mount = ctypes.c_int()
check(libc.name_to_handle_at(-100, b"OUT/canary", ctypes.byref(h), ctypes.byref(mount), 0))
root = os.open("WS", os.O_RDONLY)
f = libc.open_by_handle_at(root, ctypes.byref(h), os.O_RDONLY)
check(f)
print(os.read(f, 100))`).asRoot(),
		script("the environment of Hermes", "tr '\\0' '\\n' </proc/HPID/environ | grep -c . && echo "+canary),
		script("the memory of Hermes", "head -c 1 /proc/HPID/auxv >new && test -s new && echo "+canary),
		script("the files of Hermes", "ls /proc/HPID/fd && echo "+canary),
		script("the command lines of others", "cat /proc/HPID/cmdline && echo "+canary),
		script("a signal to Hermes", "kill -0 HPID && echo "+canary),
		script("a signal to all", "kill -0 1 && echo "+canary).asRoot(),
		script("a signal to its supervisor", "kill -CONT $PPID && echo "+canary),
		python("trace Hermes", direct+`import time
check(libc.ptrace(0x4206, HPID, 0, 0)); libc.ptrace(17, HPID, 0, 0); print("`+canary+`")`),
		python("read the memory of Hermes", direct+`b = ctypes.create_string_buffer(8)
class V(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
here = V(ctypes.addressof(b), 8)
for line in open("/proc/HPID/maps"):
    there = V(int(line.split("-")[0], 16), 8); break
check(libc.process_vm_readv(HPID, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)); print("`+canary+`")`),
		python("take a file of Hermes", direct+`p = libc.syscall(434, HPID, 0); check(p)
check(libc.syscall(438, p, 0, 0)); print("`+canary+`")`),
		python("a Unix socket outside", `import socket
s = socket.socket(socket.AF_UNIX); s.connect("/proc/self/cwd/../outside/socket"); print("`+canary+`")`).with(outerSocket),
		python("an abstract socket", `import socket
s = socket.socket(socket.AF_UNIX); s.connect("\0hermes-test-HPID"); print("`+canary+`")`).with(abstractSocket),
		python("a datagram from a pair of sockets", `import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print("`+canary+`")`),
		python("TCP", `import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print("`+canary+`")`),
		python("TCP over several paths", `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.bind(("127.0.0.1", 0)); print("`+canary+`")`).mayFail(),
		python("UDP", `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("127.0.0.1", 9)); print("`+canary+`")`),
		python("the network's settings", `import socket
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print("`+canary+`")`),
		python("a raw socket", `import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0); print("`+canary+`")`).asRoot(),
		python("a virtual machine's host", `import socket
s = socket.socket(40, socket.SOCK_STREAM, 0); print("`+canary+`")`).mayFail(),
		python("a ring of calls", direct+`p = ctypes.create_string_buffer(256)
check(libc.syscall(425, 2, p)); print("`+canary+`")`).mayFail(),
		python("the keys of the kernel", direct+`check(libc.syscall(`+keyctl()+`, 0, -4, 1)); print("`+canary+`")`).mayFail(),
		script("a mount", "mkdir m && mount --bind OUT m && cat m/canary; s=$?; umount m; exit $s").asRoot(),
		script("a mount of its own", "mkdir m && unshare -m sh -c 'mount --bind OUT m && cat m/canary'").asRoot().needing("unshare"),
		script("a mount as another user", "mkdir m && unshare -rm sh -c 'mount --bind OUT m && cat m/canary'").
			needing("unshare").mayFail(),
		script("another root", "chroot / cat OUT/canary").asRoot(),
		script("the namespaces of Hermes", "nsenter -t HPID -m cat OUT/canary").asRoot().needing("nsenter"),
		script("a device of its own", "mknod memory c 1 1 && echo "+canary).asRoot(),
		script("the memory of the machine", "head -c 1 /dev/mem >/dev/null && echo "+canary).asRoot().mayFail(),
		script("the log of the kernel", "dmesg >/dev/null && echo "+canary).asRoot(),
		python("another name of the machine", direct+`n = os.uname().nodename.encode()
check(libc.sethostname(n, len(n))); print("`+canary+`")`).asRoot(),
		script("shared memory", "echo x >/dev/shm/hermes-test-HPID && rm /dev/shm/hermes-test-HPID && echo "+canary),
		script("the folder for everybody's temporary files", "ls /tmp && echo "+canary),
		script("a terminal", "ls /dev/pts && echo "+canary),
		script("the checkpoints", "cat STATE/checkpoints.jsonl && echo "+canary),
		script("damage to the checkpoints", "echo x >>STATE/checkpoints.jsonl && echo "+canary),
		script("a new program for Hermes", "echo x >SELF.new && rm SELF.new && echo "+canary),
		{name: "a supervisor of its own", command: "SELF " + marker + ` '{"stage":"start","command":"cat OUT/canary","read":["/"],"write":["/"]}'`},
	}
}

func (a attempt) asRoot() attempt                { a.root = true; return a }
func (a attempt) mayFail() attempt               { a.works = false; return a }
func (a attempt) needing(program string) attempt { a.needs = program; return a }

func (a attempt) with(setup func(*testing.T, place)) attempt {
	a.setup = setup
	return a
}

// keyctl is the number of a call, by processor.
func keyctl() string {
	if runtime.GOARCH == "amd64" {
		return "250"
	}
	return "219"
}

func outerSocket(t *testing.T, p place) {
	t.Helper()
	t.Chdir(p.outside)
	l, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
}

func abstractSocket(t *testing.T, p place) {
	t.Helper()
	l, err := net.Listen("unix", p.fill("@hermes-test-HPID"))
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
}

func (p place) fill(text string) string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return strings.NewReplacer("OUT", p.outside, "WS", p.workspace, "STATE", p.state, "SELF", self,
		"HPID", strconv.Itoa(os.Getpid())).Replace(text)
}

// plant lays out what an attempt is after.
func (p place) plant(t *testing.T) {
	t.Helper()
	p.file(t, "notes.md", "notes\n")
	require.NoError(t, os.WriteFile(filepath.Join(p.outside, "canary"), []byte(canary+"\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(p.outside, "program"), []byte("#!/bin/sh\necho "+canary+"\n"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(p.outside, "folder"), 0o755))
	_, err := p.Checkpoint("begun")
	require.NoError(t, err)
}

// snapshot describes all that lies outside.
func (p place) snapshot(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(p.outside, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		found[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(name)
			found[name] += " " + string(text)
			return err
		}
		return nil
	}))
	return found
}

func (a attempt) skip(t *testing.T) {
	t.Helper()
	if a.root && os.Geteuid() != 0 {
		t.Skip("only an administrator can try this")
	}
	if a.needs != "" {
		_, err := exec.LookPath(a.needs)
		if err != nil {
			t.Skipf("%s is not installed", a.needs)
		}
	}
}

func TestNothingLeadsOutOfTheWorkspace(t *testing.T) {
	list := append(fileAttempts(), commandAttempts()...)
	require.GreaterOrEqual(t, len(list), 80)
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			a.skip(t)
			p := newPlace(t)
			if a.tool == "" {
				p.confinedOrSkip(t)
			}
			p.plant(t)
			if a.setup != nil {
				a.setup(t, p)
			}
			before := p.snapshot(t)
			r := p.try(t, a)
			require.Equal(t, before, p.snapshot(t), r.Text)
			require.NotContains(t, r.Text, canary)
			require.Equal(t, a.served, !r.Failed, r.Text)
		})
	}
}

func TestEachCommandReachesItsAimWhereNothingConfinesIt(t *testing.T) {
	for _, a := range commandAttempts() {
		if !a.works {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			a.skip(t)
			p := newPlace(t)
			p.plant(t)
			if a.setup != nil {
				a.setup(t, p)
			}
			before := p.snapshot(t)
			c := exec.Command("/bin/sh", "-c", p.fill(a.command))
			c.Dir = p.workspace
			text, err := c.CombinedOutput()
			changed := !maps.Equal(before, p.snapshot(t))
			require.True(t, changed || (err == nil && strings.Contains(string(text), canary)), "%v: %s", err, text)
		})
	}
}
