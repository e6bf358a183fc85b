package workflows

import (
	"go.temporal.io/sdk/converter"

	"github.com/seed-56a03226/oneiros/internal/payload/readable"
)

// DataConverter is for the client of every worker and starter of these workflows. It converts as Temporal's SDK does,
// but durations are words such as "15m0s". What the SDK's own converter writes it reads as well, not the other way
// round.
func DataConverter() converter.DataConverter { return readable.Converter() }
