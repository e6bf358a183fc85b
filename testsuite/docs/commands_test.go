package docs_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/testsuite/docs"
	"github.com/seed-56a03226/oneiros/testsuite/program"
)

// aRealModel is why a command is not run here.
const aRealModel = "needs a model and llama.cpp; TestARealModelIsServedSteeredAndStopped of cmd/oneiros runs all three where the environment names them"

// anInstall is why a command is not run here.
const anInstall = "the tests of testsuite/install install in this way, as far as that can be done without a network"

// notRunHere are the commands that this test cannot run, each with where it is run instead or why it cannot be.
var notRunHere = map[string]string{
	"make dream":                     "builds both binaries, then runs what TestTheDemoPlaysALifeNightByNight of cmd/oneiros runs",
	"bin/oneiros demo --life oncall": "takes as long as the life before it; internal/sample reads both",
	`bin/oneiros demo --life my-diary.md --ask "What comes with rain?"`: "needs a diary of the reader's; TestTheDemoPlaysALifeNightByNight of cmd/oneiros plays a file",
	"make ablation": "needs a model and three quarters of an hour; testsuite/ablation holds the page to the record of such a run",
	"make test":     "runs this test",
	"make dist":     anInstall,
	"make release":  "compiles the Temporal server for four platforms; the tests of tools/release run what it runs, and make release-test itself for one",
	"go install github.com/seed-56a03226/oneiros/cmd/oneiros@latest":   anInstall,
	"go install github.com/seed-56a03226/oneiros/cmd/temporald@latest": anInstall,
	"bin/oneiros dreams resume --agent iris":                           "needs a dream that was woken; TestAKnockFromAnotherProcessEndsASittingAndTheDreamGoesOn of cmd/oneiros resumes one",
	"bin/oneiros dreams cancel dream/iris/0003":                        "needs a dream that goes on; TestAPushedReadingRaisesAnAlarmThatEndsTheOnset of cmd/oneiros ends one that was woken",
	"temporal operator search-attribute create --name OneirosAgent --type Keyword --name OneirosPhase --type Keyword --name OneirosDepth --type Keyword --name OneirosOutcome --type Keyword --name OneirosSpendMicros --type Int --name OneirosState --type Keyword --name OneirosInterruptedOn --type KeywordList": "needs a foreign cluster; TestTheSearchAttributesToCreateAreOurs compares its names and types with the code's",
	"bin/oneiros steering train --model tiny.gguf --lib llama -o creativity.gguf":         aRealModel,
	"bin/oneiros steering check --model tiny.gguf --lib llama --vector creativity.gguf":   aRealModel,
	"bin/oneiros llama --model tiny.gguf --lib llama --vector creativity=creativity.gguf": aRealModel,
	"temporal workflow cancel --workflow-id dream/iris/0002":                              "Temporal's own; the tests of cmd/oneiros cancel a dream in the same way",
	"temporal workflow terminate --workflow-id dream/iris/0002":                           "Temporal's own; the tests of workflows and testsuite/chaos terminate on a real server",
}

