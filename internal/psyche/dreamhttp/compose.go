package dreamhttp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// compose writes a server-sent event. JSON has no raw line breaks, so that the data are one line.
func compose(b *strings.Builder, e psyche.VisibleEvent) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write event %d of %s: %w", e.Seq, e.Agent, err)
	}
	fmt.Fprintf(b, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data)
	return nil
}
