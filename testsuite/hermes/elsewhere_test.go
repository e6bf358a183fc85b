package hermes_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// At a server that is no Oneiros talk and tools work, and Hermes says what is missing.
func TestAnotherServerHasTalkAndTools(t *testing.T) {
	t.Parallel()
	m := build(t, journeys, "", "up")
	m.base, m.agent = m.worker.URL, "worker"
	dir := m.folder(m.agent)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lens.go"), []byte(lens), 0o644))
	term := m.open(t, 80, 24, m.apart(), "--workspace", dir)
	term.shows("worker  no presence here", "This server is no Oneiros")
	term.says("Task edit")
	term.shows("+func Turn() int { return 6 }", "y allow")
	term.press("y")
	term.shows("Edited it.")
	term.says("/journal")
	term.shows("The journal cannot be shown: this server is no Oneiros", "Esc closes")
	term.press("Escape")
	term.shows("> Say something")
	term.says("/quit")
	term.leaves(0)
}
