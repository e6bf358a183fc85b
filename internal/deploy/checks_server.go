package deploy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

const (
	// skewed is how far two clocks may be apart: leases and caps of a day are compared across machines.
	skewed = 5 * time.Second
	// nearlyFull is the share of a server's memory from which the doctor warns.
	nearlyFull = .9
	// rightsAdvice says what to do about a user of the store's server who may not do all that is needed.
	rightsAdvice = "Grant the user of store.url the rights that docs/redis.md lists, by ACL SETUSER."
)

// checkServer reports the memory, persistence, replication and clock of the store's server.
func (d doctor) checkServer(ctx context.Context) Finding { return d.onStore(ctx, lookAtStoreServer) }

// StoreServer reports how the server of the store is doing; false when the store is a file.
func (h *Deployment) StoreServer(ctx context.Context) (Finding, bool) {
	_, ok := h.store.store.(memory.Conditioned)
	if !ok {
		return Finding{}, false
	}
	return lookAtStoreServer(ctx, h), true
}

func lookAtStoreServer(ctx context.Context, h *Deployment) Finding {
	s, ok := h.store.store.(memory.Conditioned)
	if !ok {
		return passed("the store is a file")
	}
	before := time.Now()
	c, err := s.Condition(ctx)
	if err != nil {
		return failed("See that the Redis server runs, and that its user may run INFO and TIME.", "%v", err)
	}
	return judge(c, before, time.Now())
}

// judge says what is wrong with a server that was asked between two times of this machine.
func judge(c memory.Condition, before, after time.Time) Finding {
	if len(c.Missing) > 0 {
		return failed(rightsAdvice, "its user lacks %s", strings.Join(c.Missing, " "))
	}
	text := fmt.Sprintf("memory %.0f MB", float64(c.Used)/1e6)
	if c.Limit > 0 {
		text += fmt.Sprintf(" of %.0f MB", float64(c.Limit)/1e6)
	}
	text += fmt.Sprintf(", disk %.0f MB, eviction %s, replicas %d", float64(c.Disk)/1e6, c.Eviction, c.Replicas)
	if c.Replicas > 0 {
		text += fmt.Sprintf(" (%.0f kB behind)", float64(c.Lag)/1e3)
	}
	ill := c.Replica || c.Limit > 0 && c.Used >= c.Limit || c.Evicted > 0
	var wrong, advice []string
	add := func(what, mend string) { wrong, advice = append(wrong, what), append(advice, mend) }
	if c.Eviction != "" && c.Eviction != "noeviction" {
		add("a full server deletes memories, money and keys (maxmemory-policy "+c.Eviction+")",
			"Set maxmemory-policy noeviction.")
	}
	if c.Evicted > 0 {
		add(fmt.Sprintf("it has deleted %d keys because it was full", c.Evicted),
			"Restore the last backup: what was deleted is lost.")
	}
	if c.Limit > 0 && float64(c.Used) >= nearlyFull*float64(c.Limit) {
		add(fmt.Sprintf("%.0f %% of its memory is used", 100*float64(c.Used)/float64(c.Limit)),
			"Raise maxmemory: a full server takes no writes.")
	}
	if c.Replica {
		add("it is a replica, and takes no writes until it is promoted",
			"Give store.url the address of the primary, or name the Sentinels (docs/redis.md).")
	}
	if off := max(before.Sub(c.Now), c.Now.Sub(after)); off > skewed {
		add(fmt.Sprintf("its clock and this machine's are %s apart", off.Round(time.Second)),
			"Let both follow one time server.")
	}
	if len(c.Faults) > 0 {
		add(strings.Join(c.Faults, "; "), "Look at the server's log and its disk.")
	}
	if ill {
		return failed(strings.Join(advice, " "), "%s; %s", text, strings.Join(wrong, "; "))
	}
	if len(wrong) > 0 {
		return warned(strings.Join(advice, " "), "%s; %s", text, strings.Join(wrong, "; "))
	}
	return passed("%s, its clock agrees, its writes reach the disk", text)
}
