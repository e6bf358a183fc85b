package deploy

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/config"
)

// wirePaths are the paths of wires below a provider's address, for those that a provider may lack.
var wirePaths = []struct {
	wire inference.Wires
	name string
	path string
}{
	{inference.ResponsesWire, "responses", "/responses"},
	{inference.MessagesWire, "messages", "/messages"},
}

// missingWires are the wires that the configuration names and a provider does not serve. Each is sent a body that names
// no model, which a server of the wire refuses and which costs nothing.
func missingWires(ctx context.Context, p config.Provider, key string) (missing []string) {
	speaks := p.Speaks()
	if p.Profile == config.Messages { // it has no other wire to fall back on
		return nil
	}
	for _, each := range wirePaths {
		if !speaks.Speaks(each.wire) {
			continue
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.ProviderURL()+each.path, strings.NewReader("{}"))
		if err != nil {
			return nil
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Anthropic-Version", "2023-06-01")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", each.name, cause(err)))
			continue
		}
		_ = answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			missing = append(missing, fmt.Sprintf("%s (HTTP %d at %s)", each.name, answer.StatusCode, each.path))
		}
	}
	return missing
}
