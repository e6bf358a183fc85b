package ablation_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/ablation"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

// The environment variables of a run.
const (
	envRecord  = "ONEIROS_ABLATION_RECORD"  // the file to write; without it nothing is run
	envMinutes = "ONEIROS_ABLATION_MINUTES" // after so many no further night is begun; default 45
	envAbout   = "ONEIROS_ABLATION_ABOUT"   // what the record says of the model
)

// At most so many nights in one run: the shared server has so many namespaces, and every night's dream has the same
// id.
const most = 90

// TestTheArmsAreDreamt runs dreams arm after arm until the time is over. It continues an existing record.
func TestTheArmsAreDreamt(t *testing.T) {
	t.Parallel()
	path := os.Getenv(envRecord)
	if path == "" {
		t.Skipf("set %s to the file of the record to run this, and what docs/ablation.md says", envRecord)
	}
	e, err := ablation.FromEnvironment(os.Getenv)
	require.NoError(t, err)
	about := os.Getenv(envAbout)
	if e.URL == "" {
		e.URL, e.Model, e.Profile = served(t), "tiny", "oneiros"
	}
	if about == "" {
		about = e.Model
	}
	minutes := 45
	if text := os.Getenv(envMinutes); text != "" {
		minutes, err = strconv.Atoi(text)
		require.NoError(t, err, envMinutes)
	}
	record, err := ablation.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		record, err = ablation.Record{Head: ablation.NewHead(e, about, time.Now())}, nil
	}
	require.NoError(t, err)
	for _, n := range record.Nights { // of a record that is older than this measure
		for i := range n.Ideas {
			if n.Ideas[i].Recited == nil {
				recited := ablation.Recited(n.Ideas[i].Text)
				n.Ideas[i].Recited = &recited
			}
		}
	}
	require.NoError(t, record.Write(path)) // without an incomplete last line
	over := time.Now().Add(time.Duration(minutes) * time.Minute)
	for began := len(record.Nights); time.Now().Before(over) && len(record.Nights)-began < most; {
		arm := ablation.Next(record.Nights)
		seed := uint64(len(record.Of(arm.Name)) + 1)
		t.Run(fmt.Sprintf("%s %d", arm.Name, seed), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			server := temporal.Shared(t)
			night, err := ablation.Dream(ctx, e, arm, seed, ablation.Bench{
				Address:   server.Address,
				Namespace: server.Namespace,
				Queue:     server.TaskQueue,
				Client:    server.Dial(t),
				Store:     filepath.Join(t.TempDir(), "memory.db"),
			})
			require.NoError(t, err)
			require.NotZero(t, night.Money(), "%s: %s", night.Outcome, night.Reason)
			require.NoError(t, ablation.Append(path, night))
			record.Nights = append(record.Nights, night)
			t.Logf("%s: %s, %d ideas, %d calls, %d in, %d out, %s, %d s", night.Outcome, night.Reason,
				len(night.Ideas), night.Calls, night.In, night.Out, night.Money(), night.Seconds)
		})
		if t.Failed() {
			return
		}
	}
	t.Log(ablation.Report(record))
}

// served starts the llama.cpp server of this machine, in the program that is built with its bindings.
func served(t *testing.T) string {
	t.Helper()
	if os.Getenv("ONEIROS_LLAMA_MODEL") == "" || os.Getenv("ONEIROS_LLAMA_LIB") == "" {
		t.Skipf("set %s, or ONEIROS_LLAMA_MODEL and ONEIROS_LLAMA_LIB (docs/steering.md)", ablation.EnvURL)
	}
	program := filepath.Join(t.TempDir(), "oneiros-llama")
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", "llama", "-o", program, "../../cmd/oneiros")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	require.NoError(t, build.Run())
	server := exec.Command(program, "llama", "--name", "tiny", "--listen", "127.0.0.1:0", "--threads", "1", "--json")
	server.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	var place struct{ Address string }
	require.NoError(t, json.NewDecoder(bufio.NewReader(out)).Decode(&place))
	return "http://" + place.Address + "/v1"
}
