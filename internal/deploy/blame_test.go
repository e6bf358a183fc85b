package deploy

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// looked is a Temporal client whose health is asked for.
type looked struct {
	client.Client
	health error
}

func (l looked) CheckHealth(context.Context, *client.CheckHealthRequest) (*client.CheckHealthResponse, error) {
	return nil, l.health
}

func TestOnlyWhatDidNotAnswerInTimeIsBlamed(t *testing.T) {
	t.Parallel()
	silent := errors.New("no connection")
	for _, c := range []struct{ health, err, want error }{
		{nil, context.DeadlineExceeded, ErrNoWorker},
		{silent, context.DeadlineExceeded, ErrNoTemporal},
		{silent, serviceerror.NewUnavailable("away"), ErrNoTemporal},
		{nil, context.Canceled, nil},
		{nil, serviceerror.NewPermissionDenied("no", ""), nil},
	} {
		w := &waker{engine: &engine{client: looked{health: c.health}}}
		got := w.blame(t.Context(), c.err)
		require.ErrorIs(t, got, c.err)
		if c.want == nil {
			require.Equal(t, c.err, got)
			continue
		}
		require.ErrorIs(t, got, c.want)
	}
	require.NoError(t, (&waker{engine: &engine{client: looked{}}}).blame(t.Context(), nil))
}
