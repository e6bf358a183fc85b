package inference

import (
	"context"
	"fmt"
)

// Relays is a Relay that hands each body to the provider its model belongs to.
type Relays struct {
	Catalog   Catalog
	Providers map[string]Relay // by Spec.Provider
}

var _ Relay = Relays{}

// Relay asks the provider of r.Model.
func (s Relays) Relay(ctx context.Context, r RelayRequest) (*RelayResponse, error) {
	spec, err := s.Catalog.Lookup(r.Model)
	if err != nil {
		return nil, err
	}
	via, ok := s.Providers[spec.Provider]
	if !ok {
		return nil, &Failure{Kind: Unknown, Message: fmt.Sprintf("model %q belongs to provider %q, which passes no bodies on", r.Model, spec.Provider)}
	}
	return via.Relay(ctx, r)
}
