package prediction

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Limits of a prediction made by a person or a tool.
const (
	MostClaim      = 2000                      // bytes of a claim, of a criterion and of a reasoning
	LongestHorizon = 10 * 366 * 24 * time.Hour // of a horizon
)

// Check returns every fault of a prediction made by a person or a tool, as of now.
func Check(p *dream.Prediction, now time.Time) error {
	var faults []error
	for _, part := range []struct{ what, text, expected string }{
		{"claim", p.Claim, "what is predicted"},
		{"criterion", p.Criterion, "what would show it true or false"},
		{"reasoning", p.Trace, ""},
	} {
		switch {
		case len(part.text) > MostClaim:
			faults = append(faults,
				fmt.Errorf("the %s is %d bytes long; %d at most", part.what, len(part.text), MostClaim))
		case strings.TrimSpace(part.text) == "" && part.expected != "":
			faults = append(faults, fmt.Errorf("the %s is empty; it must say %s", part.what, part.expected))
		}
	}
	if math.IsNaN(p.Confidence) || p.Confidence < 0 || p.Confidence > 1 {
		faults = append(faults, fmt.Errorf("the confidence is %v; it must lie between 0 and 1", p.Confidence))
	}
	if !p.Horizon.After(now) || p.Horizon.After(now.Add(LongestHorizon)) {
		faults = append(faults,
			fmt.Errorf("the horizon is %s; it must be after %s, and within ten years",
				p.Horizon.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)))
	}
	if p.Session != dream.ByPerson && (!strings.HasPrefix(p.Session, dream.ByTool) || p.Session == dream.ByTool) {
		faults = append(faults,
			fmt.Errorf("its author is %q; it must be %s or %sNAME", p.Session, dream.ByPerson, dream.ByTool))
	}
	return errors.Join(faults...)
}
