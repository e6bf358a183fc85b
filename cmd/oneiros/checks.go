package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/inference"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/starter"
)

// checks are what the doctor looks at, cheapest first. None of them spends money.
func (d *app) checks(context.Context) []console.Check {
	list := []console.Check{
		{Name: "config", Look: d.checkConfig},
		{Name: "clock", Look: d.checkClock},
		{Name: "disk", Look: d.checkDisk},
		{Name: "store", Look: d.checkStore},
		{Name: "integrity", Look: d.checkIntegrity},
		{Name: "sealing", Look: d.checkSeal},
		{Name: "temporal", Look: d.checkTemporal},
		{Name: "feeds", Look: d.checkFeeds},
		{Name: "archive", Look: d.checkArchive},
		{Name: "hooks", Look: d.checkHooks},
		{Name: "serve", Look: d.checkServe},
		{Name: "models", Look: d.checkModels},
		{Name: "embedder", Look: d.checkEmbedder},
	}
	var names []string
	if _, err := d.config(); err == nil {
		// the program that can run models looks at them better; when there is none, that is what is found
		_ = d.lend(d.told)
		for name := range d.told.Providers {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		list = append(list,
			console.Check{
				Name: name,
				Look: func(ctx context.Context) console.Finding { return d.checkProvider(ctx, name) },
			})
	}
	return list
}

func well(format string, args ...any) console.Finding {
	return console.Finding{State: console.Well, Found: fmt.Sprintf(format, args...)}
}

func ill(advice, format string, args ...any) console.Finding {
	return console.Finding{State: console.Ill, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func warn(advice, format string, args ...any) console.Finding {
	return console.Finding{State: console.Warning, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func (d *app) checkConfig(context.Context) console.Finding {
	c, err := d.config()
	switch {
	case err != nil:
		return ill("Correct what oneiros config check names; docs/configuration.md says what each knob takes.", "%s",
			strings.ReplaceAll(d.fault.Error(), "\n", "; "))
	case len(c.Warnings) > 0:
		return warn("Unset or correct them.", "%s", strings.Join(c.Warnings, "; "))
	case c.File == "":
		return well("no file, so the defaults, the environment and the flags hold")
	}
	return well("%s", c.File)
}

// checkClock finds a clock that stands before this program was possible, or after it can be trusted.
func (d *app) checkClock(context.Context) console.Finding {
	now := time.Now()
	if now.Year() < 2025 || now.Year() > 2100 {
		return ill("Set the clock; caps by day and month, TLS and every memory's time follow it.",
			"the clock says %s", now.Format(time.RFC3339))
	}
	return well("%s, zone %s", now.Format("2006-01-02 15:04:05 MST"), machineZone(d.getenv("TZ")))
}

// Free disk below these is worth saying: a night writes a few megabytes, a database that cannot grow stops everything.
const (
	littleDisk = 1 << 30
	noDisk     = 100 << 20
)

func (d *app) checkDisk(context.Context) console.Finding {
	dir := d.told.DataDir
	if dir == "" {
		return warn("Correct the configuration first.", "not looked at: it is not known where anything is kept")
	}
	for {
		var fs syscall.Statfs_t
		err := syscall.Statfs(dir, &fs)
		if errors.Is(err, syscall.ENOENT) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return warn("Look at the folder yourself.", "free space in %s cannot be told: %v", dir, err)
		}
		free := uint64(fs.Bavail) * uint64(fs.Bsize) //nolint:unconvert // their types differ by system
		text := fmt.Sprintf("%.1f GB free in %s", float64(free)/1e9, d.told.DataDir)
		switch {
		case free < noDisk:
			return ill("Make room, or set data_dir to a larger disk.", "%s", text)
		case free < littleDisk:
			return warn("Make room soon.", "%s", text)
		}
		return well("%s", text)
	}
}

func (d *app) checkStore(ctx context.Context) console.Finding {
	if _, err := d.config(); err != nil {
		return warn("Correct the configuration first.", "not looked at")
	}
	h, err := build(ctx, d.told, d.told.StorePath())
	if err != nil {
		advice := "Check the folder's owner and rights, or set store.path to a local disk."
		if d.told.Store.URL != "" {
			advice = "See that the Redis server runs, that store.url and the password are right, and that it keeps what it is told (appendonly yes)."
		}
		if errors.Is(err, sqlitestore.ErrAbsent) {
			advice = "Restore the file, or begin anew with oneiros store new; docs/storage.md says more."
		}
		if sqlitestore.Damaged(err) {
			advice = "The file is damaged: keep a copy of it as it is, and restore the last good one (docs/storage.md)."
		}
		return ill(advice, "%v", err)
	}
	defer func() { _ = h.store.Close() }()
	agents, err := h.store.Agents(ctx)
	if err != nil {
		return ill("Restore it from a copy; an SQLite store is one file.", "%s cannot be read: %v", h.store.name, err)
	}
	if err := bookable(ctx, h.store.ledger); err != nil {
		return ill("Check its owner and rights and the disk's free space.", "%s cannot be written: %v", h.store.name,
			err)
	}
	nights := 0
	for _, a := range agents {
		n, err := h.store.Count(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}})
		if err != nil {
			return ill("Restore it from a copy.", "%v", err)
		}
		nights += n
	}
	return well("%s: agents %d, dreams %d", h.store.name, len(agents), nights)
}

// probe stands for a dream that takes nothing of nobody's day.
const probe = "doctor"

// bookable books an allowance of nothing and gives it back: a write that meets nobody else's.
func bookable(ctx context.Context, ledger spend.Ledger) error {
	if err := ledger.Allow(ctx, probe, probe, probe, 0, 0); err != nil {
		return err
	}
	return ledger.GiveBack(ctx, probe)
}

// checkModels says what each role uses and what it costs.
func (d *app) checkModels(context.Context) console.Finding {
	if _, err := d.config(); err != nil {
		return warn("Correct the configuration first.", "not looked at")
	}
	used := map[string][]string{}
	var names []string
	for _, role := range dream.Roles {
		name := d.told.Roles.Models()[role]
		if used[name] == nil {
			names = append(names, name)
		}
		used[name] = append(used[name], string(role))
	}
	var parts []string
	for _, name := range names {
		spec, err := d.told.Lookup(name)
		if err != nil {
			return ill("Correct roles in the configuration.", "%v", err)
		}
		price := fmt.Sprintf("in %s, out %s per million tokens", spec.Price.In, spec.Price.Out)
		if spec.BuiltIn {
			price = "built in, for trying things out"
		} else if spec.Price.In == 0 && spec.Price.Out == 0 {
			price = "costs nothing"
		}
		parts = append(parts, fmt.Sprintf("%s (%s) for %s", name, price, strings.Join(used[name], ", ")))
	}
	day, _ := inference.PricesAsOf()
	return well("%s; %s; built-in prices as of %s", strings.Join(parts, "; "), d.loosened(), day)
}

// loosened says how the onset loosens its model, and why.
func (d *app) loosened() string {
	spec, err := d.told.Lookup(d.told.Roles.Models()[dream.Generator])
	if err != nil {
		return "the generator is not known"
	}
	way := starter.Loosen(d.told.Dream.Loosening, spec)
	return fmt.Sprintf("the generator is loosened by %s: %s", way.Way, way.Why)
}

const providerWithin = 10 * time.Second

// checkProvider asks a provider for its list of models, which costs nothing.
func (d *app) checkProvider(ctx context.Context, name string) console.Finding {
	p := d.told.Providers[name]
	if p.Profile == config.InProcess {
		if _, err := inProcess(d.told, name, p); err != nil {
			return ill("docs/steering.md says where the model and the libraries come from.", "%v", err)
		}
		return well("%s and the libraries in %s are there", p.Engine.Model, p.Engine.Lib)
	}
	key, err := d.told.Key(name)
	if err != nil {
		return ill("Set the variable, or correct the name.", "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, providerWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ProviderURL()+"/models", nil)
	if err != nil {
		return ill("Correct base_url.", "%s is no address", p.ProviderURL())
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return ill("Check that it runs and that base_url ends in /v1.", "%s does not answer: %v", p.ProviderURL(),
			cause(err))
	}
	defer func() { _ = answer.Body.Close() }()
	switch {
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		return ill("Check the key that api_key_env or api_key_file names.", "%s refuses the key (HTTP %d)",
			p.ProviderURL(), answer.StatusCode)
	case answer.StatusCode == http.StatusNotFound:
		return warn("It may still serve; if dreams fail, check that base_url ends in /v1.",
			"%s answers, without a list of models", p.ProviderURL())
	case answer.StatusCode >= 400:
		return warn("Look again later; the provider's status page may know more.", "%s answers HTTP %d",
			p.ProviderURL(), answer.StatusCode)
	}
	if missing := d.unlisted(name, answer.Body); len(missing) > 0 {
		return warn(
			"Correct roles, or the wire name of the model under providers; a call to a model that it does not know fails.",
			"%s answers, and its list of models lacks %s", p.ProviderURL(), strings.Join(missing, ", "))
	}
	return well("%s answers", p.ProviderURL())
}

// cause leaves out the address that an HTTP error repeats.
func cause(err error) error {
	var address *url.Error
	if errors.As(err, &address) {
		return address.Err
	}
	return err
}
