package utterance

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Corrects says whether a statement takes the place of an earlier one of the same person: the same subject and
// attribute with
// another value. sameTalk says that the earlier one is the last statement but this of the same talk, which
// "no, it's 5433" may mean.
// In doubt it does not, and both stay.
func Corrects(earlier, later string, sameTalk bool) bool {
	var old []token
	for _, s := range sentences(earlier) {
		if worthOf(s) != Statement {
			continue
		}
		if old != nil {
			return false // it says more than one thing
		}
		old = tokensOf(s)
	}
	if len(old) == 0 || len(old) > mostTokens {
		return false
	}
	begins := true
	for _, s := range sentences(later) {
		if tokens := tokensOf(s); len(tokens) <= mostTokens &&
			corrects(old, tokens, strings.ToLower(s), sameTalk && begins) {
			return true
		}
		begins = begins && all(wordsOf(strings.ToLower(s)), explicitWords)
	}
	return false
}

// Same says whether two texts say the same in the same words, whatever stands around them.
func Same(a, b string) bool {
	return slices.Equal(plainTokens(a), plainTokens(b))
}

// Repeats says whether a text only says again, word for word, what stands in one line of others. Lines that tell what
// was so before a correction do not count: who says it again means it.
func Repeats(text string, shown ...string) bool {
	texts := plainTokens(text)
	if len(texts) == 0 || len(shown) == 0 {
		return false
	}
	key := "" // its longest word, which is looked for before a line is read
	for _, w := range texts {
		if len(w) > len(key) {
			key = w
		}
	}
	first, size := utf8.DecodeRuneInString(key)
	title := string(unicode.ToUpper(first)) + key[size:]
	within := func(s string) bool { return strings.Contains(s, key) || strings.Contains(s, title) }
	for _, each := range shown {
		if !within(each) {
			continue
		}
		for line := range strings.SplitSeq(each, "\n") {
			if !within(line) || strings.HasPrefix(strings.TrimLeft(line, "> "), dream.BeforeCorrection) {
				continue
			}
			in := plainTokens(line)
			for i := 0; i+len(texts) <= len(in); i++ {
				if slices.Equal(in[i:i+len(texts)], texts) {
					return true
				}
			}
		}
	}
	return false
}

// plainTokens are the tokens of a text without the words that lead to what it says.
func plainTokens(text string) []string {
	var out []string
	for _, t := range tokensOf(text) {
		out = append(out, t.text)
	}
	for len(out) > 1 && (lead[out[0]] || leadsToFact[out[0]]) {
		out = out[1:]
	}
	return out
}

var leadsToFact = set("remember note that merk dir dass recuerda que ricorda che lembre запомни что 记住")

// mostTokens bounds a sentence that can correct or be corrected.
const mostTokens = 60

// token is a word, a number, or a sign of a script without blanks.
type token struct {
	text  string
	upper bool // it was written with a capital letter
}

// tokensOf splits a text. A number keeps what stands inside of it, as in 9:15 or tulip-77.
func tokensOf(text string) []token {
	var out []token
	runes := []rune(strings.ReplaceAll(text, "’", "'"))
	for i := 0; i < len(runes); {
		r := runes[i]
		switch {
		case single(r):
			out = append(out, token{text: string(r)})
			i++
		case wordRune(r):
			from := i
			for i < len(runes) && !single(runes[i]) {
				inside :=
					i > from && i+1 < len(runes) && strings.ContainsRune(".:,-_/@+", runes[i]) && alnum(runes[i-1]) &&
						alnum(runes[i+1]) &&
						(unicode.IsDigit(runes[i+1]) || unicode.IsDigit(runes[i-1]) ||
							strings.ContainsRune("_@/", runes[i]))
				if !wordRune(runes[i]) && !inside {
					break
				}
				if i > from && unicode.Is(unicode.Hangul, runes[i]) && unicode.IsDigit(runes[i-1]) {
					break
				}
				i++
			}
			out = append(out, token{strings.ToLower(string(runes[from:i])), unicode.IsUpper(r)})
		default:
			i++
		}
	}
	return out
}

func single(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Thai) }

func alnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordRune(r rune) bool { return alnum(r) || unicode.IsMark(r) || r == 'ー' }

// Words that say that something is not as it was said before.
var (
	// explicitWords begin a correction.
	explicitWords = set(
		"no nope sorry correction actually oops wait meant nein doch entschuldigung korrektur non pardon désolé fait perdón perdona " +
			"corrección scusa correzione desculpa correção нет извини извините поправка yok hayır pardon nee nie przepraszam")
	explicitPhrases = []string{
		"actually", "correction", "i meant", "i mean ", "sorry", "oops", "in fact", "eigentlich", "ich meinte",
		"korrektur", "en fait", "je voulais dire", "en realidad",
		"quise decir", "in realtà", "volevo dire", "na verdade", "quis dizer", "на самом деле", "точнее",
		"вернее", "я имел", "aslında", "いや", "実は", "じゃなくて",
		"間違え", "不对", "其实", "我是说", "搞错", "في الواقع", "أقصد", "असल में", "eigenlijk", "właściwie", "아니", "사실",
	}
	// nowPhrases say that something is so since a short while.
	nowPhrases = []string{
		"now", "from now on", "as of today", "these days", "jetzt", "nun", "ab jetzt", "ab sofort", "inzwischen",
		"mittlerweile", "maintenant", "désormais", "dorénavant", "ahora",
		"adesso", "ora", "ormai", "agora", "теперь", "сейчас", "отныне", "artık", "şimdi", "الآن", "حاليا", "अब",
		"nu", "teraz", "tegenwoordig", "이제", "지금",
	}
	nowSigns = []string{"今は", "いまは", "これから", "现在", "如今", "今后"}
	// noLongerPhrases take back what was so.
	noLongerPhrases = []string{
		"no longer", "not anymore", "anymore", "any more", "nicht mehr", "kein", "ya no", "больше не", "уже не",
		"niet meer", "już nie", "inte längre", "não mais",
		"もう", "不再", "لم أعد", "لم يعد", "더 이상", "artık değil",
	}
	// contrastPhrases stand between the right value and the wrong one.
	contrastPhrases = []string{
		"instead of", "rather than", "sondern", "but rather", "statt", "anstatt", "au lieu de", "en vez de",
		"en lugar de", "invece di", "em vez de", "а не", "вместо", "ではなく", "而不是",
	}
	// changeWords say that one took the place of another.
	changeWords = set(
		"moved switched migrated changed replaced swapped renamed went gewechselt umgestellt umgezogen gezogen geändert ersetzt déménagé changé passé migré " +
			"mudé mudado cambié cambiado cambiamos pasamos cambiato passati passato trasferito trasferiti mudei mudamos trocamos переехал переехала переехали перешли сменил сменили " +
			"taşındım taşındık geçtik verhuisd overgestapt")
	from = set("from von vom aus de du da dal dalla из с со van z от")
	to   = set("to nach zu auf à en a al para no на в naar do into")
)

// Words that say that a statement is of another time than now, or of one event.
var pastWords = set(`was were used once formerly ago yesterday today tonight born grew ran bought sold ate
spent paid went came took gave saw met lost found
won lent made did got last war waren früher damals gestern heute geboren kaufte kauften était étaient autrefois
jadis hier né née avant
era eran antes ayer hoy nací fui fue compré ero fa ieri oggi nato nata foi ontem hoje nasci раньше был была
были вчера сегодня родился родилась купил купила
eskiden dün bugün idi была кiedyś vroeger gisteren gekauft gegessen gelaufen besucht`)

// notPast are words that end as past forms do and tell of a state.
var notPast = set(
	"called named based located married scheduled closed need red bed seed feed hundred used-to speed shed allergic need indeed")

// manyValued are words whose attribute can have several values at once.
var manyValued = set(`have has had own owns like likes love loves hate hates eat eats drink drinks speak speaks
play plays know knows visit allergic
habe hat haben mag mögen liebe liebt spreche spricht spiele spielt esse kenne ai a avons aime aimes parle joue mange
tengo tiene gusta gustan hablo juego como ho ha piace parlo gioco tenho tem gosto falo jogo есть люблю любит
говорю играю ем
mam lubię heb houd hou vind jag har gillar var severim sever 有 喜 飼 好 養`)

