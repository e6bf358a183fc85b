package review

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// Claims returns all claims of an agent, the oldest first: those that are tried, those that passed, and those that have
// ended, which keep counting in the gate.
func Claims(ctx context.Context, store memory.DreamStore, agent string) ([]*dream.Claim, error) {
	return find[*dream.Claim](ctx, store, "the claims", dream.KindClaim,
		memory.Query{Agent: agent, States: []dream.State{dream.Live, dream.Archived}, Sort: memory.Oldest})
}

// countClaims makes claims of the open predictions that carry a check, counts what became of all claims since they were
// last looked at, and lets those pass that beat chance: their playbook entries, the claims and the events are written
// at once, or nothing is. It returns the claims that passed or ended.
func (k Resolver) countClaims(ctx context.Context, agent string, all []*dream.Claim, open []*dream.Prediction,
	e evidence,
) ([]*dream.Claim, error) {
	now, lived := k.Now().UTC(), e.lived
	covered := claims.Coverage(lived)
	count := counting{
		k:        k,
		agent:    agent,
		now:      now,
		evidence: e,
		changed:  map[string]bool{},
	}
	if err := count.lapse(ctx, all); err != nil {
		return nil, err
	}
	all = count.gather(all, open, lived)
	for _, c := range all {
		if !c.Watched() {
			continue
		}
		status := c.Status
		for _, o := range claims.Advance(c, now, lived, covered) {
			count.tried(c, o)
		}
		if c.Status != status {
			count.ended(c)
		}
	}
	for _, c := range claims.Promote(all, now) {
		count.passed(c, len(all))
	}
	if err := count.writePlaybook(ctx, all); err != nil {
		return nil, err
	}
	for _, c := range all {
		switch {
		case c.Revision == 0:
			count.write.Add = append(count.write.Add, c)
		case count.changed[c.ID]:
			count.write.Change = append(count.write.Change, c)
		}
	}
	if len(count.write.Add)+len(count.write.Change) == 0 {
		return nil, nil
	}
	count.write.Agent, count.write.Cause = agent, dream.ByCheck
	if _, err := k.Memory.Commit(ctx, count.write); err != nil {
		return nil, fmt.Errorf("count the claims of %s: %w", agent, err)
	}
	return count.moved, nil
}

// counting collects what one count writes.
type counting struct {
	k     Resolver
	agent string
	now   time.Time
	evidence
	write   memory.Write
	changed map[string]bool // ids of claims
	moved   []*dream.Claim  // those that passed or ended
}

// lapse lets a claim lapse that nobody says any more: its predictions were forgotten, or undone with their dream.
func (n *counting) lapse(ctx context.Context, all []*dream.Claim) error {
	var ids []string
	for _, c := range all {
		if c.Status == dream.ClaimTried {
			ids = append(ids, c.Sources...)
		}
	}
	items, err := n.k.Memory.Get(ctx, n.agent, ids...)
	if err != nil {
		return fmt.Errorf("read what says the claims of %s: %w", n.agent, err)
	}
	says := map[string]bool{}
	for _, p := range memory.As[*dream.Prediction](items) {
		says[p.ID] = p.State == dream.Live || p.Status != dream.PredictionOpen
	}
	for _, c := range all {
		if c.Status != dream.ClaimTried || slices.ContainsFunc(c.Sources, func(id string) bool { return says[id] }) {
			continue
		}
		claims.End(c, n.now, "the predictions that said it are gone")
		n.ended(c)
	}
	return nil
}

// gather adds what the open predictions say to the claims.
func (n *counting) gather(all []*dream.Claim, open []*dream.Prediction, lived []claims.Episode) []*dream.Claim {
	existing, tried := map[string]*dream.Claim{}, 0
	for _, c := range all {
		existing[c.ID] = c
		if c.Status == dream.ClaimTried {
			tried++
		}
	}
	for _, p := range open {
		if p.Check == nil || !claims.Claimable(*p.Check) {
			continue
		}
		if c := existing[claims.ID(n.agent, *p.Check)]; c != nil {
			if claims.Say(c, p) {
				n.changed[c.ID] = true
			}
			continue
		}
		if tried >= claims.MostTried {
			continue
		}
		c := claims.New(p, lived)
		existing[c.ID], all = c, append(all, c)
		tried++
	}
	return all
}

func (n *counting) tried(c *dream.Claim, o dream.ClaimOutcome) {
	n.changed[c.ID] = true
	for _, id := range o.Evidence {
		if owner := n.owners[id]; owner != "" && !slices.Contains(c.Owners, owner) {
			c.Owners = append(c.Owners, owner)
		}
	}
	n.announce(c, o.At.UTC().Format(time.RFC3339Nano), event.ClaimTried{
		Claim:    c.ID,
		Right:    o.Right,
		At:       o.At,
		Hits:     c.Hits,
		Misses:   c.Misses,
		Chance:   c.Chance,
		Wealth:   o.Wealth,
		Evidence: o.Evidence,
	})
}

func (n *counting) passed(c *dream.Claim, of int) {
	n.changed[c.ID], n.moved = true, append(n.moved, c)
	c.Playbook = "pb_" + strings.TrimPrefix(c.ID, "cl_")
	n.announce(c, "", event.ClaimPassed{
		Claim:    c.ID,
		Playbook: c.Playbook,
		Hits:     c.Hits,
		Misses:   c.Misses,
		Chance:   c.Chance,
		Wealth:   c.Wealth,
		Claims:   of,
	})
}

func (n *counting) ended(c *dream.Claim) {
	n.changed[c.ID], n.moved = true, append(n.moved, c)
	n.announce(c, "", event.ClaimEnded{
		Claim:    c.ID,
		Status:   c.Status,
		Reason:   c.Reason,
		Hits:     c.Hits,
		Misses:   c.Misses,
		Playbook: c.Playbook,
	})
}

// announce adds an event, once for this many outcomes of the claim.
func (n *counting) announce(c *dream.Claim, of string, p event.Payload) {
	id := strings.Join([]string{"claim", c.ID, strconv.Itoa(c.Trials()), of, p.EventType()}, "/")
	n.write.Events = append(n.write.Events, event.New(id, n.agent, "", n.now, p))
}

// writePlaybook writes the entries of the claims that have passed, with how they have held, and archives those of the
// claims that are retired.
func (n *counting) writePlaybook(ctx context.Context, all []*dream.Claim) error {
	for _, c := range all {
		if c.Playbook == "" || !n.changed[c.ID] {
			continue
		}
		entry := &dream.Playbook{
			Head: dream.Head{
				ID:      c.Playbook,
				Agent:   n.agent,
				Kind:    dream.KindPlaybook,
				At:      c.Passed,
				State:   dream.Live,
				Taint:   dream.FromTool,
				Sources: []string{c.ID},
			},
			Claim: c.ID, Confidence: claims.Rate(c),
			Content: fmt.Sprintf("%s (%s)", strings.TrimSuffix(c.Says, "."), claims.TrackRecord(c)),
		}
		if c.Status != dream.ClaimPassed {
			entry.State = dream.Archived
		}
		if err := putEntry(ctx, n.k.Memory, &n.write, entry, c.Owners); err != nil {
			return err
		}
	}
	return nil
}
