package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

const (
	maxCommand = 64 << 10 // bytes of a command
	maxHead    = 24 << 10 // bytes of a command's output that are kept from its beginning
	maxTail    = 40 << 10 // and from its end
)

// spec is what a confined command is started with. It is passed to the program that confines it as JSON.
type spec struct {
	Stage   string   `json:"stage"` // "supervise" or "start"
	Command string   `json:"command"`
	Write   []string `json:"write"` // folders that the command may change
	Read    []string `json:"read"`  // files and folders that it may read and run
	Network bool     `json:"network"`
	Full    bool     `json:"full"` // whether it is an error when the kernel cannot confine all that
}

// outcome is how a command ended.
type outcome struct {
	Exit   int    `json:"exit"`             // status, or 128 and the number of the signal
	Ended  int    `json:"ended,omitempty"`  // programs that it left behind and that were killed
	Failed string `json:"failed,omitempty"` // why it could not be started
}

// process is a running command.
type process interface {
	interrupt()            // SIGINT to its group
	kill()                 // ends it and all that it started, at once
	wait() outcome         // once
	done() <-chan struct{} // closed when wait would not block
}

func previewRun(b *Box, _ message.Call, args arguments) (message.Preview, error) {
	command := args.text("command")
	err := checkCommand(command)
	if err != nil {
		return message.Preview{}, err
	}
	first, rest, _ := strings.Cut(visible(command), "\n")
	p := message.Preview{Title: "run: " + first, Body: visible(command)}
	if rest == "" && len(first) < 80 {
		p.Body = ""
	}
	if !b.confined {
		p.Warning = b.why
	}
	return p, nil
}

func checkCommand(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return errors.New("command is empty; it must be a command for /bin/sh, such as \"make test\"")
	case len(command) > maxCommand:
		return fmt.Errorf("command has %d bytes; at most %d are run: write a script first", len(command), maxCommand)
	case strings.ContainsRune(command, 0):
		return fmt.Errorf("command is %s, which has a NUL; it must be text", excerpt(command))
	}
	return nil
}

// temporaryFolders are in the state of the session, one for each command.
const temporaryFolders = "temporary-"

// removeLeftovers removes folders of commands whose Hermes was killed.
func removeLeftovers(state string) {
	list, _ := filepath.Glob(filepath.Join(state, temporaryFolders+"*"))
	for _, folder := range list {
		_ = os.RemoveAll(folder)
	}
}

// runCommand is the tool run.
func (b *Box) runCommand(ctx context.Context, soft <-chan struct{}, _ message.Call, args arguments) message.Result {
	return b.command(ctx, soft, args.text("command"))
}

func (b *Box) command(ctx context.Context, soft <-chan struct{}, command string) message.Result {
	err := checkCommand(command)
	if err != nil {
		return failure(err)
	}
	temporary, err := os.MkdirTemp(b.settings.State, temporaryFolders)
	if err != nil {
		return failure(fmt.Errorf("no folder for temporary files: %w", err))
	}
	defer os.RemoveAll(temporary)
	out := &output{}
	p, err := start(b.settings, b.folder, b.spec(command, temporary), b.environment(temporary), out)
	if err != nil {
		return failure(fmt.Errorf("the command could not be started: %w", err))
	}
	limit := time.NewTimer(b.settings.RunLimit)
	defer limit.Stop()
	var interrupted, stopped, late bool
	for running := true; running; {
		select {
		case <-p.done():
			running = false
		case <-soft:
			interrupted, soft = true, nil
			p.interrupt()
		case <-limit.C:
			late, running = true, false
			p.kill()
		case <-ctx.Done():
			stopped, running = true, false
			p.kill()
		}
	}
	return b.result(p.wait(), out, interrupted, stopped, late)
}

// result puts the end of a command into words.
func (b *Box) result(end outcome, out *output, interrupted, stopped, late bool) message.Result {
	text := out.text()
	if stopped {
		return killed(text)
	}
	if end.Failed != "" && !late {
		return failure(fmt.Errorf("the command could not be started: %s", end.Failed))
	}
	var notes []string
	if end.Ended > 0 {
		notes = append(notes, fmt.Sprintf("programs that it left in the background were ended: %d", end.Ended))
	}
	switch {
	case late:
		notes = append(notes, fmt.Sprintf("ended after its limit of %v", b.settings.RunLimit))
	case interrupted:
		notes = append(notes, fmt.Sprintf("interrupted by a person; exit status %d", end.Exit))
	case end.Exit != 0:
		notes = append(notes, fmt.Sprintf("exit status %d", end.Exit))
	case text == "":
		notes = append(notes, "no output; exit status 0")
	}
	if len(notes) > 0 {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += "[" + strings.Join(notes, "; ") + "]"
	}
	return message.Result{Text: text, Failed: late || end.Exit != 0, Interrupted: interrupted}
}

// killed is the result of a call that did not end by itself after an interruption.
func killed(text string) message.Result {
	return message.Result{
		Text:        `{"error":"interrupted","timeout":true}` + "\n" + text,
		Failed:      true,
		Interrupted: true,
	}
}

// output keeps the beginning and the end of what a command prints.
type output struct {
	lock   sync.Mutex
	head   []byte
	tail   []byte // a ring once it is full
	at     int    // where the ring begins
	middle int64  // bytes that are not kept
}

