package utterance

import "strings"

// The lists below are small and closed on purpose: what none of them knows is kept. Interrogatives are those
// that Universal
// Dependencies tags PronType=Int; forms of greeting and thanks are those of phrase books; requests are the
// verbs that name
// what an assistant is asked for, in the imperative.

// smallTalk are words of which nothing but greetings, thanks, assent and praise is made.
var smallTalk = set(`
hi hello hey hiya howdy yo there good morning afternoon evening night day again welcome greetings bye goodbye
cya later
thanks thank you thx ty cheers much many so very lot a lots appreciated appreciate it kind kindly
ok okay k yes yeah yep yup sure no nope nah right correct exactly true fine great nice cool perfect awesome
excellent wonderful amazing
that's that it's is was sounds looks works all well done got gotcha see i hmm hm mm mhm uh um oh ah aha wow haha lol
please go on continue next wait stop never mind nevermind sorry my bad never more alright agreed understood
hallo guten morgen tag abend nacht servus moin grüß gott tschüss danke dank vielen schön schöne dankeschön sehr
bitte ja nein genau weiter gut
super prima toll alles klar verstanden passt das so stimmt okay ach aha
bonjour bonsoir salut coucou merci beaucoup bien oui non d'accord ça va très parfait super continue vas-y s'il
te vous plaît plait
hola buenos días buenas tardes noches gracias muchas muy bien vale sí si no de acuerdo sigue adelante perfecto
claro genial tal qué
ciao buongiorno buonasera salve grazie mille molte prego bene va sì perfetto certo
olá oi bom dia boa tarde noite obrigado obrigada muito sim não ótimo perfeito certo beleza tudo bem
привет здравствуй здравствуйте добрый доброе утро день вечер доброй ночи спасибо большое огромное пожалуйста да
нет хорошо ладно понятно ясно
отлично круто супер пока дальше ага
cześć dzień dobry dziękuję dzięki tak nie dobrze proszę hoi goedemorgen goedenavond dag bedankt dank je wel u
ja nee goed prima oké
hej tack hejsan god morgon merhaba selam günaydın iyi akşamlar geceler günler teşekkürler teşekkür ederim sağ
ol evet hayır tamam peki nasılsın
xin chào cảm ơn vâng
مرحبا السلام عليكم أهلا صباح مساء الخير النور شكرا جزيلا نعم لا حسنا تمام
नमस्ते नमस्कार धन्यवाद शुक्रिया हाँ नहीं ठीक है अच्छा
안녕하세요 안녕 감사합니다 고마워요 고맙습니다 네 아니요 좋아요
你好 您好 早上好 晚上好 谢谢 谢谢你 多谢 好 好的 是 是的 不 不是 对 嗯 行 继续 再见 明白了 知道了
おはよう おはようございます こんにちは こんばんは ありがとう ありがとうございます はい いいえ うん なるほど そうですね わかりました 了解 続けて どうも
`)

// greetings begin a greeting that a name may follow.
var greetings = set(`hi hello hey hiya howdy hallo servus moin bonjour bonsoir salut hola ciao olá oi привет
cześć hoi hej merhaba selam welcome`)

// lead are words before a request or a statement without a meaning of their own.
var lead = set(`please pls kindly ok okay now also then and so but well hey hi hello just great perfect thanks
next again first finally
bitte jetzt nun dann und also aber gut danke s'il te plaît merci maintenant puis et alors por favor ahora luego
y entonces pues gracias
per ora poi e allora grazie agora depois então пожалуйста теперь потом и а ну lütfen şimdi proszę teraz
alsjeblieft nu en
yes yeah no sure ja nein oui non sí sì sim да нет alright cool`)

// asksToKeep begin something that a person wants remembered.
var asksToKeep = []string{
	"remember", "note that", "note:", "keep in mind", "don't forget", "do not forget", "for the record",
	"from now on", "for your information", "fyi",
	"bear in mind", "be aware", "merk dir", "merke dir", "vergiss nicht", "denk daran", "denk dran",
	"souviens-toi", "rappelle-toi", "n'oublie pas", "retiens",
	"recuerda", "no olvides", "ten en cuenta", "ricorda", "ricordati", "non dimenticare", "lembre", "lembra",
	"não esqueça",
	"запомни", "помни", "не забудь", "не забывай", "pamiętaj", "zapamiętaj", "onthoud", "vergeet niet",
	"unutma", "hatırla", "تذكر", "याद रख",
	"call me", "nenn mich", "appelle-moi", "llámame", "chiamami", "зови меня", "覚えて", "忘れないで", "记住", "别忘了", "기억해",
}

