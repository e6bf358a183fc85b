package importer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
)

var sources = []string{
	"own.jsonl", "own-bad.jsonl", "chat.jsonl", "chatgpt.json", "diary.md", "diary-windows.txt",
	"diary-undated.txt", "locomo.json",
}

func TestEveryFormatBecomesTheseMemories(t *testing.T) {
	t.Parallel()
	for _, name := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := someone("a")
			s := store(t, a)
			report := importFiles(t, s, a, options(), testdata(t, name))
			var b strings.Builder
			fmt.Fprintf(&b, "read %d, added %d, known %d, bad %d, episodes %d, knowledge %d, %s to %s\n", report.Read,
				report.Added, report.Existing,
				report.BadCount, report.Episodes, report.Semantics, report.First.Format(time.RFC3339Nano),
				report.Last.Format(time.RFC3339Nano))
			for _, bad := range report.Bad {
				fmt.Fprintln(&b, bad)
			}
			for _, e := range episodes(t, s, "a") {
				fmt.Fprintf(&b,
					"\n%s %s %s salience %.4f surprise %.4f affect %v\nspeaker %q session %q origin %s derived %v\ncontent: %s\ncontext: %s\naction:  %s\noutcome: %s\n",
					e.ID, e.At.Format(time.RFC3339Nano), e.Taint, e.Salience, e.Surprise, e.Affect, e.Speaker,
					e.Session, e.Origin, e.Derived, e.Content, e.Context, e.Action, e.Outcome)
			}
			for _, k := range find[*dream.Semantic](t, s, "a", dream.KindSemantic) {
				fmt.Fprintf(&b, "\n%s %s strength %.4f due %s sources %v derived %v\n%s\n", k.ID, k.Taint, k.Strength,
					k.Due.Format(time.RFC3339), k.Sources, k.Derived, k.Content)
			}
			golden(t, filepath.Join("golden", name+".txt"), b.String())
		})
	}
}

func TestImportingTwiceAddsNothing(t *testing.T) {
	t.Parallel()
	for _, name := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := someone("a")
			s := store(t, a)
			first := importFiles(t, s, a, options(), testdata(t, name))
			require.Positive(t, first.Added)
			again := testdata(t, name)
			again.ModTime = now.Add(-time.Hour) // copied since
			a.Zone = "Asia/Tokyo"               // and moved since
			opts := options()
			opts.Now = now.Add(24 * time.Hour)
			second := importFiles(t, s, a, opts, again)
			require.Zero(t, second.Added)
			require.Equal(t, first.Added, second.Existing)
		})
	}
}

func TestNothingThatADreamReadsIsBlank(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	files := []importer.File{text("year.jsonl", year(120))}
	for _, name := range sources {
		files = append(files, testdata(t, name))
	}
	importFiles(t, s, a, options(), files...)
	for _, e := range episodes(t, s, "a") {
		for _, field := range []string{e.Context, e.Action, e.Outcome, e.Content} {
			require.NotEmpty(t, strings.TrimSpace(field), e.ID)
		}
		require.NotEmpty(t, e.Taint, e.ID)
		require.NoError(t, e.Affect.Validate())
		require.GreaterOrEqual(t, e.Surprise, 0.0)
		require.LessOrEqual(t, e.Surprise, 1.0)
	}
}

func TestEverySelectionListIsFilled(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 11, 48, 120, 700} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			a := someone("a")
			s := store(t, a)
			importFiles(t, s, a, options(), text("year.jsonl", year(n)))
			ctx := context.Background()
			salient, err := s.Count(ctx,
				memory.Query{Agent: "a", Kinds: []dream.Kind{dream.KindEpisode}, SalientFrom: .7})
			require.NoError(t, err)
			require.GreaterOrEqual(t, salient, 1)
			require.LessOrEqual(t, salient, n/10+1)
			fading, err := s.Find(ctx,
				memory.Query{Agent: "a", Kinds: []dream.Kind{dream.KindSemantic}, Sort: memory.SoonestDue, Limit: 20})
			require.NoError(t, err)
			if n >= 48 {
				require.NotEmpty(t, fading)
			}
			for _, item := range fading {
				require.True(t, item.Marks().Due.After(now), "nothing is overdue on arrival")
				require.Greater(t, len(item.Header().Sources), 1, "what one episode says is no knowledge of its own")
				require.Contains(t, item.Header().Derived, "content")
			}
		})
	}
}

