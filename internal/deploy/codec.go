package deploy

import (
	"fmt"

	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/payload"
)

// SealKeys returns the configured sealing keys and their place; empty when nothing is sealed.
func (d *Process) SealKeys() (payload.Keys, string, error) {
	c, err := d.config()
	if err != nil {
		return payload.Keys{}, "", err
	}
	return sealingKeys(c)
}

// sealingKeys reads the sealing keys from the configured file or variable; none when nothing is configured.
func sealingKeys(c config.Config) (payload.Keys, string, error) {
	lines, place, err := c.SealKeys()
	if err != nil || place == "" {
		return payload.Keys{}, place, exit.AsUsage(err)
	}
	keys, err := payload.Parse(lines)
	if err != nil {
		return keys, place, exit.AsUsage(fmt.Errorf("%s: %w", place, err))
	}
	return keys, place, nil
}

// sealedWith names the sealing key in use, for the doctor.
func sealedWith(keys payload.Keys) string {
	if keys.Empty() {
		return "histories not sealed"
	}
	return "histories sealed with key " + keys.Newest()
}

// seal sets the data converters of a client and its workers. Without keys nothing is sealed, and opening a sealed
// payload fails with the name of the key it needs.
func seal(o *client.Options, c config.Config) error {
	keys, _, err := sealingKeys(c)
	if err != nil {
		return err
	}
	o.DataConverter, o.FailureConverter = payload.New(keys)
	return nil
}
