// Package storecmd has the commands on stores and on sealed histories.
package storecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// plainly is printed whenever an archive is made.
const plainly = "An archive holds everything in plain text: memories, dreams, vectors, what models answered, the ledger. Its file is its owner's alone (mode 0600); keep it as you keep the store."

// Store builds the command oneiros store.
func Store(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "store", Short: "Move everything that is kept to another store, or to and from a file",
		GroupID: cli.DeploymentGroup,
		Long: `Store hands over everything that Oneiros keeps: agents, memories with every revision and vector, events, the ledger,
who is awake. docs/storage.md says when to use which store, docs/backup.md how to back one up and to restore it, and
docs/retention.md what is removed with time.`,
	}
	cmd.AddCommand(storeInfo(app), storeMove(app), storeExport(app), storeImport(app), storeVerify(app), storeNew(app),
		storeSweep(app))
	return cmd
}

func storeInfo(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "info", Short: "Say what the configured store keeps, and who uses it",
		Long: `Info reads everything once and counts it. The checksum is of the content alone: two stores that keep the same have the
same, whichever kind they are, and so has an archive of them.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			d, err := app.Backend.StoreToRead(ctx)
			if err != nil {
				return err
			}
			defer d.Store.Close()
			tally, err := untorn(func() (memory.Tally, error) { return archive.Count(d.Store.Export(ctx)) })
			if err != nil {
				return err
			}
			work, err := atWork(ctx, app, d)
			if err != nil {
				return err
			}
			if app.Json {
				return app.Answer(
					map[string]any{"store": d.Name, "keeps": publicTallyOf(tally), "in_use": cli.OrEmpty(work)})
			}
			app.Fields(
				app.Out,
				append(
					[]string{"store", d.Name},
					append(tallyFields(tally), "in use", strings.Join(work, "; "))...)...)
			return nil
		},
	}
}

func storeMove(app *cli.App) *cobra.Command {
	var p deploy.StorePlace
	var force bool
	cmd := &cobra.Command{
		Use: "move", Short: "Move everything to another store: a Redis server or a SQLite file",
		Long: `Move reads the configured store and fills an empty other one with everything in it, in one step: when it fails, or the
machine does, the other store is as empty as before. It reads both again and compares. The old store is left as it is; what is to
be set then, and what to do with the old one, is printed.

Nothing may write meanwhile. Move refuses while an agent dreams or is held awake, and while a worker or server uses either store,
as far as it can know; --force goes on all the same, and what is written in between stays behind.`,
		Example: "  oneiros store move --to redis://127.0.0.1:6379/0\n  oneiros store move --to /var/lib/oneiros/oneiros.db",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if p.To == "" {
				return exit.Usagef("--to is missing; it names a Redis server (redis://host:6379/0) or a file")
			}
			from, err := app.Backend.StoreToRead(ctx)
			if err != nil {
				return err
			}
			defer from.Store.Close()
			to, err := app.Backend.OtherStore(ctx, p)
			if err != nil {
				return err
			}
			defer to.Store.Close()
			return move(ctx, app, from, to, force)
		},
	}
	cmd.Flags().
		StringVar(&p.To, "to", "", "`store` to fill: redis://, rediss:// or unix://, else the name of a file")
	redisFlags(cmd.Flags(), &p.Store)
	cmd.Flags().BoolVar(&force, "force", false, "go on although the store is in use")
	return cmd
}

// redisFlags adds flags for the settings of a Redis server.
func redisFlags(flags *pflag.FlagSet, s *config.Store) {
	flags.StringVar(&s.PasswordEnv, "password-env", "", "`variable` that holds the password of that server")
	flags.StringVar(&s.PasswordFile, "password-file", "", "`file` that holds the password of that server")
	flags.StringVar(&s.Prefix, "prefix", "", "`name` that keys on that server begin with (default: oneiros)")
	flags.StringVar(&s.TLS.CAFile, "ca-file", "", "`file` of the authority that has signed that server's certificate")
	flags.StringVar(&s.TLS.CertFile, "cert-file", "", "`file` of the certificate to show to that server")
	flags.StringVar(&s.TLS.KeyFile, "key-file", "", "`file` of the key of that certificate")
	flags.StringVar(&s.TLS.ServerName, "server-name", "", "`name` to expect in that server's certificate")
	flags.StringVar(&s.Sentinel.User, "sentinel-user", "", "`user` of the Sentinels of that server")
	flags.StringVar(&s.Sentinel.PasswordEnv, "sentinel-password-env", "", "`variable` that holds the Sentinels' password")
	flags.BoolVar(&s.TrustServer, "trust-server", false, "fill a server that may lose data in a crash")
}

// tornTries is how often a move or an export is repeated because others wrote meanwhile.
const tornTries = 3

func move(ctx context.Context, app *cli.App, from, to deploy.Deposit, force bool) error {
	if from.Name == to.Name {
		return exit.Usagef("%s is the configured store itself; name another", to.Name)
	}
	work, err := atWork(ctx, app, from)
	if err == nil {
		err = idle(from, work, force)
	}
	if err == nil {
		err = refuseListeners(ctx, app, to, force)
	}
	if err != nil {
		return dropped(to, err)
	}
	begun := app.Now()
	tally, err := untorn(func() (memory.Tally, error) { return to.Store.Import(ctx, from.Store.Export(ctx)) })
	if err != nil {
		return dropped(to, occupied(to, err))
	}
	after, err := archive.Count(from.Store.Export(ctx))
	if err == nil && after != tally {
		err = errors.New("somebody has written to it meanwhile")
	}
	if err != nil {
		return fmt.Errorf(
			"%s is filled, but %s cannot be shown to be the same: %w; stop what uses it, remove what was filled (%s), and move again",
			to.Name, from.Name, err, to.Remove)
	}
	return moved(app, from, to, tally, app.Now().Sub(begun))
}

func moved(app *cli.App, from, to deploy.Deposit, tally memory.Tally, took time.Duration) error {
	if app.Json {
		return app.Answer(
			map[string]any{
				"from": from.Name, "to": to.Name, "moved": publicTallyOf(tally), "seconds": took.Seconds(), "set": to.Use,
				"remove": from.Remove,
			})
	}
	app.Fields(
		app.Out,
		append(
			[]string{"from", from.Name, "to", to.Name},
			append(tallyFields(tally), "took", pace(tally, took))...)...)
	app.Note("Both stores were read again and keep the same. Now set:")
	for _, line := range to.Use {
		app.Note("  %s", line)
	}
	app.Note(
		"The old store is as it was, and nothing must use it from now on. When the new one has proved itself, remove it: %s.",
		from.Remove)
	return nil
}

// fewItems is how many memories are too few to compute a pace.
const fewItems = 1000

func pace(t memory.Tally, took time.Duration) string {
	if took <= 0 || t.Items < fewItems {
		return cli.Lasted(took)
	}
	return fmt.Sprintf("%s, %.0f memories a second", cli.Lasted(took), float64(t.Items)/took.Seconds())
}

// tallyFields are the fields of a tally.
func tallyFields(t memory.Tally) []string {
	return []string{
		"agents", fmt.Sprint(t.Agents),
		"memories",
		fmt.Sprintf("%d in %s, %s", t.Items, cli.Count(t.Revisions, "revision"),
			cli.Count(t.Vectors, "vector")),
		"events", fmt.Sprint(t.Events),
		"ledger",
		fmt.Sprintf("%s, %s%s", cli.Count(t.Attempts, "attempt"),
			cli.Plural(t.Answers, "answer kept", "answers kept"), sumsOf(t)),
		"feeds", fmt.Sprint(t.Feeds),
		"rooms", roomsOf(t),
		"keys", ifAny(t.Keys),
		"sha256", t.SHA256,
	}
}

// sumsOf says how many sums there are of older attempts; empty for none.
func sumsOf(t memory.Tally) string {
	if t.Sums == 0 {
		return ""
	}
	return ", " + cli.Plural(t.Sums, "sum of older ones", "sums of older ones")
}

// roomsOf is how many records of rooms there are; empty for none.
func roomsOf(t memory.Tally) string {
	if t.Rooms == 0 {
		return ""
	}
	return cli.Count(t.Rooms, "record")
}

// ifAny is a number; empty for zero.
func ifAny(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// untorn reads a store to its end, and again where others wrote meanwhile.
func untorn(read func() (memory.Tally, error)) (tally memory.Tally, err error) {
	err = memory.ErrTorn
	for try := 0; try < tornTries && errors.Is(err, memory.ErrTorn); try++ {
		tally, err = read()
	}
	return tally, err
}
