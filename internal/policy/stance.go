package policy

import "slices"

// reading is a text as the rules see it.
type reading struct {
	text       string
	in         []token
	sentences  []span
	quantities []quantity
	shouted    bool // capitals say nothing: most of it is written in them
}

// span is a stretch of tokens.
type span struct{ from, to int }

// longestSentence is after how many tokens a sentence is cut: what stands farther apart has nothing to do with each
// other.
const longestSentence = 120

func read(text string) *reading {
	r := &reading{text: text, in: tokens(text)}
	r.quantities = quantities(r.in)
	caps, all := 0, 0
	for i, t := range r.in {
		if _, n := assetAt(r.in, i); t.sort == word && len(t.text) > 1 && n == 0 {
			all++
			if t.caps {
				caps++
			}
		}
	}
	r.shouted = all > 3 && 2*caps > all
	from := 0
	for i, t := range r.in {
		inside := t.text == "." && t.glued && i+1 < len(r.in) && r.in[i+1].glued && !r.in[i+1].title
		if ends := t.sort == mark && oneOf(t, ".", "!", "?", ";", "…") &&
			!inside; ends || i-from >= longestSentence || i == len(r.in)-1 {
			r.add(span{from, i + 1})
			from = i + 1
		}
	}
	return r
}

// add keeps a sentence. One that holds little more than a number belongs to the one before it: "Use leverage. Ten
// times."
func (r *reading) add(s span) {
	if last := len(r.sentences) - 1; last >= 0 && r.sentences[last].to-r.sentences[last].from <= 3 &&
		r.in[r.sentences[last].to-1].text != ";" {
		r.sentences[last].to = s.to // "Slippage? Whatever it takes."
		return
	}
	if last := len(r.sentences) - 1; last >= 0 && s.to-s.from <= 5 && r.in[r.sentences[last].to-1].text != ";" &&
		s.to-r.sentences[last].from < longestSentence {
		if len(r.within(s)) > 0 {
			r.sentences[last].to = s.to
			return
		}
	}
	r.sentences = append(r.sentences, s)
}

// within are the quantities of a stretch.
func (r *reading) within(s span) []quantity {
	first, _ := slices.BinarySearchFunc(r.quantities, s.from, func(q quantity, from int) int { return q.from - from })
	last := first
	for last < len(r.quantities) && r.quantities[last].to <= s.to {
		last++
	}
	return r.quantities[first:last]
}

