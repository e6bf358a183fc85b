package chaos

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// Webhook is a hook that governs the dreams of a run. By the seed it vetoes some onsets, holds some fragments for
// review and leaves some requests unanswered. The same request has the same answer each time.
type Webhook struct {
	seed   uint64
	server *httptest.Server

	mu    sync.Mutex
	calls map[activities.Border]int
}

// Of so many requests one is vetoed, held, or fails.
const (
	vetoed = 12
	holds  = 6
	fails  = 15
)

// guardTimeout is how long a dream waits for the hook.
const guardTimeout = 2 * time.Second

// StartWebhook starts it.
func StartWebhook(seed uint64) *Webhook {
	g := &Webhook{seed: seed, calls: map[activities.Border]int{}}
	g.server = httptest.NewServer(http.HandlerFunc(g.answer))
	return g
}

// Close stops it.
func (g *Webhook) Close() { g.server.Close() }

// Configure makes it the hook of a deployment, in every process.
func (g *Webhook) Configure(p *testdeploy.Config) {
	p.Webhook = g.server.URL
	p.Rules = []activities.HookRule{
		{Name: testdeploy.WebhookName, At: activities.Borders, Timeout: guardTimeout, Silent: activities.SilentAllow},
	}
}

// Calls returns how often it was called, by border.
func (g *Webhook) Calls() map[activities.Border]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.calls)
}

func (g *Webhook) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	border := activities.Border(r.Header.Get(governor.BorderHeader))
	var q struct {
		Dream     string
		Cycle     int
		Fragments []activities.Captured
	}
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err == nil {
		err = governor.Verify([]byte(testdeploy.WebhookSecret), r.Header, body, time.Now())
	}
	g.mu.Lock()
	g.calls[border]++
	g.mu.Unlock()
	if err != nil || HandleIs(q.Dream, measured) {
		return
	}
	if g.one(fails, "fails", q.Dream, string(border), fmt.Sprint(q.Cycle)) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	values := map[string]any{}
	if border == activities.AtEntry && g.one(vetoed, "veto", q.Dream) {
		values["veto"] = "not tonight"
	}
	var concerns []activities.Concern
	for _, f := range q.Fragments {
		if g.one(holds, "hold", f.ID) {
			concerns = append(concerns, activities.Concern{Fragment: f.ID, Reason: "a person should look"})
		}
	}
	values["concerns"] = concerns
	_ = json.NewEncoder(w).Encode(values)
}

// one is true of one of so many requests.
func (g *Webhook) one(of uint64, parts ...string) bool {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, g.seed, parts) // a hash never fails
	x := h.Sum64()
	x ^= x >> 29
	return x*0x9e3779b97f4a7c15>>32%of == 0
}

// held checks that no fragment that a hook or the policy bars was developed, in any dream.
func (e *Evidence) held() []error {
	var faults []error
	for id, f := range e.Fragments {
		flag, barred := f.Barred()
		if !barred {
			continue
		}
		switch f.Status {
		case dream.FragmentSelected, dream.FragmentDeveloped, dream.FragmentPromoted:
			faults = append(faults, fmt.Errorf("fragment %s is barred by %s and became %s", id, flag.By, f.Status))
		}
	}
	for _, s := range e.Scenarios {
		for _, seed := range append([]string{s.Parent}, s.Seeds...) {
			if f := e.Fragments[seed]; f != nil {
				if flag, barred := f.Barred(); barred {
					faults = append(faults, fmt.Errorf("scenario %s develops %s, which %s bars", s.ID, seed, flag.By))
				}
			}
		}
	}
	return faults
}
