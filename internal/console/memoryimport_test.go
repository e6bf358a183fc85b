package console_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/console"
)

func TestAnImportOfNothingFailsAndSaysWhatWasExpected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, body, says string }{
		"all lines are bad":     {"m.jsonl", "{broken\nnoise\n", "m.jsonl:2"},
		"half a JSON":           {"conversations.json", `[{"title":"Half","mapping":{"a":{"mess`, "conversations.json of a ChatGPT data export"},
		"no entries":            {"diary.md", "# 2026-03-05\n\n---\n", "each under its date"},
		"nothing":               {"empty.txt", "", "each under its date"},
		"JSON of another kind":  {"other.json", `{"a":1}`, "jsonl, chat, chatgpt, diary or locomo"},
		"prose of unknown kind": {"notes", "The tide turned.\n", "--format diary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			require.Equal(t, console.OK, d.run(80, "agents", "add", "echo"))
			path := filepath.Join(t.TempDir(), c.file)
			require.NoError(t, os.WriteFile(path, []byte(c.body), 0o600))
			require.Equal(t, console.Failure, d.run(80, "memory", "import", path), d.out.String())
			require.Contains(t, d.err.String(), c.says)
			require.Empty(t, d.out.String(), "a failure is no success on standard output")
		})
	}
}

func TestAnImportOfNothingIsToldInJSONToo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.Equal(t, console.OK, d.run(80, "agents", "add", "echo"))
	d.in = "{\"role\":\"user\"\n"
	require.Equal(t, console.Failure, d.run(80, "memory", "import", "--format", "chat", "--json", "-"))
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
	require.Equal(t, console.Failure, complaint.Code)
	require.Contains(t, complaint.Error, "with messages or with role and content")
}

func TestADatedDiaryOnStandardInputIsRecognised(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.Equal(t, console.OK, d.run(80, "agents", "add", "echo"))
	d.in = "# Field notes\n\n## 2025-03-02\n\nFirst day at the weather station.\n"
	require.Equal(t, console.OK, d.run(80, "memory", "import", "-"), d.err.String())
	require.Contains(t, d.out.String(), "1 episode")
}
