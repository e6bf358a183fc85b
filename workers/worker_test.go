package workers_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/workers"
)

func TestTemporaldHasAllSearchAttributes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("looks at a real Temporal server; make test runs it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server := temporal.Shared(t)
	found, err := workers.Look(ctx, server.Dial(t), server.Namespace)
	require.NoError(t, err)
	require.True(t, found.Searchable, "missing %v", found.Missing)
	require.True(t, found.WorkerCommands)
	require.NotEmpty(t, found.Server)
	_, err = workers.Look(ctx, server.Dial(t), "no-such-namespace")
	require.ErrorContains(t, err, `"no-such-namespace"`)
}
