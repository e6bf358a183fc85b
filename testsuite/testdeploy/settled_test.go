package testdeploy_test

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// settled lists what every finished step of a dream cost, by step.
func settled(t *testing.T, ctx context.Context, deployment *testdeploy.Deployment, dreamID string) string {
	t.Helper()
	rows := rowsOf(t, ctx, deployment, dreamID)
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		lines = append(lines,
			fmt.Sprintf("%s %s %d in %d out %d", row.Step, row.Model, row.Counted, row.Tokens.In, row.Tokens.Out))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// rowsOf are the finished steps of a dream.
func rowsOf(t *testing.T, ctx context.Context, deployment *testdeploy.Deployment, dreamID string) []spend.Row {
	t.Helper()
	rows, err := deployment.Ports.Guard.Ledger.Rows(
		ctx,
		spend.Query{Dream: dreamID, States: []spend.State{spend.Settled}},
	)
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	return rows
}
