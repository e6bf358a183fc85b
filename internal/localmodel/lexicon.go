package localmodel

import "strings"

// tag is a coarse part of speech. Where a word could be several, its neighbours decide (tagger.go).
type tag byte

const (
	noun   tag = 'N'
	adj    tag = 'J'
	verb   tag = 'V' // finite
	bare   tag = 'W' // a verb form that needs another: infinitive, participle
	ing    tag = 'G'
	adverb tag = 'A'
	det    tag = 'D'
	prep   tag = 'P'
	and    tag = 'C' // coordinates
	when   tag = 'S' // subordinates
	who    tag = 'R' // subject pronoun
	whom   tag = 'O' // object pronoun
	aux    tag = 'X' // finite auxiliary or modal
	isIt   tag = 'I' // pronoun and auxiliary in one: it's, I'd
	to     tag = 'T' // before an infinitive
	number tag = 'Z'
	cry    tag = 'Y' // wow, yes, thanks
)

var closed = tagged(map[tag]string{
	det:    "a an the my your his its our their every each some no any all another this these those both either whose several many few",
	prep:   "in on at by with from of into onto over under through across along around against between among behind below beneath above beyond within without toward towards near inside outside beside besides during about after before until till since for as like past per via off up down out despite throughout except upon",
	and:    "and or but so yet nor",
	when:   "when while because if that which who where whether although though unless whenever wherever once than how why what",
	who:    "i he she we they it you someone somebody everyone everybody nobody nothing everything something anyone neither there",
	whom:   "me him us them myself himself herself itself ourselves themselves yourself",
	aux:    "is was were are am be been being has had have did does do can could will would should must might may shall cannot let's",
	adverb: "not never just then again still always often once twice only even almost already soon later now here too very quite rather also ever perhaps maybe instead together away back home yesterday today tomorrow tonight somewhere everywhere anywhere elsewhere far long well better more most less least much yet ago apart alone almost ahead forward backward upward downward sideways offline online overnight anyway enough barefoot asleep awake straight abroad indoors outdoors meanwhile afterwards eventually otherwise",
	cry:    "wow woah whoa yes yeah yep no hey hi hello thanks thank oh ok okay well sure great awesome congrats please sorry cool lol haha gonna wanna bye goodbye exactly absolutely definitely",
	adj:    "old new small big large little long short good bad great best last first next same other own early late open cold hot warm dark bright quiet loud slow fast quick high low full half empty red blue green white black grey gray yellow thin thick wide narrow deep young whole wrong right hard soft strong weak clean dirty dry wet heavy light whole main few different important special happy sad tired afraid proud careful negative positive flat sharp steady calm real true false free busy ready late second third single double former certain rare common simple safe sure clear fresh sweet bitter golden wooden broken hidden lost quarterly daily weekly monthly yearly bullish bearish perfect crowded risky ugly lonely silly lovely friendly lively holy curious strange familiar silent gentle rough smooth brave wise cheap expensive rich poor local public private recent final whole usual extra super nice fun funny scary crazy worried excited thankful grateful glad amazing inspiring powerful beautiful interesting surprising unread unopened untouched central digital annual mental physical medical legal social personal professional spare stale faint pale blank vast tiny huge giant ancient modern northern southern eastern western",
	number: "two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million",
})

// hollow words carry no subject of their own: they hardly count when texts are compared.
var hollow = set(
	"a an the and or but so if then than that this these those there here of in on at by to for from with into over under as is was were are am be been being has had have did does do can could will would should must might may not no nor only very just also too it its i me my we us our you your he him his she her they them their what which who whom how why when where while because about up down out off again more most some any all each both few such own same other it's i'm i've that's don't didn't isn't wasn't s t re ve ll d m")

