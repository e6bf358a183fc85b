package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/archive"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// StoreCommand holds the functions behind the commands that move a store.
type StoreCommand struct {
	Here  func(ctx context.Context) (Deposit, error)               // the configured store, to be read
	Fill  func(ctx context.Context) (Deposit, error)               // the configured store, to be filled
	There func(ctx context.Context, p StorePlace) (Deposit, error) // another store, to be filled

	// Absent reports whether the configured file is missing or empty.
	Absent func(ctx context.Context) (path string, absent bool, err error)
	Begin  func(ctx context.Context) error // creates it
}

// StorePlace names a store other than the configured one.
type StorePlace struct {
	To          string // a Redis server's address, or a file
	PasswordEnv string // the variable that holds the server's password
	Trust       bool   // accept a server that may lose data
}

// Deposit is a store opened to be moved or filled. An import that was cut off does not hinder the next one.
type Deposit struct {
	Store interface {
		memory.Store
		memory.Movable
		presence.Store
	}
	Name   string   // its file, or its address without the password
	Use    []string // the settings with which Oneiros uses it
	Remove string   // how to remove it when it is no longer needed
	Drop   func()   // removes it at once if opening has made it; nil otherwise
}

// plainly is printed whenever an archive is made.
const plainly = "An archive holds everything in plain text: memories, dreams, vectors, what models answered, the ledger. Its file is its owner's alone (mode 0600); keep it as you keep the store."

func (app *App) store() *cobra.Command {
	cmd := &cobra.Command{
		Use: "store", Short: "Move everything that is kept to another store, or to and from a file",
		GroupID: deployment,
		Long:    "Store hands over everything that Oneiros keeps: agents, memories with every revision and vector, events, the ledger, who is awake.\ndocs/storage.md says when to use which store, and how to back one up.",
	}
	cmd.AddCommand(app.storeInfo(), app.storeMove(), app.storeExport(), app.storeImport(), app.storeNew())
	return cmd
}

func (app *App) storeInfo() *cobra.Command {
	return &cobra.Command{
		Use: "info", Short: "Say what the configured store keeps, and who uses it",
		Long: `Info reads everything once and counts it. The checksum is of the content alone: two stores that keep the same have the
same, whichever kind they are, and so has an archive of them.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := app.Stores.Here(cmd.Context())
			if err != nil {
				return err
			}
			defer d.Store.Close()
			tally, err := counted(cmd.Context(), d)
			if err != nil {
				return err
			}
			work, err := app.atWork(cmd.Context(), d)
			if err != nil {
				return err
			}
			if app.json {
				return app.answer(map[string]any{"store": d.Name, "keeps": publicTallyOf(tally), "in_use": orEmpty(work)})
			}
			app.fields(app.Out,
				append([]string{"store", d.Name}, append(app.keeps(tally), "in use", strings.Join(work, "; "))...)...)
			return nil
		},
	}
}

func (app *App) storeMove() *cobra.Command {
	var p StorePlace
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
			if p.To == "" {
				return exit(Usage, "--to is missing; it names a Redis server (redis://host:6379/0) or a file")
			}
			from, err := app.Stores.Here(cmd.Context())
			if err != nil {
				return err
			}
			defer from.Store.Close()
			to, err := app.Stores.There(cmd.Context(), p)
			if err != nil {
				return err
			}
			defer to.Store.Close()
			return app.move(cmd.Context(), from, to, force)
		},
	}
	cmd.Flags().StringVar(&p.To, "to", "", "`store` to fill: redis://, rediss:// or unix://, else the name of a file")
	cmd.Flags().StringVar(&p.PasswordEnv, "password-env", "", "`variable` that holds the password of that server")
	cmd.Flags().BoolVar(&p.Trust, "trust-server", false, "fill a server that may lose data in a crash")
	cmd.Flags().BoolVar(&force, "force", false, "go on although the store is in use")
	return cmd
}

// tornTries is how often a move or an export is repeated because others wrote meanwhile.
const tornTries = 3

func (app *App) move(ctx context.Context, from, to Deposit, force bool) error {
	if from.Name == to.Name {
		return exit(Usage, "%s is the configured store itself; name another", to.Name)
	}
	work, err := app.atWork(ctx, from)
	if err == nil {
		err = idle(from, work, force)
	}
	if err == nil {
		err = app.refuseListeners(ctx, to, force)
	}
	if err != nil {
		return dropped(to, err)
	}
	begun := app.Now()
	var tally memory.Tally
	err = memory.ErrTorn
	for try := 0; try < tornTries && errors.Is(err, memory.ErrTorn); try++ {
		tally, err = to.Store.Import(ctx, from.Store.Export(ctx))
	}
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
	return app.moved(from, to, tally, app.Now().Sub(begun))
}

func (app *App) moved(from, to Deposit, tally memory.Tally, took time.Duration) error {
	if app.json {
		return app.answer(
			map[string]any{
				"from": from.Name, "to": to.Name, "moved": publicTallyOf(tally), "seconds": took.Seconds(), "set": to.Use,
				"remove": from.Remove,
			})
	}
	app.fields(app.Out,
		append([]string{"from", from.Name, "to", to.Name}, append(app.keeps(tally), "took", pace(tally, took))...)...)
	app.note("Both stores were read again and keep the same. Now set:")
	for _, line := range to.Use {
		app.note("  %s", line)
	}
	app.note(
		"The old store is as it was, and nothing must use it from now on. When the new one has proved itself, remove it: %s.",
		from.Remove)
	return nil
}

// fewItems is how many memories are too few to compute a pace.
const fewItems = 1000

func pace(t memory.Tally, took time.Duration) string {
	if took <= 0 || t.Items < fewItems {
		return lasted(took)
	}
	return fmt.Sprintf("%s, %.0f memories a second", lasted(took), float64(t.Items)/took.Seconds())
}

// keeps are the fields of a tally.
func (app *App) keeps(t memory.Tally) []string {
	return []string{
		"agents", fmt.Sprint(t.Agents),
		"memories",
		fmt.Sprintf("%d in %s, %s", t.Items, plural(t.Revisions, "revision", "revisions"),
			plural(t.Vectors, "vector", "vectors")),
		"events", fmt.Sprint(t.Events),
		"ledger",
		fmt.Sprintf("%s, %s", plural(t.Attempts, "attempt", "attempts"),
			plural(t.Answers, "answer kept", "answers kept")),
		"feeds", fmt.Sprint(t.Feeds),
		"keys", ifAny(t.Keys),
		"sha256", t.SHA256,
	}
}

// ifAny is a number; empty for zero.
func ifAny(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// counted reads a store to its end.
func counted(ctx context.Context, d Deposit) (tally memory.Tally, err error) {
	err = memory.ErrTorn
	for try := 0; try < tornTries && errors.Is(err, memory.ErrTorn); try++ {
		tally, err = archive.Count(d.Store.Export(ctx))
	}
	return tally, err
}
