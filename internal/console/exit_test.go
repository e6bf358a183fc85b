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

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
)

func TestEveryFaultHasItsExitCode(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish().asleep(&sleeper{outcome: dream.Completed}, 0)
	for line, code := range map[string]int{
		"agents edit echo":                                  exit.Usage,
		"dream -a echo --budget $5":                         exit.Refused,
		"dream -a echo --theme " + strings.Repeat("t", 501): exit.Usage,
		"spend --dream 99":                                  exit.NotFound,
		"spend --dream dream/echo/0001":                     exit.OK,
		"spend -a echo --dream 1":                           exit.OK,
		"spend --day yesterday":                             exit.Usage,
		"spend --phase sleep":                               exit.Usage,
		"fragments list -a echo --status asleep":            exit.Usage,
		"fragments list -a echo --status correct":           exit.Usage,
		"dreams list -a echo --status completed":            exit.OK,
		"memory list -a echo --status correct":              exit.OK,
		"fragments list -a echo --status selected":          exit.OK,
		"completion tcsh":                                   exit.Usage,
		"stor --help":                                       exit.Usage,
		"dreams shwo --help":                                exit.Usage,
		"help stor":                                         exit.Usage,
		"help dreams shwo":                                  exit.Usage,
		"--help":                                            exit.OK,
		"help":                                              exit.OK,
		"help dreams show":                                  exit.OK,
		"help exit-codes":                                   exit.OK,
		"dreams --help":                                     exit.OK,
		"dreams show x --help":                              exit.OK,
	} {
		require.Equal(t, code, d.run(80, strings.Fields(line)...), "%s: %s", line, d.err.String())
	}
}

func TestAServerThatDoesNotAnswerIsUnreachable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		memory.ErrAway, context.DeadlineExceeded, deploy.ErrNoServer, serviceerror.NewUnavailable("gone"),
		serviceerror.NewDeadlineExceeded("late"),
		&net.OpError{Op: "dial", Err: errors.New("connection refused")},
	} {
		require.Equal(t, exit.Unreachable, cli.Code(fmt.Errorf("agent echo: %w", err)), err.Error())
	}
	require.Equal(t, exit.Refused, cli.Code(starter.ErrDreaming))
	require.Equal(t, exit.Failure, cli.Code(context.Canceled))
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnAnswerThatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(0, "dreams", "list", "-a", "echo"))
	d.app.Out = full{}
	require.Equal(t, exit.Failure, console.Run(t.Context(), d.app, []string{"dreams", "list", "-a", "echo"}))
	require.Contains(t, d.err.String(), "write the answer: no space left on device")
}

func TestIdsAreUnderstoodAsListsWriteThem(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for _, line := range []string{
		"fragments show -a echo 0001/f1", "memory show 0001/f1", "memory show 0001/nrem/back…",
		"dreams show 0001 -a echo", "memory list -a echo --dream 0001",
	} {
		require.Equal(t, exit.OK, d.run(80, strings.Fields(line)...), "%s: %s", line, d.err.String())
	}
	require.Equal(t, exit.OK,
		d.run(80, "memory", "forget", "-a", "echo", "0001/f2", "dream/echo/0001/f2", "--yes"), d.err.String())
	require.Contains(t, d.out.String(), "1 memory forgotten")
	require.Equal(t, exit.NotFound, d.run(80, "memory", "show", "dream/echo/0001/f2"))
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
	require.Equal(t, exit.OK, d.run(80, "dreams", "list", "-a", "echo"))
	d.golden("dreams-list-reason-80")
}