// attributes are nouns of which something has one value, by their beginnings.
var attributes = []string{
	"name", "favourite", "favorite", "colour", "color", "address", "password", "passcode", "pin", "phone",
	"telephone", "number", "email", "birthday", "deadline", "port", "code",
	"capital", "size", "price", "rent", "age", "username", "hostname", "version", "salary", "limit",
	"timezone", "height", "weight",
	"lieblings", "farbe", "adresse", "passwort", "kennwort", "telefon", "nummer", "geburtstag", "frist",
	"preis", "miete", "größe", "alter",
	"préféré", "couleur", "mot", "numéro", "téléphone", "anniversaire", "échéance", "prix", "loyer", "taille",
	"nom", "prénom",
	"favorit", "dirección", "contraseña", "teléfono", "número", "cumpleaños", "puerto", "precio", "alquiler",
	"talla", "nombre",
	"preferit", "indirizzo", "numero", "compleanno", "prezzo", "affitto", "nome", "colore", "endereço",
	"senha", "aniversário", "preço", "aluguel", "preferid",
	"пароль", "адрес", "номер", "телефон", "порт", "цена", "имя", "зовут", "любимый", "любимая", "любимое", "цвет",
	"adı", "ismi", "numara", "telefon", "şifre", "adres", "renk", "cyfra", "numer", "hasło", "wachtwoord",
	"naam", "kleur",
}

// attributeSigns are such nouns in scripts whose words are not told apart.
var attributeSigns = []string{
	"名前", "名字", "電話", "电话", "番号", "号码", "ポート", "端口", "パスワード", "密码", "住所", "地址", "色", "生日", "誕生日", "締切", "截止",
	"이름", "번호", "비밀번호", "주소", "اسم", "رقم", "नाम",
}

// residence are verbs of where somebody lives, of which there is one.
var residence = set(`live lives living wohne wohnt wohnen lebe habite habites habitons vis vivo vives vive
vivimos abito abita abitiamo moro mora moramos
живу живёт живем живём yaşıyorum oturuyorum oturuyoruz yaşıyoruz woon woont bor mieszkam mieszka أعيش أسكن 住
रहता रहती रहते`)

// weekdays, months and numbers are kinds of values.
var (
	weekdays = set(`monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
thursdays fridays saturdays sundays montag dienstag mittwoch donnerstag
freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves
viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato
domenica segunda terça quarta quinta sexta понедельник вторник среда среду четверг пятница пятницу суббота
субботу воскресенье pazartesi salı çarşamba perşembe cuma cumartesi pazar
曜 周 maandag dinsdag woensdag donderdag vrijdag zaterdag zondag tomorrow`)
	months = set(`january february march april may june july august september october november december januar
februar märz mai juni juli oktober dezember janvier février mars avril
juin juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto
septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno
luglio settembre ottobre dicembre janeiro fevereiro março maio junho julho setembro outubro dezembro января
февраля марта апреля мая июня июля августа сентября октября ноября декабря 月`)
	numbers = set(`zero one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty
fifty hundred half eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
deux trois quatre cinq sept huit neuf dix dos tres cuatro cinco seis siete ocho nueve diez due tre quattro
cinque sei sette otto nove dieci dois três quatro sete oito dez
два две три четыре пять шесть семь восемь девять десять iki üç dört beş altı yedi sekiz dokuz on 一 二 三 四 五 六 七
八 九 十 noon midnight`)
	// hollow are words that say nothing alone.
	hollow = set(`j je n ne qu a an the it its it's this that is are am be s ' t m re i in at on to of by and
or but so for with der die das ein eine es ist sind am im um an auf in zu
le la les l un une c est ce il elle à au aux en de du des el los las lo una es son a al y è e sono il lo gli
alle às o os as é são да это в на к у и tam pl het de een is op
は が を に で す だ し た の と も ます です でした 是 在 的 了 하 입니다 이 है हैं को من في على هو هي`)
	pronouns = set(
		"it its this that they he she es er sie das ça il elle lo esto eso eso è esso isso это он она оно o bu を 是")
)

