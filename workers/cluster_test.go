package workers

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

// barred is a client of a real server whose operator service returns the error of the test.
type barred struct {
	client.Client
	answer func() (*operatorservice.ListSearchAttributesResponse, error)
}

func (b barred) OperatorService() operatorservice.OperatorServiceClient {
	return operator{answer: b.answer}
}

type operator struct {
	operatorservice.OperatorServiceClient
	answer func() (*operatorservice.ListSearchAttributesResponse, error)
}

func (o operator) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest,
	...grpc.CallOption,
) (*operatorservice.ListSearchAttributesResponse, error) {
	return o.answer()
}

func dial(t *testing.T) (client.Client, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("looks at a real Temporal server; make test runs it")
	}
	server := temporal.Shared(t)
	return server.Dial(t), server.Namespace
}

func TestAClusterThatDoesNotListItsSearchAttributesIsUsedWithoutThem(t *testing.T) {
	t.Parallel()
	c, namespace := dial(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, refusal := range []error{
		serviceerror.NewPermissionDenied("request unauthorized", ""),
		serviceerror.NewUnimplemented("no such method"),
	} {
		found, err := Look(ctx,
			barred{c, func() (*operatorservice.ListSearchAttributesResponse, error) { return nil, refusal }}, namespace)
		require.NoError(t, err)
		require.False(t, found.Searchable)
		require.Equal(t, "it does not list its search attributes ("+refusal.Error()+")", found.Unsearchable())
		require.NotEmpty(t, found.ID)
	}
	_, err := Look(ctx, barred{c, func() (*operatorservice.ListSearchAttributesResponse, error) {
		return nil, serviceerror.NewUnavailable("gone for a moment")
	}}, namespace)
	require.ErrorContains(t, err, "gone for a moment", "a temporary error is returned")
}

func TestTheClusterIDIdentifiesTheNamespace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, namespace := dial(t)
	first, err := Look(ctx, c, namespace)
	require.NoError(t, err)
	again, err := Look(ctx, c, namespace)
	require.NoError(t, err)
	c, namespace = dial(t)
	other, err := Look(ctx, c, namespace)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NotEqual(t, first.ID, other.ID)
}

func TestWrongAndMissingAttributesAreReportedSeparately(t *testing.T) {
	t.Parallel()
	existing := map[string]enumspb.IndexedValueType{}
	for _, a := range attributes {
		existing[a.Name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	existing[interruptedOn.Name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST
	var found Cluster
	found.compare(existing)
	require.False(t, found.Searchable)
	require.Empty(t, found.Missing)
	require.Equal(t, "its search attribute OneirosSpendMicros is of type Keyword and should be Int",
		found.Unsearchable())

	existing["OneirosSpendMicros"] = enumspb.INDEXED_VALUE_TYPE_INT
	found = Cluster{}
	found.compare(existing)
	require.True(t, found.Searchable)
	require.Empty(t, found.Unsearchable())

	delete(existing, interruptedOn.Name)
	found = Cluster{}
	found.compare(existing)
	require.True(t, found.Searchable, "a cluster of an earlier release keeps what it has")
	require.False(t, found.Interruptions)
	require.Empty(t, found.Unsearchable())
	require.Equal(t, "it lacks the search attributes OneirosInterruptedOn", found.Lacks())

	existing[interruptedOn.Name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST
	delete(existing, "OneirosState")
	found = Cluster{}
	found.compare(existing)
	require.Equal(t, []Attribute{{"OneirosState", "Keyword"}}, found.Missing)
	require.Equal(t, "it lacks the search attributes OneirosState", found.Unsearchable())
}
