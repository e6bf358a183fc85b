package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// keepsWaiting is how long the interrupted dream of a frozen data folder may go on: longer than any release that opens
// the folder in its tests. The configuration allows 30 days.
const keepsWaiting = 50 * 365 * 24 * time.Hour

// frozenState is what a data folder held when it was frozen.
type frozenState struct {
	At     time.Time    `json:"at"`
	Asleep frozenAgent  `json:"asleep"` // an agent that has dreamt and sleeps
	Broken frozenAgent  `json:"broken"` // an agent whose dream was interrupted
	Dream  string       `json:"dream"`  // that dream
	Calls  []frozenCall `json:"calls"`  // what the ledger has of that dream, in the order of reservation
}

// frozenCall is one attempt at a step of a dream as the ledger has it.
type frozenCall struct {
	Step    string        `json:"step"`
	Attempt int           `json:"attempt"`
	State   spend.State   `json:"state"`
	Counted budget.Micros `json:"counted_micros"`
	Tokens  budget.Tokens `json:"tokens"`
}

// frozenAgent is an agent with the ids of its memories, and what each says.
type frozenAgent struct {
	Handle   string            `json:"handle"`
	Memories map[string]string `json:"memories"`
}

// TestRecordAFrozenDataFolder writes the data folders that TestAFrozenDataFolderIsOpened opens. RECORD is the folder
// for the archives; an existing one is not written over.
func TestRecordAFrozenDataFolder(t *testing.T) {
	to := os.Getenv("RECORD")
	if to == "" {
		t.Skip("set RECORD to the folder that new archives of data folders go to")
	}
	for _, name := range []string{"sqlite", "redis"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(to, name+".tar.gz")
			require.NoFileExists(t, file)
			h := newHome(t)
			var server *redis.Server
			if name == "redis" {
				server = redis.Start(t, redis.Config("aof-use-rdb-preamble", "no"))
				h.env = append(h.env, "ONEIROS_STORE_URL="+server.URL)
			}
			state := h.freeze()
			require.NoError(t, os.WriteFile(filepath.Join(h.data(), "frozen.json"), state, 0o600))
			folders := map[string]string{"data": h.data()}
			if server != nil {
				c := server.Dial(t)
				require.NoError(t, c.BgRewriteAOF(t.Context()).Err())
				require.Eventually(t, func() bool {
					info, err := c.Info(t.Context(), "persistence").Result()
					require.NoError(t, err)
					return strings.Contains(info, "aof_rewrite_in_progress:0") &&
						strings.Contains(info, "aof_rewrite_scheduled:0")
				}, time.Minute, 50*time.Millisecond)
				server.Stop()
				folders["redis"] = server.Dir
			}
			require.NoError(t, packed(file, folders))
		})
	}
}

// freeze brings about the state of a data folder that is to be frozen, and answers what it holds.
func (h *home) freeze() []byte {
	h.Helper()
	lines := strings.SplitAfterN(string(sample.Diaries()[0].Memories), "\n", 61)
	diary := filepath.Join(h.dir, "diary.jsonl")
	require.NoError(h, os.WriteFile(diary, []byte(strings.Join(lines[:60], "")), 0o600))
	for _, handle := range []string{"echo", "iris"} {
		h.must("agents", "add", handle, "--persona", "A companion.")
		h.must("memory", "import", "--agent", handle, diary)
	}
	h.must("feed", "add", "harbour", "--rule", "above level 4")
	up := h.up()
	h.must("dream", "--agent", "echo", "--seed", "7", "--watch")

	ctx := h.Context()
	d := deploy.NewProcess(h.env)
	shown, err := d.Open(ctx)
	require.NoError(h, err)
	reached, err := d.Reach(ctx, shown)
	require.NoError(h, err)
	s := reached.Workflows().(deploy.Reached).Starter
	require.True(h, s.Options.Searchable)
	patient := s.With(func(o *starter.Options) {
		o.ResumeTTL = keepsWaiting
		o.Knobs.Cycles, o.Knobs.Partials = 20, 5
	})
	seed := uint64(11)
	begun, err := patient.Begin(ctx, starter.DreamRequest{Agent: "iris", Tier: dream.Hardened, Seed: &seed})
	require.NoError(h, err)
	require.Eventually(h, func() bool {
		p, err := s.Progress(ctx, begun.Dream)
		require.NoError(h, err)
		require.Equal(h, dream.Dreaming, p.Outcome, "it ended before it could be interrupted")
		return p.Cycle >= 2 && p.Fragments > 0
	}, time.Minute, time.Millisecond)
	h.must("wake", "--agent", "iris", "--client", "mara", "--wait")
	h.must("sleep", "--agent", "iris", "--force")
	require.Contains(h, h.must("dreams", "list", "--agent", "iris"), "interrupted, waits")
	calls := h.calls(shown, begun.Dream)
	require.NoError(h, reached.Stop())
	require.NoError(h, shown.Close())
	require.NoError(h, up.Process.Signal(os.Interrupt))
	require.NoError(h, up.Wait(), "%s", up.output)

	text, err := json.MarshalIndent(frozenState{
		At:     time.Now().UTC(),
		Asleep: frozenAgent{"echo", h.memories("echo")},
		Broken: frozenAgent{"iris", h.memories("iris")},
		Dream:  begun.Dream,
		Calls:  calls,
	}, "", " ")
	require.NoError(h, err)
	return text
}

// notPacked are kinds of files that a data folder does without; tokens are made anew.
var notPacked = []string{".log", ".lock", ".token"}

// packed writes the folders into one archive.
func packed(file string, folders map[string]string) error {
	to, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	press, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(press)
	for name, folder := range folders {
		walk := func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || slices.Contains(notPacked, filepath.Ext(path)) {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			inside, err := filepath.Rel(folder, path)
			if err != nil {
				return err
			}
			header := &tar.Header{Name: filepath.Join(name, inside), Mode: 0o600, Size: int64(len(content))}
			if err := w.WriteHeader(header); err != nil {
				return err
			}
			_, err = w.Write(content)
			return err
		}
		if err := filepath.WalkDir(folder, walk); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), press.Close(), to.Close())
}

// unpacked lays the folders of an archive into others: each name of the archive's top into one of them.
func unpacked(file string, folders map[string]string) error {
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	press, err := gzip.NewReader(from)
	if err != nil {
		return err
	}
	r := tar.NewReader(press)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		top, inside, _ := strings.Cut(header.Name, "/")
		path := filepath.Join(folders[top], inside)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
}

// memories are what an agent keeps of what was lived and known, by id.
func (h *home) memories(agent string) map[string]string {
	h.Helper()
	var listed []struct{ ID, Content string }
	line := []string{"memory", "list", "--agent", agent, "--kind", "episode,semantic", "--limit", "0", "--json"}
	require.NoError(h, json.Unmarshal([]byte(h.must(line...)), &listed))
	require.NotEmpty(h, listed)
	contents := map[string]string{}
	for _, m := range listed {
		contents[m.ID] = m.Content
	}
	return contents
}

// calls are what the ledger has of a dream.
func (h *home) calls(d *deploy.Deployment, dreamID string) []frozenCall {
	h.Helper()
	rows, err := d.Ledger.Rows(h.Context(), spend.Query{Dream: dreamID})
	require.NoError(h, err)
	require.NotEmpty(h, rows)
	calls := make([]frozenCall, len(rows))
	for i, row := range rows {
		calls[i] = frozenCall{row.Step, row.Attempt, row.State, row.Counted, row.Tokens}
	}
	return calls
}