var (
	listQuery = regexp.MustCompile(`^temporal workflow list --query '([^']+)'$`)
	queried   = regexp.MustCompile(`^temporal workflow query --workflow-id (\S+) --type (\S+)$`)
	curled    = regexp.MustCompile(`^curl -sS (http://127\.0\.0\.1:7680)(/\S+)(?: -d '([^']+)')?$`)
	entry     = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/v1 \(OpenAI\)`)
	address   = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// runs says whether the test below runs a command.
func runs(text string) bool {
	return strings.HasPrefix(text, "bin/oneiros ") || curled.MatchString(text) || listQuery.MatchString(text) ||
		queried.MatchString(text)
}

func commands(t *testing.T) []docs.Command {
	t.Helper()
	var list []docs.Command
	for _, path := range handbook {
		d, err := docs.Read(root, path)
		require.NoError(t, err)
		list = append(list, d.Commands()...)
	}
	require.Greater(t, len(list), 30)
	return list
}

func TestEveryCommandOfTheDocumentsIsRunOrHasAReason(t *testing.T) {
	t.Parallel()
	unknown, idle := docs.Uncovered(commands(t), runs, notRunHere)
	require.Empty(t, unknown)
	require.Empty(t, idle, "reasons for commands that no document shows")
	for _, d := range every(t) {
		for _, shown := range handbook {
			if d.Path == shown {
				d.Blocks = nil
			}
		}
		require.Empty(t, d.Commands(), "%s shows commands and is not in the handbook of this test", d.Path)
	}
}

func TestACommandThatNoTestRunsIsFound(t *testing.T) {
	t.Parallel()
	made := docs.Parse("made-up.md",
		"# Up\n\n```sh\nmake party   # twice\nbin/oneiros doctor\n```\n\n```go\nmake nothing\n```\n")
	unknown, idle := docs.Uncovered(made.Commands(), runs, map[string]string{"make dream": "no longer shown"})
	require.Equal(t, []docs.Command{{Document: "made-up.md", Line: 4, Text: "make party"}}, unknown)
	require.Equal(t, []string{"make dream"}, idle)
	require.Error(t, checkCommand(program.Oneiros(t), "frobnicate --agent iris"))
	require.Error(t, checkCommand(program.Oneiros(t), "memory frobnicate"))
	require.Error(t, checkCommand(program.Oneiros(t), "memory import --frobnicate docs/examples/diary.md"))
}

func TestEveryCommandThatIsNamedExists(t *testing.T) {
	t.Parallel()
	for _, c := range commands(t) {
		if line, ours := strings.CutPrefix(c.Text, "bin/oneiros "); ours {
			require.NoError(t, checkCommand(program.Oneiros(t), line), "%s:%d", c.Document, c.Line)
		}
	}
	for _, d := range every(t) {
		for _, line := range d.Inline {
			require.NoError(t, checkCommand(program.Oneiros(t), strings.TrimPrefix(line, "oneiros ")), "%s: %s",
				d.Path, line)
		}
	}
}

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// home is a machine that has only a checkout.
type home struct {
	*testing.T
	dir    string
	env    []string
	server string // the server of a running `up`
	entry  string // address for clients
}

func newHome(t *testing.T) *home {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	server := os.Getenv("ONEIROS_TEMPORALD")
	if server == "" {
		server = filepath.Join(top, "bin", "temporald")
	}
	require.FileExists(t, server, "make build builds it")
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	require.NoError(t, os.Symlink(program.Oneiros(t), filepath.Join(dir, "bin", "oneiros")))
	require.NoError(t, os.Symlink(filepath.Join(top, "docs"), filepath.Join(dir, "docs")))
	return &home{
		T: t, dir: dir,
		env: []string{
			"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "ONEIROS_TEMPORALD=" + server,
			"ONEIROS_SERVE_LISTEN=127.0.0.1:0",
			"XDG_STATE_HOME=" + t.TempDir(),   // Hermes keeps its sessions out of the folder that it works in
			"ONEIROS_SERVE_RECALL_BUDGET=10s", // a busy machine finds what a quiet one finds
		},
	}
}

