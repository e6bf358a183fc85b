package llama

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/inference/inferencetest"
)

func TestTheEngineKeepsThePromisesOfAModel(t *testing.T) {
	t.Parallel()
	e, err := Open(real(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	e.least = 25
	entry, unpriced := spec(), spec()
	unpriced.Name, unpriced.Price = "here/unpriced", nil
	catalog := inference.Table{entry.Name: entry, unpriced.Name: unpriced}
	inferencetest.Run(t, func(*testing.T) inferencetest.Stage {
		return inferencetest.Stage{
			Model: &Provider{Name: "here", Engine: e, Catalog: catalog}, Spec: entry,
			Unpriced: unpriced.Name,
		}
	})
}
