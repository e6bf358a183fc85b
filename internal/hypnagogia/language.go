package hypnagogia

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Language says whether the language of an agent's memory is known to the observer. Only then are thoughts checked for
// the function words of a language.
type Language struct {
	Recognised bool            // the language is known
	own        map[string]bool // the function words of the memory itself
}

// When a language is known; our choice: the memory is long enough, and a quarter of it is function words. In the
// listed languages function words make up 0.35 to 0.65 of speech; for others the memory's own are used, once it is
// long enough.
const (
	leastWords     = 60  // words
	leastOwn       = 300 // words
	recognisedFrom = .25
	longestOwn     = 5 // letters
	leastOwnUse    = .008
)

// LanguageOf determines the language of the texts of a memory.
func LanguageOf(texts []string) Language {
	counts, lines, all := map[string]int{}, map[string]int{}, 0
	for _, text := range texts {
		seen := map[string]bool{}
		for _, w := range plainWords(text) {
			all++
			counts[w]++
			if !seen[w] {
				seen[w] = true
				lines[w]++
			}
		}
	}
	t := Language{}
	if all >= leastOwn {
		t.own = map[string]bool{}
		for w, n := range counts {
			if utf8.RuneCountInString(w) <= longestOwn && lines[w] >= 3 && float64(n) >= leastOwnUse*float64(all) {
				t.own[w] = true
			}
		}
	}
	if all < leastWords {
		return Language{}
	}
	for _, list := range slices.Concat(smallWords, []map[string]bool{t.own}) {
		n := 0
		for w, times := range counts {
			if list[w] {
				n += times
			}
		}
		t.Recognised = t.Recognised || float64(n) >= recognisedFrom*float64(all)
	}
	return t
}

// Limits of the share of function words; our choice. On 54 texts of a model with 1.1 billion parameters at
// temperature 1.6 it was 0.02 to 0.20, on 54 at 1.0 with min-p 0.1 it was 0.30 to 0.65. Short texts are checked only
// in part.
const (
	fewSmall    = .16
	enoughSmall = .28
	wholeLength = 24 // words
)

// spoken is how far the function words of one language are as frequent in a text as in speech; 1 when the language is
// unknown.
func (t Language) spoken(text string) float64 {
	texts := plainWords(text)
	if !t.Recognised || len(texts) == 0 {
		return 1
	}
	best := 0
	for _, list := range slices.Concat(smallWords, []map[string]bool{t.own}) {
		n := 0
		for _, w := range texts {
			if list[w] {
				n++
			}
		}
		best = max(best, n)
	}
	held := unit(float64(len(texts)) / wholeLength)
	return 1 - held*(1-stretch(float64(best)/float64(len(texts)), fewSmall, enoughSmall))
}

// plainWords are the words of a text in lower case, without numbers; of words joined by an apostrophe, the longer
// part.
func plainWords(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
	}) {
		before, after, joined := strings.Cut(strings.ReplaceAll(w, "’", "'"), "'")
		w = before
		if joined && utf8.RuneCountInString(after) > utf8.RuneCountInString(before) {
			w = strings.ReplaceAll(after, "'", "")
		}
		if strings.IndexFunc(w, unicode.IsLetter) >= 0 {
			out = append(out, w)
		}
	}
	return out
}

// smallWords are function words of languages that the observer knows without learning them.
var smallWords = []map[string]bool{
	setOf(
		"the of and to a in is it that was he she they we you i for on with as at by his her their its my our " +
			"this be are were had have has " +
			"not but or from which when there been so if all one would what out up into then who him me them over " +
			"like after before no do did will " +
			"can could more some than about while where how only an just also because through between though"),
	setOf(
		"der die das und in zu den ist nicht von sie es mit dem dass ein eine auf für im ich er wir als auch an " +
			"so wie war sich aus bei nach " +
			"noch nur wenn aber oder um wird werden hat haben ihr sein was man über einen einem einer am doch schon " +
			"da des vom zum zur durch bis"),
	setOf(
		"le la les de des et un une est en que qui dans pour pas sur ce il elle je nous vous ils au aux du par " +
			"avec ne se plus comme mais ou " +
			"son sa ses cette tout à était sont leur on si même sans où y cet elles mon ma mes"),
	setOf(
		"el la los las de y en que un una es por con para no se del al lo su sus como más pero o este esta yo él " +
			"ella me le era son ya cuando " +
			"muy sin sobre entre todo hay fue porque a mi si"),
	setOf(
		"il lo la i gli le di e che un una è in per con non si del della al dei da sono come più ma o questo " +
			"questa io lui lei mi ci era anche " +
			"su tra quando nel alla a dal nella se"),
	setOf(
		"o a os as de e que um uma é em para com não se do da dos das no na por como mais mas ou este esta eu ele " +
			"ela me era são já quando " +
			"muito sem sobre foi ao pela seu sua"),
	setOf(
		"de het een en van in is dat op te niet met voor ik hij ze we aan er als zijn was maar om ook dan bij uit " +
			"nog naar over dit die door " +
			"heeft of wat toen mijn je"),
	setOf(
		"och i att det som en på är av för med den inte till har de jag han hon vi ett om men var så från vid när " +
			"nu efter ut sig hade"),
	setOf(
		"og i at det som en på er av for med den ikke til har de jeg han hun vi et om men var så fra ved når nå " +
			"nu etter efter ut sig seg hadde havde"),
	setOf(
		"i w na z nie się że to jest do o a jak po co ale za od dla był była tak już by przez tylko ja on ona my czy"),
	setOf(
		"и в не на я что с он как это а то но она мы по к у из за от для так же был была было вы все о бы если " +
			"уже когда или ни его её"),
	setOf(
		"і в не на я що з він як це а то але вона ми по до у із за від для так же був була було ви все про би " +
			"якщо вже коли або ні його її та"),
}