var (
	negators = lexicon(
		`no one may | no one should | no one must | no one shall | no one can | nobody may | nobody should | nobody must | nobody shall | nobody can | never | not | dont | doesnt | didnt | wont | cannot | cant | shouldnt | mustnt | wouldnt | couldnt | shant | neednt | isnt | arent | no | none | nor | neither | without |
		avoid* | refus* | reject* | forbid* | forbade | forbidden | ban | bans | banned | banning | prohibit* | resist | resists | resisting | declin* | shun* | decline* | abstain* | refrain* | beware |
		stay away | stays away | keep away | keeps away | stay clear | steer clear | stay out | keep out | hands off | instead of | rather than | far from | let alone | no longer |
		advis* against | decid* against | vot* against | argu* against | warn* against | warn* of | warn* about | guard* against | protect* against |
		nie | niemals | nicht | kein | keine | keinen | keiner | keinem | ohne | vermeid* | jamais | sans | eviter | evite* | nunca | jamas | sin | evitar | mai | senza | nao | никогда | не | нельзя | без`)
	// uncancelled by what follows, a negator says the opposite of what it seems to.
	cancels = lexicon(
		`mind | hesitat* | forget* | fail* | miss | misses | missing | worry | fear* | afraid | shy | only | just | merely | wait* | lose | loses | losing | doubt* | harm | problem |
		danger | reason | shame | sin | crime | rule | law | matter | wonder | better | need | too | enough | less | fewer | later | stop* | blinking | asking | delay* | regret* | limit* | cap | thinking | warning | looking | telling |
		permission | one | care | be afraid | be shy | be scared | be timid | be late | be fooled | let anyone | let the | refus* | avoid* | reject* | resist* | anything but | nothing | than | let go`)
	rather   = lexicon(`rather | sooner`)
	refusals = lexicon(
		`refuse | reject | decline | no | never | walk away | say no | not for us | not us | leave it | forget it | nein | no thanks`)
	guardVerbs = lexicon(
		`ask before | ask first | pause before | think before | wait before | stop before | call before | check before | ask twice | revoke | revokes | revoking | undo | withdraw | shrink | reduce | lower | list | inspect | review | find | hunt for | search for | explain | describe | ask about | ask why | ask who | watch | watches | watching | count | counts | counting | note | notes | noting | log | logs | logging | measure* | measuring | track | tracks | tracking | record | records | recording | chart | flag | flags | flagging |
		warn | warns | warning | alert | alerts | report | reports | reject | rejects | refuse | refuses | cancel | cancels | abort | aborts | block | blocks | blocking | halt | halts | veto | vetoes | monitor | monitors |
		study | studies | observe* | compare* | remember | recall | question | audit* | investigate* | detect* | learn from | look at | look for | looks for | listen for | ring | rings | raise an alarm | raise the alarm | sound the alarm |
		escalate | quarantine | trim | shed | fear | dread | distrust | doubt | mourn | pity | laugh at | stand back from | walk away from | step back from | sit out | skip | ignore those | catch | catches | spot | spots | stop anyone | stop whoever | stops anyone | protect us from`)
	condemning = lexicon(
		`ruin | ruins | ruined | ruinous | forbidden | banned | prohibited | off limits | out of bounds | not allowed | not permitted | not on our list | not on the list | not on any list | off our list | off the list | outside our list | outside the list |
		not ours | not for us | against the rule* | against our rule* | against the polic* | against our polic* | too much | too far | too risky | too dangerous | too high | too large | too big | suicide | folly | madness | insane | reckless | dangerous | mistake | poison | deadly | trap |
		scam | scams | fraud | theft | never ends well | ends badly | ended badly | ends in tears | ended in tears | killed | kills | wiped out | wipes out | liquidated | bankrupt* | blew up | blows up | burned | burnt | drained | lost everything | regret* |
		break* the rule* | break* our rule* | breaks the polic* | breach* | would break | how accounts die | how funds die | how fortunes die | lesson | warning | hurt | hurts | over the limit | over our limit | above our limit | above the limit | beyond our limit* | beyond the limit* |
		verboten | interdit | prohibido | proibido | vietato | запрещено`)
	uncondemn = lexicon(
		`not | never | hardly | isnt | arent | wasnt | no longer | nothing | without | scarcely | neither | nobody | nor | no`)
	despite = lexicon(
		`but | yet | still | anyway | regardless | however | nevertheless | so we | do the same | do likewise | let us | lets | so should we | like them | copy them | follow them | why not | so do we | we should | we could | we might | our turn | join them | me too | as we should | and so will we | to be first`)
	own = lexicon(
		`we | us | our | ours | ourselves | i | me | my | mine | treasury | portfolio | lets | wir | uns | unser* | ich | mein* | nous | notre | nos | nosotros | nuestr* | мы | нас | наш*`)
	plans = lexicon(
		`should | shall | must | ought | lets | let us | let me | what if | why not | how about | what about | imagine | suppose | would | could | might | can | will | may | want* to | plan* to | going to | need* to | time to | try | dare | wir sollten | lass uns | was wenn | et si | y si | e se`)
	others = lexicon(
		`police | exploiters | exploiter | regulators | the dev | developers | liquidations | a liquidation | liquidation waves | margin calls elsewhere | others | other traders | other people | other agents | traders | trader | someone | somebody | some people | people | they | their | users | hackers | hacker | attacker | attackers | thief | thieves | scammer | scammers | phisher* | victim | victims | neighbour* | neighbor* |
		rival | rivals | a fund | the fund that | funds that | a desk | strangers | a stranger | the exploit | the hack | an exploit | a hack | he | she | his | her | exchange that | protocol that | a bank | the bank | a friend of | gamblers | gambler | everyone who | those who | whoever | anyone who | the man who | the woman who | the town | a village | degens | the crowd | a competitor | competitors | the team that | a team | a dao | that dao | speculators | the old keeper | his uncle | her uncle`)
	past = lexicon(
		`followed | chased | traced | vanished | arrived | disappeared | walked | crossed | watched | turned out | happened | noticed | learned | learnt | heard | opened | closed | collapsed | failed | slipped | waited | liquidated | was | were | had | lost | went | took | sent | sold | bought | gave | paid | held | kept | ran | fell | rose | drew | got | made | came | broke | blew | said | told | saw | found | knew | thought | left | wrote | stood | began | became | cost others | cost them | cost him | cost her | cost a | did | grew | sank | swept | spent | stole | woke | slept | proved | bled | fled | led | lent | hid | drank | sang | rang | spoke | wore`)
	adjectives = set(
		`unlimited wrapped staked borrowed leveraged levered geared unaudited audited need speed seed feed red hundred bed shed exceed proceed embed indeed succeed unbounded uncapped restricted unrestricted weighted wicked sacred naked limited collateralized collateralised concentrated bleed need weed breed allowed listed unlisted combined trusted untrusted supposed hooded blessed`)
	inquiring = lexicon(
		`do | does | did | is | are | was | were | has | have | how many | how much | how often | how far | how long | who | whose | which | when did | why do | why does | why did | what did | what do they | where did`)
	iffy = lexicon(
		`if | when | whenever | once | should | in case | wherever | where | the moment | as soon as | each time | every time | wenn | falls | si | quand | cuando`)
	halting = lexicon(
		`refuse* | stop | stops | halt* | close | closes | reject* | cut | reduce* | wake | ring* | abort* | cancel* | unwind* | step away | walk away | step back | go to sleep | do nothing | wait | waits | exit | leave it | stand aside | skip | pause* | stay out | trim* | shrink* | sit still | sit it out | raise an alarm | sound the alarm | rings | tell the keeper | ask the keeper | ask first | call off | let it go | lower | warn* | alert* | flag*`)
	joints = set(
		`and but then so until till while because when whenever if unless since although though yet und aber dann mais et puis pero luego where which who that as before after`)
	hardJoints = set(`but then so until because ; : ( ) . ! ? " - yet unless aber dann puis pero luego`)
)

