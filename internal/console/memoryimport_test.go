package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestAnImportOfNothingFailsAndSaysWhatWasExpected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, body, says string }{
		"all lines are bad": {"m.jsonl", "{broken\nnoise\n", "m.jsonl:2"},
		"half a JSON": {
			"conversations.json", `[{"title":"Half","mapping":{"a":{"mess`,
			"conversations.json of a ChatGPT data export",
		},
		"no entries":            {"diary.md", "# 2026-03-05\n\n---\n", "each under its date"},
		"nothing":               {"empty.txt", "", "each under its date"},
		"JSON of another kind":  {"other.json", `{"a":1}`, "jsonl, chat, chatgpt, diary or locomo"},
		"prose of unknown kind": {"notes", "The tide turned.\n", "--format diary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			require.Equal(t, exit.OK, d.run(80, "agents", "add", "echo"))
			path := filepath.Join(t.TempDir(), c.file)
			require.NoError(t, os.WriteFile(path, []byte(c.body), 0o600))
			require.Equal(t, exit.Failure, d.run(80, "memory", "import", path), d.out.String())
			require.Contains(t, d.err.String(), c.says)
			require.Empty(t, d.out.String(), "a failure is no success on standard output")
		})
	}
}

func TestAnImportOfNothingFailsInJSONToo(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "agents", "add", "echo"))
	d.in = "{\"role\":\"user\"\n"
	require.Equal(t, exit.Failure, d.run(80, "memory", "import", "--format", "chat", "--json", "-"))
	var report struct {
		Added    int      `json:"added"`
		BadCount int      `json:"bad_count"`
		Formats  []string `json:"formats"`
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &report), d.out.String())
	require.Equal(t, 1, report.BadCount)
	require.Equal(t, []string{"chat"}, report.Formats)
	var complaint struct {
		Code  int    `json:"code"`
		Error string `json:"error"`
	}
	require.NoError(t, json.Unmarshal(d.err.Bytes(), &complaint), d.err.String())
	require.Equal(t, exit.Failure, complaint.Code)
	require.Contains(t, complaint.Error, "with messages or with role and content")
}

// many is a memory of n lines.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b,
			"{\"at\":\"2026-01-01T10:00:00Z\",\"content\":\"Note %d: the quince trees by the harbour.\"}\n", i)
	}
	return b.String()
}

func TestAnImportLeavesASlowEmbedderToTheServer(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "agents", "add", "echo"))
	d.background = func(inference.Spec) (int, bool) { return 4711, true }
	d.roles = map[dream.Role]string{dream.Embedder: "letters/one"}
	d.embed = func(context.Context, dream.Agent, string, []string) ([][]float32, string, error) {
		return nil, "", errors.New("nobody may ask it here")
	}
	d.in = many(100)
	require.Equal(t, exit.OK, d.run(80, "memory", "import", "-", "--format", "jsonl"), d.err.String())
	require.Contains(t, d.out.String(), "echo remembers 102 new")
	require.Contains(t, d.out.String(), "process 4711 embeds them in the background")
	require.Equal(t, exit.OK, d.run(120, "agents", "show", "echo"), d.err.String())
	require.Contains(t, d.out.String(), "embedded 0 of 102; the rest waits for a server")
	require.Equal(t, exit.OK, d.run(80, "memory", "list", "-n", "1"), d.err.String())

	j, err := d.store.EmbedJob(t.Context(), "echo")
	require.NoError(t, err)
	j.Holder, j.Until, j.Began = "server", now.Add(time.Minute), now.Add(-10*time.Second)
	j.Done, j.Total = 20, 100
	_, err = d.store.PutEmbedJob(t.Context(), j, now)
	require.NoError(t, err)
	require.Equal(t, exit.OK, d.run(120, "agents", "show", "echo"), d.err.String())
	require.Contains(t, d.out.String(), ", about 40s left")
	require.Equal(t, exit.Failure, d.run(120, "memory", "embed", "-a", "echo"))
	require.Contains(t, d.err.String(), "process server embeds these memories: 20 of 100 are done")
}

func TestAnImportWhoseEmbedderFailsKeepsItsMemoriesAndIsFinishedLater(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "agents", "add", "echo"))
	calls := 0
	d.embed = func(ctx context.Context, a dream.Agent, model string, texts []string) ([][]float32, string, error) {
		calls++
		if calls == 2 {
			return nil, "", errors.New("it hung up")
		}
		return letters(ctx, a, model, texts)
	}
	d.in = many(100)
	require.Equal(t, exit.Failure, d.run(80, "memory", "import", "-", "--format", "jsonl"))
	require.Contains(t, d.out.String(), "echo remembers 102 new", "what is stored is said")
	require.Contains(t, d.err.String(), "64 are embedded, and not all")
	require.Contains(t, d.err.String(), "it hung up")
	require.Equal(t, exit.OK, d.run(160, "agents", "show", "echo"), d.err.String())
	require.Contains(t, d.out.String(), "embedded 64 of 102; ")
	d.in = many(100)
	require.Equal(t, exit.OK, d.run(80, "memory", "import", "-", "--format", "jsonl", "--json"), d.err.String())
	var report struct {
		Known     int
		Embedding struct {
			State    string
			Embedded int
		}
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &report), d.out.String())
	require.Equal(t, 102, report.Known)
	require.Equal(t, "done", report.Embedding.State)
	require.Equal(t, 38, report.Embedding.Embedded)
	require.Equal(t, 3, calls)
}

func TestADatedDiaryOnStandardInputIsRecognised(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "agents", "add", "echo"))
	d.in = "# Field notes\n\n## 2025-03-02\n\nFirst day at the weather station.\n"
	require.Equal(t, exit.OK, d.run(80, "memory", "import", "-"), d.err.String())
	require.Contains(t, d.out.String(), "1 episode")
}

func TestADiaryWithoutDatesIsRefusedUntilItIsSaidWhenItWas(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, exit.OK, d.run(80, "agents", "add", "echo"))
	path := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(path, []byte("The keeper greased the vane by torchlight.\n"), 0o600))
	changed := now.AddDate(0, 0, -9)
	require.NoError(t, os.Chtimes(path, changed, changed))
	require.Equal(t, exit.Usage, d.run(80, "memory", "import", path))
	require.Contains(t, d.err.String(), "no date is told in "+path)
	require.Contains(t, d.err.String(), "--date 2026-03-05")
	require.Contains(t, d.err.String(), changed.Format(time.DateOnly)+", with --date file")
	require.Equal(t, exit.Usage, d.run(80, "memory", "import", path, "--date", "yesterday"))
	require.Contains(t, d.err.String(), `--date is "yesterday"; it must be a day`)
	require.Equal(t, exit.OK, d.run(80, "memory", "import", path, "--date", "2024-05-06"), d.err.String())
	require.Contains(t, d.out.String(), "2024-05-06")
	other := newFixture(t)
	require.Equal(t, exit.OK, other.run(80, "agents", "add", "echo"))
	require.Equal(t, exit.OK, other.run(80, "memory", "import", path, "--date", "file"), other.err.String())
	require.Contains(t, other.out.String(), changed.Format(time.DateOnly))
}
