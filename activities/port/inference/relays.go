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

// Relay passes the body to the provider of r.Model.
func (s Relays) Relay(ctx context.Context, r RelayRequest) (*RelayResponse, error) {
	via, err := s.find(r.Model)
	if err != nil {
		return nil, err
	}
	return via.Relay(ctx, r)
}

func (s *Relays) find(model string) (Relay, error) {
	spec, err := s.Catalog.Lookup(model)
	if err != nil {
		return nil, err
	}
	via, ok := s.Providers[spec.Provider]
	if !ok {
		return nil,
			&Failure{
				Kind: Unknown,
				Message: fmt.Sprintf("model %q belongs to provider %q, which passes no bodies on", model,
					spec.Provider),
			}
	}
	return via, nil
}
