package storecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func storeExport(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "export FILE", Short: "Write everything that the configured store keeps to a file",
		Args: cobra.ExactArgs(1),
		Long: `Export writes an archive: one record of JSON a line, counted and sealed with a checksum, which store import reads into an empty
store of either kind. It may be made while workers run: of a SQLite store it is of one moment, of Redis each agent is, and the ledger.
A file gets its name when it is whole; - is standard output, for a program that encrypts.

` + plainly,
		Example: "  oneiros store export backup.oneiros\n  oneiros store export - | age -r age1... >backup.age",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := app.Backend.StoreToRead(ctx)
			if err != nil {
				return err
			}
			defer d.Store.Close()
			if args[0] == "-" {
				if app.Terminal || app.Json {
					return exit.Usagef("an archive on standard output is for a program: lead it into one, or name a file")
				}
				_, err := archive.Write(app.Out, d.Store.Export(ctx))
				return err
			}
			begun := app.Now()
			tally, err := exportTo(ctx, app, d, args[0])
			if err != nil {
				return err
			}
			if err := archived(app, d, args[0], tally, app.Now().Sub(begun)); err != nil || app.Json {
				return err
			}
			app.Note(plainly)
			return nil
		},
	}
}

// archived reports what was written to an archive or read from it.
func archived(app *cli.App, d deploy.Deposit, file string, tally memory.Tally, took time.Duration) error {
	if app.Json {
		return app.Answer(map[string]any{
			"store": d.Name, "file": file, "kept": publicTallyOf(tally), "seconds": took.Seconds(),
		})
	}
	app.Fields(app.Out, slices.Concat([]string{"store", d.Name, "file", file}, tallyFields(tally),
		[]string{"took", pace(tally, took)})...)
	return nil
}

// publicTally is what a store or an archive holds, for --json.
type publicTally struct {
	memory.Tally
	Stored        *int `json:"lives,omitempty"` // never set; hides the name in archives
	AgentCounters int  `json:"agent_counters"`
}

func publicTallyOf(t memory.Tally) publicTally {
	return publicTally{Tally: t, AgentCounters: t.Counters}
}

// exportTo writes to a temporary file and renames it at the end, so that a file of that name is always whole.
func exportTo(ctx context.Context, app *cli.App, d deploy.Deposit, path string) (tally memory.Tally, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return tally, exit.Usagef("%s is there already; name a new file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial") // mode 0600
	if err != nil {
		return tally, exit.AsUsage(fmt.Errorf("export to %s: %w", path, err))
	}
	defer func() {
		_ = os.Remove(f.Name())
		_ = f.Close()
	}()
	tally, err = untorn(func() (memory.Tally, error) {
		_, err := f.Seek(0, io.SeekStart)
		if err := errors.Join(err, f.Truncate(0)); err != nil {
			return tally, err
		}
		return archive.Write(f, d.Store.Export(ctx))
	})
	if errors.Is(err, memory.ErrTorn) {
		return tally, fmt.Errorf("%w; stop the workers meanwhile, or copy the Redis server's own file (BGSAVE)", err)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return tally, fmt.Errorf("export to %s: %w", path, err)
	}
	return tally, name(f.Name(), path)
}

// name renames a file unless the name is taken by now.
func name(partial, path string) error {
	err := os.Link(partial, path)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		err = os.Rename(partial, path)
	}
	if err != nil {
		return fmt.Errorf("name the archive: %w", err)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	_ = folder.Sync() // where folders can be synced, the name also survives a power cut
	return folder.Close()
}

func storeImport(app *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Fill the configured store, which must be empty, from a file that export wrote",
		Args: cobra.ExactArgs(1),
		Long: `Import reads an archive into the configured store, in one step, and reads the store again before it says that it worked. An
archive that was cut off or altered is refused and leaves nothing, and so does an import that is killed: begin it again. A store that
keeps anything is refused; so is one that a worker or server uses, unless --force is added. - is standard input.

Memories in other people's formats come in by memory import.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			in := app.In
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if errors.Is(err, fs.ErrNotExist) {
					return exit.NotFoundf("import: %w", err)
				}
				if err != nil {
					return exit.AsUsage(err)
				}
				defer func() { _ = f.Close() }()
				in = f
			}
			d, err := app.Backend.StoreToFill(ctx)
			if err != nil {
				return err
			}
			defer d.Store.Close()
			if err := refuseListeners(ctx, app, d, force); err != nil {
				return dropped(d, err)
			}
			begun := app.Now()
			var newest time.Time
			tally, err := d.Store.Import(ctx, memory.NotingTimes(archive.Read(in), &newest))
			if err != nil {
				return dropped(d, occupied(d, err))
			}
			if err := markImported(ctx, d, newest); err != nil {
				return err
			}
			return archived(app, d, args[0], tally, app.Now().Sub(begun))
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "fill the store although others use it")
	return cmd
}

// markImported marks the filled store as of the newest time in the archive, so that processes that knew a later state of
// it can say since when writes are lost.
func markImported(ctx context.Context, d deploy.Deposit, newest time.Time) error {
	store, ok := d.Store.(memory.Aging)
	if !ok || newest.IsZero() {
		return nil
	}
	_, err := store.ChangeSwept(ctx, func(s memory.SweepState) (memory.SweepState, error) {
		s.Continuity.Mark = memory.Mark{Number: 1, At: newest.UTC()}
		return s, nil
	})
	return err
}
