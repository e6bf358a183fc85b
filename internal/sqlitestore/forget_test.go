package sqlitestore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

const echo = "agent-echo"

var dawn = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

func episode(id, content string) *dream.Episode {
	return &dream.Episode{
		Head: dream.Head{
			ID:    id,
			Agent: echo,
			Kind:  dream.KindEpisode,
			At:    dawn,
			State: dream.Live,
			Taint: dream.FromHuman,
		},
		Content: content, Salience: .5,
	}
}

// TestNothingForgottenIsLeftInTheFile writes, rewrites and forgets memories of all lengths in random order, so that
// pages split, merge and overflow, and then searches the bytes of the file and its log.
func TestNothingForgottenIsLeftInTheFile(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(16, 10))
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	// in random order, so that indexes split too
	secret := func(i int) string { return fmt.Sprintf("%04d<marker>", i*7919%9973) }
	content := func(i int) string {
		return strings.Repeat("filler ", r.IntN(40)*r.IntN(12)) + secret(i) + strings.Repeat(" more filler", r.IntN(30))
	}
	var forgotten, kept []int
	alive := map[int]bool{}
	for i := range 400 {
		_, err := s.Commit(t.Context(), memory.Write{
			Agent: echo, Cause: "import", Add: []dream.Item{episode(secret(i), content(i))},
			Vectors: []memory.Vector{{Item: secret(i), Space: "s", V: []float32{float32(i), 1}}},
		})
		require.NoError(t, err)
		alive[i] = true
		if old := r.IntN(i + 1); alive[old] && r.IntN(3) == 0 {
			_, err := s.Commit(t.Context(),
				memory.Write{Agent: echo, Cause: "operator", Change: []dream.Item{episode(secret(old), content(old))}})
			require.NoError(t, err)
		}
		if removed := r.IntN(i + 1); alive[removed] && r.IntN(4) == 0 {
			n, err := s.Forget(t.Context(), echo, secret(removed))
			require.NoError(t, err)
			require.Equal(t, 1, n)
			delete(alive, removed)
			forgotten = append(forgotten, removed)
		}
	}
	for i := range alive {
		kept = append(kept, i)
	}
	require.Greater(t, len(forgotten), 30)
	require.Greater(t, len(kept), 200)
	bytesOf := onDisk(t, path)
	require.Contains(t, string(bytesOf), "<marker>", "the search must be able to find the marker")
	for _, i := range forgotten {
		require.NotContains(t, escaped(bytesOf), secret(i))
	}
}

// TestRecordedAnswersAreForgottenWithTheMemory lets a dream and its paid calls quote a memory, and searches the file
// after each way of forgetting: the ledger's at the end of the dream, and the owner's in the middle of it.
func TestRecordedAnswersAreForgottenWithTheMemory(t *testing.T) {
	t.Parallel()
	const secret = "the lighthouse keeper's name"
	for name, forget := range map[string]func(t *testing.T, s *sqlitestore.Store){
		"TheNightCloses": func(t *testing.T, s *sqlitestore.Store) {
			require.NoError(t, s.Ledger().Forget(t.Context(), "d1"))
			require.NoError(t, s.Ledger().Forget(t.Context(), "d2"))
		},
		"TheOwnerForgetsWhatTheDreamMade": func(t *testing.T, s *sqlitestore.Store) {
			n, err := s.Forget(t.Context(), echo, "made")
			require.NoError(t, err)
			require.Equal(t, 1, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "oneiros.db")
			s := open(t, path)
			made := &dream.Gist{Head: dream.Head{
				ID:    "made",
				Agent: echo,
				Kind:  dream.KindGist,
				At:    dawn,
				State: dream.Live,
				Dream: "d1",
			}, Content: "plain"}
			_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d1", Add: []dream.Item{made}})
			require.NoError(t, err)
			retold := *made
			retold.Content = "retold"
			_, err = s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d2", Change: []dream.Item{&retold}})
			require.NoError(t, err)
			late := bought(t, s, "d1", "late")
			for _, dreamID := range []string{"d1", "d2"} {
				for i := range 20 {
					answered(t, s, bought(t, s, dreamID, fmt.Sprint(i)), strings.Repeat(secret+" ", 1+i*i*i))
				}
			}
			require.Contains(t, string(onDisk(t, path)), secret)
			forget(t, s)
			require.NotContains(t, string(onDisk(t, path)), secret)
			answered(t, s, late, secret)
			require.NotContains(t, string(onDisk(t, path)), secret)
			rows, err := s.Ledger().Rows(t.Context(), spend.Query{States: []spend.State{spend.Settled}})
			require.NoError(t, err)
			require.Len(t, rows, 41)
		})
	}
}

// TestAVectorBoughtWhileAwakeIsErasedWithItsMemory forgets a memory whose vector was paid through the ledger.
func TestAVectorBoughtWhileAwakeIsErasedWithItsMemory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "import", Add: []dream.Item{episode("e", "x")}})
	require.NoError(t, err)
	answered(t, s, bought(t, s, "", "embed"), "[0.123456789]")
	require.Contains(t, string(onDisk(t, path)), "0.123456789")
	_, err = s.Forget(t.Context(), echo, "nobody")
	require.NoError(t, err)
	_, kept, err := s.Ledger().Answer(t.Context(), "/embed")
	require.NoError(t, err)
	require.True(t, kept)
	_, err = s.Forget(t.Context(), echo, "e")
	require.NoError(t, err)
	require.NotContains(t, string(onDisk(t, path)), "0.123456789")
}