// spared says whether what stands at tokens from to to is named in order to forbid it, to watch for it, to warn of it,
// to ask about it, or to tell what happened to others. permits is set for a number with "more than" before it that lies
// above the cap by itself: to forbid more than that allows that much.
func (r *reading) spared(s span, from, to int, permits bool) bool {
	if !permits && r.prohibited(s, from) {
		return true
	}
	return r.watched(s, from) || r.disowned(s, from) || r.conditional(s, from, to) || r.condemned(s, from, to) ||
		r.reported(s, from, to) || r.inquired(s, from)
}

// prohibited looks to the left for a word that forbids what follows.
func (r *reading) prohibited(s span, from int) bool {
	for i := from - 1; i >= s.from && from-i <= 14; i-- {
		t := r.in[i]
		if hardJoints[t.text] ||
			(t.text == "and" || t.text == "," || t.text == "et" || t.text == "und") && r.acts(i+1, from) &&
				!(t.text == "," && i > s.from && oneOf(r.in[i-1], "never", "niemals", "circumstances")) {
			return false
		}
		if n := negators.at(r.in, i); n > 0 && i+n <= from && !r.canceled(s, i, i+n) {
			return true
		}
		if t.text == "than" && rather.has(r.in, s.from, i) { // I would rather sell than
			return true
		}
	}
	return false
}

