package memorycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
)

// mostBad is how many bad lines are listed one by one on a screen.
const mostBad = 10

func memoryImport(app *cli.App) *cobra.Command {
	var format, dialogue, date string
	var strict, bare bool
	cmd := &cobra.Command{
		Use: "import FILE...", Short: "Read memories from files: own JSONL, chats, a ChatGPT export, diaries, LoCoMo",
		Args: cobra.MinimumNArgs(1),
		Long: `Import reads memories from files, - being standard input. The format is found from the file itself:

  jsonl    our own, as memory export writes it
  chat     OpenAI-style chat JSONL, a conversation or a message per line
  chatgpt  conversations.json of a ChatGPT data export
  diary    Markdown or plain text under dated headings
  locomo   dialogues of the LoCoMo benchmark

Memories are found by their words as soon as they are stored. Then they are embedded, which finds them by their meaning: by the
server where oneiros up runs on this data folder and the embedder takes its time, else by this command. Whatever interrupts it,
nothing is lost or paid for twice: a server, another import or oneiros memory embed goes on with what has no vector.

Importing twice adds nothing. A bad line is reported with its number and the rest goes in; with --strict nothing does. An
import that finds nothing at all, neither new nor known, says what it expected and exits with 1.`,
	}
	view.AddAgentFlag(app, cmd)
	cmd.Flags().StringVar(&format, "format", "",
		"jsonl, chat, chatgpt, diary or locomo; found from the file when absent")
	cmd.Flags().StringVar(&dialogue, "dialogue", "",
		"of a LoCoMo file, only this dialogue: sample `id` or number from 1")
	cmd.Flags().StringVar(&date, "date", "",
		"of records that have none: a `day` such as 2026-03-05, or file for the file's own time")
	cmd.Flags().BoolVar(&strict, "strict", false, "write nothing when a single line is bad")
	cmd.Flags().BoolVar(&bare, "no-vectors", false, "do not embed the memories now; the next dream will")
	view.Completes(app, cmd, "format", view.Fixed(formats.Formats))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if format != "" && !cli.OneOf(format, formats.Formats) {
			return exit.Usagef("--format %s is unknown; formats are %s", format, formats.Names())
		}
		a, err := view.AgentOf(app, cmd)
		if err != nil {
			return err
		}
		day, err := dayOf(app, date, a)
		if err != nil {
			return err
		}
		defer view.Using(ctx, app, a.Handle)()
		files, drop, err := sources(app, args)
		if err != nil {
			return err
		}
		defer drop()
		bar := newMeter(app, "importing")
		opts := importer.Options{
			Format:    formats.Format(format),
			Dialogue:  dialogue,
			Strict:    strict,
			Now:       app.Now(),
			Progress:  bar.move,
			Date:      day,
			FileTime:  date == fileTime,
			HalfLife:  app.Knobs.HalfLife,
			FadeBelow: app.Knobs.FadeBelow,
			Due: func(at time.Time, strength float64) time.Time {
				return forgetting.Due(at, strength, app.Knobs.HalfLife, 0, app.Knobs.FadeBelow)
			},
		}
		if !bare {
			opts.Storing = func(ctx context.Context) error {
				return importer.RequestEmbedding(ctx, app.Jobs, a, app.Now())
			}
		}
		report, err := importer.Import(ctx, app.Store, a, files, opts)
		bar.done()
		if errors.Is(err, importer.ErrUndated) {
			return exit.Usagef(
				"import: %w; say when it was with --date 2026-03-05, or take the time that the file was last changed, %s, with --date file",
				err, files[0].ModTime.In(cli.Location(a.Zone)).Format(time.DateOnly))
		}
		if bare || err != nil || report.Nothing() {
			return imported(app, a, report, nil, err)
		}
		if err := importer.RequestEmbedding(ctx, app.Jobs, a, app.Now()); err != nil {
			return err
		}
		if !app.Json { // what is stored counts at once; embedding may take long
			if err := imported(app, a, report, nil, nil); err != nil {
				return err
			}
		}
		outcome, failed := embedImported(ctx, app, a)
		if app.Json {
			return errors.Join(imported(app, a, report, &outcome, nil), failed)
		}
		reportEmbedded(app, a, outcome)
		return failed
	}
	return cmd
}

// fileTime is the value of --date that gives undated records the time of their file.
const fileTime = "file"

// dayOf is noon of the given day in the agent's time zone; zero for none.
func dayOf(app *cli.App, text string, a dream.Agent) (time.Time, error) {
	if text == "" || text == fileTime {
		return time.Time{}, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, cli.Location(a.Zone))
	if err != nil || day.After(app.Now()) || day.Year() < 1700 {
		return day,
			exit.Usagef(
				"--date is %q; it must be a day from 1700 until today, such as 2026-03-05, or file for the file's own time",
				text)
	}
	noon := day.Add(12 * time.Hour)
	if noon.After(app.Now()) {
		noon = app.Now()
	}
	return noon, nil
}

