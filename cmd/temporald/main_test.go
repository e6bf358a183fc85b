package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/config"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	sqliteschema "go.temporal.io/server/schema/sqlite"

	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestMain lets the test binary be the program itself, so that it can be killed, or a parent of the program.
func TestMain(m *testing.M) {
	switch os.Getenv("TEMPORALD_TEST_PLAYS") {
	case "temporald":
		main()
		os.Exit(0)
	case "parent":
		parent()
	}
	os.Exit(m.Run())
}

// parent starts a temporald that watches it, passes on its ready line, and waits to be killed.
func parent() {
	child := exec.Command(os.Args[0], append(os.Args[1:], "--parent-pid", strconv.Itoa(os.Getpid()))...)
	child.Env = append(os.Environ(), "TEMPORALD_TEST_PLAYS=temporald")
	child.Stdout = os.Stdout
	if err := child.Run(); err != nil {
		fmt.Println(err)
	}
}

type process struct {
	*exec.Cmd
	ready
	out  io.Reader
	errs *bytes.Buffer
}

// launch starts the program and waits for its ready line.
func launch(t *testing.T, plays string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), errs: &bytes.Buffer{}}
	p.Env = append(os.Environ(), "TEMPORALD_TEST_PLAYS="+plays)
	p.Stderr = p.errs
	// A pipe of our own instead of StdoutPipe, which Wait closes: a test waits for the end that the orphan holds.
	read, write, err := os.Pipe()
	require.NoError(t, err)
	p.Stdout, p.out = write, read
	require.NoError(t, p.Start())
	require.NoError(t, write.Close())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		_ = read.Close()
	})
	line, err := bufio.NewReader(p.out).ReadBytes('\n')
	if err != nil {
		_ = p.Wait()
	}
	require.NoError(t, err, "no ready line: %s", p.errs)
	require.NoError(t, json.Unmarshal(line, &p.ready), "%s", line)
	require.True(t, p.Ready)
	return p
}

// refused runs the program, which must fail, and returns its standard error.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "TEMPORALD_TEST_PLAYS=temporald")
	output, err := c.CombinedOutput()
	var left *exec.ExitError
	require.ErrorAs(t, err, &left, "%s", output)
	return string(output)
}

func dial(t *testing.T, p *process) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(p.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func knownAttributes(t *testing.T, p *process, namespace string) map[string]enumspb.IndexedValueType {
	t.Helper()
	answer, err := operatorservice.NewOperatorServiceClient(dial(t, p)).ListSearchAttributes(t.Context(),
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	require.NoError(t, err)
	return answer.GetCustomAttributes()
}

func TestKilledAndStartedAgainOnItsFileItGoesOnWithTheSameWorkflow(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new", "temporal.db")
	first := launch(t, "temporald", "--db", file, "--ui-port", "-1")
	queue := &taskqueuepb.TaskQueue{Name: "nights"}
	began, err := workflowservice.NewWorkflowServiceClient(dial(t, first)).StartWorkflowExecution(t.Context(),
		&workflowservice.StartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: "agent/echo", RequestId: "once", TaskQueue: queue,
			WorkflowType: &commonpb.WorkflowType{Name: "Agent"},
		})
	require.NoError(t, err)
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait(), "a killed process does not leave with 0")

	_, port, ok := strings.Cut(first.Address, ":")
	require.True(t, ok)
	second := launch(t, "temporald", "--db", file, "--port", port, "--ui-port", "-1")
	require.Equal(t, first.Address, second.Address)
	frontend := workflowservice.NewWorkflowServiceClient(dial(t, second))
	described, err := frontend.DescribeWorkflowExecution(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: "agent/echo"},
	})
	require.NoError(t, err)
	require.Equal(t, began.GetRunId(), described.GetWorkflowExecutionInfo().GetExecution().GetRunId())
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, described.GetWorkflowExecutionInfo().GetStatus())

	polling, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	task, err := frontend.PollWorkflowTaskQueue(polling,
		&workflowservice.PollWorkflowTaskQueueRequest{Namespace: "default", TaskQueue: queue})
	require.NoError(t, err)
	require.Equal(t, began.GetRunId(), task.GetWorkflowExecution().GetRunId(), "its next task is handed out")
	require.Len(t, knownAttributes(t, second, "default"), len(searchAttributes))
}

