package importer

import (
	"strings"

	"github.com/seed-56a03226/oneiros/internal/mood"
)

// feelings gives words a place in pleasure, arousal and dominance. The list is our own: words of one shade share one
// point, and the points follow the octants of the model (exuberant, dependent, relaxed, docile and their opposites).
var feelings = func() map[uint64]mood.PAD {
	set := map[uint64]mood.PAD{}
	for _, shade := range shades {
		for _, w := range strings.Fields(shade.words) {
			hash, _ := fold(w)
			set[hash] = shade.pad
		}
	}
	return set
}()

var shades = []struct {
	pad   mood.PAD
	words string
}{
	// Joy and drive.
	{
		mood.PAD{Pleasure: .9, Arousal: .7, Dominance: .5},
		"ecstatic thrilled overjoyed exhilarated elated euphoric jubilant",
	},
	{
		mood.PAD{Pleasure: .8, Arousal: .6, Dominance: .4},
		"excited exciting excitement amazing awesome fantastic incredible thrilling wonderful",
	},
	{
		mood.PAD{Pleasure: .8, Arousal: .3, Dominance: .4},
		"happy happiness joy joyful delighted cheerful smile smiled smiling laughter laughed laughing laugh",
	},
	{
		mood.PAD{Pleasure: .7, Arousal: .3, Dominance: .7},
		"proud pride accomplished accomplishment triumph triumphant victory won win winning success successful achieved achievement",
	},
	{
		mood.PAD{Pleasure: .6, Arousal: .5, Dominance: .6},
		"passion passionate inspired inspiring inspiration motivated motivating energized energetic eager determined courage brave strong powerful",
	},
	{
		mood.PAD{Pleasure: .6, Arousal: .6, Dominance: .2},
		"fun playful adventure dance dancing celebrate celebrated celebration party festival",
	},
	{
		mood.PAD{Pleasure: .5, Arousal: .5, Dominance: .3},
		"curious fascinated fascinating surprised wow discovery discovered wonder rally surged soared",
	},
	// Warmth.
	{
		mood.PAD{Pleasure: .8, Arousal: .2, Dominance: .1},
		"love loved loving beloved adore adorable affection tenderness hug hugged kiss",
	},
	{
		mood.PAD{Pleasure: .7, Arousal: .1, Dominance: 0},
		"grateful thankful gratitude blessed appreciate appreciated thanks thank touched moved",
	},
	{
		mood.PAD{Pleasure: .6, Arousal: .1, Dominance: .1},
		"kind kindness gentle friendly friendship friend welcome welcoming supportive support supported accepted belonging together trust trusted",
	},
	{
		mood.PAD{Pleasure: .6, Arousal: .2, Dominance: .2},
		"glad good great nice lovely beautiful sweet pleasant enjoy enjoyed enjoying fine cool",
	},
	{
		mood.PAD{Pleasure: .5, Arousal: .3, Dominance: .2},
		"hope hopeful hoping optimistic promising dream dreams cheering",
	},
	// Rest and ease.
	{
		mood.PAD{Pleasure: .6, Arousal: -.5, Dominance: .3},
		"calm peace peaceful serene relaxed relaxing relax tranquil rest rested quiet cozy cosy soothing comfort comfortable",
	},
	{
		mood.PAD{Pleasure: .5, Arousal: -.2, Dominance: .4},
		"content satisfied satisfying safe secure stable steady relieved relief balanced settled",
	},
	{
		mood.PAD{Pleasure: .4, Arousal: .1, Dominance: .7},
		"confident confidence certain capable independent control controlled master free freedom gain gained profit profits",
	},
	// Want, weakness and weariness.
	{
		mood.PAD{Pleasure: -.3, Arousal: -.5, Dominance: -.3},
		"tired exhausted weary sleepy drained bored boring dull fatigue fatigued slow",
	},
	{
		mood.PAD{Pleasure: -.6, Arousal: -.3, Dominance: -.4},
		"sad sadness unhappy sorrow gloomy blue crying cried cry tears melancholy miserable",
	},
	{
		mood.PAD{Pleasure: -.7, Arousal: -.3, Dominance: -.5},
		"depressed depression hopeless despair empty numb worthless grief grieving mourning",
	},
	{
		mood.PAD{Pleasure: -.6, Arousal: -.2, Dominance: -.4},
		"lonely loneliness alone abandoned rejected rejection ignored isolated homesick missed",
	},
	{
		mood.PAD{Pleasure: -.5, Arousal: .1, Dominance: -.5},
		"ashamed shame guilty guilt embarrassed embarrassing humiliated regret regretted sorry",
	},
	{
		mood.PAD{Pleasure: -.4, Arousal: .2, Dominance: -.4},
		"hurt hurts pain painful sick ill illness injured injury suffering suffered weak helpless",
	},
	{
		mood.PAD{Pleasure: -.5, Arousal: 0, Dominance: -.4},
		"lost lose losing loss losses failed failure fail failing broke broken disappointed disappointing disappointment",
	},
	// Fear and strain.
	{
		mood.PAD{Pleasure: -.7, Arousal: .8, Dominance: -.6},
		"terrified terror panic panicked horrified horror nightmare trauma traumatic",
	},
	{
		mood.PAD{Pleasure: -.6, Arousal: .6, Dominance: -.5},
		"afraid scared scary fear feared fearful frightened frightening threat threatened danger dangerous alarm alarmed",
	},
	{
		mood.PAD{Pleasure: -.4, Arousal: .5, Dominance: -.4},
		"anxious anxiety worried worry worrying nervous uneasy tense stress stressed stressful overwhelmed overwhelming swamped pressure",
	},
	{
		mood.PAD{Pleasure: -.3, Arousal: .4, Dominance: -.2},
		"confused confusing unsure doubt doubts uncertain uncertainty struggle struggled struggling tough hard difficult setback setbacks",
	},
	{
		mood.PAD{Pleasure: -.5, Arousal: .7, Dominance: -.2},
		"crash crashed crisis emergency accident collapse collapsed plunged plunge drawdown exploit liquidated liquidation volatile",
	},
	// Anger and contempt.
	{mood.PAD{Pleasure: -.7, Arousal: .7, Dominance: .4}, "furious rage enraged hate hated hatred fury hostile"},
	{
		mood.PAD{Pleasure: -.5, Arousal: .6, Dominance: .3},
		"angry anger mad annoyed annoying irritated frustrated frustrating frustration outraged argued argument fight fought",
	},
	{
		mood.PAD{Pleasure: -.6, Arousal: .3, Dominance: .2},
		"disgusted disgusting disgust awful terrible horrible nasty cruel unfair betrayed jealous envious bad worse worst",
	},
	{
		mood.PAD{Pleasure: -.3, Arousal: .7, Dominance: 0},
		"shocked shocking stunned urgent chaos chaotic frantic rush rushed",
	},
	{mood.PAD{Pleasure: -.2, Arousal: -.2, Dominance: .3}, "cold indifferent distant strict stubborn"},
}