// Write takes what was printed. It never fails.
func (o *output) Write(p []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	n := len(p)
	room := min(maxHead-len(o.head), len(p))
	o.head = append(o.head, p[:room]...)
	p = p[room:]
	if over := len(p) - maxTail; over > 0 {
		o.middle += int64(over)
		p = p[over:]
	}
	room = min(maxTail-len(o.tail), len(p))
	o.tail = append(o.tail, p[:room]...)
	for _, c := range p[room:] {
		o.tail[o.at] = c
		o.at = (o.at + 1) % maxTail
		o.middle++
	}
	return n, nil
}

func (o *output) text() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	text := string(o.head)
	if o.middle > 0 {
		text += fmt.Sprintf("\n[%d bytes are left out here]\n", o.middle)
	}
	text += string(o.tail[o.at:]) + string(o.tail[:o.at])
	return strings.ToValidUTF8(text, "\ufffd")
}

// passed are the environment variables that commands get when they are set. Those of toolchains say where things are
// and how they are built.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ",
	"GOPATH", "GOROOT", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOPROXY",
	"GOTOOLCHAIN", "GOWORK", "CGO_ENABLED", "CC", "CXX", "PKG_CONFIG_PATH",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT", "PYENV_VERSION", "VIRTUAL_ENV", "NVM_DIR", "JAVA_HOME",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "SOURCE_DATE_EPOCH",
}

// forNetwork are passed in addition when commands may use the network.
var forNetwork = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

// secret reports whether a variable looks like one that holds a key.
func secret(name string) bool {
	upper := strings.ToUpper(name)
	if strings.HasPrefix(upper, "ONEIROS_") || strings.HasPrefix(upper, "HERMES_") {
		return true
	}
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"},
		func(word string) bool { return strings.Contains(upper, word) })
}

func checkEnv(names []string) error {
	for _, name := range names {
		if name == "" || name == "*" || strings.Contains(name, "=") {
			return fmt.Errorf("the environment variable %q for commands is no name; it must be one such as EDITOR or LC_*", name)
		}
		if !strings.HasSuffix(name, "*") && secret(name) {
			return fmt.Errorf("the environment variable %q for commands looks like a key; commands never get keys", name)
		}
	}
	return nil
}

// environment returns the variables of a command.
func (b *Box) environment(temporary string) []string {
	wanted := slices.Concat(passed, b.settings.RunEnv)
	if b.settings.RunNetwork {
		wanted = append(wanted, forNetwork...)
	}
	var list []string
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		matches := slices.ContainsFunc(wanted, func(pattern string) bool {
			prefix, open := strings.CutSuffix(pattern, "*")
			return name == pattern || (open && strings.HasPrefix(name, prefix))
		})
		// A password in an address, such as the one of a proxy, is a key, too.
		_, address, isAddress := strings.Cut(value, "://")
		if matches && !secret(name) && !(isAddress && strings.Contains(address, "@")) {
			list = append(list, variable)
		}
	}
	return append(list,
		"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0",
		"PWD="+b.folder, "TMPDIR="+temporary, "XDG_CACHE_HOME="+b.settings.Cache,
		"GOCACHE="+filepath.Join(b.settings.Cache, "go-build"),
		"npm_config_cache="+filepath.Join(b.settings.Cache, "npm"), "npm_config_userconfig=/dev/null",
		"PYTHONPYCACHEPREFIX="+filepath.Join(b.settings.Cache, "pycache"),
	)
}

// spec returns what a command may reach.
func (b *Box) spec(command, temporary string) spec {
	read := slices.Concat(systemFolders(b.settings.State), b.settings.RunRead)
	if resolver, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && b.settings.RunNetwork {
		read = append(read, resolver)
	}
	return spec{
		Stage:   "supervise",
		Command: command,
		Write:   []string{b.folder, temporary, b.settings.Cache},
		Read:    read,
		Network: b.settings.RunNetwork,
		Full:    b.confined,
	}
}

// systemFolders returns what commands may read and run: the system, the folders of PATH, and the toolchains of the
// person's home that have no keys in them. What does not exist is left out.
func systemFolders(state string) []string {
	list := []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap", "/run/current-system",
		"/System", "/Library", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/version",
		"/proc/filesystems", "/proc/sys", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm",
	}
	home, _ := os.UserHomeDir()
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		list = append(list, folder, goRoot(folder))
	}
	for _, name := range []string{"GOROOT", "GOMODCACHE", "RUSTUP_HOME", "PYENV_ROOT", "VIRTUAL_ENV", "NVM_DIR", "JAVA_HOME"} {
		list = append(list, os.Getenv(name))
	}
	for _, name := range []string{
		".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
		"go/pkg/mod", "sdk", ".pyenv", ".rbenv", ".rustup", ".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/config.toml",
		".nvm", ".volta", ".asdf", ".sdkman", ".deno", ".bun",
		".local/bin", ".local/lib", ".local/share/mise", ".local/share/uv/python", ".local/share/uv/tools", ".local/pipx", ".local/share/pipx",
	} {
		if home != "" {
			list = append(list, filepath.Join(home, filepath.FromSlash(name)))
		}
	}
	return slices.DeleteFunc(list, func(name string) bool {
		real, err := filepath.EvalSymlinks(name)
		// What has the person's home or the session below it is no folder of programs.
		return err != nil || !filepath.IsAbs(name) || within(home, real) || within(state, real)
	})
}

// goRoot returns the folder of the Go toolchain whose programs lie in a folder of PATH, perhaps by a link.
func goRoot(folder string) string {
	program, err := filepath.EvalSymlinks(filepath.Join(folder, "go"))
	if err != nil {
		return ""
	}
	root := filepath.Dir(filepath.Dir(program))
	_, err = os.Stat(filepath.Join(root, "pkg", "tool"))
	if err != nil {
		return ""
	}
	return root
}