// sources opens the named files. Standard input is copied to a temporary file, since it is read twice.
func sources(app *cli.App, names []string) ([]importer.File, func(), error) {
	var files []importer.File
	var kept []string
	drop := func() {
		for _, path := range kept {
			_ = os.Remove(path)
		}
	}
	for _, name := range names {
		path := name
		if name == "-" {
			f, err := os.CreateTemp("", "oneiros-import-*")
			if err != nil {
				return nil, drop, err
			}
			kept, path = append(kept, f.Name()), f.Name()
			if _, err := io.Copy(f, app.In); err != nil {
				return nil, drop, errors.Join(err, f.Close())
			}
			if err := f.Close(); err != nil {
				return nil, drop, err
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			drop()
			return nil, drop, exit.NotFoundf("import: %w", err)
		}
		if info.IsDir() {
			drop()
			return nil, drop,
				exit.Usagef("import: %s is a folder; name its files, as in %s", name, filepath.Join(name, "*"))
		}
		files = append(files, importer.File{
			Name: name, Size: info.Size(), ModTime: info.ModTime(),
			Open: func() (io.ReadCloser, error) { return os.Open(path) },
		})
	}
	return files, drop, nil
}

// imported reports the result of an import.
func imported(app *cli.App, a dream.Agent, r importer.Report, embedded *embedOutcome, failed error) error {
	if failed != nil && !errors.Is(failed, importer.ErrStrict) {
		return fmt.Errorf("import into the memory of %s: %w", a.Handle, failed)
	}
	if failed == nil && r.Nothing() {
		failed = nothingIn(a, r)
	}
	if app.Json {
		r.Bad, r.Formats = cli.OrEmpty(r.Bad), cli.OrEmpty(r.Formats)
		result := struct {
			importer.Report
			Embedding *embedOutcome `json:"embedding,omitempty"`
		}{r, embedded}
		if err := app.Answer(result); err != nil {
			return err
		}
		return failed
	}
	for i, bad := range r.Bad {
		if i == mostBad {
			break
		}
		app.Note("  %s", bad)
	}
	if more := r.BadCount - int64(min(len(r.Bad), mostBad)); more > 0 {
		app.Note("  and %d more; --json lists up to %d", more, importer.MaxBad)
	}
	if failed != nil {
		return failed
	}
	app.Say("%s remembers %d new: %s and %s read, %d known already, %s.", a.Handle, r.Added,
		cli.Count(r.Episodes, "episode"),
		cli.Plural(r.Semantics, "piece of knowledge", "pieces of knowledge"), r.Existing,
		cli.Plural(int(r.BadCount), "bad line left out", "bad lines left out"))
	if !r.First.IsZero() {
		app.Say("They reach from %s to %s.", cli.Day(r.First, a.Zone), cli.Day(r.Last, a.Zone))
	}
	return nil
}

// nothingIn is the error of an import that found nothing: what each format expects.
func nothingIn(a dream.Agent, r importer.Report) error {
	var expected []string
	for _, f := range slices.Compact(slices.Sorted(slices.Values(r.Formats))) {
		expected = append(expected, fmt.Sprintf("read as %s, it must hold %s", f, f.Expects()))
	}
	return exit.Errorf(exit.Failure,
		"nothing was imported into the memory of %s: %s, no memory found; %s; with --format it is read as another format (%s)",
		a.Handle, cli.Count(int(r.BadCount), "bad line"), strings.Join(expected, "; "), formats.Names())
}

func memoryExport(app *cli.App) *cobra.Command {
	var output string
	var kinds []string
	var all bool
	cmd := &cobra.Command{Use: "export", Short: "Give a memory back as JSONL, which memory import reads"}
	cmd.Flags().StringVarP(&output, "output", "o", "-", "the `file` to write; - is standard output")
	cmd.Flags().StringSliceVarP(&kinds, "kind", "k", nil, "only these `kinds`")
	cmd.Flags().BoolVar(&all, "all", false, "archived and superseded memories as well")
	view.Completes(app, cmd, "kind", view.Fixed(dream.KindNames()))
	return view.ForAgent(app, cmd, func(ctx context.Context, a dream.Agent, _ []string) error {
		q, err := (&view.ListFlags{Kinds: kinds}).Query(a, app.Now())
		if err != nil {
			return err
		}
		n := 0
		err = writeOutput(app, output, func(w io.Writer) (err error) {
			n, err = importer.Export(ctx, app.Store, a, w,
				importer.ExportOptions{Archived: all, Kinds: q.Kinds})
			return err
		})
		if err == nil && output != "-" {
			app.Note("%s written to %s.", cli.Plural(n, "memory", "memories"), output)
		}
		return err
	})
}

// writeOutput writes to a file, whole or not at all, or to standard output.
func writeOutput(app *cli.App, path string, write func(io.Writer) error) error {
	if path == "-" || path == "" {
		return write(app.Out)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = write(f)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// meter is a progress bar on one line of a terminal; elsewhere it prints nothing.
type meter struct {
	app   *cli.App
	what  string
	drawn time.Time
	shown bool
}

func newMeter(app *cli.App, what string) *meter { return &meter{app: app, what: what} }

const barWidth = 30

func (m *meter) move(done, total int64) {
	if !m.app.Terminal || m.app.Json || total <= 0 {
		return
	}
	if now := m.app.Now(); done < total && now.Sub(m.drawn) < 100*time.Millisecond {
		return
	} else {
		m.drawn = now
	}
	full := int(done * barWidth / total)
	fmt.Fprintf(m.app.Err, "\r%s %s%s %3d %%", m.what, strings.Repeat("█", full), strings.Repeat("░", barWidth-full),
		done*100/total)
	m.shown = true
}

func (m *meter) done() {
	if m.shown {
		fmt.Fprint(m.app.Err, "\r\x1b[K")
	}
}
