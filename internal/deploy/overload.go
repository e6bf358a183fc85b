package deploy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
)

const (
	// loadEvery is how often a server reports what it refused.
	loadEvery = 15 * time.Second
	// overloadedFor is how long after its newest report a server counts as overloaded.
	overloadedFor = 2 * time.Minute
	// heaviest is how many principals a report names.
	heaviest = 3
)

// watchLoad reports into the store what the server of this process refuses because it is full, until ctx ends. While it
// refuses nothing, nothing is written.
func watchLoad(ctx context.Context, e *engine, s *apiServer) {
	s.server.Load()
	fault := ""
	for waitFor(ctx, loadEvery) == nil {
		err := s.reportLoad(ctx, e.deployment, s.server.Load(), time.Now())
		if err != nil && err.Error() != fault {
			e.warn(ctx, err, "that this server is full could not be reported")
			fault = err.Error()
		}
	}
}

func (s *apiServer) reportLoad(ctx context.Context, h *Deployment, load fairqueue.Load, now time.Time) error {
	if load.Refused == 0 {
		return nil
	}
	s.refused.Store(&now)
	_, err := h.store.ChangeSwept(ctx, func(state memory.SweepState) (memory.SweepState, error) {
		return state.WithOverload(memory.Overload{
			Server:   h.Holder,
			Since:    load.Since.UTC(),
			Last:     now.UTC(),
			Refused:  load.Refused,
			Waited:   load.Waited,
			Longest:  load.Longest,
			Heaviest: heaviestOf(load),
		}), nil
	})
	return err
}

// heaviestOf are the principals that held the most places.
func heaviestOf(load fairqueue.Load) []memory.PlaceShare {
	shares := load.Shares()
	names := slices.SortedFunc(maps.Keys(shares), func(a, b string) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b))
	})
	var all []memory.PlaceShare
	for _, name := range names[:min(len(names), heaviest)] {
		all = append(all, memory.PlaceShare{Principal: name, Share: shares[name]})
	}
	return all
}

// full reports whether this server refused requests lately.
func (s *apiServer) full(now time.Time) bool {
	last := s.refused.Load()
	return last != nil && now.Sub(*last) < overloadedFor
}

// checkOverload says whether a server of the deployment refuses requests because it is full.
func (d doctor) checkOverload(ctx context.Context) Finding {
	return d.onStore(ctx, func(ctx context.Context, h *Deployment) Finding { return lookForOverload(ctx, h.store) })
}

// Overload reports which servers refuse requests, or did lately; false when the store cannot tell.
func (h *Deployment) Overload(ctx context.Context) (Finding, bool) {
	if h.Sweeper == nil {
		return Finding{}, false
	}
	return lookForOverload(ctx, h.Sweeper.Store), true
}

func lookForOverload(ctx context.Context, store memory.Aging) Finding {
	state, err := store.Swept(ctx)
	if err != nil {
		return warned("Fix the store first.", "not checked: %v", err)
	}
	return overloadFinding(state.Overloads, time.Now())
}

func overloadFinding(all []memory.Overload, now time.Time) Finding {
	var texts []string
	still := false
	for _, o := range all {
		if age := now.Sub(o.Last); age < memory.OverloadKept {
			texts = append(texts, overloadText(o))
			still = still || age < overloadedFor
		}
	}
	advice := "Look first whether the provider has become slow; then run another server (oneiros serve) behind the " +
		"balancer, raise serve.max_streams, or lower the rate of who sends too much (oneiros keys set). " +
		"docs/operations.md, section \"A server is full\", says more."
	switch {
	case still:
		return failed(advice, "%s", strings.Join(texts, "; "))
	case len(texts) > 0:
		return warned(advice, "over for now: %s", strings.Join(texts, "; "))
	}
	return passed("no server refused requests within %d minutes", int(memory.OverloadKept.Minutes()))
}

// overloadText says what a server refused, and who held its places.
func overloadText(o memory.Overload) string {
	text := fmt.Sprintf("server %s refused %d of %d requests that found no place, from %s until %s; the longest wait "+
		"was %s", o.Server, o.Refused, o.Waited, o.Since.UTC().Format(time.TimeOnly),
		o.Last.UTC().Format(time.TimeOnly), o.Longest.Round(time.Millisecond))
	var shares []string
	for _, p := range o.Heaviest {
		shares = append(shares, fmt.Sprintf("%s %.0f %%", cmp.Or(p.Principal, "clients without a key"), 100*p.Share))
	}
	if len(shares) > 0 {
		text += "; most places were held by " + strings.Join(shares, ", ")
	}
	return text
}
