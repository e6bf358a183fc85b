package view

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// Operator is the client name for the person who runs the deployment. Its lease is like any other.
const Operator = "operator"

// Feeling writes a mood in its three numbers.
func Feeling(m mood.PAD) string {
	return fmt.Sprintf("pleasure %s, arousal %s, dominance %s", cli.Signed(m.Pleasure), cli.Signed(m.Arousal),
		cli.Signed(m.Dominance))
}
