package anthropicgw_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// Whatever goes wrong, a call counts for at least what the provider charged for it, and that is within what was reserved.
func TestNoCallCountsForLessThanItIsBilled(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"p/script", "p/thinker"} {
		for _, fault := range append(provider.Faults, provider.None) {
			if fault == provider.HangFirst || fault == provider.HangMiddle {
				continue // they end by the idle timeout, as a break does
			}
			s, g := stage(t, provider.Options{Key: secret, AtLeast: 120})
			s.Next(fault)
			r := request(model)
			a, err := g.Generate(t.Context(), r, nil)
			call, spec := quiet(t, s)[0], s.MessagesCatalog("p")[model]
			reserved := spend.GenerationCost(spec, r)
			bill := spend.BillFor(spec, r, reserved, a, err)
			require.GreaterOrEqual(t, bill.Amount, call.Cost, "%s %q: %+v", model, fault, bill)
			require.LessOrEqual(t, call.Cost, reserved, "%s %q", model, fault)
			if fault == provider.None && model == "p/script" {
				require.Equal(t, call.Cost, bill.Amount, "a whole answer counts for what it cost")
			}
		}
	}
}
