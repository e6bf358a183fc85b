package screen_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/awalterschulze/gographviz"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

const searched = "dream/echo/0042"

// searches is the graph of a dream: three branches, a merger and a refinement that was dropped, and two that grew out
// of them.
func searches() []*dream.Scenario {
	scenario := func(number string, op dream.Operation, round int, score float64, content string,
		parents ...string,
	) *dream.Scenario {
		s := &dream.Scenario{
			Head:      dream.Head{ID: searched + "/rem/" + number, Dream: searched},
			Operation: op,
			Round:     round,
			Score:     score,
			Content:   content,
			Worth:     &dream.Worth{Novelty: score, Plausible: score, Relevance: score},
		}
		for _, parent := range parents {
			s.Parents = append(s.Parents, searched+"/rem/"+parent)
		}
		return s
	}
	all := []*dream.Scenario{
		scenario("1", dream.Branch, 1, .6,
			"Mina never closes the shop, and the bridge is repaired first. The crowd that came for the fair stays, and pays for what it had stopped to look at."),
		scenario("2", dream.Branch, 1, .5, "The ferry runs at night and nobody is told."),
		scenario("3", dream.Branch, 1, .4,
			"A gull \"counts\" the days\\nights \x1b[31mred\x1b[0m\n of the harbour; 潮水退去以后，市场像一条没有人的街。"),
		scenario("4", dream.Merge, 2, .7, "The shop is the ferry's landing: who waits there buys.", "1", "2"),
		scenario("5", dream.Refine, 2, .2, "Mina closes at nine.", "1"),
		scenario("6", dream.Merge, 3, .8, "The landing keeps the gull's count, and prices follow it.", "4", "3"),
		scenario("7", dream.Refine, 3, 0, "Whoever waits at the landing is asked to carry something across.", "4"),
	}
	all[0].Seeds, all[0].Synthetic = []string{searched + "/onset/1.2"}, true
	all[1].Parent, all[1].Counterfactual = searched+"/onset/2.1", true // as the first release wrote it
	all[5].Kept = true
	all[0].Reason, all[1].Reason, all[2].Reason = "scenario 4 grew out of it and stands in its place",
		"scenario 4 grew out of it and stands in its place", "scenario 6 grew out of it and stands in its place"
	all[3].Reason = "scenario 6 grew out of it and stands in its place"
	all[4].Reason = "left: it scored 0.20, and scenario 1 that it came from 0.60"
	all[6].Ended = "another round might cost more than is left"
	all[6].Worth, all[6].Reason = nil, "nobody weighed it: the money was spent"
	return all
}

func TestASearchIsDrawnAsATreeThatShowsItsMergers(t *testing.T) {
	t.Parallel()
	for file, st := range styles {
		golden(t, "scenarios-"+file, screen.Scenarios(searches(), searched+"/rem/4", st))
	}
	for _, line := range strings.Split(screen.Scenarios(searches(), "", screen.Style{Width: 60}), "\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 60)
		require.NotContains(t, line, "\x1b")
	}
}

func TestAForgottenParentMakesARootOfItsChild(t *testing.T) {
	t.Parallel()
	drawn := screen.Scenarios(searches()[4:], "", screen.Style{Width: 80})
	require.Equal(t, 3, strings.Count(drawn, "\n○")+strings.Count(drawn, "\n●"))
	require.Contains(t, screen.Scenarios(nil, "", screen.Style{Width: 80}), "0 scenarios, 0 kept")
	old := []*dream.Scenario{
		{Head: dream.Head{ID: "dream/echo/0001/rem/1"}, Content: "before there was a search", Score: .4, Kept: true},
	}
	require.Contains(t, screen.Scenarios(old, "", screen.Style{Width: 80}), "● 1  .40  branch, kept")
}

func TestASearchIsDrawnInDOT(t *testing.T) {
	t.Parallel()
	text := screen.ScenariosDot(searched, searches())
	golden(t, "scenarios.dot", text)
	read := graphOf(t, text)
	require.Len(t, read.Nodes.Nodes, 9, "seven scenarios and two fragments")
	require.Len(t, read.Edges.Edges, 8)
	into := func(number string) []string {
		var from []string
		for _, e := range read.Edges.Edges {
			if e.Dst == `"`+searched+"/rem/"+number+`"` {
				from = append(from, strings.Trim(e.Src, `"`))
			}
		}
		return from
	}
	require.ElementsMatch(t, []string{searched + "/rem/1", searched + "/rem/2"}, into("4"))
	require.ElementsMatch(t, []string{searched + "/rem/4", searched + "/rem/3"}, into("6"))
	require.Equal(t, []string{searched + "/onset/1.2"}, into("1"))
}

func graphOf(t *testing.T, text string) *gographviz.Graph {
	t.Helper()
	tree, err := gographviz.ParseString(text)
	require.NoError(t, err, text)
	g := gographviz.NewGraph()
	require.NoError(t, gographviz.Analyse(tree, g), text)
	require.True(t, g.Directed)
	return g
}

// FuzzDOT puts any words into scenarios: the drawing can be parsed.
func FuzzDOT(f *testing.F) {
	for _, s := range searches() {
		f.Add(s.Content, s.ID)
	}
	f.Add("\\", "\"")
	f.Add("\\\"; } digraph {", "a\\")
	f.Fuzz(func(t *testing.T, content, id string) {
		if screen.Clean(id) == "" {
			t.Skip("no id")
		}
		s := &dream.Scenario{Head: dream.Head{ID: id, Dream: "d"}, Content: content, Seeds: []string{"seed " + id}}
		g := graphOf(t, screen.ScenariosDot(id, []*dream.Scenario{s}))
		require.Len(t, g.Nodes.Nodes, 2)
		require.Len(t, g.Edges.Edges, 1)
	})
}
