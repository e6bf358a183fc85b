package dreamhttp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// compose writes an event as the wire has it: JSON holds no line's end, so that its data are one line.
func compose(b *strings.Builder, e psyche.VisibleEvent) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write event %d of %s: %w", e.Seq, e.Agent, err)
	}
	fmt.Fprintf(b, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data)
	return nil
}
