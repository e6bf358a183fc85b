package console_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

func TestEveryFaultHasItsExitCode(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().asleep(&sleeper{outcome: dream.Completed}, 0)
	for line, code := range map[string]int{
		"agents edit echo":                                  console.Usage,
		"dream -a echo --budget $5":                         console.Refused,
		"dream -a echo --theme " + strings.Repeat("t", 501): console.Usage,
		"spend --dream 99":                                  console.NotFound,
		"spend --dream dream/echo/0001":                     console.OK,
		"spend -a echo --dream 1":                           console.OK,
		"spend --day yesterday":                             console.Usage,
		"spend --phase sleep":                               console.Usage,
		"fragments list -a echo --status asleep":            console.Usage,
		"fragments list -a echo --status correct":           console.Usage,
		"dreams list -a echo --status completed":            console.OK,
		"memory list -a echo --status correct":              console.OK,
		"fragments list -a echo --status selected":          console.OK,
		"completion tcsh":                                   console.Usage,
		"stor --help":                                       console.Usage,
		"dreams shwo --help":                                console.Usage,
		"help stor":                                         console.Usage,
		"help dreams shwo":                                  console.Usage,
		"--help":                                            console.OK,
		"help":                                              console.OK,
		"help dreams show":                                  console.OK,
		"help exit-codes":                                   console.OK,
		"dreams --help":                                     console.OK,
		"dreams show x --help":                              console.OK,
	} {
		require.Equal(t, code, d.run(80, strings.Fields(line)...), "%s: %s", line, d.err.String())
	}
}

func TestAServerThatDoesNotAnswerIsUnreachable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		memory.ErrAway, context.DeadlineExceeded, console.ErrNoServer, serviceerror.NewUnavailable("gone"),
		serviceerror.NewDeadlineExceeded("late"),
		&net.OpError{Op: "dial", Err: errors.New("connection refused")},
	} {
		require.Equal(t, console.Unreachable, console.Code(fmt.Errorf("agent echo: %w", err)), err.Error())
	}
	require.Equal(t, console.Refused, console.Code(console.ErrDreaming))
	require.Equal(t, console.Failure, console.Code(context.Canceled))
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnAnswerThatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, console.OK, d.run(0, "dreams", "list", "-a", "echo"))
	d.app.Out = full{}
	require.Equal(t, console.Failure, console.Run(t.Context(), d.app, []string{"dreams", "list", "-a", "echo"}))
	require.Contains(t, d.err.String(), "write the answer: no space left on device")
}

func TestIdsAreUnderstoodAsListsWriteThem(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for _, line := range []string{
		"fragments show -a echo 0001/f1", "memory show 0001/f1", "memory show 0001/nrem/back…",
		"dreams show 0001 -a echo", "memory list -a echo --dream 0001",
	} {
		require.Equal(t, console.OK, d.run(80, strings.Fields(line)...), "%s: %s", line, d.err.String())
	}
	require.Equal(t, console.OK,
		d.run(80, "memory", "forget", "-a", "echo", "0001/f2", "dream/echo/0001/f2", "--yes"), d.err.String())
	require.Contains(t, d.out.String(), "1 memory forgotten")
	require.Equal(t, console.NotFound, d.run(80, "memory", "show", "dream/echo/0001/f2"))
}

func TestANarrowListTellsBeneathWhyADreamDidNotComplete(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	record, err := memory.One[*dream.Record](context.Background(), d.store, "echo", dreamID)
	require.NoError(t, err)
	record.Outcome, record.Reason = dream.Exhausted,
		"the cap of the dream was reached in nrem, and nothing could be bought after that any more"
	_, err = d.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: "test", Change: []dream.Item{record}})
	require.NoError(t, err)
	require.Equal(t, console.OK, d.run(80, "dreams", "list", "-a", "echo"))
	d.golden("dreams-list-reason-80")
}