// canceled says whether a negator does not forbid: never mind, do not hesitate, why not, no, …
func (r *reading) canceled(s span, at, next int) bool {
	if next < s.to && (r.in[next].text == "," && r.in[at].text == "no" || cancels.at(r.in, next) > 0) {
		return true
	}
	if oneOf(r.in[at], "no") && next < s.to && oneOf(r.in[next], "more") {
		return false
	}
	return at > s.from && oneOf(r.in[at-1], "why", "if", "or", "nothing", "cannot", "not", "never", "reason")
}

// acts says whether a stretch tells to do something.
func (r *reading) acts(from, to int) bool {
	return acts.has(r.in, from, to)
}

// watched looks to the left for a word that only looks at what follows, or stops it.
func (r *reading) watched(s span, from int) bool {
	for i := from - 1; i >= s.from && from-i <= 14; i-- {
		t := r.in[i]
		if hardJoints[t.text] || t.text == "and" && r.acts(i+1, from) || t.text == "," && r.acts(i+1, from) {
			return false
		}
		n := guardVerbs.at(r.in, i)
		if n == 0 || i+n > from || !r.begins(s, i) ||
			i+n < len(r.in) && oneOf(r.in[i+n], "order", "orders", "on", "me", "us", "losses") {
			continue
		}
		return n > 1 || !r.acts(i+n, from) || others.has(r.in, i+n, from)
	}
	return false
}

// begins says whether a word stands where a verb stands that tells to do it.
func (r *reading) begins(s span, i int) bool {
	if i == s.from {
		return true
	}
	before := r.in[i-1]
	return before.sort == mark ||
		oneOf(before, "to", "should", "must", "will", "would", "can", "could", "we", "i", "us", "me", "and", "please",
			"always", "then", "just", "only", "that", "who", "simply", "first", "or", "now", "tonight", "today",
			"never", "better", "let", "gladly")
}

// conditional says whether what is named is the condition of something that stops.
func (r *reading) conditional(s span, from, to int) bool {
	start := r.clause(s, from)
	if n := iffy.at(r.in, start); n == 0 {
		if start <= s.from || iffy.at(r.in, start-1) == 0 {
			return false
		}
	}
	end := to
	for end < s.to && r.in[end].text != "," {
		end++
	}
	if halting.has(r.in, end, s.to) && !r.endorsed(s, to) {
		return true
	}
	at, _ := halting.in(r.in, s.from, start) // wait when slippage passes 2 %
	return at >= 0 && r.begins(s, at)
}

// clause is where the clause of a token begins.
func (r *reading) clause(s span, at int) int {
	i := at
	for i > s.from && r.in[i-1].sort != mark && !joints[r.in[i-1].text] {
		i--
	}
	return i
}

// condemned looks to the right for a word that says what is wrong with it, in a sentence that plans nothing.
func (r *reading) condemned(s span, from, to int) bool {
	if i := r.markAfter(to, s); i+1 < s.to && refusals.at(r.in, i+1) > 0 && !r.planned(s, from) && !r.endorsed(s, i+1) {
		return true
	}
	at, _ := condemning.in(r.in, to, s.to)
	if at < 0 || r.planned(s, from) || r.endorsed(s, at) {
		return false
	}
	if oneOf(r.in[at], "not", "never") {
		return true
	}
	for i := at - 1; i >= max(to, at-3); i-- {
		if uncondemn.at(r.in, i) > 0 {
			return false
		}
	}
	return true
}