func TestReadyMeansNamespacesSearchAttributesAndPushedCancellationAreThere(t *testing.T) {
	t.Parallel()
	p := launch(t, "temporald", "--memory", "--namespace", "one,two", "--namespace", "three")
	frontend := workflowservice.NewWorkflowServiceClient(dial(t, p))
	for _, namespace := range []string{"one", "two", "three"} {
		described, err := frontend.DescribeNamespace(t.Context(),
			&workflowservice.DescribeNamespaceRequest{Namespace: namespace})
		require.NoError(t, err)
		require.True(t, described.GetNamespaceInfo().GetCapabilities().GetWorkerCommands())
		registered := knownAttributes(t, p, namespace)
		for name, kind := range searchAttributes {
			require.Equal(t, kind, registered[name], name)
		}
		_, err = frontend.ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: namespace, Query: `OneirosAgent = "echo" AND OneirosSpendMicros > 5`,
		})
		require.NoError(t, err)
	}
}

func TestNamespaceMadeElsewhereGetsOurSearchAttributes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.db")
	require.NoError(t, prepare(file))
	bare, err := sqliteschema.NewNamespaceConfig(clusterName, "default", false,
		map[string]enumspb.IndexedValueType{"Theirs": enumspb.INDEXED_VALUE_TYPE_KEYWORD})
	require.NoError(t, err)
	require.NoError(t, sqliteschema.CreateNamespaces(&config.SQL{
		PluginName: sqliteplugin.PluginName, DatabaseName: file, ConnectAttributes: map[string]string{"mode": "rwc"},
	}, bare))
	p := launch(t, "temporald", "--db", file, "--ui-port", "-1")
	registered := knownAttributes(t, p, "default")
	require.Len(t, registered, len(searchAttributes)+1)
	require.Contains(t, registered, "Theirs")
}

func TestASearchAttributeOfAnEarlierBuildIsRenamedInPlace(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]map[string]enumspb.IndexedValueType{
		"alone":                  {},
		"beside the name of now": {"OneirosState": enumspb.INDEXED_VALUE_TYPE_KEYWORD},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "temporal.db")
			require.NoError(t, prepare(file))
			attributes := map[string]enumspb.IndexedValueType{"OneirosLife": enumspb.INDEXED_VALUE_TYPE_KEYWORD}
			maps.Copy(attributes, others)
			earlier, err := sqliteschema.NewNamespaceConfig(clusterName, "default", false, attributes)
			require.NoError(t, err)
			fields := map[string]string{}
			for field, alias := range earlier.Detail.GetConfig().GetCustomSearchAttributeAliases() {
				fields[alias] = field
			}
			require.NoError(t, sqliteschema.CreateNamespaces(&config.SQL{
				PluginName: sqliteplugin.PluginName, DatabaseName: file,
				ConnectAttributes: map[string]string{"mode": "rwc"},
			}, earlier))
			p := launch(t, "temporald", "--db", file, "--ui-port", "-1")
			require.Len(t, knownAttributes(t, p, "default"), len(searchAttributes))
			described, err := workflowservice.NewWorkflowServiceClient(dial(t, p)).DescribeNamespace(t.Context(),
				&workflowservice.DescribeNamespaceRequest{Namespace: "default"})
			require.NoError(t, err)
			aliases := described.GetConfig().GetCustomSearchAttributeAliases()
			require.NotContains(t, slices.Collect(maps.Values(aliases)), "OneirosLife")
			if len(others) == 0 {
				require.Equal(t, "OneirosState", aliases[fields["OneirosLife"]], "the field keeps its values")
			}
		})
	}
}

func TestAServerThatNobodyPreparedLacksWhatAForeignClusterLacks(t *testing.T) {
	t.Parallel()
	p := launch(t, "temporald", "--memory", "--ui-port", "-1", "--without-search-attributes",
		"--without-worker-commands")
	described, err := workflowservice.NewWorkflowServiceClient(dial(t, p)).DescribeNamespace(t.Context(),
		&workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	require.NoError(t, err)
	require.False(t, described.GetNamespaceInfo().GetCapabilities().GetWorkerCommands())
	require.Empty(t, knownAttributes(t, p, "default"))
}

func TestSecondServerOnOneFileIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.db")
	p := launch(t, "temporald", "--db", file, "--ui-port", "-1")
	output := refused(t, "--db", file)
	require.Contains(t, output, "another temporald already keeps "+file)
	require.Contains(t, output, fmt.Sprintf("pid %d", p.PID))
}

