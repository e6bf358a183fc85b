package hypnagogia_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// log is a memory in which nouns, verbs and places change and the order of words does not.
func log(n int) []string {
	dice := rand.New(rand.NewPCG(3, 4))
	of := func(list ...string) string { return list[dice.IntN(len(list))] }
	var all []string
	for range n {
		all = append(all, fmt.Sprintf("%s %s the %s %s %s in the %s, and %s the %s was %s.",
			of("She", "He", "Mina", "Tomas"), of("carried", "mended", "painted", "counted"), of("blue", "old", "heavy"),
			of("boat", "net", "lantern", "ladder"), of("slowly", "again", "alone"), of("harbour", "shed", "kitchen", "yard"),
			of("then", "later", "soon"), of("door", "rope", "kettle", "dog"), of("wet", "gone", "warm", "quiet")))
	}
	return all
}

func TestShuffledWordsStandInNoOrder(t *testing.T) {
	t.Parallel()
	o := hypnagogia.OrderOf(log(80))
	const thought = "He painted the heavy lantern alone in the kitchen, and later the rope was warm."
	sober := o.Of(thought)
	require.Greater(t, sober.Deviations, 3.0)
	require.Equal(t, 1.0, sober.Share, "its words are new, their order is not")
	dice := rand.New(rand.NewPCG(1, 2))
	high := 0
	for range 200 {
		w := strings.Fields(strings.NewReplacer(",", "", ".", "").Replace(thought))
		dice.Shuffle(len(w), func(i, j int) { w[i], w[j] = w[j], w[i] })
		if o.Of(strings.Join(w, " ")).Share > .3 {
			high++
		}
	}
	require.Less(t, high, 25, "of 200")

	require.Nil(t, o.Of("The old boat slept."), "too short to have an order")
	require.Nil(t, hypnagogia.WordOrder{}.Of(thought))
	require.Nil(t, hypnagogia.OrderOf(log(20)).Of(thought), "too little memory teaches no order")
	var soup []string
	for _, line := range log(80) {
		w := strings.Fields(line)
		dice.Shuffle(len(w), func(i, j int) { w[i], w[j] = w[j], w[i] })
		soup = append(soup, strings.Join(w, " "))
	}
	if m := hypnagogia.OrderOf(soup).Of(thought); m != nil {
		require.Greater(t, m.Share, .5, "a memory without an order judges none")
	}
}

func TestTheOrderOfAnyTextIsMeasured(t *testing.T) {
	t.Parallel()
	o := hypnagogia.OrderOf(log(80))
	rapid.Check(t, func(r *rapid.T) {
		if m := o.Of(rapid.String().Draw(r, "text")); m != nil {
			require.True(r, m.Share >= 0 && m.Share <= 1, "%+v", m)
		}
	})
	require.NotNil(t, o.Of("the the the the the the the the"))
}

func TestWhatIsCopiedFromOneMemory(t *testing.T) {
	t.Parallel()
	memory := hypnagogia.MemoryTextsOf([][]string{
		{"The lamp at the point was lit at nine and went out before the ferry came.", "Mina waited on the pier."},
		{"Nobody had the key to the boathouse, so we waited in the rain."},
	})
	for _, c := range []struct {
		text   string
		copied float64
	}{
		{"The lamp at the point was lit at nine", 1},
		{"the LAMP at the point, was lit: at nine!", 1},
		{"The lamp at the point was lit at nine. Mina waited on the pier.", 1},
		{"The lamp at the point was lit at ten and went out before the ferry came.", 15. / 16},
		{"The lamp at the point was lit, so we waited in the rain.", 7. / 13},
		{"Somebody swam across a river with gold in both hands.", 0},
		{"in the rain", 1},
		{"the rain", 0},
		{"", 0},
	} {
		require.InDelta(t, c.copied, memory.Copied(c.text), 1e-9, c.text)
	}
	require.Zero(t, hypnagogia.MemoryTexts{}.Copied("The lamp at the point"))
}

// What is copied is not new and what has no order is not understood, measured or judged.
func TestAVerdictSeesCopiesAndOrder(t *testing.T) {
	t.Parallel()
	texts := log(80)
	e := hypnagogia.Evidence{
		Language: hypnagogia.LanguageOf(texts), Order: hypnagogia.OrderOf(texts),
		Memory: hypnagogia.MemoryTextsOf([][]string{texts[:1], texts[1:2]}),
	}
	near := hypnagogia.Near{PlaybookEmpty: true, Memory: .5, Source: .5}
	generous := &dream.Scores{Novelty: .9, Relevance: .9, Coherence: .9}
	const shuffled = "Kitchen the in rope later alone warm was painted the and heavy he lantern the."
	for _, c := range []struct {
		name, text string
		fault      string
	}{
		{"a copy", texts[0], "it repeats a memory"},
		{"shuffled words", shuffled, "its words stand in no order"},
	} {
		for _, scores := range []*dream.Scores{nil, generous} {
			v := hypnagogia.Weigh(c.text, near, scores, e)
			require.LessOrEqual(t, v.Composite, .1, "%s, %v", c.name, scores)
			require.Equal(t, c.fault, hypnagogia.Fault(v))
			before := hypnagogia.Weigh(c.text, near, scores, hypnagogia.Evidence{Language: e.Language})
			require.Greater(t, before.Composite, .4, "%s passes without", c.name)
		}
	}
	joined := strings.TrimSuffix(texts[0], ".") + " while " + texts[1]
	require.Greater(t, hypnagogia.Weigh(joined, near, nil, e).Composite, .5)

	w := dream.Worth{Novelty: .9, Plausible: .8, Relevance: .7}
	require.Zero(t, hypnagogia.LimitWorth(w, texts[0], e).Novelty)
	require.InDelta(t, 0, hypnagogia.LimitWorth(w, shuffled, e).Plausible, 1e-9)
	require.Equal(t, w, hypnagogia.LimitWorth(w, joined, e))
	require.Equal(t, w, hypnagogia.LimitWorth(w, texts[0], hypnagogia.Evidence{}))
}

func TestCopiesAmongMemoriesNameTheEarlierOne(t *testing.T) {
	t.Parallel()
	long := "The ferry was late again and Anna waited an hour at the pier with her bicycle and the wet dog"
	memories := [][]string{
		{long},
		{"Dinner was soup."},
		{"Dinner was soup."},
		{long}, // of the first, not of its copy
		{"THE FERRY was late again, and Anna waited"}, // a part says nothing new
		{long + " while the fog came in from the sea and covered the old lighthouse on the point"},
		{"The ferry was late again and Tom waited an hour at the pier with his bicycle"},
		{"Soup."},
		{"Soup."}, // too short to be sure
		{"Anna waited an hour", "at the pier with her bicycle and the wet dog"},
		{},
		nil,
	}
	require.Equal(t, []int{-1, -1, 1, 0, 0, -1, -1, -1, -1, 0, -1, -1}, hypnagogia.CopiesAmong(memories))
	require.Empty(t, hypnagogia.CopiesAmong(nil))
}