// kindOf is what sort of value a token is; 0 for none that is known.
func kindOf(t token) int {
	switch {
	case strings.ContainsFunc(t.text, unicode.IsDigit), numbers[t.text]:
		return 1
	case weekdays[t.text]:
		return 2
	case months[t.text]:
		return 3
	}
	return 0
}

// kindsOf are the sorts of values in a run, as bits.
func kindsOf(tokens []token) (kinds int) {
	for _, t := range tokens {
		kinds |= 1 << kindOf(t)
	}
	return kinds &^ 1
}

// has says whether the tokens of a phrase stand one after the other.
func has(tokens []token, phrase string) bool { return phraseAt(tokens, phrase) >= 0 }

func phraseAt(tokens []token, phrase string) int {
	words := tokensOf(phrase)
	for i := 0; i+len(words) <= len(tokens) && len(words) > 0; i++ {
		if slices.EqualFunc(tokens[i:i+len(words)], words, func(a, b token) bool { return a.text == b.text }) {
			return i
		}
	}
	return -1
}

func hasAny(tokens []token, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return has(tokens, p) })
}

func anyIn(tokens []token, in map[string]bool) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return in[t.text] })
}

// dropped are the tokens without those of phrases.
func dropped(tokens []token, phrases []string) []token {
	for _, p := range phrases {
		if at := phraseAt(tokens, p); at >= 0 {
			tokens = slices.Delete(slices.Clone(tokens), at, at+len(tokensOf(p)))
		}
	}
	return tokens
}

// content are the tokens that say something.
func content(tokens []token) []token {
	var out []token
	for _, t := range tokens {
		if !hollow[t.text] && !explicitWords[t.text] {
			out = append(out, t)
		}
	}
	return out
}

func overlap(of, in []token) (shared int) {
	for _, t := range of {
		if slices.ContainsFunc(in, func(o token) bool { return o.text == t.text }) {
			shared++
		}
	}
	return shared
}

// corrects judges two sentences.
func corrects(old, tokens []token, low string, sameTalk bool) bool {
	if ofAnotherTime(old) {
		return false
	}
	explicit := beginsExplicit(tokens) || hasAny(tokens, explicitPhrases)
	changes := anyIn(tokens, changeWords)
	longer :=
		hasAny(tokens, noLongerPhrases) ||
			strings.Contains(low, " plus ") && (strings.Contains(low, "n'") || strings.Contains(low, "ne ")) ||
			strings.Contains(low, "non ") && has(tokens, "più") || strings.Contains(low, "não ") && has(tokens, "mais")
	contrast := hasAny(tokens, contrastPhrases) || strings.Contains(low, ", not ") || strings.Contains(low, ", nicht ")
	now := hasAny(tokens, nowPhrases) || containsAny(low, nowSigns)
	if ofAnotherTime(tokens) && !changes && !longer && !explicit {
		return false
	}
	switch {
	case changes && changedFrom(old, tokens):
		return true
	case longer && takenBack(old, low):
		return true
	case contrast && 5*overlap(content(old), tokens) >= 3*len(content(old)) && sameBegin(old, tokens):
		return true
	}
	cleared := cleared(tokens, explicit)
	if explicit && sameTalk && refersTo(old, cleared, strongly(tokens, low)) {
		return true
	}
	return sameFrame(old, cleared, explicit || now || changes)
}

// beginsExplicit says whether a sentence begins with a word of correction.
func beginsExplicit(tokens []token) bool {
	return len(tokens) > 1 && explicitWords[tokens[0].text]
}

// strongly says whether a correction can be nothing else, as a mere "no" can.
func strongly(tokens []token, low string) bool {
	return hasAny(tokens,
		[]string{
			"i meant", "correction", "ich meinte", "korrektur", "je voulais dire", "quise decir", "volevo dire",
			"quis dizer", "我是说",
		}) ||
		anyIn(tokens, set("actually sorry perdón oops eigentlich")) || containsAny(low, []string{"en fait", "不对", "いや"})
}