// interrogatives begin a question, also where it has no mark. Words that begin statements as often are left out.
var interrogatives = set(`what what's whats how how's why who who's which whose warum wieso weshalb wozu welche
welcher welches wieviel
pourquoi comment quel quelle quels quelles combien qu'est-ce est-ce qui qué cómo cuál cuáles quién cuánto
cuánta dónde cuándo porqué
perché quale quali quanto por que quem qual quais quantos почему зачем сколько какой какая какие откуда
dlaczego jaki jak waarom hoe welke varför hur
neden niçin nasıl nerede kim hangi لماذا كيف متى أين كم هل ماذا क्यों कैसे कब कहाँ`)

// auxiliaries with a second person, or with what was just spoken of, begin a question or a request.
var (
	auxiliaries = set(`can could would will do does did is are was were have has should may might shall must
isn't aren't don't can't
kannst könntest würdest können könnten hast haben bist sind ist willst soll peux pouvez pourrais pourriez as
avez es êtes veux
puedes podrías puede podría puoi potresti può potrebbe pode poderia você можешь можете мог мог бы`)
	addressed = set(`you it that this there these those they we i your du ihr sie es das dies tu vous il ça
usted ud eso esto ты вы это`)
)

// selves are words that begin a clause about the speaker.
var selves = set(`i i'm i've i'd i'll im ive my mine we we're we've our ours ich ich's mein meine meinem meinen
meiner wir unser unsere mir mich uns
je j'ai j' mon ma mes nous notre nos yo soy tengo estoy vivo mi mis nosotros nuestra nuestro me sono ho io mio
mia miei noi nostro nostra
eu sou tenho moro meu minha meus minhas nós nosso nossa я мой моя моё мои мне меня у мы наш наша нас нам ja
jestem mam mój moja ik mijn wij onze jag min mitt vi
ben benim biz bizim أنا عندي نحن मैं मेरा मेरी मेरे हम हमारा 저는 제 나는 내 우리`)

// wanting begins something that the speaker wants of the listener.
var wanting = []string{
	"i want you to", "i need you to", "i'd like you to", "i would like you to", "ich möchte, dass du",
	"ich möchte dass du", "ich will, dass du", "je veux que tu",
	"je voudrais que tu", "j'aimerais que tu", "quiero que", "me gustaría que", "voglio che", "vorrei che",
	"quero que você", "gostaria que",
	"хочу, чтобы ты", "я хочу, чтобы ты", "i want a ", "give me", "let's ", "let us ", "lass uns ",
}

// requests are imperatives to an assistant.
var requests = set(`
write draft compose fix run rerun make show explain translate summarize summarise list generate refactor add
append delete remove create give help find
search check double-check verify compare sort order rename convert implement update change rewrite rephrase
shorten lengthen extend expand improve
describe compute calculate build design suggest recommend use replace open close print test debug deploy commit
push pull merge install continue stop
try do don't let provide answer draw plan outline brainstorm proofread correct simplify format move put set
repeat ignore look read analyze
analyse evaluate review tell say think act pretend imagine consider turn insert wrap split go undo revert redo
count group filter extract copy paste
send email book order schedule remind analyse clean document optimize optimise fill finish complete scan turn
visualize plot render export import
schreib schreibe schreiben fass fasse erklär erkläre erklären zeig zeige mach mache gib nenn nenne liste
übersetz übersetze übersetzen korrigier korrigiere
kürze ändere füge lösch lösche erstell erstelle such suche sag sage hilf prüf prüfe teste vergleich vergleiche
berechne ersetz ersetze sortier sortiere verbesser verbessere
écris écrivez traduis traduisez explique expliquez explique-moi donne donnez donne-moi fais faites montre
montrez montre-moi corrige corrigez résume résumez
liste ajoute ajoutez supprime supprimez cherche cherchez dis dis-moi aide aide-moi vérifie vérifiez crée créez
calcule compare
escribe escriba traduce traduzca explica explícame explique dame haz haga muestra muéstrame corrige corrija
resume resúmeme lista añade borra elimina dime
ayúdame ordena calcula compara genera mejora busca crea revisa
scrivi traduci spiega spiegami dammi mostra mostrami correggi riassumi elenca aggiungi cancella elimina cerca
dimmi aiutami controlla genera ordina
escreva escreve traduza traduz dê faça mostre corrija resuma adicione apague procure diga ajude crie gere ordene
напиши напишите переведи переведите объясни объясните дай дайте сделай сделайте покажи покажите исправь
исправьте перечисли добавь добавьте удали удалите
найди найдите скажи скажите расскажи помоги помогите проверь проверьте создай сравни перепиши сократи составь посчитай
napisz przetłumacz wyjaśnij podaj zrób pokaż popraw streść dodaj usuń znajdź powiedz pomóż stwórz posortuj
schrijf vertaal leg geef maak toon corrigeer vat voeg verwijder zoek zeg controleer skriv översätt förklara visa
اكتب ترجم اشرح لخص أعط أعطني أضف احذف صحح ابحث قل أنشئ أخبرني
viết dịch tóm
`)

