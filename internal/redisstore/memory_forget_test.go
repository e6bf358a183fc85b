package redisstore_test

import (
	"context"
	"fmt"
	"io/fs"
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
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// Memories are written, changed, referenced and forgotten in random order; then the server's files are searched.
func TestNothingForgottenIsLeftOnTheServersDisk(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 10))
	server := redis.Start(t, redis.Config("aof-use-rdb-preamble", "no"))
	s := open(t, server.URL, "oneiros:", redisstore.Timeout(30*time.Second))
	secret := func(i int) string { return fmt.Sprintf("%04d-marker", i*7919%9973) }
	memoryOf := func(i, of int) *dream.Episode {
		e := episode(secret(i),
			strings.Repeat("filler ", r.IntN(9))+secret(i)+strings.Repeat(" more filler", r.IntN(9)))
		e.Sources, e.Session = []string{secret(of)}, "session of "+secret(i)
		return e
	}
	const n = 150
	removed := map[int]bool{}
	for i := range n {
		write(t, s, memory.Write{
			Cause: "import", Add: []dream.Item{memoryOf(i, i/2)},
			Vectors: []memory.Vector{{Item: secret(i), Space: "s", V: []float32{float32(i), 1}}},
		})
		if old := r.IntN(i + 1); !removed[old] && !removed[old/3] && r.IntN(3) == 0 {
			write(t, s, memory.Write{Cause: "operator", Change: []dream.Item{memoryOf(old, old/3)}})
		}
	}
	var ids []string
	for i := range n {
		if r.IntN(3) == 0 {
			removed[i] = true
			ids = append(ids, secret(i))
		}
	}
	require.Contains(t, onDisk(t, server), ids[0], "the search must be able to find the marker")
	erased, err := s.Forget(t.Context(), echo, ids...)
	require.NoError(t, err)
	require.Equal(t, len(ids), erased)
	rewritten(t, server)
	disk := onDisk(t, server)
	for i := range n {
		if removed[i] {
			require.NotContains(t, disk, secret(i), "seed %d", seed)
		} else {
			require.Contains(t, disk, secret(i), "seed %d", seed)
		}
	}
}

// rewritten waits until no rewrite of the server's file is pending or running.
func rewritten(t *testing.T, server *redis.Server) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := server.Dial(t).Info(t.Context(), "persistence").Result()
		require.NoError(t, err)
		if strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0") {
			require.Contains(t, info, "aof_last_bgrewrite_status:ok")
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			require.FailNow(t, "the server never rewrote its file")
		}
	}
}

func onDisk(t *testing.T, server *redis.Server) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(server.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all.Write(b)
		return err
	}))
	return all.String()
}

func bought(t *testing.T, s *redisstore.Store, dreamID, step string) spend.Hold {
	t.Helper()
	hold, err := s.Reserve(t.Context(), spend.Ask{
		Step:   dreamID + "/" + step,
		Agent:  echo,
		Dream:  dreamID,
		Amount: 10,
		At:     noon,
	})
	require.NoError(t, err)
	return hold
}

func answered(t *testing.T, s *redisstore.Store, hold spend.Hold) {
	t.Helper()
	require.NoError(t,
		s.Settle(t.Context(), hold,
			spend.Bill{State: spend.Settled, Amount: 1, Answer: []byte("the keeper's name"), At: noon}))
}

func contains(t *testing.T, s *redisstore.Store, step string) bool {
	t.Helper()
	_, found, err := s.Ledger().Answer(t.Context(), step)
	require.NoError(t, err)
	return found
}

// The answers that created or changed a memory are deleted with it in the same step, and calls that are still running
// record none.
func TestAnswersAreForgottenWithTheMemoryMadeOfThem(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	made := &dream.Gist{Head: dream.Head{
		ID:    "made",
		Agent: echo,
		Kind:  dream.KindGist,
		At:    noon,
		State: dream.Live,
		Dream: "d1",
	}, Content: "plain"}
	write(t, s, memory.Write{Cause: "d1", Add: []dream.Item{made, episode("e", "another")}})
	retold := *made
	retold.Content = "retold"
	write(t, s, memory.Write{Cause: "d2", Change: []dream.Item{&retold}})
	late := bought(t, s, "d1", "late")
	for _, dreamID := range []string{"d1", "d2", "d3"} {
		answered(t, s, bought(t, s, dreamID, "step"))
	}
	answered(t, s, bought(t, s, "", "vector"))
	_, err := s.Forget(t.Context(), echo, "nobody")
	require.NoError(t, err)
	require.True(t, contains(t, s, "d1/step"))
	_, err = s.Forget(t.Context(), echo, "made")
	require.NoError(t, err)
	answered(t, s, late)
	for step, kept := range map[string]bool{
		"d1/step": false, "d2/step": false, "d3/step": true, "d1/late": false,
		"/vector": false,
	} {
		require.Equal(t, kept, contains(t, s, step), step)
	}
}