// ofAnotherTime says whether a statement tells of what was, or of an event.
func ofAnotherTime(tokens []token) bool {
	for i, t := range tokens {
		if pastWords[t.text] {
			return true
		}
		if i > 0 && len(t.text) > 4 && strings.HasSuffix(t.text, "ed") && !notPast[t.text] && !changeWords[t.text] &&
			!t.upper {
			return true
		}
	}
	return false
}

// sameBegin says whether two statements begin with the same subject.
func sameBegin(a, b []token) bool {
	a, b = withoutArticle(a), withoutArticle(b)
	return len(a) > 0 && len(b) > 0 && a[0].text == b[0].text
}

func withoutArticle(tokens []token) []token {
	articles := set("the a an der die das le la les el los las il lo o a")
	for len(tokens) > 1 && articles[tokens[0].text] {
		tokens = tokens[1:]
	}
	return tokens
}

// changedFrom reads "we moved the shop from Heroku to Fly".
func changedFrom(old, tokens []token) bool {
	verb := slices.IndexFunc(tokens, func(t token) bool { return changeWords[t.text] })
	begin := slices.IndexFunc(tokens, func(t token) bool { return from[t.text] })
	if begin < 0 || begin+1 >= len(tokens) {
		return false
	}
	end := begin + 1
	for end < len(tokens) && !to[tokens[end].text] && end-begin < 6 {
		end++
	}
	was := content(tokens[begin+1 : end])
	if len(was) == 0 || overlap(was, old) < len(was) || !sameBegin(old, tokens) {
		return false
	}
	if residence[tokens[min(1, len(tokens)-1)].text] || anyIn(old, residence) {
		return true
	}
	first := tokens[verb].text
	if verb < begin {
		if object := content(tokens[verb+1 : begin]); len(object) > 0 {
			return overlap(object, old) > 0
		}
	}
	return first != "moved" && first != "went" && first != "gezogen" && first != "umgezogen"
}

// takenBack reads "Lena no longer works at the post office, …": the clause that takes back says what was said.
func takenBack(old []token, low string) bool {
	for _, clause := range clausesOf(low) {
		tokens := tokensOf(clause)
		if !hasAny(tokens, noLongerPhrases) && !strings.Contains(clause, " plus ") && !has(tokens, "più") &&
			!has(tokens, "mais") && !strings.Contains(clause, "don't") {
			continue
		}
		if was := content(old); len(was) > 0 && 5*overlap(was, tokens) >= 4*len(was) {
			return true
		}
	}
	return false
}

// cleared is a statement without the words that only say that it corrects.
func cleared(tokens []token, explicit bool) []token {
	for _, p := range []string{
		"from now on", "as of today", "these days", "ab jetzt", "ab sofort", "今は", "いまは", "现在",
		"如今",
	} {
		tokens = dropped(tokens, []string{p})
	}
	tokens = dropped(tokens, nowPhrases)
	if explicit {
		tokens = dropped(tokens, explicitPhrases)
		for len(tokens) > 1 && (explicitWords[tokens[0].text] || tokens[0].text == "i" && tokens[1].text == "meant") {
			tokens = tokens[1:]
		}
	}
	return tokens
}

// refersTo reads a correction that names no subject, such as "no, it's 5433", after the statement that it means.
func refersTo(old, tokens []token, strong bool) bool {
	if len(tokens) > 0 && selves[tokens[0].text] {
		return false
	}
	value := content(tokens)
	most := 3
	if scriptless(joined(tokens)) {
		most = 6
	}
	if len(value) == 0 || overlap(value, old) == len(value) {
		return false
	}
	about := len(tokens) > 0 && pronouns[tokens[0].text] && overlap(value, content(old)) > 0
	if len(value) > most && !about {
		return false
	}
	if kinds := kindsOf(value); kinds != 0 {
		return kinds&kindsOf(old) != 0
	}
	if kindsOf(old) != 0 && !about {
		return false
	}
	named := value[len(value)-1].upper && old[len(old)-1].upper
	return named || strong && (about || len(value) == 1)
}

func joined(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
	}
	return b.String()
}

