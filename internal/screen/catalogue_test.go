package screen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func TestEveryTypeOfTheCatalogueHasALine(t *testing.T) {
	t.Parallel()
	for _, entry := range event.Catalogue() {
		line := screen.Line(event.New("id", "echo", "", evening, entry.Payload), screen.Style{Width: 200})
		require.NotContains(t, line, "not known to this version", entry.Type())
		require.NotContains(t, line, "cannot be read", entry.Type())
	}
}
