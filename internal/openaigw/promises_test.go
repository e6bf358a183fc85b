package openaigw_test

import (
	"testing"

	"github.com/seed-56a03226/oneiros/activities/port/inference/inferencetest"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

func TestTheGatewayKeepsThePromisesOfAModel(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"script", "script-object", "script-prompt", "strict", "thinker"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			inferencetest.Run(t, func(t *testing.T) inferencetest.Stage {
				s, g := stage(t, provider.Options{Key: secret})
				return inferencetest.Stage{
					Model: g, Spec: s.Catalog("p")["p/"+model], Embedder: "p/vectors", Unpriced: "p/unpriced",
					Calls: func() int { return len(s.Billing.Calls()) },
					Break: func() { s.Next(provider.ServerError) },
				}
			})
		})
	}
}
