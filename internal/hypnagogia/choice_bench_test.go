package hypnagogia_test

import (
	"fmt"
	"testing"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// The choice of one onset: 270 memories decomposed, ranked, cut to the default window and shuffled.
func BenchmarkChoiceOfAnOnset(b *testing.B) {
	var agentState []dream.Item
	for i := range 270 {
		agentState = append(agentState,
			episode(fmt.Sprint("ep-", i), fmt.Sprintf("The %d. evening at pool %d, quiet as glass", i, i*7),
				fmt.Sprintf("I moved %d shares to the other side", i*3), fmt.Sprintf("It cost %d and saved %d", i, i*i),
				fmt.Sprintf(
					"On evening %d the water stood at %d. Mina asked about boat %d. Nobody answered her for %d minutes.",
					i, i*5, i*11, i*13)))
	}
	k := dream.DefaultKnobs()
	for b.Loop() {
		var pieces []hypnagogia.Piece
		for _, item := range agentState {
			pieces = append(pieces, hypnagogia.Decompose(item)...)
		}
		pieces = hypnagogia.Fit(hypnagogia.Rank(pieces, mood.PAD{Pleasure: .3}, noon), k.ShownCharacters)
		hypnagogia.Shuffle(pieces, k.Shuffle, hypnagogia.Dice(1, dream.Onset, 0, 0, "shuffle"))
	}
}