func bought(t *testing.T, s *sqlitestore.Store, dreamID, step string) spend.Hold {
	t.Helper()
	hold, err := s.Ledger().Reserve(t.Context(), spend.Ask{
		Step:   dreamID + "/" + step,
		Agent:  echo,
		Dream:  dreamID,
		Amount: 10,
		At:     dawn,
	})
	require.NoError(t, err)
	return hold
}

func answered(t *testing.T, s *sqlitestore.Store, hold spend.Hold, answer string) {
	t.Helper()
	require.NoError(t,
		s.Ledger().Settle(t.Context(), hold,
			spend.Bill{State: spend.Settled, Amount: 1, Answer: []byte(answer), At: dawn}))
}

// escaped undoes the one escape that JSON uses for the markers.
func escaped(b []byte) string {
	b = bytes.ReplaceAll(b, []byte(`\u003c`), []byte("<"))
	return string(bytes.ReplaceAll(b, []byte(`\u003e`), []byte(">")))
}

func onDisk(t *testing.T, path string) []byte {
	t.Helper()
	names, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	var all []byte
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		all = append(all, b...)
	}
	return all
}

// TestAnEmbeddersAnswerIsKeptUntilItsVectorsAreStored imports and collects vectors that were paid through the
// ledger.
func TestAnEmbeddersAnswerIsKeptUntilItsVectorsAreStored(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	answer := func(step string) bool {
		_, found, err := s.Ledger().Answer(t.Context(), step)
		require.NoError(t, err)
		return found
	}
	answered(t, s, bought(t, s, "d1", "embed"), "[1]")
	answered(t, s, bought(t, s, "", "one"), "[1]")
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "import", Add: []dream.Item{episode("e", "x")}})
	require.NoError(t, err)
	require.True(t, answer("/one"), "until then an interrupted import may need it again")
	_, err = s.Commit(t.Context(),
		memory.Write{Agent: echo, Cause: "import", Vectors: []memory.Vector{{Item: "e", Space: "s", V: []float32{1}}}})
	require.NoError(t, err)
	require.False(t, answer("/one"))
	answered(t, s, bought(t, s, "", "two"), "[1]")
	require.NoError(t, s.Collect(t.Context(), echo, []memory.Vector{{Item: "e", Space: "t", V: []float32{1}}}))
	require.False(t, answer("/two"))
	require.True(t, answer("d1/embed"), "a dream's answer is kept")
}

// TestAnswersWhosePromptsShowedAMemoryAreForgottenWithIt forgets a memory that the notes of one dream name and those of
// another do not.
func TestAnswersWhosePromptsShowedAMemoryAreForgottenWithIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	_, err := s.Commit(t.Context(),
		memory.Write{Agent: echo, Cause: "import", Add: []dream.Item{episode("e", "x"), episode("ee", "y")}})
	require.NoError(t, err)
	for dreamID, note := range map[string]string{"d1": `{"shown":[{"item":"e"}]}`, "d2": `["ee"]`} {
		f := memory.Fence{Dream: dreamID, Run: "r"}
		_, err := s.TakeSlot(t.Context(), echo, memory.Slot{Fence: f, Since: dawn}, memory.Fence{})
		require.NoError(t, err)
		_, err = s.PutNote(t.Context(), echo, f, "gathered/0", []byte(note))
		require.NoError(t, err)
		require.NoError(t, s.FreeSlot(t.Context(), echo, f))
		answered(t, s, bought(t, s, dreamID, "step"), "the keeper's name, by "+dreamID)
	}
	_, err = s.Forget(t.Context(), echo, "e")
	require.NoError(t, err)
	require.NotContains(t, string(onDisk(t, path)), "the keeper's name, by d1")
	require.Contains(t, string(onDisk(t, path)), "the keeper's name, by d2")
}

// A running call may show any memory of the dreaming agent, whatever the dream has noted.
func TestARunningCallRecordsNoAnswerAfterAForgetting(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:")
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "import", Add: []dream.Item{episode("e", "x")}})
	require.NoError(t, err)
	slot := memory.Slot{Fence: memory.Fence{Dream: "d1", Run: "r"}, Since: dawn}
	_, err = s.TakeSlot(t.Context(), echo, slot, memory.Fence{})
	require.NoError(t, err)
	own, other := bought(t, s, "d1", "step"), bought(t, s, "d2", "step")
	_, err = s.Forget(t.Context(), echo, "e")
	require.NoError(t, err)
	for hold, kept := range map[spend.Hold]bool{own: false, other: true} {
		answered(t, s, hold, "x")
		_, found, err := s.Ledger().Answer(t.Context(), hold.Step)
		require.NoError(t, err)
		require.Equal(t, kept, found, hold.Step)
	}
}
