package psyche_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/sample"
)

// lives are sixty days each: one in which dinner was soup again, and one in which something happens.
func lives(t *testing.T) (dull, rich []string) {
	t.Helper()
	for i := range 60 {
		day := []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}[i%7]
		dull = append(dull, fmt.Sprintf("I had soup for dinner again on %s, day %d.", day, i+1))
	}
	for line := range strings.Lines(string(sample.Diaries()[0].Memories)) {
		var item struct{ Kind, Content string }
		require.NoError(t, json.Unmarshal([]byte(line), &item))
		if item.Kind == string(dream.KindEpisode) && len(rich) < 60 {
			rich = append(rich, item.Content)
		}
	}
	return dull, rich
}

// A dull life stays shallow and a rich one goes to the peak, whether it was imported or talked about, with vectors and
// without.
func TestADullLifeStaysShallowAndARichOneGoesDeep(t *testing.T) {
	t.Parallel()
	dull, rich := lives(t)
	for name, live := range map[string]func(t *testing.T, days []string) *rig{
		"imported": imported,
		"talked about": func(t *testing.T, days []string) *rig {
			t.Helper()
			return talkedAbout(t, days)
		},
		"talked about without vectors": func(t *testing.T, days []string) *rig {
			t.Helper()
			return talkedAbout(t, days, func(_ *psyche.Ports, o *psyche.Options) { o.Models[dream.Embedder] = "p/free" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				days  []string
				stage dream.Stage
			}{{dull, dream.Shallow}, {rich, dream.Peak}} {
				r := live(t, c.days)
				require.GreaterOrEqual(t, len(r.episodes()), 55)
				chosen, err := onset.ChooseDepth(t.Context(), r.store, r.agent.ID, dawn.Add(time.Hour*24*365),
					hypnagogia.Prior(3), 0, dream.Thriving, 3)
				require.NoError(t, err)
				require.Equal(t, c.stage, chosen.Aim.Stage, "%q: %+v", c.days[0], chosen.Input)
			}
		})
	}
}

func imported(t *testing.T, days []string) *rig {
	t.Helper()
	r := setup(t)
	var file strings.Builder
	for i, text := range days {
		line, err := json.Marshal(map[string]string{
			"at": dawn.AddDate(0, 0, i-len(days)).Format(time.RFC3339), "content": text,
		})
		require.NoError(t, err)
		file.Write(append(line, '\n'))
	}
	agent, err := r.store.Agent(t.Context(), r.agent.ID)
	require.NoError(t, err)
	_, err = importer.Import(t.Context(), r.store, agent, []importer.File{{
		Name: "days.jsonl", ModTime: dawn,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(file.String())), nil },
	}}, importer.Options{Now: dawn})
	require.NoError(t, err)
	return r
}

func talkedAbout(t *testing.T, days []string, change ...func(*psyche.Ports, *psyche.Options)) *rig {
	t.Helper()
	r := setup(t, change...)
	for _, text := range days {
		r.talk(turn(ann, chat("Remember this: "+text)))
		r.settle()
		r.clock.pass(24 * time.Hour)
	}
	return r
}
