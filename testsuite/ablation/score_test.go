//go:build llama

package ablation_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/llama"
	"github.com/seed-56a03226/oneiros/testsuite/ablation"
)

// behind is the prompt before every idea of every arm when it is scored: nothing of the prompts that made it.
const behind = "Tell me what you see before you fall asleep."

// TestTheRecordIsScored adds to each idea its log-probability under the plain model. It needs the bindings, hence the
// build tag.
func TestTheRecordIsScored(t *testing.T) {
	t.Parallel()
	path, o := os.Getenv(envRecord),
		llama.Options{Model: os.Getenv("ONEIROS_LLAMA_MODEL"), Lib: os.Getenv("ONEIROS_LLAMA_LIB"), Threads: 1}
	if path == "" || o.Model == "" || o.Lib == "" {
		t.Skipf("set %s, ONEIROS_LLAMA_MODEL and ONEIROS_LLAMA_LIB to run this", envRecord)
	}
	record, err := ablation.Read(path)
	require.NoError(t, err)
	engine, err := llama.Open(o)
	require.NoError(t, err)
	defer func() { require.NoError(t, engine.Close()) }()
	for n := range record.Nights {
		for i := range record.Nights[n].Ideas {
			idea := &record.Nights[n].Ideas[i]
			if idea.LogProb != nil {
				continue
			}
			score, err := engine.Score(t.Context(), []inference.Message{{Role: "user", Content: behind}}, idea.Text)
			require.NoError(t, err, "%s of %s %d", idea.Name, record.Nights[n].Arm, record.Nights[n].Seed)
			idea.LogProb = &score
		}
		record.Head.Scorer = behind
		require.NoError(t, record.Write(path))
	}
	t.Log(ablation.Report(record))
}
