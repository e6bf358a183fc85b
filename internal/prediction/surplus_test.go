package prediction_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

func TestWhatSaysLeastIsDroppedFirst(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	open := func(id, source string, confidence float64, days int) *dream.Prediction {
		return &dream.Prediction{
			Head:       dream.Head{ID: id, At: made.AddDate(0, 0, days)},
			Source:     source,
			Confidence: confidence,
			Status:     dream.PredictionOpen,
		}
	}
	checked := open("checked", dream.Creative, .4, 0)
	checked.Check = &dream.Check{Then: "leak"}
	watched := open("watched", dream.Creative, .3, 0)
	watched.Watch = &dream.Watch{Feed: "quay", Rule: "calm"}
	all := []*dream.Prediction{
		open("own", dream.Analytical, .5, 0), watched, checked,
		open("bold", dream.Creative, .1, 0), open("newer", dream.Creative, .3, 2), open("older", dream.Creative, .3, 1),
	}
	for most, want := range map[int][]string{
		0: nil, 6: nil, 9: nil,
		5: {"older"},
		4: {"older", "newer"},
		3: {"older", "newer", "bold"},
		2: {"older", "newer", "bold", "checked"},
		1: {"older", "newer", "bold", "checked", "watched"},
	} {
		var ids []string
		for _, p := range prediction.Surplus(all, most) {
			ids = append(ids, p.ID)
		}
		require.Equal(t, want, ids, "at most %d", most)
	}
}
