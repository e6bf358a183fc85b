package deploy

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

func TestAProviderWhoseKeyIsNotSetHoldsUpOnlyItsOwnCalls(t *testing.T) {
	t.Parallel()
	c := config.Config{Providers: map[string]config.Provider{
		"far": {Profile: "openai", KeyEnv: "ONEIROS_TEST_KEY_THAT_NOBODY_SETS"},
	}}
	models, wants := providers(c)
	require.ErrorContains(t, wants, "ONEIROS_TEST_KEY_THAT_NOBODY_SETS")
	require.Contains(t, models, localmodel.Provider)
	_, err := models["far"].Generate(t.Context(), inference.Request{}, nil)
	var failure *inference.Failure
	require.True(t, errors.As(err, &failure))
	require.Equal(t, inference.Unauthorized, failure.Kind)
	require.False(t, failure.Billed)
	require.Contains(t, failure.Message, "ONEIROS_TEST_KEY_THAT_NOBODY_SETS")
	_, err = models["far"].Embed(t.Context(), "m", []string{"x"}, "k")
	require.ErrorAs(t, err, &failure)
}
