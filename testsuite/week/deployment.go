package week

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Deployment is a deployment whose agents dream by themselves at a paid provider.
type Deployment struct {
	Base     *testdeploy.Deployment
	Provider *provider.Server
	Ledger   spend.Ledger
	slots    *slots

	mu          sync.Mutex
	connections map[string][]*Connection // by handle
}

// TTL is how long an interrupted dream waits to be resumed.
const TTL = time.Hour

// Build opens a deployment around a connected client; the caller closes it.
func Build(ctx context.Context, config testdeploy.Config, c client.Client) (*Deployment, error) {
	h := &Deployment{connections: map[string][]*Connection{}}
	upstream, err := provider.Start(provider.Options{Seed: 1, Plan: h.plan})
	if err != nil {
		return nil, err
	}
	h.Provider = upstream
	config.Provider = upstream.URL
	config.Model = "script"
	config.Knobs = knobs()
	config.DropAnswers = true
	config.ResumeTTL = TTL
	h.Base, err = testdeploy.Open(ctx, config, c)
	if err != nil {
		upstream.Close()
		return nil, err
	}
	h.Ledger, h.slots = h.Base.Ports.Guard.Ledger, watch(h.Base.Store)
	h.Base.Ports.Memory, h.Base.Ports.WakeBus = h.slots, h.Base.Store
	h.Base.Starter.WakeBus = h.Base.Store
	h.Base.Starter.Ledger = h.Ledger
	h.Base.Starter.Options.AutoPaid = true
	return h, nil
}

// knobs make a dream of about twenty calls.
func knobs() dream.Knobs {
	k := dream.DefaultKnobs()
	k.Cycles = 1
	k.Partials = 3
	k.Branches = 2
	k.Keep = 1
	k.ReplayEpisodes = 3
	return k
}

// StartWorker starts a worker; the caller stops it.
func (h *Deployment) StartWorker() (worker.Worker, error) { return h.Base.StartWorker() }

// Close ends store and provider.
func (h *Deployment) Close() error {
	h.Provider.Close()
	return h.Base.Close()
}

// plan makes a call hang in its middle where a client is to connect, and notifies that client's goroutine.
func (h *Deployment) plan(a provider.Arrival) provider.Fault {
	handle := workflows.HandleOf(dreamOf(a.Key))
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, k := range h.connections[handle] {
		if dreamOf(a.Key) == workflows.DreamID(handle, int64(k.Dream)) && strings.Contains(a.Key, k.At) {
			h.connections[handle] = append(h.connections[handle][:i:i], h.connections[handle][i+1:]...)
			k.reached <- dreamOf(a.Key)
			return provider.HangMiddle
		}
	}
	return provider.None
}

// dreamOf is the dream in a call's key: "dream/s001/0002/onset/1/partial-1#1".
func dreamOf(key string) string {
	parts := strings.SplitN(key, "/", 4)
	if len(parts) < 4 {
		return ""
	}
	return strings.Join(parts[:3], "/")
}

// remembered is how many memories an agent starts with.
const remembered = 60

// AddAgent stores an agent with memories that end the day before its week begins.
func (h *Deployment) AddAgent(ctx context.Context, s *Sleeper) error {
	if err := h.Base.Store.PutAgent(ctx, s.Agent); err != nil {
		return err
	}
	h.mu.Lock()
	h.connections[s.Agent.Handle] = append([]*Connection(nil), s.Connections...)
	h.mu.Unlock()
	past, err := shift(sample.Diaries()[1].Memories, s.Start.Add(-24*time.Hour))
	if err != nil {
		return err
	}
	file := importer.File{
		Name: "past.jsonl",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(past)), nil },
	}
	report, err := importer.Import(ctx, h.Base.Store, s.Agent, []importer.File{file}, importer.Options{
		Format: formats.JSONL, Strict: true, Now: s.Start, Embed: embed,
	})
	if err == nil && report.Added == 0 {
		err = fmt.Errorf("the sample diary of %s imported no memory", s.Agent.Handle)
	}
	return err
}

// shift keeps the newest memories and moves their times so that the last one happened at end.
func shift(lines []byte, end time.Time) ([]byte, error) {
	all := bytes.Split(bytes.TrimSpace(lines), []byte("\n"))
	all = all[max(0, len(all)-remembered):]
	items := make([]map[string]any, len(all))
	times := make([]time.Time, len(all))
	for i, line := range all {
		if err := json.Unmarshal(line, &items[i]); err != nil {
			return nil, fmt.Errorf("read a sample memory: %w", err)
		}
		at, err := time.Parse(time.RFC3339, fmt.Sprint(items[i]["at"]))
		if err != nil {
			return nil, fmt.Errorf("read a sample memory: %w", err)
		}
		times[i] = at
	}
	by := end.Sub(times[len(times)-1])
	var out bytes.Buffer
	for i, item := range items {
		item["at"] = times[i].Add(by).UTC().Format(time.RFC3339)
		line, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes(), nil
}

// embed makes the vectors of memories without a spend guard: the setting-up of a test is not billed.
func embed(_ context.Context, texts []string) ([][]float32, string, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = provider.Vector(text, 64)
	}
	return vectors, "scripted/vectors/64", nil
}

// starterFor is a starter that uses the clock of one agent, as a client in its time would.
func (h *Deployment) starterFor(s *Sleeper, k *Clock, v *leaseRecorder) *starter.Starter {
	from := h.Base.Starter
	options := from.Options
	options.Settings = s.settings()
	return &starter.Starter{
		Client:   from.Client,
		Memory:   from.Memory,
		Catalog:  from.Catalog,
		Now:      k.Now,
		Presence: v,
		WakeBus:  from.WakeBus,
		Ledger:   from.Ledger,
		Feeds:    from.Feeds,
		Remover:  from.Remover,
		Options:  options,
	}
}

// settings are short where an agent and its dream run in real time.
func (s *Sleeper) settings() workflows.Settings {
	idle := s.Hours.Idle
	if s.Restless {
		idle = time.Second
	}
	return workflows.Settings{
		IdleTimeout:   idle,
		MinGap:        s.Hours.Gap,
		Jitter:        s.Hours.Jitter,
		Windows:       s.Hours.Windows,
		Quiet:         s.Hours.Quiet,
		ClientTimeout: time.Minute,
		WakeLock:      100 * time.Millisecond,
		AlarmHold:     time.Second,
		ResumeAfter:   500 * time.Millisecond,
	}
}
