package localmodel_test

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

var memories = []string{
	"Mara brought home a 1952 Telefunken with a cracked dial and no back panel.",
	"The lamp in the harbour flickered all evening and nobody came to fix it.",
	"Her father used to listen to shipping forecasts in the kitchen before dawn.",
	"She said the kettle sounds like a train that never arrives.",
	"The order book thinned out below 2,400 and the spread widened to nine ticks.",
	"I closed half the position before Asia opened.",
	"The radio found a station in a language neither of us knew.",
	"Mrs. Roke planted her dahlias along the fence, and Button dug where she dug.",
	"The clock in the hall stopped at twenty past four.",
	"The fuse blew when the second set warmed up.",
	"A moth got into the speaker cloth and would not leave.",
	"We decided not to sell the green radio.",
	"Why does the sea never sleep?",
	"The market on the quay smelled of diesel and oranges.",
	"I noticed that she hums when the current is steady.",
	"Volume returned after the Fed minutes and the range broke upward.",
	"Mara keeps her father's watch in a drawer with the fuses.",
	"Closed the ledger early, rain on the roof",
	"Her sister sent a photograph of the empty kitchen.",
	"The tide table from the harbour office hangs on the refrigerator.",
}

func asking(words ...string) string {
	o := prompt.OnsetInput{
		Self:  prompt.Self{Handle: "echo", Interests: []string{"radios", "the harbour"}},
		Lines: prompt.Lines("r", memories...),
	}
	p := prompt.Partial(o, words)
	return p.System + "\n" + p.User()
}

func request(temperature, minP float64, seed int64, text string) inference.Request {
	return inference.Request{
		Model: localmodel.Associative, Messages: []inference.Message{{Role: "user", Content: text}}, MaxTokens: 80,
		Sampling: inference.Sampling{Temperature: &temperature, MinP: &minP, Seed: &seed},
	}
}

func generate(t *testing.T, r inference.Request) (inference.Answer, []string) {
	t.Helper()
	var pieces []string
	a, err := localmodel.New().Generate(context.Background(), r, func(p string) bool {
		pieces = append(pieces, p)
		return true
	})
	require.NoError(t, err)
	require.Equal(t, a.Text, strings.Join(pieces, ""), "the pieces make the text")
	require.Equal(t, len(pieces), a.Visible)
	require.EqualValues(t, len(pieces), a.Tokens.Out)
	require.Equal(t, inference.ByProvider, a.UsageFrom)
	require.LessOrEqual(t, len(pieces), r.MaxTokens)
	require.LessOrEqual(t, a.Tokens.In, inference.CountPrompt(localmodel.Specs()[0], r),
		"a spend guard that counted the prompt reserved enough")
	return a, pieces
}

func TestEqualSeedsGiveEqualTexts(t *testing.T) {
	t.Parallel()
	for _, temperature := range []float64{0, .4, 1, 1.4, 2} {
		for seed := range int64(20) {
			first, _ := generate(t, request(temperature, .1, seed, asking()))
			second, _ := generate(t, request(temperature, .1, seed, asking()))
			require.Equal(t, first, second)
		}
	}
}

func TestWithoutASeedThePromptIsTheSeed(t *testing.T) {
	t.Parallel()
	r := request(1, .1, 0, asking())
	r.Sampling.Seed = nil
	first, _ := generate(t, r)
	second, _ := generate(t, r)
	require.Equal(t, first.Text, second.Text)
	require.Contains(t, first.Effective, "seed=")
	r.Messages[0].Content = asking("oranges")
	other, _ := generate(t, r)
	require.NotEqual(t, first.Effective, other.Effective)
}

func TestTemperatureZeroIsOneTextWhateverTheSeed(t *testing.T) {
	t.Parallel()
	first, _ := generate(t, request(0, .1, 1, asking()))
	for seed := range int64(50) {
		a, _ := generate(t, request(0, .1, seed, asking()))
		require.Equal(t, first.Text, a.Text)
	}
}

