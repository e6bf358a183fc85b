package soak

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// Lease is one that the store has reported.
type Lease struct {
	Client string
	From   time.Time // when it was granted, by the store
	To     time.Time // it was held at least so long: until it ran out, or was last seen before it was given up
}

// Watch repeatedly reads from the store who holds each agent awake.
type Watch struct {
	store  presence.Store
	agents []string

	mu     sync.Mutex
	leases map[string]map[string]*seen // by agent, client and grant
	looks  int
	fault  error
}

type seen struct {
	presence.Lease
	last time.Time // when the store last reported it
	over bool
}

// Poll reads every tenth of a second until the context ends.
func (w *Watch) Poll(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, agent := range w.agents {
				w.poll(ctx, agent)
			}
		}
	}
}

func (w *Watch) poll(ctx context.Context, agent string) {
	now := time.Now()
	status, err := w.store.Status(ctx, agent, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			w.fault = err
		}
		return
	}
	w.looks++
	live := map[string]bool{}
	for _, l := range status.Leases {
		key := l.Client + "\x00" + l.Since.String()
		live[key] = true
		w.leases[agent][key] = &seen{Lease: l, last: now}
	}
	for key, s := range w.leases[agent] {
		s.over = s.over || !live[key]
	}
}

// Leases are all leases seen of each agent, by their grant.
func (w *Watch) Leases() (map[string][]Lease, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string][]Lease{}
	for agent, leases := range w.leases {
		for _, s := range leases {
			l := Lease{Client: s.Client, From: s.Since, To: s.Until}
			if s.over && s.Until.After(s.last.Add(300*time.Millisecond)) { // given up before it ran out
				l.To = s.last
			}
			all[agent] = append(all[agent], l)
		}
		slices.SortFunc(all[agent], func(a, b Lease) int { return a.From.Compare(b.From) })
	}
	return all, w.fault
}

// NewWatch watches agents by their ids.
func NewWatch(store presence.Store, agents []string) *Watch {
	w := &Watch{store: store, agents: agents, leases: map[string]map[string]*seen{}}
	for _, agent := range agents {
		w.leases[agent] = map[string]*seen{}
	}
	return w
}

// Load is what a process uses.
type Load struct {
	At         time.Time
	Goroutines int
	Resident   int // bytes
}

// Measure reads the figures that a replica reports about itself.
func Measure(ctx context.Context, r *Replica) (Load, error) {
	l := Load{At: time.Now()}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Base+"/metrics", nil)
	if err != nil {
		return l, err
	}
	res, err := http.DefaultClient.Do(ask)
	if err != nil {
		return l, err
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		figure, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case name == "go_goroutines":
			l.Goroutines = int(figure)
		case name == "process_resident_memory_bytes":
			l.Resident = int(figure)
		}
	}
	if err := lines.Err(); err != nil {
		return l, err
	}
	if l.Goroutines == 0 || l.Resident == 0 {
		return l, fmt.Errorf("replica %s reports %d goroutines and %d bytes", r.Name, l.Goroutines, l.Resident)
	}
	return l, nil
}

// MeasureFirst measures the replica that is never killed until the context ends.
func (s *Soak) MeasureFirst(ctx context.Context, each time.Duration) {
	tick := time.NewTicker(each)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l, err := Measure(ctx, s.Fleet.First())
		if err != nil {
			if ctx.Err() == nil {
				s.t.Errorf("measure the first replica: %v", err)
			}
			return
		}
		s.mu.Lock()
		s.loads = append(s.loads, l)
		s.mu.Unlock()
	}
}