func TestTenEqualEpisodesStillHaveASalientOne(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, `{"at":"2026-01-%02dT00:00:00Z","content":"..."}`+"\n", i+1)
	}
	importFiles(t, s, a, options(), text("dots.jsonl", b.String()))
	n, err := s.Count(context.Background(), memory.Query{Agent: "a", SalientFrom: .7})
	require.NoError(t, err)
	require.Positive(t, n)
}

func TestABadLineIsReportedAndTheRestIsImported(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	report := importFiles(t, s, a, options(), testdata(t, "own-bad.jsonl"))
	require.EqualValues(t, 12, report.BadCount)
	require.EqualValues(t, 2, report.Read)
	require.Equal(t, 2, report.Added)
	require.Equal(t, importer.BadLine{File: "own-bad.jsonl", Line: 2, Reason: "a line must be a JSON object"},
		report.Bad[0])
}

func TestStrictWritesNothingWhenOneLineIsBad(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	opts := options()
	opts.Strict = true
	files := []importer.File{text("year.jsonl", year(1200)), testdata(t, "own-bad.jsonl")}
	report, err := importer.Import(context.Background(), s, a, files, opts)
	require.ErrorIs(t, err, importer.ErrStrict)
	require.ErrorContains(t, err, "12 bad records, the first is own-bad.jsonl:2")
	require.Zero(t, report.Added)
	n, err := s.Count(context.Background(), memory.Query{Agent: "a"})
	require.NoError(t, err)
	require.Zero(t, n)
	require.Positive(t, importFiles(t, s, a, opts, text("year.jsonl", year(20))).Added)
}

func TestOnlyAThousandBadLinesAreListed(t *testing.T) {
	t.Parallel()
	a := someone("a")
	report := importFiles(t, store(t, a), a, options(), text("noise.jsonl", strings.Repeat("noise\n", 2500)))
	require.Len(t, report.Bad, importer.MaxBad)
	require.EqualValues(t, 2500, report.BadCount)
}

func TestALineBeyondTheBoundIsBadAndTheNextIsRead(t *testing.T) {
	t.Parallel()
	a := someone("a")
	long := `{"at":"2026-01-01T00:00:00Z","content":"` + strings.Repeat("x", formats.MaxLine) + `"}`
	report := importFiles(t, store(t, a), a, options(),
		text("long.jsonl", long+"\n"+`{"at":"2026-01-01T00:00:00Z","content":"Short."}`))
	require.Equal(t, []importer.BadLine{{File: "long.jsonl", Line: 1, Reason: "line is longer than 16 MiB"}},
		report.Bad)
	require.Equal(t, 1, report.Episodes)
}

func TestDirtyTextIsCleanedAndKept(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	body :=
		"\xef\xbb\xbf" + `{"at":"2026-01-01T00:00:00Z","content":"A\u0000 nul, a ` + "\xff\xfe" +
			` byte and\r\na line."}` + "\r\n\x00\x00\r\n"
	report := importFiles(t, s, a, options(), text("dirty.jsonl", body))
	require.EqualValues(t, 1, report.BadCount)
	require.Equal(t, "A nul, a \ufffd\ufffd byte and\na line.", episodes(t, s, "a")[0].Content)
	report = importFiles(t, s, a, options(), text("dirty.md", "# 2026-01-02\nA\x00 nul\x07 and \xff.\n"))
	require.Zero(t, report.BadCount)
	require.Equal(t, "A nul and \ufffd.", episodes(t, s, "a")[1].Content)
	_, err := importer.Import(context.Background(), s, a, []importer.File{text("wide.txt", "\xff\xfeA\x00")}, options())
	require.ErrorContains(t, err, "it is UTF-16 text; save it as UTF-8")
}