// statementVerbs are finite verbs that stand in a statement where a request has none: "Show jumping is what
// she does."
var statementVerbs = set(
	"is are was were has had isn't aren't wasn't came went ist sind war est sont était es son era è sono é são")

// Endings of requests and of questions in languages whose verb comes last.
var (
	requestEnds = []string{
		"てください", "で下さい", "て下さい", "でください", "ください", "くれ", "くれる", "ちょうだい", "お願い", "お願いします", "なさい", "して", "教えて",
		"見せて", "書いて", "直して", "作って",
		"주세요", "줘", "해라", "하세요", "십시오", "लिखो", "लिखिए", "लिखें", "करो", "करें", "कीजिए", "दीजिए", "बताओ",
		"बताइए", "समझाओ", "समझाइए",
	}
	requestLast = set(
		"yaz yazar çevir açıkla özetle ver yap göster düzelt ekle sil bul söyle listele yazın yazınız çevirin açıklayın")
	requestBegins = []string{
		"请", "帮我", "帮忙", "给我", "告诉我", "写一", "写个", "写出", "翻译", "解释", "总结", "列出", "修改", "删除", "添加", "改写", "生成",
		"画一", "画个", "查一", "查找", "继续",
	}
	questionEnds = []string{"か", "かな", "かしら", "吗", "呢", "吧？", "까", "나요", "ですか", "ますか"}
	questionIn   = []string{
		"什么", "怎么", "为什么", "为何", "哪里", "哪个", "哪儿", "几点", "多少", "如何", "何ですか", "なぜ", "どうして", "どうやって", "いつです",
	}
	// lastQuestion are clitics and words that end a question.
	lastQuestion = set("mı mi mu mü demek क्या")
	// tagQuestions follow a statement.
	tagQuestions = set(
		"right ok okay correct no yes oder ne gell nicht wahr n'est-ce pas non hein verdad no vero né certo правда да верно")
)

// phrases are whole sentences without content, which no list of words separates from statements.
var phrases = phraseSet(
	"how are you", "how are you doing", "how's it going", "what's up", "nice to meet you", "go ahead",
	"one moment", "just a second", "let me think", "i see", "i understand",
	"i know", "got it", "makes sense", "i agree", "i don't understand", "i don't know", "that makes sense",
	"that was great", "that helps", "that was helpful", "it works now",
	"try again", "same again", "good job", "well done", "of course", "no problem", "you're welcome", "see you",
	"see you later", "have a nice day", "take care",
	"wie geht's", "wie geht es dir", "wie geht es ihnen", "ich verstehe", "keine ahnung", "kein problem",
	"das passt so", "bis später", "ça va", "je vois", "je comprends",
	"bien sûr", "pas de problème", "à bientôt", "qué tal", "cómo estás", "entiendo", "ya veo", "hasta luego",
	"come stai", "come va", "capisco", "tudo bem", "como vai", "entendi",
	"как дела", "я понял", "я поняла", "до свидания", "не знаю", "nasılsın", "anladım", "görüşürüz",
	"كيف حالك", "您好吗", "你好吗", "我明白了", "わかりました", "お疲れ様です", "元気ですか",
)

func phraseSet(all ...string) map[string]bool {
	out := map[string]bool{}
	for _, p := range all {
		out[p] = true
	}
	return out
}

func beginsWithAny(text string, all []string) bool {
	for _, p := range all {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

func endsWithAny(text string, all []string) bool {
	for _, p := range all {
		if strings.HasSuffix(text, p) {
			return true
		}
	}
	return false
}

func containsAny(text string, all []string) bool {
	for _, p := range all {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
