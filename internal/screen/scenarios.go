package screen

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Scenarios draws the search of a dream as a tree: each scenario beneath its first parent. A merger is drawn in full
// beneath its first parent, and as a line that names it beneath the other. They are in the order they were made; at
// is the id of one to mark, or empty.
func Scenarios(all []*dream.Scenario, at string, st Style) string {
	p := &page{st: st}
	g := graphOf(all)
	p.text("", g.summary(), bold)
	for i, s := range all {
		if len(g.parents[i]) == 0 {
			p.blank()
			g.draw(p, s, "", "", at)
		}
	}
	return p.String()
}

// graph holds parents and children, by index.
type graph struct {
	all      []*dream.Scenario
	place    map[string]int
	parents  map[int][]int
	children map[int][]int
}

func graphOf(all []*dream.Scenario) graph {
	g := graph{all: all, place: map[string]int{}, parents: map[int][]int{}, children: map[int][]int{}}
	for i, s := range all {
		for _, id := range s.Parents {
			if at, ok := g.place[id]; ok { // what was forgotten is nobody's parent
				g.parents[i] = append(g.parents[i], at)
				g.children[at] = append(g.children[at], i)
			}
		}
		g.place[s.ID] = i
	}
	return g
}

func (g graph) summary() string {
	rounds, kept := 0, 0
	for _, s := range g.all {
		rounds = max(rounds, s.Round)
		if s.Kept {
			kept++
		}
	}
	text := count(len(g.all), "scenario")
	if rounds > 0 {
		text += " in " + count(rounds, "round")
	}
	text += fmt.Sprintf(", %d kept", kept)
	if len(g.all) > 0 && g.all[len(g.all)-1].Ended != "" {
		text += "; it ended because " + Clean(g.all[len(g.all)-1].Ended)
	}
	return text
}

// draw writes a scenario with its text and result, and everything made from it. first is the prefix of its first
// line, rest that of the others.
func (g graph) draw(p *page, s *dream.Scenario, first, rest, at string) {
	me := g.place[s.ID]
	children := g.children[me]
	mark, colour := "○", faint
	if s.Kept {
		mark, colour = "●", violet
	}
	head := fmt.Sprintf("%s  %s  %s", numberOf(s), worthWords(s), g.origin(me))
	if s.ID == at {
		head += "  ◀"
	}
	p.raw(p.st.paint(faint, first) + p.st.paint(colour, mark) + " " + cut(head, p.columns()-width(first)-2))
	body := rest + "  "
	if len(children) > 0 {
		body = rest + "│ "
	}
	room := p.columns() - width(body) - 2
	p.raw(p.st.paint(faint, body) + "  " + cut(orElse(Clean(s.Content), "(nothing)"), room))
	if fate := Clean(s.Reason); fate != "" && !s.Kept {
		p.raw(p.st.paint(faint, body+"  "+cut(fate, room)))
	}
	for n, child := range children {
		branch, under := "├─", "│ "
		if n == len(children)-1 {
			branch, under = "└─", "  "
		}
		if g.parents[child][0] != me {
			p.raw(
				p.st.paint(faint,
					rest+branch+"→ "+
						fmt.Sprintf("%s, which merges it with %s", numberOf(g.all[child]),
							numberOf(g.all[g.parents[child][0]]))))
			continue
		}
		g.draw(p, g.all[child], rest+branch, rest+under, at)
	}
}

// origin says how a scenario was made.
func (g graph) origin(i int) string {
	s, parents := g.all[i], g.parents[i]
	text := ""
	switch {
	case s.Operation == dream.Merge && len(parents) == 2:
		text = fmt.Sprintf("merges %s and %s", numberOf(g.all[parents[0]]), numberOf(g.all[parents[1]]))
	case s.Operation == dream.Refine && len(parents) == 1:
		text = "refines " + numberOf(g.all[parents[0]])
	default:
		text = "branch" + setOut(s)
	}
	if s.Round > 0 {
		text += fmt.Sprintf(", round %d", s.Round)
	}
	if s.Kept {
		text += ", kept"
	}
	return text
}

// setOut says what a branch started from.
func setOut(s *dream.Scenario) string {
	var from []string
	for _, id := range s.Develops() {
		from = append(from, "fragment "+inDream(id, s.Dream))
	}
	switch {
	case s.Synthetic:
		from = append(from, "parts of days that never met")
	case s.Counterfactual:
		from = append(from, "a day that went otherwise")
	}
	if len(from) == 0 {
		return ""
	}
	return " of " + strings.Join(from, " and ")
}

// inDream is an id as shown within its dream.
func inDream(id, dreamID string) string { return strings.TrimPrefix(id, dreamID+"/") }

// numberOf is the name of a scenario within its search.
func numberOf(s *dream.Scenario) string { return s.ID[strings.LastIndex(s.ID, "/")+1:] }

func worthWords(s *dream.Scenario) string {
	if s.Round > 0 && s.Worth == nil {
		return " - "
	}
	return score(s.Score)
}
