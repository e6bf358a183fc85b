package docs_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/docs"
)

// backupRig is a machine whose deployment is saved and restored as docs/backup.md says.
type backupRig struct {
	*home
	paths *strings.Replacer // the page's paths and ports, and those of this machine
	up    *exec.Cmd
}

// Each command of docs/backup.md is run, block by block, on a file and on a Redis server. After each block that ends with
// a dream, that dream is completed, no dream is left open, and health finds nothing wrong.
func TestWhatTheBackupPageSaysIsDone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	page, err := docs.Read(root, "docs/backup.md")
	require.NoError(t, err)
	ran := map[bool]int{}
	for _, onRedis := range []bool{false, true} {
		t.Run(map[bool]string{false: "SQLite", true: "Redis"}[onRedis], func(t *testing.T) {
			k := newBackupRig(t, onRedis)
			for _, line := range []string{
				"oneiros agents add iris --persona quiet", "oneiros memory import --agent iris docs/examples/diary.md",
				"oneiros up", "oneiros dream --agent iris",
			} {
				k.line(line)
			}
			k.dreamt()
			for _, b := range page.Blocks {
				of := strings.Contains(strings.Join(b.Lines, " "), "redis")
				if b.Language == "sh" || b.Language == "console" && of == onRedis {
					k.block(b)
					ran[onRedis]++
				}
			}
		})
	}
	require.GreaterOrEqual(t, ran[false], 7)
	require.GreaterOrEqual(t, ran[true], 5)
}

func newBackupRig(t *testing.T, onRedis bool) *backupRig {
	t.Helper()
	k := &backupRig{home: newHome(t)}
	k.env = append(k.env, "PATH="+filepath.Join(k.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	require.NoError(t, l.Close())
	folder, settings := t.TempDir(), filepath.Join(t.TempDir(), "redis.conf")
	today := "#!/bin/sh\necho 2026-11-28\n" // the day of which the page's names are
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "bin", "date"), []byte(today), 0o700))
	k.paths = strings.NewReplacer("bin/oneiros", "oneiros", "6379", port, "/var/lib/redis", folder,
		"/etc/redis/redis.conf", settings)
	t.Cleanup(k.stop)
	if !onRedis {
		return k
	}
	for _, program := range []string{"redis-server", "redis-cli"} {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "make redis installs it")
	}
	k.env = append(k.env, "ONEIROS_STORE_URL=redis://127.0.0.1:"+port+"/0")
	body := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nappendonly yes\n", port, folder)
	require.NoError(t, os.WriteFile(settings, []byte(body), 0o600))
	k.line("redis-server /etc/redis/redis.conf --daemonize yes")
	t.Cleanup(func() { k.line("redis-cli -p 6379 shutdown nosave") })
	k.answers()
	return k
}

// answers waits until the Redis server has loaded what it has.
func (k *backupRig) answers() {
	k.Helper()
	require.Eventually(k, func() bool {
		out, err := k.shell("redis-cli -p 6379 ping").Output()
		return err == nil && strings.TrimSpace(string(out)) == "PONG"
	}, time.Minute, 20*time.Millisecond)
}

func (k *backupRig) shell(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-ec", k.paths.Replace(line))
	cmd.Dir, cmd.Env, cmd.WaitDelay = k.dir, k.env, 10*time.Second
	return cmd
}

// block runs the lines of a block.
func (k *backupRig) block(b docs.Block) {
	k.Helper()
	dreams := false
	for _, line := range b.Lines {
		k.line(line)
		dreams = dreams || strings.HasPrefix(line, "oneiros dream ")
	}
	if dreams {
		k.dreamt()
	}
}

func (k *backupRig) line(line string) {
	k.Helper()
	switch {
	case line == "# stop oneiros up":
		k.stop()
		return
	case line == "oneiros up":
		k.start()
		return
	}
	out, err := k.shell(line).CombinedOutput()
	require.NoError(k, err, "%s\n%s", line, out)
	if strings.HasPrefix(line, "redis-server ") {
		k.answers()
	}
}

func (k *backupRig) start() {
	k.Helper()
	require.Nil(k, k.up, "it runs already")
	answer := &output{}
	k.up = k.shell("exec oneiros up")
	k.up.Stdout, k.up.Stderr = answer, answer
	require.NoError(k, k.up.Start())
	require.Eventually(k, func() bool { return strings.Contains(answer.String(), "Running.") }, 2*time.Minute,
		50*time.Millisecond, "%s", answer)
}

func (k *backupRig) stop() {
	if k.up == nil {
		return
	}
	require.NoError(k, k.up.Process.Signal(os.Interrupt))
	require.NoError(k, k.up.Wait())
	k.up = nil
}

// dreamt waits until no dream goes on; the newest one is completed.
func (k *backupRig) dreamt() {
	k.Helper()
	type list []struct{ ID, Outcome, Reason string }
	var dreams list
	require.Eventually(k, func() bool {
		out, err := k.shell("oneiros dreams list --agent iris --json").Output()
		require.NoError(k, err, string(out))
		dreams = nil
		require.NoError(k, json.Unmarshal(out, &dreams))
		for _, one := range dreams {
			if one.Outcome == "" || one.Outcome == "dreaming" {
				return false
			}
		}
		return len(dreams) > 0
	}, 3*time.Minute, 200*time.Millisecond, "%v", dreams)
	require.Equal(k, "completed", dreams[0].Outcome, "%v", dreams)
	k.line("oneiros health")
}
