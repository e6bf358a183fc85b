package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/testing/freeport"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	clusterName = "active"
	loopback    = "127.0.0.1"
	// readyWithin bounds the wait for the namespaces and search attributes; an idle machine needs half a second.
	readyWithin = 60 * time.Second
)

// server is a running Temporal server with its UI and its locked file.
type server struct {
	address string
	ui      *screen
	inner   temporal.Server
	lock    *os.File
}

func start(o options) (_ *server, err error) {
	s := &server{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if o.db != "" {
		o.db, err = filepath.Abs(o.db)
		if err != nil {
			return nil, fmt.Errorf("find --db %s: %w", o.db, err)
		}
		s.lock, err = claim(o.db)
		if err != nil {
			return nil, err
		}
		err = prepare(o.db)
		if err != nil {
			return nil, err
		}
	}
	o.port, err = freePort("--port", o.listen, o.port)
	if err != nil {
		return nil, err
	}
	cfg, hosts := configuration(o)
	err = createNamespaces(cfg, o)
	if err != nil {
		return nil, err
	}
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Level: o.logLevel}))
	inner, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithDynamicConfigClient(tuning(o)),
	)
	if err != nil {
		return nil, fmt.Errorf("build the Temporal server: %w", err)
	}
	err = inner.Start()
	if err != nil {
		return nil, fmt.Errorf("start the Temporal server: %w", err)
	}
	s.inner = inner
	s.address = hostPort(reachable(o.listen), o.port)
	err = settle(s.address, o.namespaces, attributes(o))
	if err != nil {
		return nil, err
	}
	s.ui, err = openScreen(o, s.address)
	return s, err
}

// stop ends the UI, then the server, then unlocks the file.
func (s *server) stop() error {
	var faults []error
	if s.ui != nil {
		faults = append(faults, s.ui.close())
	}
	if s.inner != nil {
		faults = append(faults, s.inner.Stop())
	}
	if s.lock != nil {
		faults = append(faults, s.lock.Close())
	}
	return errors.Join(faults...)
}

// configuration is one cluster of one shard. Only the frontend listens where the flags say, the rest on loopback.
func configuration(o options) (*config.Config, map[primitives.ServiceName]static.Hosts) {
	store := config.SQL{
		PluginName: sqliteplugin.PluginName, DatabaseName: o.db,
		ConnectAttributes: map[string]string{"mode": "rwc"},
	}
	if o.db == "" {
		store.DatabaseName = "oneiros"
		store.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	} else {
		for name, value := range pragmas {
			store.ConnectAttributes[name] = value
		}
	}
	frontend := hostPort(reachable(o.listen), o.port)
	cfg := &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: loopback},
		},
		Persistence: config.Persistence{
			DefaultStore:     sqliteplugin.PluginName,
			VisibilityStore:  sqliteplugin.PluginName,
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: &store}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: frontend},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
		Services: map[string]config.Service{
			string(primitives.FrontendService): {RPC: config.RPC{GRPCPort: o.port, BindOnIP: o.listen}},
		},
	}
	hosts := map[primitives.ServiceName]static.Hosts{primitives.FrontendService: static.SingleLocalHost(frontend)}
	for _, name := range []primitives.ServiceName{
		primitives.HistoryService, primitives.MatchingService,
		primitives.WorkerService,
	} {
		port := freeport.MustGetFreePort()
		cfg.Services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnLocalHost: true}}
		hosts[name] = static.SingleLocalHost(hostPort(loopback, port))
	}
	return cfg, hosts
}

// createNamespaces writes missing namespaces straight into the store, so that the server knows them at its start
// instead of after a cache refresh.
func createNamespaces(cfg *config.Config, o options) error {
	var wanted []*sqliteschema.NamespaceConfig
	for _, name := range o.namespaces {
		namespace, err := sqliteschema.NewNamespaceConfig(clusterName, name, false, attributes(o))
		if err != nil {
			return fmt.Errorf("describe namespace %s: %w", name, err)
		}
		namespace.Detail.Config.Retention = durationpb.New(o.retention)
		wanted = append(wanted, namespace)
	}
	store := cfg.Persistence.DataStores[sqliteplugin.PluginName].SQL
	if err := sqliteschema.CreateNamespaces(store, wanted...); err != nil {
		return fmt.Errorf("create the namespaces: %w", err)
	}
	return nil
}

// settle waits until every namespace answers and has our search attributes, and adds those that a file made by
// another program lacks.
func settle(address string, namespaces []string, attributes map[string]enumspb.IndexedValueType) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("reach the frontend at %s: %w", address, err)
	}
	defer func() { _ = conn.Close() }()
	for _, namespace := range namespaces {
		for {
			err := settled(ctx, conn, namespace, attributes)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait %s for namespace %s: %w", readyWithin, namespace, err)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

func settled(ctx context.Context, conn *grpc.ClientConn, namespace string,
	attributes map[string]enumspb.IndexedValueType,
) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := workflowservice.NewWorkflowServiceClient(conn).ListOpenWorkflowExecutions(ctx,
		&workflowservice.ListOpenWorkflowExecutionsRequest{Namespace: namespace, MaximumPageSize: 1}); err != nil {
		return err
	}
	if err := rename(ctx, workflowservice.NewWorkflowServiceClient(conn), namespace, attributes); err != nil {
		return err
	}
	operator := operatorservice.NewOperatorServiceClient(conn)
	registered, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, kind := range attributes {
		if _, ok := registered.GetCustomAttributes()[name]; !ok {
			missing[name] = kind
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := operator.AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing}); err != nil {
		return fmt.Errorf("add the search attributes: %w", err)
	}
	return fmt.Errorf("%d search attributes were just added", len(missing))
}

// rename gives search attributes that an earlier build registered their names of today. The server changes the name of
// a field in two steps; a start that ends between them leaves the field without a name, and the next one registers the
// attribute in another.
func rename(ctx context.Context, frontend workflowservice.WorkflowServiceClient, namespace string,
	attributes map[string]enumspb.IndexedValueType,
) error {
	described, err := frontend.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("describe namespace %s: %w", namespace, err)
	}
	aliases := described.GetConfig().GetCustomSearchAttributeAliases()
	inUse := map[string]bool{}
	for _, name := range aliases {
		inUse[name] = true
	}
	for field, name := range aliases {
		now, old := renamed[name]
		if _, wanted := attributes[now]; !old || !wanted {
			continue
		}
		steps := []string{"", now}
		if inUse[now] {
			steps = steps[:1]
		}
		for _, alias := range steps {
			if _, err := frontend.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
				Namespace: namespace,
				Config:    &namespacepb.NamespaceConfig{CustomSearchAttributeAliases: map[string]string{field: alias}},
			}); err != nil {
				return fmt.Errorf("rename the search attribute %s to %s: %w", name, now, err)
			}
		}
	}
	return nil
}

// freePort returns port if it is free, or some free port for 0.
func freePort(flag, host string, port int) (int, error) {
	if port == 0 {
		return freeport.MustGetFreePort(), nil
	}
	l, err := net.Listen("tcp", hostPort(host, port))
	if err != nil {
		return 0, fmt.Errorf("%s %d cannot be had on %s, name another or 0 for a free one: %w", flag, port, host, err)
	}
	return port, l.Close()
}

// reachable is the address at which this machine reaches what listens on host.
func reachable(host string) string {
	if ip := net.ParseIP(host); ip.IsUnspecified() {
		return loopback
	}
	return host
}