// Answers of an embedder that were bought while awake are kept only until the vectors are stored.
func TestAnEmbeddersAnswerIsKeptUntilItsVectorsAreStored(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	answered(t, s, bought(t, s, "d1", "embed"))
	answered(t, s, bought(t, s, "", "one"))
	called, err := s.Reserve(t.Context(), spend.Ask{Step: "call/echo/1", Agent: echo, Amount: 10, At: noon})
	require.NoError(t, err)
	answered(t, s, called)
	write(t, s, memory.Write{Cause: "import", Add: []dream.Item{episode("e", "x")}})
	require.True(t, contains(t, s, "/one"), "until then an interrupted import may need it again")
	write(t, s, memory.Write{Cause: "import", Vectors: []memory.Vector{{Item: "e", Space: "s", V: []float32{1}}}})
	require.False(t, contains(t, s, "/one"))
	answered(t, s, bought(t, s, "", "two"))
	require.NoError(t, s.Collect(t.Context(), echo, []memory.Vector{{Item: "e", Space: "t", V: []float32{1}}}))
	require.False(t, contains(t, s, "/two"))
	require.True(t, contains(t, s, "d1/embed"), "a dream's answer is kept")
	require.True(t, contains(t, s, "call/echo/1"), "a call that is taken up again must not be bought again")
}

// A caller that waits in another process continues after the server's restart, without a new Open (decision 12). With
// appendfsync everysec, a killed server may lose acknowledged writes while its disk was slow, and a follower would wait
// for a number that the log has yet to reach again.
func TestAFollowerReceivesEventsAfterTheServersReturn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := redis.Start(t, redis.Fsync("always"))
	here := open(t, server.URL, "oneiros:", redisstore.Timeout(20*time.Second))
	there := open(t, server.URL, "oneiros:", redisstore.Timeout(20*time.Second))
	for round := range int64(3) {
		received := make(chan error, 1)
		go func() { received <- there.Await(ctx, echo, round) }()
		announce(t, here, fmt.Sprint("v", round))
		require.NoError(t, <-received)
		events, err := there.Events(t.Context(), echo, round, 0)
		require.NoError(t, err)
		require.Len(t, events, 1)
		server.Restart()
		events, err = here.Events(t.Context(), echo, 0, 0)
		require.NoError(t, err)
		require.Len(t, events, int(round)+1, "the server lost an acknowledged event")
	}
}

// The answers of a dream whose notes name a memory are deleted with it; an id with the same beginning is another
// item's.
func TestAnswersWhosePromptsShowedAMemoryAreForgottenWithIt(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	write(t, s, memory.Write{Cause: "import", Add: []dream.Item{episode("e", "x"), episode("ee", "y")}})
	for dreamID, note := range map[string]string{"d1": `{"shown":[{"item":"e"}]}`, "d2": `["ee"]`} {
		f := memory.Fence{Dream: dreamID, Run: "r"}
		_, err := s.TakeSlot(t.Context(), echo, memory.Slot{Fence: f, Since: noon}, memory.Fence{})
		require.NoError(t, err)
		_, err = s.PutNote(t.Context(), echo, f, "gathered/0", []byte(note))
		require.NoError(t, err)
		require.NoError(t, s.FreeSlot(t.Context(), echo, f))
		answered(t, s, bought(t, s, dreamID, "step"))
	}
	_, err := s.Forget(t.Context(), echo, "e")
	require.NoError(t, err)
	require.False(t, contains(t, s, "d1/step"))
	require.True(t, contains(t, s, "d2/step"))
}

// A running call may show any memory of the dreaming agent, whatever the dream has noted.
func TestARunningCallRecordsNoAnswerAfterAForgetting(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	write(t, s, memory.Write{Cause: "import", Add: []dream.Item{episode("e", "x")}})
	slot := memory.Slot{Fence: memory.Fence{Dream: "d1", Run: "r"}, Since: noon}
	_, err := s.TakeSlot(t.Context(), echo, slot, memory.Fence{})
	require.NoError(t, err)
	own, other := bought(t, s, "d1", "step"), bought(t, s, "d2", "step")
	_, err = s.Forget(t.Context(), echo, "e")
	require.NoError(t, err)
	answered(t, s, own)
	answered(t, s, other)
	require.False(t, contains(t, s, "d1/step"))
	require.True(t, contains(t, s, "d2/step"))
}
