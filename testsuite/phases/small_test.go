package phases_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/eval"
)

// smallArms are the arms on a small real model, with as many nights as cost the same by what its dreams cost in the
// record of testsuite/ablation: one without an onset two fifths of a whole one, the others about as much.
var smallArms = []struct {
	arm    string
	nights int
}{{eval.All, 3}, {eval.NoOnset, 8}, {eval.NoNREM, 3}, {eval.NoREM, 3}}

// smallSettings serve every role with the model at an address, in dreams that are shortened as in testsuite/ablation.
const smallSettings = `providers:
  small:
    profile: oneiros
    base_url: %s
    local: true
    models: [{name: tiny, context: 2048, judges: false}]
roles: {generator: small/tiny, observer: small/tiny, replay: small/tiny, imagination: small/tiny, integration: small/tiny}
dream:
  depth: fixed
  loosening: temperature
  cycles: 2
  partials: 3
  partial_tokens: 50
  answer_tokens: 220
  shown_characters: 1500
  replay_episodes: 4
  last_look_entries: 0
  branches: 2
  keep: 2
  rem_rounds: 0
  call_timeout: 10m
  idle_token: 10m
  dream_wall: 2h
`

// TestEachPhaseIsLeftOutOnASmallModel counts what comes true of dreams of a small real model with one phase left out,
// for the same money. SMALL is where `oneiros llama --name tiny` serves it. What it answered lies in the folder that
// SMALL_DIR names, so that a run that was ended goes on.
func TestEachPhaseIsLeftOutOnASmallModel(t *testing.T) {
	address, folder := os.Getenv("SMALL"), os.Getenv("SMALL_DIR")
	if address == "" || folder == "" {
		t.Skip("make bench-phases-small SMALL=http://127.0.0.1:8089/v1 leaves out each phase of a small model's dreams")
	}
	h := histories()[0]
	all := map[string]played{}
	var arms, phases strings.Builder
	for _, a := range smallArms {
		dir := filepath.Join(folder, strings.ReplaceAll(a.arm, " ", "-"))
		settings := filepath.Join(dir, ".config", "oneiros", "oneiros.yaml") // dir is its home
		require.NoError(t, os.MkdirAll(filepath.Dir(settings), 0o700))
		require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, smallSettings, address), 0o600))
		e := prepareIn(t, dir, h, a.nights)
		t.Logf("| %s, %s | %d | %d | %s |", h.name, a.arm, a.nights, seed(t), e.Plan.Hash())
		if os.Getenv("SMALL_PLAN") != "" {
			require.NoError(t, e.Close())
			continue
		}
		all[a.arm] = playIn(t, e, h, a.arm, a.nights)
		arms.WriteString(all[a.arm].row(h, a.arm))
	}
	if os.Getenv("SMALL_PLAN") != "" {
		return
	}
	for _, l := range left[:3] {
		fmt.Fprintf(&phases, "| %s | %s |\n", l.phase, estimate(eval.Differences(all[eval.All].claims, all[l.arm].claims)))
	}
	fmt.Printf("| phase | adds, for the same money |\n|---|---|\n%s\n"+
		"| history | arm | nights | tokens' price | came true | beyond chance | found |\n|---|---|---|---|---|---|---|\n%s",
		phases.String(), arms.String())
}
