package screen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// The gauge shows every stage of Hori up to the present depth.
func TestTheGaugeOfAnOnset(t *testing.T) {
	t.Parallel()
	for _, colour := range []bool{false, true} {
		var b strings.Builder
		for _, stage := range []dream.Stage{"", dream.Shallow, dream.Transitional, dream.Peak, dream.TooDeep} {
			for beat := range 2 {
				if beat > 0 && !screen.Pulses(stage) {
					continue
				}
				fmt.Fprintf(&b, "# %s, beat %d\n%s\n\n", stage, beat,
					strings.Join(screen.Gauge(stage, beat, screen.Style{Colour: colour}), "\n"))
			}
		}
		file := "gauge"
		if colour {
			file += "-colour"
		}
		golden(t, file+".txt", b.String())
	}
}

func TestTheGaugeIsAsWideAsItSaysAndPulsesAtThePeakOnly(t *testing.T) {
	t.Parallel()
	for _, stage := range []dream.Stage{"", dream.Shallow, dream.Transitional, dream.Peak, dream.TooDeep} {
		rows := screen.Gauge(stage, 0, screen.Style{})
		require.Len(t, rows, 8)
		for _, row := range rows {
			require.Equal(t, screen.GaugeWidth, utf8.RuneCountInString(row), row)
			for _, r := range row {
				require.LessOrEqual(t, r, rune(0xFFFF), "only the Basic Multilingual Plane")
			}
		}
		require.Equal(t, screen.Pulses(stage),
			strings.Join(rows, "") != strings.Join(screen.Gauge(stage, 1, screen.Style{}), ""), stage)
		require.Equal(t, rows, screen.Gauge(stage, 2, screen.Style{}))
	}
}

func TestTheGaugeFollowsTheEvents(t *testing.T) {
	t.Parallel()
	stage := dream.Stage("")
	for _, c := range []struct {
		p    event.Payload
		want dream.Stage
	}{
		{event.DreamStarted{}, ""},
		{event.OnsetStarted{Depth: dream.Shallow}, dream.Shallow},
		{event.DepthChanged{From: dream.Shallow, To: dream.Transitional}, dream.Transitional},
		{event.FragmentCaptured{}, dream.Transitional},
		{event.DepthChanged{From: dream.Transitional, To: dream.Peak}, dream.Peak},
		{event.DepthChanged{From: dream.Peak, To: dream.TooDeep}, dream.TooDeep},
		{event.DepthChanged{From: dream.TooDeep, To: dream.Peak}, dream.Peak},
		{event.OnsetCompleted{}, ""},
		{event.PhaseStarted{}, ""},
	} {
		stage = screen.DepthAfter(event.New("id", "a", "d", time.Time{}, c.p), stage)
		require.Equal(t, c.want, stage, c.p.EventType())
	}
}
