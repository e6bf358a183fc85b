package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/payload"
)

// database reads Temporal's database file of a data folder, its log included.
func database(t *testing.T, folder string) []byte {
	t.Helper()
	var all []byte
	for _, name := range []string{"temporal.db", "temporal.db-wal"} {
		body, err := os.ReadFile(filepath.Join(folder, name))
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		all = append(all, body...)
	}
	require.NotEmpty(t, all)
	return all
}

func TestAWholeNightIsSealedWhenAKeyIsConfigured(t *testing.T) {
	t.Parallel()
	plain, sealed := newHome(t), newHome(t)
	keys := filepath.Join(sealed.dir, "keys")
	require.NoError(t, os.WriteFile(keys, []byte(sealed.must("codec", "new-key", "--id", "spring")), 0o600))
	sealed.env = append(sealed.env, "ONEIROS_SEAL_KEYS_FILE="+keys)
	const input = `"handle":"echo"` // part of the input of every dream workflow
	for _, h := range []*home{plain, sealed} {
		h.must("agents", "add", "echo", "--persona", "A companion.")
		h.must("memory", "import", sampleFile(t))
		require.Contains(t, h.must("dream", "--seed", "7"), "echo dreamt")
	}
	require.True(t, bytes.Contains(database(t, plain.data()), []byte(input)))
	kept := database(t, sealed.data())
	require.False(t, bytes.Contains(kept, []byte(input)))
	require.True(t, bytes.Contains(kept, []byte(payload.Encoding)))
	require.True(t, bytes.Contains(kept, []byte("dream/echo/0001")), "a workflow's id is never sealed")
}

func TestTheDoctorSaysWhichKeySealsAndWhatIsWrongWithKeys(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	line := strings.TrimSpace(h.must("codec", "new-key", "--id", "spring"))
	h.env = append(h.env, "SEAL="+line, "ONEIROS_SEAL_KEYS_ENV=SEAL")
	h.up()
	require.Contains(t, flat(h.must("doctor")), "histories sealed with key spring")
	require.Contains(t, h.must("dream", "--watch"), "echo dreamt")

	h.env = append(h.env, "SEAL=spring")
	out, _, code := h.run("doctor")
	require.Equal(t, exit.Failure, code)
	require.Contains(t, flat(out), "seal.keys_env SEAL: read the sealing keys: line 1: it has 1 words")
	_, beside, code := h.run("dream")
	require.Equal(t, exit.Usage, code, beside)
	require.Contains(t, beside, "seal.keys_env SEAL")
	require.NotContains(t, out+beside, strings.Fields(line)[1])
}
