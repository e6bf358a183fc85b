//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

func TestOpenNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	workspace := filepath.Join(top, "workspace")
	require.NoError(t, os.Mkdir(workspace, 0o755))
	file := filepath.Join(top, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	inside := filepath.Join(workspace, "state")
	require.NoError(t, os.Symlink(workspace, filepath.Join(top, "link")))
	for want, change := range map[string]func(*Settings){
		"it must be an existing folder":      func(s *Settings) { s.Workspace = filepath.Join(top, "none") },
		file:                                 func(s *Settings) { s.Workspace = file },
		"the folder of the session's state":  func(s *Settings) { s.State = "" },
		`state" for state lies in`:           func(s *Settings) { s.State = inside },
		`link/state`:                         func(s *Settings) { s.State = file + "/x/link/state" },
		`for caches lies in the workspace`:   func(s *Settings) { s.Cache = filepath.Join(top, "link", "cache") },
		"the limit of commands is -1s":       func(s *Settings) { s.RunLimit = -1e9 },
		`the program that confines commands`: func(s *Settings) { s.Self = "hermes" },
		`commands should read "/no/such"`:    func(s *Settings) { s.RunRead = []string{"/no/such"} },
		`"MY_TOKEN" for commands looks like`: func(s *Settings) { s.RunEnv = []string{"MY_TOKEN"} },
		`"A=b" for commands is no name`:      func(s *Settings) { s.RunEnv = []string{"A=b"} },
		`"*" for commands is no name`:        func(s *Settings) { s.RunEnv = []string{"*"} },
	} {
		s := Settings{Workspace: workspace, State: filepath.Join(top, "state"), Self: self}
		change(&s)
		_, err := Open(s)
		require.ErrorContains(t, err, want)
	}
}

func TestArgumentsThatAreWrongAreNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range []struct{ tool, arguments, want string }{
		{"delete", `{}`, `there is no tool "delete"; the tools are read_file, list_files`},
		{"read_file", `{`, "the arguments of read_file are no JSON object"},
		{"read_file", `path=a`, "are no JSON object"},
		{"read_file", `["a"]`, "they do not begin with {"},
		{"read_file", `{"path":"a"} {}`, "something follows the object"},
		{"read_file", `{"path":"a","path":"b"}`, `"path" is given twice`},
		{"read_file", ``, "read_file lacks the argument path"},
		{"read_file", `{"path":null}`, "read_file lacks the argument path"},
		{"read_file", `{"file":"a"}`, `read_file has no argument "file"; it has path, offset, limit`},
		{"read_file", `{"Path":"a"}`, `read_file has no argument "Path"`},
		{"read_file", `{"path":1}`, `path is "1"; it must be a string`},
		{"read_file", `{"path":"a","limit":"5"}`, `limit is "\"5\""; it must be a whole number from 1`},
		{"read_file", `{"path":"a","limit":0}`, `limit is "0"; it must be a whole number from 1`},
		{"read_file", `{"path":"a","limit":1.5}`, `limit is "1.5"; it must be a whole number`},
		{"read_file", `{"path":"a","limit":99999999999}`, "it must be a whole number from 1 to 2147483647"},
		{"read_file", `{"path":"none"}`, `path is "none", which does not exist`},
		{"read_file", `{"path":"two","offset":9}`, "offset is 9, but the file has 2 lines"},
		{"read_file", `{"path":"binary"}`, "it is a binary file of 3 bytes"},
		{"list_files", `{"path":"two"}`, `path is "two": not a directory`},
		{"list_files", `{"glob":"[a"}`, `glob is "[a"; it must be a pattern such as *.go`},
		{"search_files", `{"pattern":"("}`, `pattern is "(": error parsing regexp`},
		{"edit_file", `{"path":"two","old":"x","new":"y"}`, "which occurs 0 times"},
		{"edit_file", `{"path":"two","old":"e","new":"y"}`, "which occurs 3 times (lines 1, 2, 2)"},
		{"edit_file", `{"path":"two","old":"","new":"y"}`, "old is empty"},
		{"edit_file", `{"path":"two","old":"e","new":"e"}`, "old and new are the same"},
		{"edit_file", `{"path":"two","old":"e","new":"y","all":"yes"}`, `all is "\"yes\""; it must be true or false`},
		{"edit_file", `{"path":"none","old":"e","new":"y"}`, `path is "none", which does not exist`},
		{"edit_file", `{"path":"binary","old":"a","new":"y"}`, "it is a binary file"},
		{"write_file", `{"path":"fixed","content":""}`, `path is "fixed", which is read-only (mode -r--r--r--)`},
		{"run", `{"command":" "}`, "command is empty"},
		{"run", `{"command":"a\u0000b"}`, "which has a NUL"},
		{"run", fmt.Sprintf(`{"command":%q}`, strings.Repeat("x", maxCommand+1)), "at most 65536 are run"},
		{"write_file", strings.Repeat(" ", maxArguments+1), "at most 16777216 are taken"},
	} {
		p.file(t, "two", "one\ntwo e e\n")
		p.file(t, "binary", "a\x00b")
		p.file(t, "fixed", "")
		require.NoError(t, os.Chmod(filepath.Join(p.workspace, "fixed"), 0o444))
		m := message.Call{Name: c.tool, Arguments: c.arguments}
		r := p.Run(context.Background(), nil, m)
		require.True(t, r.Failed)
		require.Contains(t, r.Text, c.want)
		require.NoError(t, os.Chmod(filepath.Join(p.workspace, "fixed"), 0o644))
	}
}