// sameFrame compares two whole statements: their beginnings and ends are the same, and what is between is the value.
func sameFrame(old, tokens []token, cued bool) bool {
	a, b := old, tokens
	begin := 0
	for begin < len(a) && begin < len(b) && a[begin].text == b[begin].text {
		begin++
	}
	end := 0
	for end < len(a)-begin && end < len(b)-begin && a[len(a)-1-end].text == b[len(b)-1-end].text {
		end++
	}
	prefix, suffix := a[:begin], a[len(a)-end:]
	was, is := a[begin:len(a)-end], b[begin:len(b)-end]
	if len(was) == 0 || len(is) == 0 {
		return false
	}
	// What differs may not be most of it.
	if len(was) > 6 || len(is) > 8 {
		return false
	}
	// A verb within shows that the subjects differ: "my favourite (book is Dune)", "my favourite (film is Alien)".
	if verbInside(was) || verbInside(is) {
		return false
	}
	kinds := kindsOf(was) & kindsOf(is)
	if anyIn(prefix, manyValued) && kinds&(1<<1) == 0 {
		return false
	}
	answer := slices.DeleteFunc(content(prefix), func(t token) bool {
		return (selves[t.text] || pronouns[t.text]) && !residence[t.text]
	})
	attribute := slices.ContainsFunc(answer, ofAttribute) || containsAny(joined(prefix), attributeSigns)
	joint := anyIn(prefix, copulas) // between attribute and value
	named := shortName(was) && shortName(is)
	agentStates := anyIn(prefix, residence)
	if cued {
		switch {
		case len(answer) == 0:
			return scriptless(joined(suffix)) && anyIn(suffix, residence)
		case copulas[prefix[len(prefix)-1].text]:
			return attribute || kinds != 0 || named
		}
		return true
	}
	switch {
	case attribute && (joint || len(was) == 1 && len(is) == 1):
		return true
	case agentStates && len(answer) > 0:
		return named
	case kinds == 0 || !onlyValues(was) || !onlyValues(is):
		return false
	}
	// A value of a known kind at the end, of a subject that is named before its verb.
	return len(answer) > 0 && len(prefix) >= 3 && len(suffix) <= 2 && determined(prefix[0])
}

// copulas stand between a subject and what it is or is called.
var copulas = set(`is are am isn be called named ist sind bin heißt heiße heissen est sont suis appelle es son
soy llama è sono chiama é são sou chama зовут это jest heet is är heter
は 是 叫 है हैं`)

// verbInside says whether a verb stands behind the first word of a run.
func verbInside(tokens []token) bool { return len(tokens) > 1 && anyIn(tokens[1:], copulas) }

// shortName says whether a run is a name: a word or two with a capital letter, or in a script without any.
func shortName(tokens []token) bool {
	if len(tokens) == 0 {
		return false
	}
	if !cased(tokens[len(tokens)-1].text) {
		return len(tokens) <= 6
	}
	return len(tokens) <= 2 && tokens[len(tokens)-1].upper
}

func cased(text string) bool { return strings.ToUpper(text) != text }

// onlyValues says whether a run holds values of known kinds, and nothing else but what half of the day it is.
func onlyValues(tokens []token) bool {
	return !slices.ContainsFunc(tokens, func(t token) bool { return kindOf(t) == 0 && !dayHalves[t.text] })
}

var dayHalves = set("am pm a p m h uhr")

// ofAttribute says whether a word is one of attributes, whatever its ending.
func ofAttribute(t token) bool {
	return slices.ContainsFunc(attributes, func(a string) bool {
		return strings.HasPrefix(t.text, a) &&
			(len(t.text)-len(a) <= 2 || a == "lieblings" || strings.HasPrefix(a, "favo") ||
				strings.HasPrefix(a, "prefer"))
	})
}

// determined says whether a subject is one that both speakers know.
func determined(t token) bool {
	return set(`the my our his her their your der die das mein meine unser unsere le la les mon ma notre nos el
los las mi nuestro nuestra il lo mio mia nostro
o a os as meu minha nosso мой моя наш наша mijn onze min vår`)[t.text]
}
