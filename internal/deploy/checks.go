package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/anthropicgw"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/starter"
)

// doctor examines the deployment of a process.
type doctor struct {
	*Process
	store *unopened
}

// unopened is why the store could not be opened, so that a store that does not answer is awaited once.
type unopened struct{ why error }

// open opens the deployment, unless that has failed before.
func (d doctor) open(ctx context.Context) (*Deployment, error) {
	if d.store.why != nil {
		return nil, d.store.why
	}
	h, err := build(ctx, d.cfg, d.cfg.StorePath())
	if err != nil && ctx.Err() == nil {
		d.store.why = err
	}
	return h, err
}

const (
	checkWithin = 5 * time.Second // bounds most checks
	// longCheckWithin bounds those that read the whole store, load an embedder or ask a provider.
	longCheckWithin = 2*integrityWithin + checkWithin
)

// within ends a check after a time, also one that does not look at its context.
func within(limit time.Duration, look func(context.Context) Finding) func(context.Context) Finding {
	return func(ctx context.Context) Finding {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		found := make(chan Finding, 1)
		go func() { found <- look(ctx) }()
		select {
		case f := <-found:
			return f
		case <-ctx.Done():
		}
		late := time.NewTimer(time.Second) // it may have something to say about its end
		defer late.Stop()
		select {
		case f := <-found:
			return f
		case <-late.C:
			return failed("Look whether it hangs, or whether the network drops its packets.", "no answer within %s",
				limit)
		}
	}
}

// Checks lists what `oneiros doctor` examines, cheapest first. No check spends money. Most end within five
// seconds, whatever does not answer.
func (d *Process) Checks(context.Context) []Check {
	list := checksOf(d)
	for i, c := range list {
		limit := checkWithin
		if _, provider := d.cfg.Providers[c.Name]; provider || c.Name == "integrity" || c.Name == "embedder" {
			limit = longCheckWithin
		}
		list[i].Look = within(limit, c.Look)
	}
	return list
}

func checksOf(d *Process) []Check {
	c := doctor{d, new(unopened)}
	list := []Check{
		{Name: "config", Look: c.checkConfig},
		{Name: "clock", Look: c.checkClock},
		{Name: "disk", Look: c.checkDisk},
		{Name: "store", Look: c.configured(c.checkStore)},
		{Name: "integrity", Look: c.configured(c.checkIntegrity)},
		{Name: "sealing", Look: c.configured(c.checkSeal)},
		{Name: "temporal", Look: c.checkTemporal},
		{Name: "feeds", Look: c.configured(c.checkFeeds)},
		{Name: "archive", Look: c.configured(c.checkArchive)},
		{Name: "retention", Look: c.configured(c.checkRetention)},
		{Name: "losses", Look: c.configured(c.checkLosses)},
		{Name: "hooks", Look: c.configured(c.checkHooks)},
		{Name: "serve", Look: c.configured(c.checkServe)},
		{Name: "overload", Look: c.configured(c.checkOverload)},
		{Name: "models", Look: c.configured(c.checkModels)},
		{Name: "embedder", Look: c.configured(c.checkEmbedder)},
	}
	var names []string
	if _, err := c.config(); err == nil {
		// The program with llama.cpp's bindings can check a local model better. Without it this program checks what
		// it can.
		_ = c.handOverIfNeeded(c.cfg)
		names = slices.Sorted(maps.Keys(c.cfg.Providers))
	}
	if c.cfg.Store.URL != "" {
		list = append(list, Check{Name: "redis", Look: c.configured(c.checkServer)})
	}
	if c.cfg.Matrix.Homeserver != "" {
		list = append(list, Check{Name: "matrix", Look: c.configured(c.checkMatrix)})
	}
	for _, name := range names {
		list = append(list,
			Check{Name: name, Look: func(ctx context.Context) Finding { return c.checkProvider(ctx, name) }})
	}
	return list
}

