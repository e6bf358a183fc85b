package democmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// snapshot is how the claims of an agent stand at one time.
type snapshot []*dream.Claim

// score counts outcomes.
type score struct {
	Right int `json:"right"`
	Of    int `json:"of"`
}

// minus is what was added since an earlier score.
func (s score) minus(before score) score { return score{s.Right - before.Right, s.Of - before.Of} }

func (s score) String() string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", s.Right, s.Of)
}

// percent is the share that came true, in words.
func (s score) percent() string {
	if s.Of == 0 {
		return "none was decided"
	}
	return fmt.Sprintf("%s, %.0f %%", s, 100*float64(s.Right)/float64(s.Of))
}

// outcomes are those of the claims, and of their decoys. With only, those of these claims alone.
func (s snapshot) outcomes(only map[string]bool) (claims, decoys score) {
	for _, c := range s {
		if only != nil && !only[c.ID] {
			continue
		}
		claims.Right += c.Hits
		claims.Of += c.Trials()
		decoys.Right += c.DecoyHits
		decoys.Of += c.DecoyHits + c.DecoyMisses
	}
	return claims, decoys
}

// with are the ids of the claims with a status.
func (s snapshot) with(status string) map[string]bool {
	ids := map[string]bool{}
	for _, c := range s {
		if c.Status == status {
			ids[c.ID] = true
		}
	}
	return ids
}

// newIn are the claims that were not in an earlier snapshot.
func (s snapshot) newIn(before snapshot) []*dream.Claim {
	earlier := map[string]bool{}
	for _, c := range before {
		earlier[c.ID] = true
	}
	var fresh []*dream.Claim
	for _, c := range s {
		if !earlier[c.ID] {
			fresh = append(fresh, c)
		}
	}
	return fresh
}

// surest is the claim that has passed and still holds with the most wealth; nil for none.
func (s snapshot) surest() *dream.Claim {
	var best *dream.Claim
	for _, c := range s {
		if c.Status == dream.ClaimPassed && (best == nil || c.Wealth > best.Wealth) {
			best = c
		}
	}
	return best
}

// claim is the one with an id; nil when there is none.
func (s snapshot) claim(id string) *dream.Claim {
	for _, c := range s {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// wealth is that of the claim with an id; 0 when there is none.
func (s snapshot) wealth(id string) float64 {
	if c := s.claim(id); c != nil {
		return c.Wealth
	}
	return 0
}

// short is a claim in few words.
func short(c *dream.Claim) string {
	then := c.Check.Then
	if c.Check.Not {
		then = "no " + then
	}
	if c.Check.Least > 1 {
		then = fmt.Sprintf("%d %s", c.Check.Least, then)
	}
	switch {
	case c.Check.When == "":
		return then
	case c.Check.Within == 0:
		return c.Check.When + " + " + then
	}
	return fmt.Sprintf("%s > %s (%s)", c.Check.When, then, wait(c.Check.Within))
}

// wait is a duration in hours or days.
func wait(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0m0s")
}
