package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
)

// A command without the key, and then a worker without it, are told which key is missing, and where.
func TestAMissingSealingKeyIsNamed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	line := strings.TrimSpace(h.must("codec", "new-key", "--id", "spring"))
	bare := h.env
	keyed := append(bare[:len(bare):len(bare)], "SEAL="+line, "ONEIROS_SEAL_KEYS_ENV=SEAL")
	h.env = keyed
	up := h.up()
	require.Contains(t, h.must("dream", "--watch"), "echo dreamt")

	h.env = bare
	var out string
	require.Eventually(t, func() bool { // once the dream's workflow has closed, only the agent's is open
		var code int
		out, _, code = h.run("doctor")
		return code == exit.Failure &&
			strings.Contains(flat(out), `sealing key "spring" is missing here, and open workflows are sealed with it (1)`)
	}, time.Minute, 100*time.Millisecond)
	require.Contains(t, flat(out), "Set seal.keys_file or seal.keys_env")
	out, _, _ = h.run("health")
	require.Contains(t, flat(out), `worker sealing key "spring" is missing here`)

	require.NoError(t, up.Process.Signal(os.Interrupt))
	require.NoError(t, up.Wait(), "%s", up.output)
	up = h.up() // without the key
	h.env = keyed
	require.Contains(t, up.output.String(),
		"that key is missing: no sealing keys are configured; set seal.keys_file or seal.keys_env")
	require.Eventually(t, func() bool { // once its first task has failed
		out, _, _ = h.run("health")
		return strings.Contains(flat(out), `worker sealing key "spring" is missing at the worker`)
	}, time.Minute, 100*time.Millisecond)
}
