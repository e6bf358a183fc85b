package screen

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// reasoned shows how the predictions were reasoned that a dream reviewed: their number in each quadrant, and those that
// need a look.
func reasoned(p *page, reviewed []*dream.Prediction) {
	if len(reviewed) == 0 {
		return
	}
	p.heading("Reasoning behind what was foretold")
	counts := map[string]int{}
	var shown []*dream.Prediction
	for _, one := range reviewed {
		quadrant := one.Quadrant()
		counts[quadrant]++
		if quadrant == dream.MisalignedCorrect || quadrant == dream.AlignedIncorrect {
			shown = append(shown, one)
		}
	}
	p.note(fmt.Sprintf("sound and true %d, sound and wrong %d, unsound and true %d, unsound and wrong %d",
		counts[dream.AlignedCorrect], counts[dream.AlignedIncorrect], counts[dream.MisalignedCorrect],
		counts[dream.MisalignedIncorrect]))
	list(p, shown, func(_ int, one *dream.Prediction) {
		text := one.Claim
		if text == "" {
			text = one.ID
		}
		p.item("· ", blue, text)
		if one.Quadrant() == dream.MisalignedCorrect {
			p.note("luck: it came true, and its reasoning is not sound; " + Clean(one.Reasoning.Reason))
		} else {
			p.note("soundly reasoned and wrong: the next dream replays what it rests on; " + Clean(one.Reasoning.Reason))
		}
	})
}
