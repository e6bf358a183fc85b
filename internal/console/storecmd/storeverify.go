package storecmd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func storeVerify(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "verify [ARCHIVE]", Short: "Check the configured store, or an archive, for damage",
		Args: cobra.MaximumNArgs(1),
		Long: `Verify reads everything and says what it checked. Of a SQLite file it checks every page and the rows that belong together; of a Redis
server whether it could persist its writes, and the keys that belong together; of both every record, with the sums of the ledger added
up again. Of an archive it checks that every record can be read, and the counts and the checksum at its end.

It changes nothing, and workers may run meanwhile. It exits with 7 when anything is damaged. docs/backup.md says what to do then.`,
		Example: "  oneiros store verify\n  oneiros store verify backup.oneiros",
		RunE: func(cmd *cobra.Command, args []string) error {
			begun := app.Now()
			name, found, err := verify(cmd.Context(), app, args)
			if err != nil {
				return err
			}
			return verified(app, name, found, app.Now().Sub(begun))
		},
	}
}

// verify checks the configured store, or the archive that is named.
func verify(ctx context.Context, app *cli.App, args []string) (name string, found memory.Integrity, err error) {
	if len(args) == 1 {
		found, err = verifyArchive(args[0])
		return args[0], found, err
	}
	d, err := app.Backend.StoreToRead(ctx)
	if deploy.Damaged(err) {
		found.Faults = append(found.Faults, err.Error())
		return d.Name, found, nil
	}
	if err != nil {
		return "", found, err
	}
	defer d.Store.Close()
	found, err = deploy.Verify(ctx, d.Store)
	return d.Name, found, err
}

func verifyArchive(path string) (found memory.Integrity, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, exit.NotFoundf("verify: %w", err)
	}
	if err != nil {
		return found, exit.AsUsage(err)
	}
	defer func() { _ = f.Close() }()
	_, err = archive.Count(archive.Read(f))
	if err != nil {
		found.Faults = append(found.Faults, err.Error())
		return found, nil
	}
	found.Checked = append(found.Checked, "every record", "counts and checksum", "the sums of the ledger")
	return found, nil
}

// verified reports what was checked, and fails when anything is damaged.
func verified(app *cli.App, name string, found memory.Integrity, took time.Duration) error {
	if app.Json {
		err := app.Answer(map[string]any{
			"store":   name,
			"checked": cli.OrEmpty(found.Checked),
			"skipped": cli.OrEmpty(found.Skipped),
			"faults":  cli.OrEmpty(found.Faults),
			"seconds": took.Seconds(),
		})
		if err != nil {
			return err
		}
	} else {
		app.Fields(app.Out,
			"store", name,
			"checked", strings.Join(found.Checked, "\n"),
			"not checked", strings.Join(found.Skipped, "\n"),
			"damaged", strings.Join(found.Faults, "\n"),
			"took", took.Round(time.Millisecond).String())
	}
	if len(found.Faults) > 0 {
		return exit.Errorf(exit.Unwell, "%s is damaged: %s; keep a copy of it, and restore the last good backup "+
			"(docs/backup.md)", name, strings.Join(found.Faults, "; "))
	}
	return nil
}
