package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/temporalchild"
	"github.com/seed-56a03226/oneiros/starter"
)

// terminationGuard is a Temporal server that kills its client instead of terminating one workflow.
type terminationGuard struct {
	operatorservice.UnimplementedOperatorServiceServer
	operator operatorservice.OperatorServiceClient
	workflow string
	client   atomic.Pointer[os.Process]
	kills    atomic.Int32
}

// ListSearchAttributes is what a worker asks of the operator's service when it starts.
func (g *terminationGuard) ListSearchAttributes(ctx context.Context, r *operatorservice.ListSearchAttributesRequest,
) (*operatorservice.ListSearchAttributesResponse, error) {
	return g.operator.ListSearchAttributes(ctx, r)
}

func (g *terminationGuard) intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (any, error) {
	r, ok := request.(*workflowservice.TerminateWorkflowExecutionRequest)
	if !ok || r.GetWorkflowExecution().GetWorkflowId() != g.workflow {
		return next(ctx, request)
	}
	g.kills.Add(1)
	if err := g.client.Load().Kill(); err != nil {
		return nil, err
	}
	return nil, status.Error(codes.Unavailable, "the client was killed")
}

// serve passes the requests of a client on to the server at an address, and answers the address where it does.
func (g *terminationGuard) serve(t *testing.T, to string) string {
	t.Helper()
	c, err := grpc.NewClient(to, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	passing, err := proxy.NewWorkflowServiceProxyServer(
		proxy.WorkflowServiceProxyOptions{Client: workflowservice.NewWorkflowServiceClient(c)})
	require.NoError(t, err)
	g.operator = operatorservice.NewOperatorServiceClient(c)
	server := grpc.NewServer(grpc.UnaryInterceptor(g.intercept))
	workflowservice.RegisterWorkflowServiceServer(server, passing)
	operatorservice.RegisterOperatorServiceServer(server, g)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		_ = c.Close()
	})
	return listener.Addr().String()
}

// record is the interrupted dream's record as the store has it.
func (f *frozen) record() (record *dream.Record) {
	f.Helper()
	d, err := deploy.NewProcess(f.env).Open(f.Context())
	require.NoError(f, err)
	agent, err := d.Store.Agent(f.Context(), f.state.Broken.Handle)
	require.NoError(f, err)
	record, err = memory.One[*dream.Record](f.Context(), d.Store, agent.ID, f.state.Dream)
	require.NoError(f, err)
	require.NoError(f, d.Close())
	return record
}

// ledger is what the spend ledger has of the interrupted dream.
func (f *frozen) ledger() []frozenCall {
	f.Helper()
	d, err := deploy.NewProcess(f.env).Open(f.Context())
	require.NoError(f, err)
	calls := f.calls(d, f.state.Dream)
	require.NoError(f, d.Close())
	return calls
}

// execution is the state of the interrupted dream's workflow.
func (f *frozen) execution(c client.Client) enumspb.WorkflowExecutionStatus {
	f.Helper()
	described, err := c.DescribeWorkflowExecution(f.Context(), f.state.Dream, "")
	require.NoError(f, err)
	return described.GetWorkflowExecutionInfo().GetStatus()
}

// TestAProcessKilledWhileItClosesADreamOfAnEarlierBuild kills the process of a new build after it has closed a dream of
// an earlier one in the store, and before its workflow is terminated. The next start finishes that.
func TestAProcessKilledWhileItClosesADreamOfAnEarlierBuild(t *testing.T) {
	t.Parallel()
	for _, archive := range []string{"sqlite", "redis"} {
		t.Run(archive, func(t *testing.T) {
			t.Parallel()
			f := thaw(t, archive)
			f.reserve()
			server, err := temporalchild.Start(t.Context(), temporalchild.Options{
				Binary: temporalchild.Binary{Path: f.getenv("ONEIROS_TEMPORALD")},
				DB:     f.data("temporal.db"),
				UIPort: -1,
			})
			require.NoError(t, err)
			guard := &terminationGuard{workflow: f.state.Dream}
			guarded := &home{
				T: t, dir: f.dir,
				env: append(f.env[:len(f.env):len(f.env)], "ONEIROS_TEMPORAL_ADDRESS="+guard.serve(t, server.Address)),
			}
			killed := guarded.command("up")
			output := &safe{}
			killed.Stdout, killed.Stderr = output, output
			require.NoError(t, killed.Start())
			guard.client.Store(killed.Process)
			ended := make(chan error, 1)
			go func() { ended <- killed.Wait() }()
			select {
			case err = <-ended:
			case <-time.After(2 * time.Minute):
				require.NoError(t, killed.Process.Kill())
				require.Fail(t, "it was never killed", "%s", output)
			}
			var exited *exec.ExitError
			require.ErrorAs(t, err, &exited, "%s", output)
			require.EqualValues(t, 1, guard.kills.Load(), "%s", output)

			record, calls := f.record(), f.ledger()
			require.Equal(t, dream.Interrupted, record.Outcome)
			require.False(t, record.Unsettled(), "it is closed in the store")
			c, err := client.Dial(client.Options{HostPort: server.Address})
			require.NoError(t, err)
			require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, f.execution(c))
			c.Close()
			require.NoError(t, server.Stop())

			f.up()
			f.opened(func(_ *deploy.Deployment, s *starter.Starter) {
				require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, f.execution(s.Client))
			})
			require.Equal(t, record, f.record(), "it is closed once")
			require.Equal(t, calls, f.ledger(), "it is paid for once")
			f.owesNothing()
			require.Contains(t, f.must("agents", "show", f.state.Broken.Handle), "state             sleeping")
			f.closed()
			f.owesNothing()
		})
	}
}