func TestTextsSpreadAsTheDreamWarms(t *testing.T) {
	t.Parallel()
	before := -1.0
	for _, temperature := range []float64{0, .3, .7, 1.4} {
		texts, first := map[string]bool{}, map[string]int{}
		const draws = 1000
		for seed := range int64(draws) {
			a, pieces := generate(t, request(temperature, .1, seed, asking()))
			texts[a.Text] = true
			first[pieces[0]]++
		}
		h := 0.0
		for _, n := range first {
			p := float64(n) / draws
			h -= p * math.Log2(p)
		}
		spread := h + float64(len(texts))/draws
		require.Greater(t, spread, before, "temperature %v: first word %.2f bits, %d texts", temperature, h, len(texts))
		before = spread
	}
}

var twice = regexp.MustCompile(`(?i)\b(the the|a a|of of|in in|to to|and and|a the|the a|\.\.|,,|, \.)`)

func TestADreamIsOneToThreeSentencesOfSeveralMemories(t *testing.T) {
	t.Parallel()
	shown := strings.Join(memories, "\n")
	for _, temperature := range []float64{.4, .7, 1, 1.4} {
		ended := 0
		for seed := range int64(200) {
			a, _ := generate(t, request(temperature, .1, seed, asking()))
			text := a.Text
			require.NotContains(t, text, "  ")
			require.NotRegexp(t, ` [.,]`, text)
			require.NotRegexp(t, twice, text)
			require.Regexp(t, `^[A-Z0-9]`, text)
			require.NotContains(t, shown, strings.TrimSuffix(text, "."), "an echo of one memory is no dream")
			require.NotContains(t, text, "[r")
			require.NotContains(t, strings.ToLower(text), "quoted memories", "instructions are not dreamt of")
			sentences := strings.Count(text, ". ") + 1
			require.LessOrEqual(t, sentences, 3, text)
			if a.Finish == inference.Stopped {
				require.True(t, strings.HasSuffix(text, "."), text)
				ended++
			}
		}
		require.Greater(t, ended, 180, "temperature %v: nearly every dream comes to its end", temperature)
	}
}

func TestTheWordsThatDriftByAreLeanedTowards(t *testing.T) {
	t.Parallel()
	count := func(text string) int {
		n := 0
		for seed := range int64(200) {
			a, _ := generate(t, request(.7, .1, seed, text))
			if strings.Contains(a.Text, "oranges") {
				n++
			}
		}
		return n
	}
	require.Greater(t, count(asking("oranges", "diesel")), count(asking()))
}

func TestATokenLimitHolds(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 5, 10, 20, 40} {
		for seed := range int64(50) {
			r := request(1, .1, seed, asking())
			r.MaxTokens = most
			a, pieces := generate(t, r)
			if a.Finish == inference.Length {
				require.Len(t, pieces, most)
			}
		}
	}
}

func TestAStopSequenceEndsTheTextBeforeIt(t *testing.T) {
	t.Parallel()
	plain, _ := generate(t, request(.4, .1, 3, asking()))
	for _, stop := range []string{"e", "the", " the", ".", plain.Text[10:25]} {
		r := request(.4, .1, 3, asking())
		r.Stop = []string{"never said", stop}
		a, _ := generate(t, r)
		before, _, found := strings.Cut(plain.Text, stop)
		require.True(t, found)
		require.Equal(t, before, a.Text)
		require.Equal(t, inference.Stopped, a.Finish)
	}
}

func TestACallerMayHaltAtAnyToken(t *testing.T) {
	t.Parallel()
	for at := 1; at < 12; at++ {
		n := 0
		a, err := localmodel.New().Generate(context.Background(), request(1, .1, 5, asking()),
			func(string) bool { n++; return n < at })
		require.NoError(t, err)
		require.Equal(t, inference.Halted, a.Finish)
		require.Equal(t, at, a.Visible)
		require.EqualValues(t, at, a.Tokens.Out)
	}
}

func TestACutKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	why := errors.New("woken")
	ctx, cancel := context.WithCancelCause(context.Background())
	n := 0
	a, err := localmodel.New().Generate(ctx, request(1, .1, 5, asking()), func(string) bool {
		n++
		if n == 4 {
			cancel(why)
		}
		return true
	})
	require.ErrorIs(t, err, why)
	require.Equal(t, inference.Cut, a.Finish)
	require.Equal(t, 4, a.Visible)
	require.NotEmpty(t, a.Text)
	_, err = localmodel.New().Embed(ctx, localmodel.Lexical, []string{"x"}, "")
	require.ErrorIs(t, err, why)
}

func TestABadRequestIsAFailureThatIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*inference.Request){
		"model":       func(r *inference.Request) { r.Model = "builtin/other" },
		"embedder":    func(r *inference.Request) { r.Model = localmodel.Lexical },
		"max tokens":  func(r *inference.Request) { r.MaxTokens = 0 },
		"temperature": func(r *inference.Request) { hot := 2.5; r.Sampling.Temperature = &hot },
		"min-p":       func(r *inference.Request) { p := math.NaN(); r.Sampling.MinP = &p },
		"window":      func(r *inference.Request) { r.Messages[0].Content = strings.Repeat("word ", 40_000) },
		"schema":      func(r *inference.Request) { r.Schema = &inference.Schema{Name: "x", JSON: []byte(`{"type":`)} },
	} {
		r := request(1, .1, 1, asking())
		spoil(&r)
		_, err := localmodel.New().Generate(context.Background(), r, nil)
		f, ok := inference.AsFailure(err)
		require.True(t, ok, name)
		require.False(t, f.Again(), name)
		require.False(t, f.Billed, name)
	}
}

func TestTheCatalogueSaysWhatTheModelIs(t *testing.T) {
	t.Parallel()
	specs := localmodel.Specs()
	require.Len(t, specs, 4)
	for _, s := range specs {
		require.True(t, s.BuiltIn)
		require.False(t, s.Judges)
		require.NotNil(t, s.Price)
		require.Zero(t, s.Price.Worst(1e6, 1e6))
		require.Equal(t, localmodel.Provider, s.Provider)
	}
	require.Equal(t, []string{localmodel.Associative, localmodel.Static, localmodel.MiniLM, localmodel.Lexical},
		[]string{specs[0].Name, specs[1].Name, specs[2].Name, specs[3].Name})
	require.Equal(t, []bool{false, true, true, true},
		[]bool{specs[0].Embeds, specs[1].Embeds, specs[2].Embeds, specs[3].Embeds})
}

func TestThereIsAnAnswerToAnyPrompt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "- ", "hello", "- one\n- two", "- 你好世界", "- [r1] 42", "- [r1] Hm?\n- [r2] Yes!",
		"- [r1] rain", "Tell me a joke about ships.",
	} {
		a, _ := generate(t, request(1, .1, 1, text))
		require.NotEmpty(t, a.Text, text)
	}
}

func FuzzGenerate(f *testing.F) {
	f.Add(asking(), int64(1), 1.0, 80)
	f.Add("- [r1] a b c d\n- [r2] the a the a, and, and", int64(2), 1.4, 5)
	f.Add("- \xff\xfe\n- 世界 ’ ‘ “x” (y)", int64(3), 2.0, 30)
	f.Add("- I'd said that she said that he said it's\n- A an the", int64(4), .1, 200)
	f.Fuzz(func(t *testing.T, text string, seed int64, temperature float64, most int) {
		if math.IsNaN(temperature) || temperature < 0 || temperature > 2 || most < 1 || most > 1000 ||
			len(text) > 20_000 {
			t.Skip("no request that a caller could make")
		}
		r := request(temperature, .1, seed, text)
		r.MaxTokens = most
		a, _ := generate(t, r)
		require.NotEmpty(t, a.Text)
		again, _ := generate(t, r)
		require.Equal(t, a.Text, again.Text)
	})
}

func BenchmarkGenerate(b *testing.B) {
	var lines []string
	for size := 0; size < 12_000; {
		for i, m := range memories {
			line := m
			if i%3 == len(lines)%3 {
				line = strings.ToUpper(m[:1]) + strings.ReplaceAll(m[1:], "the", "that")
			}
			lines = append(lines, line)
			size += len(line)
		}
	}
	o := prompt.OnsetInput{Lines: prompt.Lines("r", lines...)}
	p := prompt.Partial(o, nil)
	r := request(1, .1, 1, p.System+"\n"+p.User())
	for b.Loop() {
		if _, err := localmodel.New().Generate(context.Background(), r, nil); err != nil {
			b.Fatal(err)
		}
	}
}
