// Package chaos kills workers and servers at chosen moments of dreams, named by calls that arrive at the provider,
// and checks that money and memory hold.
package chaos

import (
	"strconv"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// Call is what an idempotency key says about a call: "dream/echo/0001/onset/2/partial-1#3".
type Call struct {
	Dream    string
	Phase    dream.Phase
	Step     string // the ledger's step: the key without its attempt
	Activity string // what follows the phase: "2/partial-1"
	Attempt  int
}

// ReadKey reads an idempotency key; false for one that no spend guard wrote.
func ReadKey(key string) (Call, bool) {
	step, number, numbered := strings.Cut(key, "#")
	attempt, err := strconv.Atoi(number)
	parts := strings.SplitN(step, "/", 5)
	if !numbered || err != nil || len(parts) < 5 {
		return Call{}, false
	}
	return Call{
		Dream:    strings.Join(parts[:3], "/"),
		Phase:    dream.Phase(parts[3]),
		Step:     step,
		Activity: parts[4],
		Attempt:  attempt,
	}, true
}

// IsPartial says whether a call is a partial completion of a Dali cycle.
func (c Call) IsPartial() bool {
	_, name, _ := strings.Cut(c.Activity, "/")
	return c.Phase == dream.Onset && strings.HasPrefix(name, "partial-") && !strings.Contains(name, "/")
}

// IsIdeas says whether a call gives all partials of a Dali cycle, or is the one repair of such a call.
func (c Call) IsIdeas() bool {
	_, name, _ := strings.Cut(c.Activity, "/")
	return c.Phase == dream.Onset && (name == "ideas" || name == "ideas"+repair)
}

const repair = "/repair"

// Moments lets a test wait for calls to arrive at a provider. Its zero value waits for nothing.
type Moments struct {
	mu       sync.Mutex
	arrivals int
	awaited  []*moment
}

type moment struct {
	when  func(number int, a provider.Arrival) bool
	fault provider.Fault
	came  chan provider.Arrival
}

// Plan is the provider's plan: the faults of the awaited moments, else what rest plans (nil for no fault).
func (m *Moments) Plan(rest provider.Plan) provider.Plan {
	return func(a provider.Arrival) provider.Fault {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.arrivals++
		for i, w := range m.awaited {
			if w.when(m.arrivals, a) {
				m.awaited = append(m.awaited[:i:i], m.awaited[i+1:]...)
				w.came <- a
				return w.fault
			}
		}
		if rest == nil {
			return provider.None
		}
		return rest(a)
	}
}

// Await waits for the first call for which when is true, and gives it this fault. Number counts all calls from 1. The
// channel receives that call once.
func (m *Moments) Await(fault provider.Fault, when func(number int, a provider.Arrival) bool) <-chan provider.Arrival {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &moment{when: when, fault: fault, came: make(chan provider.Arrival, 1)}
	m.awaited = append(m.awaited, w)
	return w.came
}

// Count waits for the call of a number and gives it no fault.
func (m *Moments) Count(number int) <-chan provider.Arrival {
	return m.Await(provider.None, func(n int, _ provider.Arrival) bool { return n >= number })
}

// In is true of the calls of one phase of one dream.
func In(dreamID string, phase dream.Phase) func(int, provider.Arrival) bool {
	return func(_ int, a provider.Arrival) bool {
		c, ok := ReadKey(a.Key)
		return ok && c.Dream == dreamID && c.Phase == phase
	}
}
