package onset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// How much of a feed a dream records when it begins. Twelve readings divide evenly by every share of the thalamic
// gate.
const (
	worldMost   = 12
	worldWithin = 24 * time.Hour // older readings are left out
	worldLine   = 120            // characters of one reading
	worldWaits  = 2 * time.Second
)

// listen records the readings of the agent's feed when the dream begins, newest first. A feed that does not answer
// counts as empty.
func (o onsetRun) listen(ctx context.Context) error {
	if o.Spec.Depth == nil || o.World == nil {
		return nil
	}
	agent, err := o.Memory.Agent(ctx, o.Agent)
	if err != nil {
		return fmt.Errorf("read which feed %s follows: %w", o.Spec.Handle, err)
	}
	if agent.Feed == "" {
		return nil
	}
	_, err = o.Frozen(ctx, core.WorldNote, func() ([]string, error) {
		asking, stop := context.WithTimeout(ctx, worldWaits)
		defer stop()
		readings, err := o.World.Latest(asking, agent.Feed)
		if err != nil {
			return []string{}, nil
		}
		return ReadingLines(agent.Feed, readings, o.Spec.AsOf), nil
	})
	return err
}

// world are the recorded readings; none in most dreams.
func (o onsetRun) world(ctx context.Context) ([]string, error) {
	if o.Spec.Depth == nil || o.World == nil {
		return nil, nil
	}
	texts, err := o.Frozen(ctx, core.WorldNote, func() ([]string, error) { return nil, memory.ErrNotFound })
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	return texts, err
}

// ReadingLines are readings as prompt lines, newest first, without those after the dream's present or older than a day.
func ReadingLines(feed string, readings []dream.Reading, asOf time.Time) []string {
	readings = slices.DeleteFunc(slices.Clone(readings), func(r dream.Reading) bool {
		return r.At.After(asOf) || asOf.Sub(r.At) > worldWithin
	})
	slices.SortStableFunc(readings, func(a, b dream.Reading) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Metric, b.Metric))
	})
	lines := []string{}
	for _, r := range readings[:min(len(readings), worldMost)] {
		text := r.State
		if r.Number != nil {
			text = strconv.FormatFloat(*r.Number, 'g', 8, 64)
		}
		line := []rune(strings.Join(strings.Fields(feed+": "+r.Metric+" "+text), " "))
		lines = append(lines, string(line[:min(len(line), worldLine)])+", "+ago(asOf.Sub(r.At)))
	}
	return lines
}

// ago is the time since, in the largest whole unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h ago", int(d.Hours()))
}

// letIn is the share of the recorded readings that the thalamic gate of a stage lets into its prompts.
func (o onsetRun) letIn(ctx context.Context, r activities.StepRequest) ([]prompt.Line, error) {
	share := hypnagogia.Gate(r.Stage)
	if r.Stage == "" || share == 0 {
		return nil, nil
	}
	world, err := o.world(ctx)
	return prompt.Lines("w", hypnagogia.Admit(world, share)...), err
}

// outside is the most characters of the window that readings take.
func outside(world []string) int {
	taken := 0
	for _, line := range hypnagogia.Admit(world, hypnagogia.Gate(dream.Shallow)) {
		taken += len([]rune(line))
	}
	return taken
}
