package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// boot starts systemd on a copy of this machine's root: what it changes is in memory and gone with the namespace.
const boot = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$DIR"
mkdir "$DIR/upper" "$DIR/work" "$DIR/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$DIR/upper,workdir=$DIR/work" "$DIR/root"
cp "$PACKAGE" "$DIR/root/"
cd "$DIR/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
touch dev/console
for name in null zero full random urandom tty; do
	touch "dev/$name"
	mount --bind "/dev/$name" "dev/$name"
done
mkdir old
pivot_root . old
cd /
umount -l old
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target`

// machine is a machine with systemd in namespaces of its own. It shares the network.
type machine struct {
	t   *testing.T
	pid string // of systemd
}

func newMachine(t *testing.T, pkg string) machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start systemd in namespaces")
	}
	needs(t, "unshare", "nsenter", "pivot_root", "dpkg", "systemctl", "runuser")
	printed := &output{}
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "--cgroup", "--kill-child", "sh",
		"-c", boot)
	cmd.Env = append(os.Environ(), "DIR="+t.TempDir(), "PACKAGE="+pkg)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = printed, printed, 10*time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	m := machine{t: t}
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		child, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		m.pid = strings.TrimSpace(string(child))
		if err == nil && m.pid != "" {
			out, _ := m.command("systemctl", "is-system-running", "--wait").CombinedOutput()
			if state := strings.TrimSpace(string(out)); state == "running" || state == "degraded" {
				return m
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Skipf("systemd does not start in namespaces here: %s", printed)
	return m
}

func (m machine) command(name string, args ...string) *exec.Cmd {
	words := append([]string{
		"-t", m.pid, "--mount", "--pid", "--uts", "--ipc", "env", "-i",
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", name,
	}, args...)
	return exec.CommandContext(m.t.Context(), "nsenter", words...)
}

func (m machine) must(name string, args ...string) string {
	m.t.Helper()
	out, err := m.command(name, args...).CombinedOutput()
	require.NoError(m.t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return string(out)
}

// says runs a command that may fail, and answers what it wrote.
func (m machine) says(name string, args ...string) string {
	out, _ := m.command(name, args...).CombinedOutput()
	return strings.TrimSpace(string(out))
}

// oneiros runs a command as docs/install.md shows it, with runuser for sudo, which not every machine has.
func (m machine) oneiros(args ...string) string {
	m.t.Helper()
	return m.must("runuser", append([]string{
		"-u", "oneiros", "--", "oneiros", "--config",
		"/etc/oneiros/oneiros.yaml",
	}, args...)...)
}

func (m machine) write(path, text string) {
	m.t.Helper()
	cmd := m.command("tee", path)
	cmd.Stdin = strings.NewReader(text)
	require.NoError(m.t, cmd.Run())
}

// keepSetting puts a setting of the kernel back when the test has ended.
func keepSetting(t *testing.T, path string) {
	t.Helper()
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.WriteFile(path, before, 0o600)) })
}

// packager is a program that installs packages, and how.
type packager struct {
	name     string
	file     string // pattern of the package's name
	install  []string
	again    []string // installs over the same version, as an upgrade does
	remove   []string
	leftover string   // the settings that were edited, after the package was removed
	purge    []string // nil: it knows no purge
}

func packagers() []packager {
	rpm := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[here.arch]
	return []packager{
		{
			name:     "dpkg",
			file:     "*_" + here.arch + ".deb",
			install:  []string{"dpkg", "-i"},
			again:    []string{"dpkg", "-i"},
			remove:   []string{"dpkg", "-r", "oneiros"},
			leftover: "/etc/oneiros/oneiros.env",
			purge:    []string{"dpkg", "-P", "oneiros"},
		},
		{ // this machine's packages are unknown to rpm, also the shell that the scripts need
			name:     "rpm",
			file:     "*." + rpm + ".rpm",
			install:  []string{"rpm", "-i", "--nodeps", "--nosignature"},
			again:    []string{"rpm", "-U", "--force", "--nodeps", "--nosignature"},
			remove:   []string{"rpm", "-e", "oneiros"},
			leftover: "/etc/oneiros/oneiros.env.rpmsave",
		},
	}
}

func TestThePackageRunsUnderSystemd(t *testing.T) {
	if os.Getenv("RELEASE") == "" {
		t.Skip("installs the package of a whole release: make release-test")
	}
	r := realRelease(t)
	keepSetting(t, "/proc/sys/net/unix/max_dgram_qlen") // systemd raises it at boot, for this network namespace
	for _, p := range packagers() {
		t.Run(p.name, func(t *testing.T) { p.runsUnderSystemd(t, r) })
	}
}

func (p packager) runsUnderSystemd(t *testing.T, r release) {
	needs(t, p.name)
	found, err := filepath.Glob(filepath.Join(r.out, p.file))
	require.NoError(t, err)
	require.Len(t, found, 1)
	m := newMachine(t, found[0])
	does := func(command []string, args ...string) { m.must(command[0], append(command[1:], args...)...) }
	pkg := "/" + filepath.Base(found[0])

	does(p.install, pkg)
	require.Contains(t, m.must("oneiros", "version"), r.version)
	require.Contains(t, m.must("getent", "passwd", "oneiros"), ":/var/lib/oneiros:")
	require.Equal(t, "700 oneiros\n", m.must("stat", "-c", "%a %U", "/var/lib/oneiros"))
	require.Equal(t, "disabled", m.says("systemctl", "is-enabled", "oneiros-up"), "the package starts nothing")
	require.Equal(t, "inactive", m.says("systemctl", "is-active", "oneiros-up"))

	at := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	m.write("/etc/oneiros/oneiros.env", "ONEIROS_SERVE_LISTEN="+at+"\n")
	m.write("/etc/oneiros/openai.key", "sk-of-a-test\n")
	m.must("mkdir", "-p", "/etc/systemd/system/oneiros-up.service.d")
	page, err := os.ReadFile(filepath.Join(checkout, "docs", "install.md"))
	require.NoError(t, err)
	dropIn := regexp.MustCompile(`(?s)` + "```ini\n(.*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, dropIn, "the page shows how to hand over a secret")
	m.write("/etc/systemd/system/oneiros-up.service.d/override.conf", strings.ReplaceAll(dropIn[1], "  ", ""))
	m.must("systemctl", "daemon-reload")
	started, err := m.command("systemctl", "start", "oneiros-up").CombinedOutput()
	require.NoError(t, err, "%s%s", started, m.says("journalctl", "--no-pager", "-u", "oneiros-up"))
	require.Equal(t, "active", m.says("systemctl", "is-active", "oneiros-up"))
	process := func() string {
		return strings.TrimSpace(m.must("systemctl", "show", "oneiros-up", "--value", "-p", "MainPID"))
	}
	first := process()
	secret := "/proc/" + first + "/root/run/credentials/oneiros-up.service/openai"
	require.Equal(t, "sk-of-a-test\n", m.must("cat", secret), "as the service sees it")

	m.oneiros("agents", "add", "iris")
	m.oneiros("memory", "add", "--agent", "iris", "The kettle sings before rain.")
	m.oneiros("dream", "--agent", "iris", "--estimate")
	var key struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(m.oneiros("--json", "keys", "add", "laptop")), &key))
	answers := func() {
		t.Helper()
		require.Contains(t, m.must("env", "ONEIROS_SERVE_LISTEN="+at, "oneiros", "ready"), "ready")
		require.Eventually(t, func() bool {
			answer := chat(t, at, key.Secret)
			defer func() { _ = answer.Body.Close() }()
			return answer.StatusCode == http.StatusOK
		}, 10*time.Second, 50*time.Millisecond)
	}
	answers()

	does(p.again, pkg)
	require.Equal(t, "active", m.says("systemctl", "is-active", "oneiros-up"), "what ran runs after an upgrade")
	require.NotEqual(t, first, process(), "from the new program")
	require.Equal(t, "ONEIROS_SERVE_LISTEN="+at+"\n", m.must("cat", "/etc/oneiros/oneiros.env"))
	answers()

	m.must("systemctl", "stop", "oneiros-up")
	require.Equal(t, "Result=success\nExecMainStatus=0\n",
		m.must("systemctl", "show", "oneiros-up", "-p", "Result", "-p", "ExecMainStatus"))
	_, err = net.DialTimeout("tcp", at, time.Second)
	require.Error(t, err, "it has stopped")

	does(p.remove)
	m.must("test", "!", "-e", "/usr/bin/oneiros")
	m.must("test", "-s", "/var/lib/oneiros/oneiros.db")
	m.must("test", "-s", p.leftover)
	if p.purge != nil {
		does(p.purge)
		m.must("test", "!", "-e", "/var/lib/oneiros")
		m.must("test", "!", "-e", "/etc/oneiros/oneiros.yaml")
	}
}