func TestTaintFollowsWhoSpoke(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	importFiles(t, s, a, options(), testdata(t, "chat.jsonl"), testdata(t, "chatgpt.json"),
		text("lone.jsonl", `{"role":"assistant","content":"I spoke first.","timestamp":1767254400}`))
	got := map[dream.Taint]int{}
	for _, e := range episodes(t, s, "a") {
		got[e.Taint]++
	}
	require.Equal(t, map[dream.Taint]int{dream.FromHuman: 1, dream.FromTool: 1, dream.FromWeb: 1, dream.FromAgent: 4},
		got,
		"an exchange carries the least trusted label of its turns, in the order of dream.LeastTrusted")
}

func TestOneDialogueCanBeChosen(t *testing.T) {
	t.Parallel()
	for dialogue, want := range map[string]int{"": 5, "syn-1": 4, "1": 4, "2": 1} {
		a := someone("a")
		opts := options()
		opts.Dialogue = dialogue
		require.Equal(t, want, importFiles(t, store(t, a), a, opts, testdata(t, "locomo.json")).Episodes, dialogue)
	}
	opts := options()
	opts.Dialogue = "syn-9"
	_, err := importer.Import(context.Background(), store(t), someone("a"),
		[]importer.File{testdata(t, "locomo.json")}, opts)
	require.ErrorContains(t, err, `dialogue "syn-9" is not in the file; it has syn-1, syn-2, also by number 1 to 2`)
}

func TestProgressGrowsToTheSizeOfTheFiles(t *testing.T) {
	t.Parallel()
	a := someone("a")
	opts := options()
	var result []int64
	file := text("year.jsonl", year(2000))
	opts.Progress = func(done, total int64) {
		require.Equal(t, file.Size, total)
		result = append(result, done)
	}
	importFiles(t, store(t, a), a, opts, file)
	require.Greater(t, len(result), 3)
	require.IsNonDecreasing(t, result)
	require.Equal(t, file.Size, result[len(result)-1])
}

func TestACanceledImportIsFinishedByRepeatingIt(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	ctx, cancel := context.WithCancel(context.Background())
	opts := options()
	opts.BatchSize = 50
	opts.Progress = func(done, total int64) {
		if done > total/2 {
			cancel()
		}
	}
	file := text("year.jsonl", year(4000))
	report, err := importer.Import(ctx, s, a, []importer.File{file}, opts)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, report.Added, 4000)
	second := importFiles(t, s, a, options(), file)
	require.Equal(t, 4000, second.Episodes)
	require.Equal(t, report.Added, second.Existing)
	require.Len(t, episodes(t, s, "a"), 4000)
}

func TestAFileThatGrowsMeanwhileIsRefused(t *testing.T) {
	t.Parallel()
	a := someone("a")
	file := text("year.jsonl", year(20))
	opened := 0
	file.Open = func() (io.ReadCloser, error) {
		opened++
		return io.NopCloser(strings.NewReader(year(20 * opened))), nil
	}
	_, err := importer.Import(context.Background(), store(t, a), a, []importer.File{file}, options())
	require.ErrorContains(t, err, "grew between the two readings")
}

func TestAFileThatCannotBeOpenedIsNamed(t *testing.T) {
	t.Parallel()
	notFound := errors.New("gone")
	file := importer.File{Name: "lost.jsonl", Open: func() (io.ReadCloser, error) { return nil, notFound }}
	_, err := importer.Import(context.Background(), store(t), someone("a"), []importer.File{file}, options())
	require.ErrorIs(t, err, notFound)
	require.ErrorContains(t, err, "lost.jsonl")
}
