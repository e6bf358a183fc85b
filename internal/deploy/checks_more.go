package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/config"
)

// checkSeal checks the sealing keys, whether or not sealing is used by a server.
func (d doctor) checkSeal(context.Context) Finding {
	keys, place, err := sealingKeys(d.cfg)
	switch loose := exposed(d.cfg); {
	case err != nil:
		return failed(
			"Correct seal.keys_file or seal.keys_env; docs/sealing.md says what a line of keys is. Without the keys nothing that is sealed can be read.",
			"%v",
			err,
		)
	case place == "":
		return passed("no keys are configured, so histories are not sealed")
	case loose != "":
		return warned("chmod 600 the file.", "%s", loose)
	default:
		return passed("%s, from %s", sealedWith(keys), place)
	}
}

// exposed returns a warning when users other than the owner may read or write the file of the sealing keys; else "".
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

// mostModels bounds how many bytes are read of a provider's list of models.
const mostModels = 8 << 20

// releaseDate ends the name of a model of Anthropic.
var releaseDate = regexp.MustCompile(`-20\d{6}$`)

// unlisted returns the configured models that a provider's list lacks. A list that cannot be read, or is empty,
// counts as complete.
func (d doctor) unlisted(provider string, body io.Reader) []string {
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
		existing[strings.TrimPrefix(m.ID, "models/")] = true // Gemini lists its models with this prefix
	}
	profile := d.cfg.Providers[provider].Profile
	if profile == config.Messages { // Anthropic lists its models with their dates, and answers to the names without
		for _, m := range list.Data {
			existing[releaseDate.ReplaceAllString(m.ID, "")] = true
		}
	}
	if profile == "llamacpp" { // llama.cpp's server answers to every model name
		return nil
	}
	var missing []string
	for _, role := range dream.Roles {
		spec, err := d.cfg.Lookup(d.cfg.Roles.Models()[role])
		// OpenRouter lists its embedders at another address.
		if err != nil || spec.Provider != provider || spec.Embeds && profile == "openrouter" {
			continue
		}
		wire := strings.TrimPrefix(spec.Wire, "models/")
		// Ollama lists a model with its tag.
		if !existing[wire] && !existing[wire+":latest"] && !slices.Contains(missing, spec.Wire) {
			missing = append(missing, spec.Wire)
		}
	}
	return missing
}

// feedsWithin bounds how long the doctor waits for the probes of all feeds.
const feedsWithin = 5 * time.Second

// checkFeeds reports the pulled feeds whose last pulls failed.
func (d doctor) checkFeeds(ctx context.Context) Finding { return d.onStore(ctx, lookAtFeeds) }

func lookAtFeeds(ctx context.Context, h *Deployment) Finding {
	all, err := h.store.Feeds(ctx)
	if err != nil {
		return failed("Fix the store first.", "%v", err)
	}
	if len(all) == 0 {
		return passed("there are none")
	}
	e := newEngine(h)
	defer func() { _ = e.Stop() }()
	ctx, cancel := context.WithTimeout(ctx, feedsWithin)
	defer cancel()
	if err := e.dial(ctx); err != nil {
		return warned("Nothing watches a feed until oneiros up runs.",
			"%d configured; their probes cannot be queried: no Temporal server answers", len(all))
	}
	var failing, silent []string
	for _, f := range all {
		state, err := e.starter.ForFeeds().FeedState(ctx, f.Name)
		switch {
		case err != nil:
			silent = append(silent, f.Name)
		case state.InARow > 0:
			failing = append(failing, fmt.Sprintf("%s (%d in a row: %s)", f.Name, state.InARow, state.Failure))
		}
	}
	switch {
	case len(failing) > 0:
		return warned("oneiros feed show NAME shows more; check the address and the path.",
			"the last pulls failed of %s", strings.Join(failing, ", "))
	case len(silent) > 0:
		return warned("See that a worker runs (oneiros up).", "%s not answer: %s",
			map[bool]string{
				true:  "one probe does",
				false: fmt.Sprintf("%d probes do", len(silent)),
			}[len(silent) == 1], strings.Join(silent, ", "))
	}
	return passed("%d, and the last pulls of those that are pulled succeeded", len(all))
}
