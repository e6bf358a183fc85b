package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// checkSeal looks at the sealing keys, whether or not a server runs that wants them.
func (d *app) checkSeal(context.Context) console.Finding {
	if _, err := d.config(); err != nil {
		return warn("Correct the configuration first.", "not looked at")
	}
	keys, place, err := sealingKeys(d.told)
	switch loose := exposed(d.told); {
	case err != nil:
		return ill(
			"Correct seal.keys_file or seal.keys_env; docs/sealing.md says what a line of keys is. Without the keys nothing that is sealed can be read.",
			"%v", err)
	case place == "":
		return well("no keys are configured, so histories are not sealed")
	case loose != "":
		return warn("chmod 600 the file.", "%s", loose)
	default:
		return well("%s, from %s", sealedWith(keys), place)
	}
}

// exposed says that others than its owner may use the file of the sealing keys; empty when they may not, or there is
// none.
func exposed(c config.Config) string {
	path := c.SealFile()
	info, err := os.Stat(path)
	if path == "" || err != nil || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf(
		"the sealing keys in %s may be used by others than their owner: its mode is %04o, and 0600 is right", path,
		info.Mode().Perm())
}

// mostModels bounds what is read of a provider's list of models, in bytes.
const mostModels = 8 << 20

// unlisted names the models of our roles that a provider's list lacks. A list that cannot be read, or is empty, lacks
// none.
func (d *app) unlisted(provider string, body io.Reader) []string {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.NewDecoder(io.LimitReader(body, mostModels)).Decode(&list) != nil || len(list.Data) == 0 {
		return nil
	}
	existing := map[string]bool{}
	for _, m := range list.Data {
		existing[strings.TrimPrefix(m.ID, "models/")] = true // as Gemini writes them
	}
	profile := d.told.Providers[provider].Profile
	if profile == "llamacpp" { // it serves its one model under every name
		return nil
	}
	var missing []string
	for _, role := range dream.Roles {
		spec, err := d.told.Lookup(d.told.Roles.Models()[role])
		// which lists those elsewhere
		if err != nil || spec.Provider != provider || spec.Embeds && profile == "openrouter" {
			continue
		}
		wire := strings.TrimPrefix(spec.Wire, "models/")
		// as Ollama writes them
		if !existing[wire] && !existing[wire+":latest"] && !slices.Contains(missing, spec.Wire) {
			missing = append(missing, spec.Wire)
		}
	}
	return missing
}

// feedsWithin bounds how long the probes of all feeds are asked.
const feedsWithin = 5 * time.Second

// checkFeeds asks the probes of pulled feeds whether their last pulls succeeded.
func (d *app) checkFeeds(ctx context.Context) console.Finding {
	if _, err := d.config(); err != nil {
		return warn("Correct the configuration first.", "not looked at")
	}
	h, err := build(ctx, d.told, d.told.StorePath())
	if err != nil {
		return warn("Mend the store first.", "not looked at")
	}
	defer func() { _ = h.store.Close() }()
	all, err := h.store.Feeds(ctx)
	if err != nil {
		return ill("Mend the store first.", "%v", err)
	}
	if len(all) == 0 {
		return well("there are none")
	}
	e := newEngine(h)
	defer func() { _ = e.Stop() }()
	ctx, cancel := context.WithTimeout(ctx, feedsWithin)
	defer cancel()
	if err := e.dial(ctx); err != nil {
		return warn("Nothing watches a feed until oneiros up runs.",
			"%d kept; their probes cannot be asked: no Temporal server answers", len(all))
	}
	var failing, silent []string
	for _, f := range all {
		state, err := e.starter.FeedState(ctx, f.Name)
		switch {
		case err != nil:
			silent = append(silent, f.Name)
		case state.InARow > 0:
			failing = append(failing, fmt.Sprintf("%s (%d in a row: %s)", f.Name, state.InARow, state.Failure))
		}
	}
	switch {
	case len(failing) > 0:
		return warn("oneiros feed show NAME tells more; check the address and the path.",
			"the last pulls failed of %s", strings.Join(failing, ", "))
	case len(silent) > 0:
		return warn("See that a worker runs (oneiros up).", "%s not answer: %s",
			map[bool]string{
				true:  "one probe does",
				false: fmt.Sprintf("%d probes do", len(silent)),
			}[len(silent) == 1], strings.Join(silent, ", "))
	}
	return well("%d, and the last pulls of those that are pulled succeeded", len(all))
}
