package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// countingEmbedder is a paid embedder that counts its calls; it refuses from call number limit on, when there is a
// limit.
type countingEmbedder struct{ calls, limit int }

func (e *countingEmbedder) embed(ctx context.Context, a dream.Agent, _ string,
	texts []string,
) ([][]float32, string, error) {
	if e.limit > 0 && e.calls >= e.limit {
		return nil, "", &spend.OverCap{Scope: "day:echo/2026-11-20", Limit: 100, Counted: 90, Asks: 20}
	}
	e.calls++
	v, _, err := letters(ctx, a, "", texts)
	return v, "house/vectors/8", err
}

// moving is a furnished fixture whose agent echo has the paid embedder.
func moving(t *testing.T) (*fixture, *countingEmbedder) {
	t.Helper()
	e := &countingEmbedder{}
	d := newFixture(t).furnish().asleep(&sleeper{}, 0)
	require.Equal(t, exit.OK, d.run(80, "agents", "edit", "echo", "--model", "embedder=house/vectors"),
		d.err.String())
	require.Contains(t, d.err.String(), "Its memories lie in space letters/1/8, which house/vectors does not make.")
	require.Contains(t, strings.Join(strings.Fields(d.err.String()), " "), "oneiros memory embed --agent echo")
	d.embed = e.embed
	return d, e
}

func TestAChangeOfEmbedderReadsWell(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 200} {
		d, _ := moving(t)
		require.Equal(t, exit.OK, d.run(width, "memory", "embed", "-a", "echo", "--estimate"), d.err.String())
		d.golden(fmt.Sprint("memory-embed-estimate-", width))
		require.Equal(t, exit.OK, d.run(width, "memory", "embed", "-a", "echo", "--yes"), d.err.String())
		d.golden(fmt.Sprint("memory-embed-", width))
		require.Equal(t, exit.OK, d.run(width, "memory", "embed", "-a", "echo"), d.err.String())
		d.golden(fmt.Sprint("memory-embed-again-", width))
		require.Equal(t, exit.OK, d.run(width, "memory", "embed", "--help"))
		d.golden(fmt.Sprint("memory-embed-help-", width))
	}
}

