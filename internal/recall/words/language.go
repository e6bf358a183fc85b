package words

import (
	"math/bits"
	"strings"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// Language is one whose stop words and stems are known.
type Language uint8

// The languages. Texts of others are compared word by word.
const (
	Unknown Language = iota
	English
	German
	French
	Spanish
	Italian
	Portuguese
	Dutch
	Swedish
	Danish
	Norwegian
	Finnish
	Turkish
	Russian

	Languages // how many there are
)

var stems = [Languages]func(*snowballstem.Env) bool{
	English:    english.Stem,
	German:     german.Stem,
	French:     french.Stem,
	Spanish:    spanish.Stem,
	Italian:    italian.Stem,
	Portuguese: portuguese.Stem,
	Dutch:      dutch.Stem,
	Swedish:    swedish.Stem,
	Danish:     danish.Stem,
	Norwegian:  norwegian.Stem,
	Finnish:    finnish.Stem,
	Turkish:    turkish.Stem,
	Russian:    russian.Stem,
}

func stemmed(w word, l Language) string {
	if !w.plain || stems[l] == nil {
		return w.text
	}
	env := snowballstem.NewEnv(w.text)
	stems[l](env)
	return env.Current()
}

// languageSet has a bit for each language.
type languageSet uint16

func (s languageSet) has(l Language) bool { return s>>l&1 != 0 }

// detect tells the language of a text by its stop words, given the languages in which each word is one. Plain ASCII
// without any is taken for English.
func detect(text string, stops []languageSet) Language {
	var hits [Languages]int
	for _, set := range stops[:min(len(stops), 400)] {
		for ; set != 0; set &= set - 1 {
			hits[bits.TrailingZeros16(uint16(set))]++
		}
	}
	best := Unknown
	for l := English; l < Languages; l++ {
		if hits[l] > hits[best] {
			best = l
		}
	}
	switch {
	case best != Unknown:
		return best
	case ascii(text):
		return English
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }):
		return Russian
	}
	return Unknown
}

// stopIn is in which languages a word is a stop word.
var stopIn = map[string]languageSet{}

func init() {
	for l, list := range stopLists {
		for w := range strings.FieldsSeq(list) {
			stopIn[w] |= 1 << l
		}
	}
}

// stopLists are the words that say little of what a text is about: articles, pronouns, prepositions, auxiliaries,
// question words.
var stopLists = [Languages]string{
	English: `a about after all also am an and any are as at be because been before being but by can could did do does doing down
		during each for from had has have having he her here hers him his how i i'd i'll i'm i've if in into is isn't it its itself just
		like may me might more most much my no nor not of off on once only or other our out over own re same shall she should so some
		such than that the their theirs them then there these they they're this those through to too up us very was we were what when
		where which while who whom whose why will with would you you're your yours yes`,
	German: `aber als am an auch auf aus bei bin bis das dass dein deine dem den der des dich die dir doch du ein eine einem einen
		einer eines er es euch für hat hatte habe haben ich ihm ihn ihr ihre im in ist ja kein keine mein meine mich mir mit nach nicht
		noch nun nur ob oder sein seine sich sie sind so über um und uns unser von vor wann war waren warum was wem wen wer werden wie
		wird wir wo zu zum zur`,
	French: `à ai ainsi as au aux avec avait c'est ce ces cette comme dans de des du elle elles en est et étais était eu il ils j'ai je
		l'on la le les leur lui ma mais me mes moi mon ne nos notre nous on où ou par pas pour pourquoi quand que quel quelle qui sa se
		ses son sont sur ta te tes toi ton tu un une vos votre vous y`,
	Spanish: `a al algo como con cuál cuándo cuando de del desde dónde donde el él ella ellos en era eres es esa ese eso esta está este
		esto fue ha había hay he la las le les lo los me mi mis muy no nos o para pero por porque que qué quién se sí si sin sobre son
		soy su sus también te tengo ti tiene tu tus un una uno y ya yo`,
	Italian: `a ad ai al alla anche che chi ci come con cosa cui da dal dalla dei del della delle di dove e è ed era essere fa gli ha hai
		ho i il in io la le lei li lo loro lui ma mi mia mio ne nei nel nella noi non o per perché più quando quale quello questo se
		sei si sono su sua suo sul tu tua tuo un una uno vi voi`,
	Portuguese: `a ao aos as com como da das de do dos e é ela ele eles em era essa esse esta este eu foi há isso isto já lhe mais mas me
		meu minha muito na não nas nem no nos nós o onde os ou para pela pelo por porque quando que quem se sem ser seu sua são só
		também te tem tenho tu um uma você`,
	Dutch: `aan als bij daar dan dat de der die dit doch door een en er ge geen had heb hebben heeft hem het hij hoe hun ik in is ja je
		jij kan maar me mee met mij mijn na naar niet nog nu of om onder ons ook op over te toch toen tot u uit van veel voor waar waarom
		wanneer was wat we wel wie wij wil worden ze zei zich zij zijn zo zou`,
	Swedish: `alla att av blev bli de dem den denna det detta dig din ditt där du efter ej eller en er ett från för ha hade han hans har
		hon honom hur här i icke inte jag ju kan man med mig min mitt mot mycket ni nu när och om oss på sig sin som så till under upp
		ut vad var varför vem vi vid är`,
	Danish: `ad af alle at blev blive da de dem den denne der det dette dig din dit du efter eller en end er et for fra få ham han hans
		har havde hende hun hvad hvem hvor hvorfor hvornår i ikke ind jeg jo kan man med meget mig min mit mod ned noget nu når og også
		om op os på sig sin som så til ud under var vi vil være`,
	Norwegian: `alle at av ble bli da de dem den denne der det dette deg din ditt du eller en enn er et ett etter for fra få ham han hans
		har hadde henne hun hva hvem hvor hvorfor når i ikke inn jeg jo kan man med meg meget min mitt mot noe nå og også om opp oss på
		seg sin som så til ut under var vi vil være`,
	Finnish: `että en ei et hän he ja jos joka jonka kanssa kuin kuka kun me mikä milloin missä miksi mitä minä minun minulla mutta myös
		ne niin nyt näin on oli olen olet olla ovat se sen siellä sinä sitä sinun tai tämä te tuo vai vain voi`,
	Turkish: `ama ancak bana ben benim bir biz bu çok da daha de değil diye en gibi hangi hem için ile ise kadar ki kim mı mi mu mü nasıl
		ne neden nerede o olan olarak onlar onun oldu sen senin siz şey şu var ve veya ya yok zaman`,
	Russian: `а без был была были было в вам вас весь во вот все всё вы где да для до его ее её если есть еще ещё же за здесь и из или им
		их к как какой ко когда кто ли мне меня мой моя мы на нас не него нее нет ни но ну о об он она они оно от по почему при с со
		так также там то того только ты у уже чего что чтобы эта эти это этот я`,
}
