package inference_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

type relayed string

func (r relayed) Relay(context.Context, inference.RelayRequest) (*inference.RelayResponse, error) {
	return &inference.RelayResponse{Status: len(r)}, nil
}

func TestABodyGoesToTheProviderOfItsModel(t *testing.T) {
	t.Parallel()
	s := inference.Relays{
		Catalog: inference.Table{
			"a/x": {Name: "a/x", Provider: "a"}, "bb/x": {Name: "bb/x", Provider: "bb"},
			"c/x": {Name: "c/x", Provider: "c"},
		},
		Providers: map[string]inference.Relay{"a": relayed("1"), "bb": relayed("22")},
	}
	res, err := s.Relay(t.Context(), inference.RelayRequest{Model: "bb/x"})
	require.NoError(t, err)
	require.Equal(t, 2, res.Status)
	for _, model := range []string{"c/x", "d/x", ""} {
		_, err = s.Relay(t.Context(), inference.RelayRequest{Model: model})
		f, ok := inference.AsFailure(err)
		require.True(t, ok, model)
		require.Equal(t, inference.Unknown, f.Kind)
		require.False(t, f.Billed)
	}
}