// disowned says whether the clause behind a semicolon or a question says that we leave it alone: the exchange lists
// 100x perps; we do not touch them. A question may be about us: what would it have cost us?
func (r *reading) disowned(s span, from int) bool {
	asks := r.in[s.to-1].text == "?" && !r.ordered(s, from)
	if !asks && (r.in[s.to-1].text != ";" || r.planned(s, from) || own.has(r.in, s.from, s.to)) {
		return false
	}
	end := s.to
	for end < len(r.in) && !oneOf(r.in[end], ".", ";", "!", "?") {
		end++
	}
	if end == s.to || despite.has(r.in, s.to, end) && !asks {
		return false
	}
	next := span{s.to, end}
	for i := next.from; i < min(next.to, next.from+7); i++ {
		if n := negators.at(r.in, i); n > 0 && !r.canceled(next, i, i+n) &&
			touching.has(r.in, i+n, min(next.to, i+n+3)) {
			return it.has(r.in, i+n, next.to)
		}
	}
	return oneOf(r.in[next.from], "leave") && it.has(r.in, next.from, next.to)
}

// touching are the deeds that somebody leaves undone who leaves something alone.
var touching = lexicon(
	`touch | touches | use | uses | do | take | hold | holds | buy | buys | trade | go | allow | try | want | own | dare | play | copy | follow | are on | is on | on our`)

// ordered says whether a sentence begins with an order, or asks why not.
func (r *reading) ordered(s span, from int) bool {
	if despite.has(r.in, s.from, from) || inviting.has(r.in, s.from, from) {
		return true
	}
	return bare[r.in[s.from].text] && !r.nominal(s, s.from)
}

var inviting = lexicon(`what if | why not | how about | what about | shall we | should we | could we | may we | can we`)

var it = lexicon(`it | them | that | those | this | one | any of it | any of them | there | list`)

// markAfter is the next sign within a few tokens; the end when there is none.
func (r *reading) markAfter(at int, s span) int {
	for i := at; i < min(s.to, at+6); i++ {
		if oneOf(r.in[i], ":", ",", "-") {
			return i
		}
	}
	return s.to
}

// planned says whether the sentence, up to a place, tells to do it or thinks of doing it.
func (r *reading) planned(s span, until int) bool {
	if plans.has(r.in, s.from, until) {
		return true
	}
	for i := s.from; i <= until && i < s.to; i++ {
		if bare[r.in[i].text] && r.begins(s, i) && !oneOf(before(r.in, i), "that", "who", "to", "never") &&
			!r.nominal(s, i) {
			return true
		}
	}
	return false
}

// nominal says whether a word that may be a verb stands as a noun: leverage above 3x, orders of a size.
func (r *reading) nominal(s span, i int) bool {
	return i+1 < s.to &&
		oneOf(r.in[i+1], "above", "of", "over", "beyond", "is", "was", "below", "under", "are", "were", "and", "or")
}

func before(in []token, i int) token {
	if i == 0 {
		return token{}
	}
	return in[i-1]
}

// endorsed says whether what follows takes it up after all.
func (r *reading) endorsed(s span, from int) bool { return despite.has(r.in, from, s.to) }

// reported says whether a sentence tells what was, or what others do, and not what we do.
func (r *reading) reported(s span, from, to int) bool {
	if own.has(r.in, s.from, to) || r.planned(s, to-1) || r.endorsed(s, to) {
		return false
	}
	end := to
	for end < s.to && !hardJoints[r.in[end].text] && r.in[end].text != "," && r.in[end].text != "and" {
		end++
	}
	if plans.has(r.in, to, end) || own.has(r.in, to, end) {
		return false
	}
	if others.has(r.in, s.from, to) {
		return true
	}
	for i := s.from; i < end; i++ {
		if past.at(r.in, i) > 0 {
			return true
		}
	}
	return false
}

func pastly(t token) bool {
	return t.sort == word && len(t.text) > 3 && t.text[len(t.text)-2:] == "ed" && !adjectives[t.text]
}

// inquired says whether a sentence asks what is, not whether to do it.
func (r *reading) inquired(s span, from int) bool {
	return r.in[s.to-1].text == "?" && inquiring.at(r.in, s.from) > 0 && !own.has(r.in, s.from, s.to) &&
		!r.planned(s, from) && !plans.has(r.in, s.from, s.to)
}