func TestAChangeOfEmbedderAsksBeforeItCosts(t *testing.T) {
	t.Parallel()
	d, e := moving(t)
	require.Equal(t, exit.Refused, d.run(80, "memory", "embed", "-a", "echo"))
	require.Contains(t, d.err.String(), "Placing 9 memories of echo with house/vectors may cost up to $0.0000")
	require.Contains(t, d.err.String(), "add --yes to agree")
	require.Equal(t, exit.OK, d.run(0, "memory", "embed", "-a", "echo", "--estimate", "--json"))
	var result struct {
		Agent, Model, From, To string
		Memories               int
		Free                   bool
		Worst                  budget.Micros `json:"worst_micros"`
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
	require.Equal(t, "letters/1/8", result.From)
	require.Equal(t, 9, result.Memories)
	require.Positive(t, result.Worst)
	require.Zero(t, e.calls)

	require.Equal(t, exit.Failure, d.run(0, "memory", "search", "-a", "echo", "rope"))
	require.Contains(t, d.err.String(), "place it anew with oneiros memory embed --agent echo")
	d.terminal, d.in = true, "yes\n"
	require.Equal(t, exit.OK, d.run(0, "memory", "embed", "-a", "echo", "--json", "--yes"), d.err.String())
	require.JSONEq(t,
		`{"agent":"echo","model":"house/vectors","from":"letters/1/8","to":"house/vectors/8","placed":9}`,
		d.out.String())
	require.Equal(t, exit.OK, d.run(0, "memory", "search", "-a", "echo", "rope"))
	require.Contains(t, d.out.String(), "rope")
}

func TestAnInterruptedChangeOfEmbedderGoesOn(t *testing.T) {
	t.Parallel()
	d, e := moving(t)
	w := memory.Write{Agent: "echo", Cause: "import"}
	for i := range 120 {
		w.Add = append(w.Add,
			&dream.Episode{
				Head:    head(dream.KindEpisode, fmt.Sprintf("more-%03d", i), now, false),
				Content: fmt.Sprint("Day ", i),
			})
	}
	_, err := d.store.Commit(t.Context(), w)
	require.NoError(t, err)
	e.limit = 1
	require.Equal(t, exit.Refused, d.run(0, "memory", "embed", "-a", "echo", "--yes"))
	require.Contains(t, d.err.String(), "cap day:echo/2026-11-20 is $0.0001")
	require.Contains(t, d.err.String(),
		"64 memories are placed and kept; oneiros memory embed --agent echo goes on from there")
	space, err := d.store.Space(t.Context(), "echo")
	require.NoError(t, err)
	require.Equal(t, "letters/1/8", space)

	e.limit = 0
	stretch := memory.Slot{Fence: memory.Fence{Dream: "dream/echo/0002", Run: "r"}}
	_, err = d.store.TakeSlot(t.Context(), "echo", stretch, memory.Fence{})
	require.NoError(t, err)
	require.Equal(t, exit.Failure, d.run(0, "memory", "embed", "-a", "echo", "--yes"))
	require.Contains(t, d.err.String(), "echo is dreaming and measures in the old space; everything is placed")
	require.NoError(t, d.store.FreeSlot(t.Context(), "echo", stretch.Fence))
	require.Equal(t, exit.OK, d.run(0, "memory", "embed", "-a", "echo", "--estimate"))
	require.Equal(
		t,
		"Every memory of echo is placed by house/vectors; what is left is the move from letters/1/8 to house/vectors/8, which costs nothing.\n",
		d.out.String(),
	)
	require.Equal(t, exit.OK, d.run(0, "memory", "embed", "-a", "echo"), d.err.String())
	require.Equal(t,
		"echo has moved from space letters/1/8 to house/vectors/8: 0 memories placed by house/vectors.\n",
		d.out.String())
	require.Equal(t, 3, e.calls)
}

func TestAnEmbedderWithoutAPriceAndAModelThatIsNoneAreRefused(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().asleep(&sleeper{}, 0)
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "echo", "--model", "embedder=house/unpriced"),
		d.err.String())
	require.Equal(t, exit.Refused, d.run(0, "memory", "embed", "-a", "echo", "--yes"))
	require.Contains(t, d.err.String(), "model house/unpriced has no price; state one under providers.house.models")
	require.Equal(t, exit.Usage, d.run(0, "agents", "edit", "echo", "--model", "embedder=house/small"))
	require.Contains(
		t,
		d.err.String(),
		`"house/small" is the wrong sort of model: it is not known as an embedder; `+
			`if it is one, add under providers.house.models: {name: small, embeds: true}`,
	)
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "echo", "--model", "embedder=letters/one"), d.err.String())
	require.Empty(t, d.err.String(), "it is the embedder that the memory was placed by")
	require.Equal(t, exit.OK, d.run(0, "memory", "embed", "-a", "echo"), d.err.String())
	require.Equal(t, "Every memory of echo has its place in the space of letters/one already.\n", d.out.String())
}

func TestAMemoryIsNotMovedAwayFromADreamThatWaits(t *testing.T) {
	t.Parallel()
	d, e := moving(t)
	n := d.interrupt(now.Add(time.Hour))
	require.Equal(t, exit.OK, d.run(200, "memory", "embed", "-a", "echo", "--estimate"), d.err.String())
	require.Equal(t, exit.Failure, d.run(200, "memory", "embed", "-a", "echo", "--yes"))
	require.Contains(t, d.err.String(), "end it with oneiros dreams cancel "+n.ID)
	require.Zero(t, e.calls)
	d.goOn(n)
	require.Equal(t, exit.OK, d.run(200, "memory", "embed", "-a", "echo", "--yes"), d.err.String())
}