func FuzzArguments(f *testing.F) {
	for _, t := range table {
		f.Add(t.name, `{"path":"a","offset":1,"limit":2,"old":"x","new":"y","all":true}`)
	}
	f.Add("run", `{"command":"true"}`)
	f.Add("read_file", `{"path":"a\u0000","path":"b"}`)
	f.Add("list_files", ` {} x`)
	f.Fuzz(func(t *testing.T, name, text string) {
		found, args, err := parse(message.Call{Name: name, Arguments: text})
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		// What is accepted is what a reader of JSON that knows nothing of tools finds, and fits the tool's schema.
		other := map[string]any{}
		if strings.TrimSpace(text) != "" {
			require.NoError(t, json.Unmarshal([]byte(text), &other))
		}
		for _, p := range found.parameters {
			value, given := other[p.name]
			if !given || value == nil {
				require.NotContains(t, args, p.name)
				require.False(t, p.required)
				continue
			}
			if n, ok := args[p.name].(int); ok {
				require.GreaterOrEqual(t, n, p.min)
				require.InDelta(t, value, n, 0)
				continue
			}
			require.Equal(t, value, args[p.name])
		}
		require.LessOrEqual(t, len(args), len(found.parameters))
	})
}

func TestEachToolIsDescribedByASchema(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	list := p.Tools()
	require.Len(t, list, 6)
	effects := map[string]message.Effect{"write_file": message.Writes, "edit_file": message.Writes, "run": message.Runs}
	for _, tool := range list {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(tool.Parameters)))
		require.NoError(t, err)
		c := jsonschema.NewCompiler()
		require.NoError(t, c.AddResource("tool.json", value))
		_, err = c.Compile("tool.json")
		require.NoError(t, err)
		require.NotEmpty(t, tool.Description)
		require.Equal(t, effects[tool.Name], tool.Effect)
	}
}

func TestAPreviewShowsWhatWillHappen(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file(t, "a.md", "one\ntwo\nthree\n")
	p.file(t, "bare", "x")
	require.NoError(t, os.Link(filepath.Join(p.workspace, "bare"), filepath.Join(p.workspace, "twin")))
	p.file(t, "large", strings.Repeat("x", maxKept+1))
	p.file(t, "binary", "a\x00b")
	for _, c := range []struct {
		tool string
		args values
		want message.Preview
	}{
		{
			"edit_file",
			values{"path": "a.md", "old": "two", "new": "2"},
			message.Preview{
				Title: "edit a.md (3 lines)",
				Body:  "--- a/a.md\n+++ b/a.md\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
			},
		},
		{
			"write_file",
			values{"path": "new.md", "content": "one\n"},
			message.Preview{Title: "write new.md (1 line)", Body: "--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+one\n"},
		},
		{
			"write_file",
			values{"path": "a.md", "content": "one\ntwo\nthree\n"},
			message.Preview{Title: "write a.md (3 lines)", Body: "changes nothing"},
		},
		{
			"write_file",
			values{"path": "bare", "content": "x\x1b[2J\u202ey"},
			message.Preview{
				Title: "write bare (1 line)",
				Body: "--- a/bare\n+++ b/bare\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n" +
					"+x\\x1b[2J\\u202ey\n\\ No newline at end of file\n",
				Warning: "the file has other names, which keep the old text",
			},
		},
		{
			"write_file",
			values{"path": "large", "content": "x"},
			message.Preview{
				Title:   "write large (1 line)",
				Warning: "large has 8388609 bytes, more than 8388608: it is replaced and cannot be put back",
			},
		},
		{
			"write_file",
			values{"path": "binary", "content": "x"},
			message.Preview{Title: "write binary (1 line)", Body: "replaces a binary file of 3 bytes"},
		},
		{"read_file", values{"path": "a.md"}, message.Preview{Title: `read_file "a.md"`}},
		{"search_files", values{"pattern": "x", "glob": "*.go"}, message.Preview{Title: `search_files "x" "*.go"`}},
	} {
		got, err := p.Preview(call(t, c.tool, c.args))
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	got, err := p.Preview(call(t, "run", values{"command": "echo \x1b[1A\rrm\nls"}))
	require.NoError(t, err)
	_, why := p.Confined()
	require.Equal(t, message.Preview{
		Title: `run: echo \x1b[1A\rrm`, Body: "echo \\x1b[1A\\rrm\nls", Warning: why,
	}, got)
	_, err = p.Preview(call(t, "run", values{}))
	require.ErrorContains(t, err, "run lacks the argument command")
}

func TestAWriteIsRefusedWhenTheFileChangedAfterItWasShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file(t, "a.md", "old\n")
	c := call(t, "write_file", values{"path": "a.md", "content": "new\n"})
	_, err := p.Preview(c)
	require.NoError(t, err)
	p.file(t, "a.md", "changed by a person\n")
	r := p.Run(context.Background(), nil, c)
	require.True(t, r.Failed)
	require.Contains(t, r.Text, "which was changed after this call was shown to a person")
	require.Equal(t, "changed by a person\n", p.text(t, "a.md"))

	_, err = p.Preview(c)
	require.NoError(t, err)
	require.False(t, p.Run(context.Background(), nil, c).Failed)
	require.Equal(t, "new\n", p.text(t, "a.md"))
}

