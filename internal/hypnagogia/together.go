package hypnagogia

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Judging is the size of judging the fragments of a cycle, in tokens.
type Judging struct {
	Fragments int
	Base      int64 // of the prompt without fragments: self, theme, playbook, the question
	Each      int64 // of the prompt per fragment: the thought and its nearest memories
	Answer    int64 // of each verdict
	Thinking  int64 // reasoning per call, for reasoning models
	Window    int   // of the model; 0 when unknown
}

// JudgingChoice is the chosen way of judging a cycle, and why.
type JudgingChoice struct {
	Way      string        `json:"way"` // dream.BySingle or dream.ByTogether
	Why      string        `json:"why"`
	Single   budget.Micros `json:"single_micros"`   // per cycle, with a call for each fragment
	Together budget.Micros `json:"together_micros"` // per cycle, with one call for all
}

// worthwhile is the share of the price that judging together must save; our choice. Verdicts in one call influence
// each other, and a lost answer loses all of them, so a small saving is not worth it.
const worthwhile = .1

// ChooseJudging compares one call for all fragments of a cycle with one for each, at the list price without caching.
func ChooseJudging(j Judging, price budget.Price) JudgingChoice {
	n := int64(max(j.Fragments, 0))
	one := price.Cost(budget.Tokens{In: j.Base + j.Each, Out: j.Answer + j.Thinking})
	b := JudgingChoice{
		Way: dream.BySingle, Single: budget.Micros(n) * one,
		Together: price.Cost(budget.Tokens{In: j.Base + n*j.Each, Out: n*j.Answer + j.Thinking}),
	}
	room := j.Base + n*j.Each + n*j.Answer + j.Thinking
	switch saved := b.Single - b.Together; {
	case n < 2:
		b.Why = "there is only one fragment to judge"
	case b.Single == 0:
		b.Why = "the judge costs nothing, so each fragment gets its own call"
	case j.Window > 0 && room > int64(j.Window):
		b.Why = fmt.Sprintf("together they need %d tokens and the judge's window holds %d", room, j.Window)
	case float64(saved) < worthwhile*float64(b.Single):
		b.Why = fmt.Sprintf("together they cost %s instead of %s a cycle: too little is saved", b.Together, b.Single)
	default:
		b.Way, b.Why = dream.ByTogether,
			fmt.Sprintf("together they cost %s instead of %s a cycle", b.Together, b.Single)
	}
	return b
}