func TestFileOfAnotherSchemaOrNoDatabaseIsRefusedByName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	older := filepath.Join(dir, "older.db")
	require.NoError(t, prepare(older))
	require.NoError(t, prepare(older), "its own file is accepted again")
	alter(t, older, `DROP TABLE chasm_node_maps`, `ALTER TABLE queue_metadata ADD COLUMN extra INT`)
	output := refused(t, "--db", older)
	require.Contains(t, output, "written by another version of the Temporal server")
	require.Contains(t, output, "lacks chasm_node_maps")
	require.Contains(t, output, "queue_metadata differs")

	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("buy milk\n", 100)), 0o600))
	require.Contains(t, refused(t, "--db", text), "file is not a database")
	kept, err := os.ReadFile(text)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("buy milk\n", 100), string(kept))
}

func TestTermStopsItCleanlyAndFreesTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.db")
	p := launch(t, "temporald", "--db", file)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), "%s", p.errs)
	lock, err := claim(file)
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

func TestItLeavesWhenItsParentIsKilled(t *testing.T) {
	t.Parallel()
	p := launch(t, "parent", "--memory", "--ui-port", "-1")
	require.NotEqual(t, p.Process.Pid, p.PID)
	require.NoError(t, p.Process.Kill())
	_, err := io.Copy(io.Discard, p.out)
	require.NoError(t, err, "the pipe ends when the orphan, its last holder, is gone")
}

func TestFileIsWrittenAheadSoThatAPowerCutLosesNoCommit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.db")
	launch(t, "temporald", "--db", file, "--ui-port", "-1")
	header := make([]byte, 20)
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	_, err = io.ReadFull(f, header)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 2}, header[18:20], "the file's format versions say write-ahead log")
	require.Equal(t, 2, synchronous(t, file), "2 is full: every commit is on the disk before it is acknowledged")
	require.Equal(t, os.FileMode(0o600), must(f.Stat()).Mode().Perm(), "nobody else reads it")
}

func TestUIAnswersToLoopbackNamesOnly(t *testing.T) {
	t.Parallel()
	p := launch(t, "temporald", "--memory")
	for host, status := range map[string]int{
		"localhost:1234": 200, "127.0.0.1": 200, "[::1]:80": 200,
		"evil.example": 403, "evil.example:80": 403,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.UI+"/api/v1/namespaces", nil)
		require.NoError(t, err)
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, host)
	}
}

func TestPortInUseIsNamed(t *testing.T) {
	t.Parallel()
	p := launch(t, "temporald", "--memory")
	_, port, _ := strings.Cut(p.Address, ":")
	require.Contains(t, refused(t, "--memory", "--port", port), "--port "+port+" cannot be had on 127.0.0.1")
	_, ui, _ := strings.Cut(strings.TrimPrefix(p.UI, "http://"), ":")
	require.Contains(t, refused(t, "--memory", "--ui-port", ui), "--ui-port "+ui+" cannot be had on 127.0.0.1")
}

func TestFlagsAreCheckedAllAtOnce(t *testing.T) {
	t.Parallel()
	output := refused(t, "--memory", "--db", "x", "--listen", "0.0.0.0", "--port", "70000", "--ui-port", "-2",
		"--retention", "1h", "--log-level", "loud", "stray")
	for _, fault := range []string{
		"exclude each other", "--allow-remote", "--port 70000", "--ui-port -2",
		"--retention 1h", `--log-level "loud"`, `"stray"`,
	} {
		require.Contains(t, output, fault)
	}
	o, err := parse([]string{"--listen", "localhost"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", o.listen)
	require.Equal(t, list{"default"}, o.namespaces)
	_, err = parse([]string{"--listen", "0.0.0.0", "--allow-remote"}, io.Discard)
	require.NoError(t, err)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// alter runs statements on a file that no server has open.
func alter(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	require.NoError(t, err)
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
}

// synchronous returns the synchronous level of a connection opened with our pragmas.
func synchronous(t *testing.T, file string) (level int) {
	t.Helper()
	query := url.Values{}
	for name, value := range pragmas {
		query.Add("_pragma", name+"="+value)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?"+query.Encode())
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&level))
	return level
}