func TestAWriteKeepsModeAndLinks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file(t, "docs/script", "old\n")
	require.NoError(t, os.Chmod(filepath.Join(p.workspace, "docs/script"), 0o751))
	require.NoError(t, os.Symlink("docs", filepath.Join(p.workspace, "folder")))
	require.NoError(t, os.Symlink("folder/script", filepath.Join(p.workspace, "link")))
	r := p.do(t, "write_file", values{"path": "link", "content": "new\n"})
	require.False(t, r.Failed, r.Text)
	require.Equal(t, []string{"docs/script"}, r.Changed)
	info, err := os.Lstat(filepath.Join(p.workspace, "docs/script"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o751), info.Mode())
	require.Equal(t, "new\n", p.text(t, "link"))
	info, err = os.Lstat(filepath.Join(p.workspace, "link"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
}

func TestNamesForCompletion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, text := range tree {
		p.file(t, name, text)
	}
	p.file(t, "a\nb", "")
	want := []string{".gitignore", "README.md", "docs/.gitignore", "docs/a.md", "docs/b/c.md", "keep.log", "main.go"}
	require.Equal(t, want, p.Files(100))
	require.Equal(t, want[:2], p.Files(2))
	require.Contains(t, p.do(t, "list_files", values{}).Text, "\"a\\nb\"\n")
}

// swap exchanges two names of the workspace again and again until the test ends.
func (p place) swap(t *testing.T, one, other string) {
	t.Helper()
	stop := make(chan struct{})
	var done sync.WaitGroup
	t.Cleanup(func() {
		close(stop)
		done.Wait()
	})
	one, other = filepath.Join(p.workspace, one), filepath.Join(p.workspace, other)
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
			}
		}
	})
}

func TestNamesThatAreSwappedDuringACallLeadNowhere(t *testing.T) {
	t.Parallel()
	rounds := 100
	if full {
		rounds = 2000
	}
	p := newPlace(t)
	p.plant(t)
	p.file(t, "folder/canary", "inside\n")
	require.NoError(t, os.Symlink("../outside", filepath.Join(p.workspace, "link")))
	p.file(t, "file", "inside\n")
	require.NoError(t, os.Symlink("../outside/canary", filepath.Join(p.workspace, "out")))
	p.file(t, "plain", "inside\n")
	require.NoError(t, unix.Mkfifo(filepath.Join(p.workspace, "pipe"), 0o644))
	before := p.snapshot(t)
	p.swap(t, "folder", "link")
	p.swap(t, "file", "out")
	p.swap(t, "plain", "pipe")
	served, refused := 0, 0
	for range rounds {
		for _, r := range []message.Result{
			p.do(t, "read_file", values{"path": "folder/canary"}),
			p.do(t, "read_file", values{"path": "file"}),
			p.do(t, "read_file", values{"path": "plain"}),
			p.do(t, "write_file", values{"path": "folder/new", "content": "taken\n"}),
			p.do(t, "write_file", values{"path": "file", "content": "inside\n"}),
			p.do(t, "search_files", values{"pattern": "sings"}),
		} {
			require.NotContains(t, r.Text, canary)
			if r.Failed {
				refused++
			} else {
				served++
			}
		}
	}
	require.Equal(t, before, p.snapshot(t))
	t.Logf("%d calls were served and %d refused", served, refused)
	require.NotZero(t, served)
	require.NotZero(t, refused)
}

