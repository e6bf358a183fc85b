package hypnagogia_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

func TestTheStatesOfAShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nights       []hypnagogia.Fragments
		used, staged hypnagogia.State
		value        float64
	}{
		{nil, hypnagogia.Unknown, hypnagogia.Unknown, 0},
		{[]hypnagogia.Fragments{{}}, hypnagogia.Unknown, hypnagogia.Unknown, 0},
		{[]hypnagogia.Fragments{{Caught: 100}}, hypnagogia.Alarmed, hypnagogia.Unknown, 0},
		{[]hypnagogia.Fragments{{Caught: 100, Used: 9}}, hypnagogia.Alarmed, hypnagogia.Alarmed, .09},
		{[]hypnagogia.Fragments{{Caught: 100, Used: 10, Staged: 1}}, hypnagogia.OutsideBand, hypnagogia.Healthy, .1},
		{
			[]hypnagogia.Fragments{{Caught: 100, Used: 19, Staged: 3}},
			hypnagogia.OutsideBand, hypnagogia.OutsideBand,
			.19,
		},
		{[]hypnagogia.Fragments{{Caught: 100, Used: 20, Staged: 3}}, hypnagogia.Healthy, hypnagogia.Healthy, .2},
		{
			[]hypnagogia.Fragments{{Caught: 60, Used: 30, Staged: 9}, {Caught: 40, Used: 20}},
			hypnagogia.Healthy,
			hypnagogia.OutsideBand, .5,
		},
		{[]hypnagogia.Fragments{{Caught: 100, Used: 50, Staged: 1}}, hypnagogia.Healthy, hypnagogia.OutsideBand, .5},
		{[]hypnagogia.Fragments{{Caught: 100, Used: 51, Staged: 16}}, hypnagogia.OutsideBand, hypnagogia.Alarmed, .51},
		{
			[]hypnagogia.Fragments{{Caught: 100, Used: 70, Staged: 21}},
			hypnagogia.OutsideBand, hypnagogia.OutsideBand,
			.7,
		},
		{[]hypnagogia.Fragments{{Caught: 100, Used: 71, Staged: 1}}, hypnagogia.Alarmed, hypnagogia.Alarmed, .71},
	} {
		used, staged := hypnagogia.Shares(c.nights)
		require.Equal(t, c.used, used.State, "%+v", c)
		require.Equal(t, c.staged, staged.State, "%+v", c)
		require.InDelta(t, c.value, used.Value, 1e-9, "%+v", c)
	}
}

func TestSharesCoverThirtyDreams(t *testing.T) {
	t.Parallel()
	nights := make([]hypnagogia.Fragments, 40)
	for i := range nights {
		nights[i] = hypnagogia.Fragments{Caught: 10, Used: 3, Staged: 1}
		if i >= hypnagogia.ShareWindow {
			nights[i] = hypnagogia.Fragments{Caught: 1000, Used: 1000, Staged: 1000}
		}
	}
	used, staged := hypnagogia.Shares(nights)
	require.Equal(t, hypnagogia.Share{
		Part:  90,
		Whole: 300,
		Value: .3,
		State: hypnagogia.Healthy,
		Band:  hypnagogia.UsedBand,
	}, used)
	require.Equal(t, 30, staged.Part)
	require.Equal(t, hypnagogia.Alarmed, staged.State)
}

func TestCountFragments(t *testing.T) {
	t.Parallel()
	fragment := func(id, status, reason, hypothesis string) *dream.Fragment {
		return &dream.Fragment{Head: dream.Head{ID: id}, Status: status, Reason: reason, Hypothesis: hypothesis}
	}
	require.Equal(t, hypnagogia.Fragments{Caught: 5, Used: 3, Staged: 1}, hypnagogia.CountFragments([]*dream.Fragment{
		fragment("a", dream.FragmentPromoted, "", "h"), // developed, and the source of a hypothesis
		fragment("b", dream.FragmentDeveloped, "", ""),
		fragment("c", dream.FragmentSelected, "", ""),  // developed in a scenario that was not kept
		fragment("d", dream.FragmentPromoted, "", "h"), // the source of a hypothesis, but not developed
		fragment("e", dream.FragmentDiscarded, dream.LucidDiscard+"noise", ""),
		fragment("f", dream.FragmentDiscarded, "below the floor", ""),
	}, []*dream.Scenario{
		{Kept: true, Parent: "a"},
		{Kept: true, Parent: "a", Seeds: []string{"a", "b"}},
		{Seeds: []string{"c"}},
		{},
	}))
}

// This test reads the package's sources: shares are used only in the file that computes them. That no activity and no
// workflow uses them is tested by internal/archtest.
func TestNoOtherRuleUsesShares(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	named := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				switch id.Name {
				case "Shares", "shareOf", "CountFragments", "UsedBand", "StagedBand", "ShareWindow":
					named[file] = true
				}
			}
			return true
		})
	}
	require.Equal(t, map[string]bool{"shares.go": true}, named)
}