// command is a command of a page. A dream is given a seed, so that what later commands name has been kept.
func (h *home) command(line string) *exec.Cmd {
	if strings.HasPrefix(line, "bin/oneiros dream ") && !strings.Contains(line, "--seed") {
		line += " --seed 7"
	}
	cmd := exec.Command("sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = h.dir, h.env, 10*time.Second
	return cmd
}

// TestTheHandbookDoesWhatItSays reads the handbook as a reader would, on one machine, from its first command to its
// last.
func TestTheHandbookDoesWhatItSays(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, c := range commands(t) {
		switch {
		case notRunHere[c.Text] != "":
		case c.Text == "bin/oneiros up", c.Text == "bin/oneiros worker":
			h.serve(c)
		case curled.MatchString(c.Text):
			h.curl(c)
		case strings.HasPrefix(c.Text, "temporal "):
			h.runTemporalQuery(c)
		default:
			out, err := h.command(c.Text).CombinedOutput()
			require.NoError(t, err, "%s:%d: %s\n%s", c.Document, c.Line, c.Text, out)
		}
	}
	require.NotEmpty(t, h.server, "the handbook shows how to keep it running")
}

// serve starts a command that runs until it is stopped, and stops it at the end of the test.
func (h *home) serve(c docs.Command) {
	h.Helper()
	cmd, answer := h.command(c.Text), &output{}
	cmd.Stdout, cmd.Stderr = answer, answer
	require.NoError(h, cmd.Start())
	h.Cleanup(func() {
		require.NoError(h, cmd.Process.Signal(os.Interrupt))
		require.NoError(h, cmd.Wait(), "%s: %s", c.Text, answer)
	})
	require.Eventually(h, func() bool { return strings.Contains(answer.String(), "Running.") }, 2*time.Minute,
		50*time.Millisecond, "%s:%d: %s", c.Document, c.Line, answer)
	h.server = address.FindString(answer.String())
	if m := entry.FindStringSubmatch(answer.String()); m != nil {
		h.entry = m[1]
		h.env = append(h.env, "HERMES_SERVER="+h.entry)
	}
}

// curl sends the request of a curl command to the server, at whatever port it has here.
func (h *home) curl(c docs.Command) {
	h.Helper()
	require.NotEmpty(h, h.entry, "%s:%d: an `up` must run", c.Document, c.Line)
	m := curled.FindStringSubmatch(c.Text)
	method := http.MethodGet
	if m[3] != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(h.Context(), method, h.entry+m[2], strings.NewReader(m[3]))
	require.NoError(h, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl does
	answer, err := http.DefaultClient.Do(r)
	require.NoError(h, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(h, err)
	require.Equal(h, http.StatusOK, answer.StatusCode, "%s:%d: %s\n%s", c.Document, c.Line, c.Text, body)
}

// runTemporalQuery sends the query of a temporal command to the server.
func (h *home) runTemporalQuery(c docs.Command) {
	h.Helper()
	temporal, err := client.DialContext(h.Context(), client.Options{HostPort: h.server})
	require.NoError(h, err)
	defer temporal.Close()
	if m := listQuery.FindStringSubmatch(c.Text); m != nil {
		_, err = temporal.ListWorkflow(h.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: m[1]})
	} else if m := queried.FindStringSubmatch(c.Text); m != nil {
		_, err = temporal.QueryWorkflow(h.Context(), m[1], "", m[2])
	}
	require.NoError(h, err, "%s:%d: %s", c.Document, c.Line, c.Text)
}

// output collects what a process writes, for two goroutines.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *output) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// talk is the request to an agent that README shows.
var talk = regexp.MustCompile(`(?m)^\$ curl -i http://127\.0\.0\.1:7680(/\S+) \\\n +-d '([^']+)'$`)

// The question that README asks is one that the imported diary answers. What else the built-in model says depends on
// the dream before.
func TestTheQuestionOfREADMEIsAnsweredFromTheDiary(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	for _, line := range []string{
		`bin/oneiros agents add iris --persona "a quiet research companion"`,
		"bin/oneiros memory import --agent iris docs/examples/diary.md",
	} {
		require.Contains(t, string(readme), line)
		out, err := h.command(line).CombinedOutput()
		require.NoError(t, err, "%s: %s", line, out)
	}
	require.Contains(t, string(readme), "$ bin/oneiros up\n")
	h.serve(docs.Command{Document: "README.md", Text: "bin/oneiros up"})
	m := talk.FindStringSubmatch(string(readme))
	require.NotNil(t, m, "README shows how to talk to an agent")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.entry+m[1], strings.NewReader(m[2]))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl does
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	var body struct {
		Choices []struct{ Message struct{ Content string } }
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&body))
	require.Len(t, body.Choices, 1)
	content := body.Choices[0].Message.Content
	const inTheDiary = "he repairs clocks now"
	require.Contains(t, content, inTheDiary)
	require.Contains(t, string(readme), inTheDiary)
	for _, name := range []string{"X-Oneiros-Agent", "X-Oneiros-Conversation", "X-Oneiros-Recalled", "X-Oneiros-Woke"} {
		require.NotEmpty(t, answer.Header.Get(name), name)
		require.Contains(t, string(readme), "\n"+name+": ", "README shows this header")
	}
}