func TestNoKeyReachesACommand(t *testing.T) {
	keys := []string{
		"OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "ONEIROS_URL", "HERMES_SERVER", "DB_PASSWORD", "LC_TOKEN",
		"GOOGLE_APPLICATION_CREDENTIALS", "NETRC_PASSPHRASE", "MINE_KEY", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS",
		"LD_PRELOAD_TEST", "BASH_ENV", "ENV", "NODE_OPTIONS", "PYTHONSTARTUP",
	}
	for _, name := range keys {
		t.Setenv(name, canary)
	}
	t.Setenv("GOPROXY", "https://me:"+canary+"@proxy.example")
	t.Setenv("HTTPS_PROXY", "https://me:"+canary+"@proxy.example")
	t.Setenv("MINE_EDITOR", "ed")
	t.Setenv("LC_TIME", "C")
	p := newPlace(t, func(s *Settings) {
		s.RunEnv = []string{"MINE_*"}
		s.RunNetwork = true
	})
	r := p.sh(t, "env")
	require.False(t, r.Failed, r.Text)
	require.NotContains(t, r.Text, canary)
	for _, name := range keys {
		require.NotContains(t, r.Text, name+"=")
	}
	for _, want := range []string{"MINE_EDITOR=ed\n", "LC_TIME=C\n", "TERM=dumb\n", "PATH=" + os.Getenv("PATH") + "\n"} {
		require.Contains(t, r.Text, want)
	}
	// The control: without the list, the keys would be there.
	out, err := exec.Command("env").Output()
	require.NoError(t, err)
	require.Equal(t, len(keys)+2, strings.Count(string(out), canary))
}

func TestAHomeIsClosedToCommands(t *testing.T) {
	p := newPlace(t)
	p.confinedOrSkip(t)
	secrets := []string{
		".ssh/id_ed25519", ".config/oneiros/keys.yaml", ".netrc", ".npmrc", ".aws/credentials", ".cargo/credentials.toml",
		".config/git/credentials", ".local/share/uv/credentials/credentials.toml", ".bash_history", ".git-credentials",
	}
	for _, name := range append(slices.Clone(secrets), ".gitconfig", ".cargo/bin/tool", ".local/bin/tool") {
		name = filepath.Join(p.outside, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(canary), 0o755))
	}
	t.Setenv("HOME", p.outside)
	t.Setenv("PATH", filepath.Join(p.outside, "bin")+":"+p.outside+":/:"+os.Getenv("PATH"))
	for _, name := range secrets {
		r := p.sh(t, "cat ~/"+name)
		require.True(t, r.Failed)
		require.NotContains(t, r.Text, canary)
		out, err := exec.Command("/bin/sh", "-c", "cat ~/"+name).Output()
		require.NoError(t, err)
		require.Equal(t, canary, string(out))
	}
	for _, name := range []string{".gitconfig", ".cargo/bin/tool", ".local/bin/tool"} {
		require.Equal(t, canary, p.sh(t, "cat ~/"+name).Text)
	}
}

func TestWhatSettingsAllowIsAllowed(t *testing.T) {
	t.Parallel()
	open := newPlace(t)
	open.confinedOrSkip(t)
	p := newPlace(t, func(s *Settings) {
		s.RunNetwork = true
		s.RunRead = []string{open.outside}
		s.Cache = filepath.Join(open.state, "shared")
	})
	open.plant(t)
	require.Equal(t, canary+"\n", p.sh(t, "cat "+open.outside+"/canary").Text)
	require.True(t, p.sh(t, "echo x >"+open.outside+"/canary").Failed)
	require.False(t, p.sh(t, "echo x >$XDG_CACHE_HOME/a").Failed)
	require.FileExists(t, filepath.Join(open.state, "shared/a"))
	_, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	r := p.sh(t, fmt.Sprintf(`python3 -c 'import socket; socket.create_connection(("127.0.0.1", %d)); print("in")'`, port))
	require.Equal(t, "in\n", r.Text)
	require.True(t, p.sh(t, `python3 -c 'import socket; socket.socket(socket.AF_UNIX)'`).Failed)
}

// The package says what is not confined. This keeps that honest: when a kernel confines more, the text can change.
func TestWhatIsNotConfined(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confinedOrSkip(t)
	p.plant(t)
	require.False(t, p.sh(t, p.fill("stat OUT/canary && chmod 600 OUT/canary && touch -c -d @0 OUT/canary")).Failed)
	require.False(t, p.sh(t, "mkdir -p .git/hooks && echo x >.git/hooks/pre-commit").Failed)
}

func TestTheShellOfAPersonIsConfinedLikeTheModels(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.confinedOrSkip(t)
	p.plant(t)
	r := p.Shell(context.Background(), nil, p.fill("cat OUT/canary"))
	require.True(t, r.Failed)
	require.NotContains(t, r.Text, canary)
	require.Equal(t, "text\n", p.Shell(context.Background(), nil, "echo text").Text)
}
