package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestAShellIsOfferedDreamsAndClientsAndNoFiles(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.interrupt(now.Add(time.Hour))
	d.hall.now.Leases = []presence.Lease{{Client: "mara", Cause: presence.Connect, Until: now.Add(time.Hour)}}
	for line, want := range map[string]string{
		"dreams show -a echo ":         "dream/echo/0002\ndream/echo/0001",
		"dreams resume ":               "dream/echo/0002",
		"dreams cancel -a echo ":       "dream/echo/0002",
		"watch ":                       "dream/echo/0002\ndream/echo/0001",
		"dreams show dream/echo/0001 ": "",
		"sleep -a echo --client ":      "mara",
		"wake -a echo --client ":       "mara",
		"agents edit echo --vitality ": "caps",
		"alarm -a echo --trigger ":     "",
	} {
		require.Equal(t, exit.OK, d.run(0, append([]string{"__complete"}, strings.Split(line, " ")...)...),
			d.err.String())
		require.Equal(t, strings.TrimPrefix(want+"\n:4\n", "\n"), d.out.String(), line)
	}
}

func TestASpanIsTypedAsTheConfigurationWritesIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	p := &porter{wake: d.woken()}
	require.Equal(t, exit.OK, d.guarded(p).run(0, "wake", "-a", "echo", "--for", "1d"), d.err.String())
	require.Equal(t, 24*time.Hour, p.connections[0].For)
	d.asleep(&sleeper{}, 0)
	for text, want := range map[string]time.Duration{"10m": 10 * time.Minute, "1d": 24 * time.Hour} {
		require.Equal(t, exit.OK,
			d.run(0, "feed", "add", "tide-"+text, "--url", "https://harbour.example/v1", "--every", text),
			d.err.String())
		kept, err := d.store.Feed(t.Context(), "tide-"+text)
		require.NoError(t, err)
		require.Equal(t, want, kept.Every)
	}
	for _, line := range []string{
		"wake -a echo --for soon",
		"feed add tide --url https://harbour.example/v1 --every soon",
	} {
		require.Equal(t, exit.Usage, d.run(0, strings.Fields(line)...))
		require.Contains(t, d.err.String(), `"soon" must be a duration with its unit, such as 90s, 30m, 12h or 7d`)
	}
}
