package healthcmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestAFirstDreamThatStillRunsIsNotReportedAsNone(t *testing.T) {
	t.Parallel()
	going := &dream.Record{Head: dream.Head{State: dream.Live}, Outcome: dream.Dreaming}
	l, err := (&examination{}).lastKept(t.Context(), dream.Agent{}, []*dream.Record{going})
	require.NoError(t, err)
	require.Equal(t, "no dream that counts has ended yet", l.Found)
	l, err = (&examination{}).lastKept(t.Context(), dream.Agent{}, nil)
	require.NoError(t, err)
	require.Equal(t, "it has not dreamt yet", l.Found)
}