// configured is a check that needs a correct configuration.
func (d doctor) configured(look func(context.Context) Finding) func(context.Context) Finding {
	return func(ctx context.Context) Finding {
		if _, err := d.config(); err != nil {
			return warned("Correct the configuration first.", "not checked")
		}
		return look(ctx)
	}
}

// onStore looks at the deployment where its store can be opened.
func (d doctor) onStore(ctx context.Context, look func(context.Context, *Deployment) Finding) Finding {
	h, err := d.open(ctx)
	if err != nil {
		return warned("Fix the store first.", "not checked")
	}
	defer func() { _ = h.store.Close() }()
	return look(ctx, h)
}

func passed(format string, args ...any) Finding {
	return Finding{State: Well, Found: fmt.Sprintf(format, args...)}
}

func failed(advice, format string, args ...any) Finding {
	return Finding{State: Ill, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func warned(advice, format string, args ...any) Finding {
	return Finding{State: Warning, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func (d doctor) checkConfig(context.Context) Finding {
	c, err := d.config()
	switch {
	case err != nil:
		return failed("Correct what oneiros config check names; docs/configuration.md says what each knob takes.",
			"%s", strings.ReplaceAll(d.configErr.Error(), "\n", "; "))
	case len(c.Warnings) > 0:
		return warned("Unset or correct them.", "%s", strings.Join(c.Warnings, "; "))
	case c.File == "":
		return passed("no file, so the defaults, the environment and the flags hold")
	}
	return passed("%s", c.File)
}

// checkClock reports a clock before this program could have been built, or too far in the future.
func (d doctor) checkClock(context.Context) Finding {
	now := time.Now()
	if now.Year() < 2025 || now.Year() > 2100 {
		return failed("Set the clock; caps by day and month, TLS and every memory's time follow it.",
			"the clock says %s", now.Format(time.RFC3339))
	}
	return passed("%s, zone %s", now.Format("2006-01-02 15:04:05 MST"), MachineZone(d.Getenv("TZ")))
}

// Below these amounts of free disk the doctor warns or fails: a dream writes a few megabytes, and a database that
// cannot grow stops everything.
const (
	littleDisk = 1 << 30
	noDisk     = 100 << 20
)

func (d doctor) checkDisk(context.Context) Finding {
	dir := d.cfg.DataDir
	if dir == "" {
		return warned("Correct the configuration first.", "not checked: the data folder is not known")
	}
	for {
		var fs syscall.Statfs_t
		err := syscall.Statfs(dir, &fs)
		if errors.Is(err, syscall.ENOENT) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return warned("Look at the folder yourself.", "free space in %s cannot be read: %v", dir, err)
		}
		if fs.Blocks == 0 && dir != d.cfg.DataDir { // a file system without a disk, such as /proc
			return failed("Set data_dir to a folder on a disk.", "%s does not exist, and cannot be made in %s",
				d.cfg.DataDir, dir)
		}
		free := uint64(fs.Bavail) * uint64(fs.Bsize) //nolint:unconvert // their types differ by system
		text := fmt.Sprintf("%.1f GB free in %s", float64(free)/1e9, d.cfg.DataDir)
		switch {
		case free < noDisk:
			return failed("Make room, or set data_dir to a larger disk.", "%s", text)
		case free < littleDisk:
			return warned("Make room soon.", "%s", text)
		}
		return passed("%s", text)
	}
}

func (d doctor) checkStore(ctx context.Context) Finding {
	h, err := d.open(ctx)
	if err != nil {
		advice := "Check the folder's owner and rights, or set store.path to a local disk."
		if d.cfg.Store.URL != "" {
			advice = "See that the Redis server runs, that store.url and the password are right, and that it persists its data (appendonly yes)."
		}
		if errors.Is(err, redisstore.ErrUnsafe) {
			advice = "Set on the Redis server what is named: by CONFIG SET, and CONFIG REWRITE for its next start, " +
				"or in its configuration file. A managed service has settings of its own (docs/redis.md)."
		}
		if errors.Is(err, sqlitestore.ErrAbsent) {
			advice = "Restore the file, or begin anew with oneiros store new; docs/storage.md says more."
		}
		if sqlitestore.Damaged(err) {
			advice = "The file is damaged: keep a copy of it as it is, and restore the last good one (docs/storage.md)."
		}
		return failed(advice, "%v", err)
	}
	defer func() { _ = h.store.Close() }()
	agents, err := h.store.Agents(ctx)
	if err != nil {
		return failed("Restore it from a copy; an SQLite store is one file.", "%s cannot be read: %v", h.store.name,
			err)
	}
	if err := bookable(ctx, h.store.ledger, probe); err != nil {
		return failed(unwritableAdvice(err), "%s cannot be written: %v", h.store.name, err)
	}
	nights := 0
	for _, a := range agents {
		n, err := h.store.Count(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord}})
		if err != nil {
			return failed("Restore it from a copy.", "%v", err)
		}
		nights += n
	}
	return passed("%s: agents %d, dreams %d", h.store.name, len(agents), nights)
}

// probe is the name under which the doctor tries a reservation of nothing in the ledger.
const probe = "doctor"

// bookable reserves an allowance of zero under a name and gives it back, to see that the ledger can be written.
func bookable(ctx context.Context, ledger spend.Ledger, name string) error {
	if err := ledger.Allow(ctx, name, name, name, 0, 0); err != nil {
		return err
	}
	return ledger.GiveBack(ctx, name)
}

// unwritableAdvice says what to do about a store that refuses writes.
func unwritableAdvice(err error) string {
	why, _ := memory.WhyUnwritable(err)
	switch why {
	case memory.Full:
		return "Make room: on the disk of an SQLite store, or by a higher maxmemory of a Redis server. Until then " +
			"clients are answered 503; what is kept can be read and exported."
	case memory.ReadOnly:
		return "Give store.url the address of the primary, or mount the disk of the file for writing."
	case memory.DiskFails:
		return "Look at the log of the Redis server or the kernel: its disk is full or broken. Export the store first."
	case memory.NoReplicas:
		return "Bring the replicas of the Redis server back, or lower its min-replicas-to-write."
	case memory.Loading:
		return "Wait until the Redis server has loaded its file."
	case memory.Forbidden:
		return rightsAdvice
	}
	return "Check its owner and rights and the disk's free space."
}

// checkModels reports which model serves each role and what it costs.
func (d doctor) checkModels(context.Context) Finding {
	used := map[string][]string{}
	var names []string
	for _, role := range dream.Roles {
		name := d.cfg.Roles.Models()[role]
		if used[name] == nil {
			names = append(names, name)
		}
		used[name] = append(used[name], string(role))
	}
	var parts []string
	for _, name := range names {
		spec, err := d.cfg.Lookup(name)
		if err != nil {
			return failed("Correct roles in the configuration.", "%v", err)
		}
		price := fmt.Sprintf("in %s, out %s per million tokens", spec.Price.In, spec.Price.Out)
		if p := spec.Price; p.LongFrom > 0 {
			price += fmt.Sprintf(", for a prompt above %d tokens in %s, out %s", p.LongFrom, p.LongIn, p.LongOut)
		}
		if spec.BuiltIn {
			price = "built in, for trying things out"
		} else if spec.Price.In == 0 && spec.Price.Out == 0 {
			price = "costs nothing"
		}
		parts = append(parts, fmt.Sprintf("%s (%s) for %s", name, price, strings.Join(used[name], ", ")))
	}
	day, _ := inference.PricesAsOf()
	found := fmt.Sprintf("%s; %s; built-in prices as of %s", strings.Join(parts, "; "), d.loosened(), day)
	if without := d.withoutLong(); len(without) > 0 {
		return warned("Add long to their price (docs/models.md), or caps count too little where the provider bills so.",
			"%s; the stated price of %s does not rise with the prompt, as the built-in one does", found,
			strings.Join(without, ", "))
	}
	return passed("%s", found)
}

// withoutLong names the models whose stated price leaves out what is known to be dearer in a long prompt.
func (d doctor) withoutLong() []string {
	var names []string
	for name, spec := range d.cfg.Catalog() {
		builtIn, _ := inference.KnownModel(d.cfg.Providers[spec.Provider].Profile, spec.Wire)
		stated := spec.Price
		if stated == nil || stated.LongFrom > 0 || stated.In+stated.Out == 0 {
			continue
		}
		long := builtIn.Price
		rises := long != nil && long.LongFrom > 0 && long.LongFrom < int64(spec.Context)
		if rises && (stated.In < long.LongIn || stated.Out < long.LongOut) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// loosened says how the generator's output is loosened during onset, and why that way.
func (d doctor) loosened() string {
	spec, err := d.cfg.Lookup(d.cfg.Roles.Models()[dream.Generator])
	if err != nil {
		return "the generator is not known"
	}
	way := starter.LooseningOf(d.cfg.Dream.Loosening, spec)
	return fmt.Sprintf("the generator is loosened by %s: %s", way.Way, way.Why)
}

const providerWithin = 10 * time.Second

// checkProvider asks a provider for its list of models, which costs nothing.
func (d doctor) checkProvider(ctx context.Context, name string) Finding {
	p := d.cfg.Providers[name]
	if p.Profile == config.InProcess {
		if _, err := inProcess(d.cfg, name, p); err != nil {
			return failed("docs/steering.md says where the model and the libraries come from.", "%v", err)
		}
		return passed("%s and the libraries in %s are there", p.Engine.Model, p.Engine.Lib)
	}
	key, err := d.cfg.Key(name)
	if err != nil {
		return failed("Set the variable, or correct the name.", "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, providerWithin)
	defer cancel()
	answer, err := listModels(ctx, p, key)
	if err != nil {
		return failed("Check that it runs and that base_url ends in /v1.", "%s does not answer: %v", p.ProviderURL(),
			cause(err))
	}
	defer func() { _ = answer.Body.Close() }()
	switch {
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		return failed("Check the key that api_key_env or api_key_file names.", "%s refuses the key (HTTP %d)",
			p.ProviderURL(), answer.StatusCode)
	case answer.StatusCode == http.StatusNotFound:
		return warned("It may still serve; if dreams fail, check that base_url ends in /v1.",
			"%s answers, without a list of models", p.ProviderURL())
	case answer.StatusCode >= 400:
		return warned("Look again later; the provider's status page may know more.", "%s answers HTTP %d",
			p.ProviderURL(), answer.StatusCode)
	}
	if missing := d.unlisted(name, answer.Body); len(missing) > 0 {
		return warned(
			"Correct roles, or the wire name of the model under providers; a call to a model that it does not know fails.",
			"%s answers, and its list of models lacks %s", p.ProviderURL(), strings.Join(missing, ", "))
	}
	if missing := missingWires(ctx, p, key); len(missing) > 0 {
		return warned(
			"Take them out of providers."+name+".wires, or serve them: requests of such a wire fail until then.",
			"%s answers, and not on the wires that it is said to speak: %s", p.ProviderURL(),
			strings.Join(missing, ", "))
	}
	if wires := p.Speaks().Names(); len(wires) > 1 {
		return passed("%s answers, on the wires %s", p.ProviderURL(), strings.Join(wires, ", "))
	}
	return passed("%s answers", p.ProviderURL())
}

// listModels asks a provider for its list of models.
func listModels(ctx context.Context, p config.Provider, key string) (*http.Response, error) {
	path := "/models"
	if p.Profile == config.Messages {
		path += "?limit=1000" // the most of one page
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ProviderURL()+path, nil)
	if err != nil {
		return nil, err
	}
	switch {
	case p.Profile == config.Messages:
		r.Header.Set("Anthropic-Version", anthropicgw.Version)
		if key != "" {
			r.Header.Set("X-Api-Key", key)
		}
	case key != "":
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return http.DefaultClient.Do(r)
}

// cause strips the URL that net/http repeats in its errors.
func cause(err error) error {
	var address *url.Error
	if errors.As(err, &address) {
		return address.Err
	}
	return err
}
