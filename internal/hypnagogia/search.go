package hypnagogia

import (
	"cmp"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Thought is one scenario in the graph of a search, identified by its index.
type Thought struct {
	Op    dream.Operation
	Round int // the round that made it, from 1
	// indices of the thoughts it was made from: none for a branch, one for a refinement, two for a merger
	Parents []int
	Seed    int // for a branch: the index of the seed it develops; past the last: none
	Weighed bool
	Score   float64 // in [0, 1]
}

// Search is the graph so far and the number of rounds. A thought comes after those it was made from.
type Search struct {
	Thoughts []Thought
	Round    int
}

// SearchLimits limits a search.
type SearchLimits struct {
	Branches int // the most thoughts of the first round
	Beam     int // the most thoughts of every other round, and how many are considered for them
	Rounds   int
	Seeds    int // number of fragments to develop
}

// SearchBudget are the money left and the highest price of one call of each kind.
type SearchBudget struct {
	Left   budget.Micros            `json:"left"`
	Prices map[string]budget.Micros `json:"prices"` // by operation, and PriceOfWeighing
}

// PriceOfWeighing is the price of scoring the thoughts of a round.
const PriceOfWeighing = "weigh"

// Move is one thought to make.
type Move struct {
	Op      dream.Operation
	Parents []int
	Seed    int // for a branch
}

// Stop is why a search ends.
type Stop string

// The reasons to stop.
const (
	GoOn          Stop = ""
	StopEmpty     Stop = "nothing was imagined"
	StopUnweighed Stop = "what the last round made could not be weighed"
	StopRounds    Stop = "its rounds are used"
	StopNoGain    Stop = "two rounds brought no gain"
	StopExhausted Stop = "nothing is left to try"
	StopMoney     Stop = "another round might cost more than is left"
)

// SearchPlan is the next round, or why there is none.
type SearchPlan struct {
	Moves []Move
	Stop  Stop
	// thoughts of the last round that score below their parents: they are abandoned, and others are tried
	Left         []int
	Unaffordable int // moves left out for lack of money
}

// A round gains when the best score rises by at least gain; after patience rounds without a gain a search stops. One
// round without a gain allows a wrong direction to be abandoned. Both are our choice.
const (
	patience = 2
	gain     = .01
)

// Next plans a round: branches first; then the best thoughts that were not used yet are merged or refined. A thought
// that scores below its parents is abandoned and replaced by the next best; if too few are left for the beam, unused
// seeds are developed. The same search, reach and means always give the same plan.
func (s Search) Next(r SearchLimits, m SearchBudget) SearchPlan {
	p := SearchPlan{Left: s.left()}
	switch {
	case s.Round == 0:
		for i := range max(r.Branches, 1) {
			p.Moves = append(p.Moves, Move{Op: dream.Branch, Seed: i})
		}
		p.Moves, p.Unaffordable = affordable(p.Moves, m)
		if len(p.Moves) == 0 { // the first call is always planned: only the spend guard knows its real cost
			p.Moves, p.Unaffordable = []Move{{Op: dream.Branch}}, p.Unaffordable-1
		}
		return p
	case len(s.Thoughts) == 0:
		p.Stop = StopEmpty
	case !s.weighed():
		p.Stop = StopUnweighed
	case s.Round >= r.Rounds:
		p.Stop = StopRounds
	case s.Round > patience && s.best(s.Round)-s.best(s.Round-patience) < gain:
		p.Stop = StopNoGain
	default:
		moves := s.moves(r)
		p.Moves, p.Unaffordable = affordable(moves, m)
		if len(moves) == 0 {
			p.Stop = StopExhausted
		} else if len(p.Moves) == 0 {
			p.Stop = StopMoney
		}
	}
	return p
}

// affordable keeps the first moves whose highest prices, including their weighing, fit the money left.
func affordable(moves []Move, m SearchBudget) ([]Move, int) {
	if m.Left == budget.Unlimited {
		return moves, 0
	}
	left := m.Left - m.Prices[PriceOfWeighing]
	for i, move := range moves {
		left -= m.Prices[string(move.Op)]
		if left < 0 {
			return moves[:i], len(moves) - i
		}
	}
	return moves, 0
}

// moves are those of a later round: mergers for at most half the beam, then refinements of the best, then unused
// seeds.
func (s Search) moves(r SearchLimits) []Move {
	status := s.stand()
	front := s.front(status, r.Beam)
	var moves []Move
	taken := map[int]bool{}
	for i, a := range front {
		for _, b := range front[i+1:] {
			if len(moves) < r.Beam/2 && !taken[a] && !taken[b] && s.compatible(status, a, b) {
				taken[a], taken[b] = true, true
				moves = append(moves, Move{Op: dream.Merge, Parents: []int{a, b}})
			}
		}
	}
	for _, a := range front {
		if len(moves) < r.Beam {
			moves = append(moves, Move{Op: dream.Refine, Parents: []int{a}})
		}
	}
	used := map[int]bool{}
	for _, t := range s.Thoughts {
		used[t.Seed] = used[t.Seed] || t.Op == dream.Branch
	}
	for seed := 0; seed < r.Seeds && len(moves) < r.Beam; seed++ {
		if !used[seed] {
			moves = append(moves, Move{Op: dream.Branch, Seed: seed})
		}
	}
	return moves
}

// nodeState is the state of a thought in its graph.
type nodeState struct {
	left    bool   // it scores below its best parent
	grown   int    // the best thought made from it that is not abandoned; -1: none
	refined bool   // it was refined
	merged  bool   // it was merged
	roots   []bool // the branches it goes back to
}

func (s Search) stand() []nodeState {
	all := make([]nodeState, len(s.Thoughts))
	for i, t := range s.Thoughts {
		all[i] = nodeState{grown: -1, roots: make([]bool, len(s.Thoughts))}
		if t.Op == dream.Branch {
			all[i].roots[i] = true
		}
		best := 0.0
		for _, parent := range t.Parents {
			best = max(best, s.Thoughts[parent].Score)
			for root, grew := range all[parent].roots {
				all[i].roots[root] = all[i].roots[root] || grew
			}
			all[parent].refined = all[parent].refined || t.Op == dream.Refine
			all[parent].merged = all[parent].merged || t.Op == dream.Merge
		}
		all[i].left = len(t.Parents) > 0 && t.Weighed && t.Score < best
		if !t.Weighed || all[i].left {
			continue
		}
		for _, parent := range t.Parents {
			if g := all[parent].grown; g < 0 || t.Score > s.Thoughts[g].Score {
				all[parent].grown = i
			}
		}
	}
	return all
}

// front are the best thoughts that can be refined, best first, at most a beam of them.
func (s Search) front(status []nodeState, beam int) []int {
	var open []int
	for _, i := range s.ranked() {
		if t, at := s.Thoughts[i], status[i]; t.Weighed && t.Score > 0 && !at.left && at.grown < 0 && !at.refined &&
			len(open) < beam {
			open = append(open, i)
		}
	}
	return open
}

// compatible says whether two thoughts may be merged: they go back to different branches, and neither has been
// merged.
func (s Search) compatible(status []nodeState, a, b int) bool {
	for root, grew := range status[a].roots {
		if grew && status[b].roots[root] {
			return false
		}
	}
	return !status[a].merged && !status[b].merged
}

// ranked are the indices of all thoughts, best first; ties are ordered by creation.
func (s Search) ranked() []int {
	indices := make([]int, len(s.Thoughts))
	for i := range indices {
		indices[i] = i
	}
	slices.SortStableFunc(indices, func(a, b int) int { return cmp.Compare(s.Thoughts[b].Score, s.Thoughts[a].Score) })
	return indices
}

func (s Search) left() []int {
	var left []int
	for i, at := range s.stand() {
		if at.left && s.Thoughts[i].Round == s.Round {
			left = append(left, i)
		}
	}
	return left
}

// weighed says whether the last round made nothing, or something that was scored.
func (s Search) weighed() bool {
	made, weighed := 0, 0
	for _, t := range s.Thoughts {
		if t.Round == s.Round {
			made++
			if t.Weighed {
				weighed++
			}
		}
	}
	return made == 0 || weighed > 0
}

// best is the best score up to a round.
func (s Search) best(round int) float64 {
	best := 0.0
	for _, t := range s.Thoughts {
		if t.Round <= round {
			best = max(best, t.Score)
		}
	}
	return best
}
