package importer_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
)

// memoryStore is the part of a store that an import without vectors uses.
type memoryStore struct {
	memory.Store
	items map[string]dream.Item
}

// Find finds nothing: what is imported follows no past.
func (s *memoryStore) Find(context.Context, memory.Query) ([]dream.Item, error) { return nil, nil }

func (s *memoryStore) Commit(_ context.Context, w memory.Write) (memory.Receipt, error) {
	var r memory.Receipt
	for _, item := range w.Add {
		if _, found := s.items[item.Header().ID]; found {
			r.Existing++
			continue
		}
		r.Added++
		s.items[item.Header().ID] = item
	}
	return r, nil
}

// fuzz imports arbitrary bytes twice. Nothing may panic, every imported item is valid, and the second import adds
// nothing.
func fuzz(f *testing.F, format formats.Format, seeds ...string) {
	f.Helper()
	for _, name := range seeds {
		body, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(body)
	}
	for _, s := range []string{
		"", "\n", "{", "[", "[]", "{}", "[{}]", "null", `{"a":`, "\xef\xbb\xbf", "\x00",
		`[{"mapping":{"a":{"parent":"a"}},"current_node":"a"}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a := someone("a")
		s := &memoryStore{items: map[string]dream.Item{}}
		opts := options()
		opts.Format = format
		file := text("some/file.x", string(body))
		report, err := importer.Import(context.Background(), s, a, []importer.File{file}, opts)
		if err != nil {
			return // a file of another kind
		}
		require.Equal(t, len(s.items), report.Added)
		require.LessOrEqual(t, int64(len(report.Bad)), report.BadCount)
		for _, bad := range report.Bad {
			require.Positive(t, bad.Line)
			require.NotEmpty(t, bad.Reason)
		}
		for _, item := range s.items {
			whole(t, item)
		}
		opts.Strict = report.BadCount == 0
		second, err := importer.Import(context.Background(), s, a, []importer.File{file}, opts)
		require.NoError(t, err)
		require.Zero(t, second.Added)
	})
}

func whole(t *testing.T, item dream.Item) {
	t.Helper()
	h := item.Header()
	require.NotEmpty(t, h.ID)
	require.Equal(t, "a", h.Agent)
	require.NotEmpty(t, h.State)
	require.NotEmpty(t, h.Taint)
	require.False(t, h.At.After(now.Add(48*time.Hour)), h.At)
	if h.Kind != dream.KindRecord {
		require.NotEmpty(t, strings.TrimSpace(item.Text()))
	}
	require.True(t, utf8.ValidString(item.Text()))
	require.NotContains(t, item.Text(), "\x00")
	m := item.Marks()
	for _, v := range []float64{m.Salience, m.Surprise, m.Score} {
		require.True(t, v >= 0 && v <= 1, "%v", v)
	}
	_, err := json.Marshal(item)
	require.NoError(t, err)
	e, ok := item.(*dream.Episode)
	if !ok || len(e.Derived) == 0 {
		return
	}
	for _, field := range []string{e.Context, e.Action, e.Outcome} {
		require.NotEmpty(t, strings.TrimSpace(field))
		require.True(t, utf8.ValidString(field))
	}
	require.NoError(t, e.Affect.Validate())
}

func FuzzJSONL(f *testing.F)   { fuzz(f, formats.JSONL, "own.jsonl", "own-bad.jsonl") }
func FuzzChat(f *testing.F)    { fuzz(f, formats.Chat, "chat.jsonl") }
func FuzzChatGPT(f *testing.F) { fuzz(f, formats.ChatGPT, "chatgpt.json") }
func FuzzDiary(f *testing.F) {
	fuzz(f, formats.Diary, "diary.md", "diary-windows.txt", "diary-undated.txt")
}
func FuzzLoCoMo(f *testing.F) { fuzz(f, formats.LoCoMo, "locomo.json") }

func FuzzDetect(f *testing.F) {
	for _, name := range sources {
		body, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(name, body)
	}
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		format, err := formats.Detect(name, head)
		require.Equal(t, err == nil, format != "")
	})
}