// baseVerbs also stand for their third person (keeps) and, when regular, their past (opened).
var baseVerbs = set(
	"accept add agree allow answer appear arrive ask attend become beg begin believe belong break bring build burn buy call carry catch change check choose claim climb close collect come compare complain confirm connect consider contain continue cook cost cover crash create cross cry cut dance decide decline delete depend describe die disappear discover discuss dream drift drink drive drop eat end enjoy enter exit expect explain explore fade fail fall feel fight fill find finish fix flicker flip fly follow forget forgive freeze gather get give glow go grow guess happen hate hear help hide hit hold hope hum hurt ignore imagine improve increase insist invite join jump keep kick kill know land last laugh lead leak lean learn leave lend let lie lift like listen live lock look lose love make matter mean measure meet melt mention miss move need notice offer open order owe own pack paint pass pause pay pick plan plant play post practice prefer prepare pretend print promise protect prove pull push put rain raise reach read realize rebalance recall receive refuse remain remember remind rent repair repeat reply report rest return ride ring rise run sail save say search see seem sell send separate serve set settle shake share shine shrink shut sing sink sit sleep slip smell smile snow solve sort sound speak spend spread stall stand start stay steal step stop study suggest support suspect swap swim switch take talk taste teach tell tend test thank think throw tighten touch track trade travel trip trust try turn understand use visit wait wake walk want warn wash watch water wear whisper widen win wish wonder work worry wrap write wake hedge withdraw deposit bounce spike thin lag drain beat blink borrow breathe bury chase count drag dry echo empty fold forgive guard hang hesitate hum knock lag linger mend mirror name pour press queue refill replace row rush scan scatter settle sketch slide smooth split stack stare sweep swing tap tie trace trail trim tuck vanish wander weigh wind")

var pastVerbs = set(
	"was were had did went came saw took gave made got knew thought found told became left felt put brought began kept held wrote stood heard let meant set met ran paid sat spoke lay led read grew lost fell sent built understood drew broke spent cut rose drove bought wore chose ate drank slept woke won taught caught fought flew forgot forgave froze hid hit hurt laid lent lit rode rang sang sank shook shone shot shrank shut sold stole stuck struck swam swept swung threw tore bent bit bled blew bound bred burst cast clung crept dealt dug dreamt fed fled flung hung knelt leapt learnt meant proved quit shed slid spun split spread sprang stank swore swelled wept wound said asked")

// participles follow an auxiliary or a noun; alone they are no verb.
var participles = set(
	"been gone seen taken given known become begun written spoken grown drawn broken risen driven worn chosen eaten drunk woken flown forgotten forgiven frozen hidden ridden rung sung sunk shaken shown stolen swum thrown torn bitten blown done")

// thingsInIng and nounsInLy end like other parts of speech and are nouns.
var (
	nounsInIng = set(
		"funding evening morning building ceiling clothing wedding feeling meeting painting warning shipping housing king ring string spring wing thing sibling lending staking mining booking landing listing rating pricing spending savings opening closing ending hearing setting drawing parking lighting counseling soldering")
	nounsInLy = set("supply family reply july assembly anomaly italy lily belly jelly fly rally ally bully monopoly")
)

// vague nouns make poor images.
var vague = set(
	"thing things way ways time times lot lots bit kind kinds sort stuff something anything everything nothing one ones part parts case fact point reason idea example number")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// tagged turns lists by tag into tags by word; a word in several lists takes the first of this order.
func tagged(lists map[tag]string) map[string]tag {
	m := map[string]tag{}
	for _, t := range []tag{det, who, whom, aux, and, when, prep, adverb, adj, cry, number} {
		for _, w := range strings.Fields(lists[t]) {
			if _, ok := m[w]; !ok {
				m[w] = t
			}
		}
	}
	return m
}

// baseOf gives the base form of a third person or past form of a listed verb, "" for other words.
func baseOf(w string) string {
	if baseVerbs[w] {
		return w
	}
	for _, end := range []string{"s", "es", "d", "ed"} {
		if b, ok := strings.CutSuffix(w, end); ok && baseVerbs[b] {
			return b
		}
	}
	if b, ok := strings.CutSuffix(w, "ies"); ok && baseVerbs[b+"y"] {
		return b + "y"
	}
	if b, ok := strings.CutSuffix(w, "ied"); ok && baseVerbs[b+"y"] {
		return b + "y"
	}
	if b, ok := strings.CutSuffix(w, "ed"); ok && baseVerbs[undouble(b)] {
		return undouble(b)
	}
	return ""
}
