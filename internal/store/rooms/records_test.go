package rooms_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/store/rooms"
)

// What a range of an index reads and what a write to it changes must be one part, or a lost write is not noticed.
func TestARecordAndTheRangesThatReadItAreOfOnePart(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a/echo/about":                 "a/echo",
		"a/echo/item/0000000000000001": "a/echo",
		"r/hall/":                      "r/hall",
		"r/hall/agent/":                "r/hall",
		"r/hall/agent/echo":            "r/hall",
		"g/pair/a/b":                   "g/pair/a/b",
		"x/queue/echo/":                "x/queue/echo",
		"x/queue/echo/0/1":             "x/queue/echo",
		"x/key/hall/ada/k/1":           "x/key/hall",
		"x/room/hall":                  "x/room/hall",
	} {
		require.Equal(t, want, rooms.Part(name), name)
	}
}

func TestARangeHasBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r        rooms.Range
		from, to string
		open     bool
	}{
		{rooms.Range{Prefix: "p/"}, "p/", "p/\xff", false},
		{rooms.Range{Prefix: "p/", After: "p/3"}, "p/3", "p/\xff", true},
		{rooms.Range{Prefix: "p/", After: "o"}, "p/", "p/\xff", false},
		{rooms.Range{Prefix: "p/", Before: "p/7"}, "p/", "p/7", false},
		{rooms.Range{Prefix: "p/", After: "p/3", Before: "q"}, "p/3", "p/\xff", true},
		{rooms.Range{Prefix: "p/", After: "p/", Back: true}, "p/", "p/\xff", true},
	} {
		from, open, to := c.r.Bounds()
		require.Equal(t, c.from, from, c.r)
		require.Equal(t, c.to, to, c.r)
		require.Equal(t, c.open, open, c.r)
	}
}
