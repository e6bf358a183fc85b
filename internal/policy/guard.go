package policy

import (
	"maps"
	"slices"
)

// Guard is a built-in rule about what no dream should lead to.
type Guard string

// The guards.
const (
	Secrets   Guard = "secrets"   // giving away keys, recovery phrases or passwords
	Alarms    Guard = "alarms"    // silencing alarms, stop-losses and watchdogs
	Approvals Guard = "approvals" // approvals without limit, and signing what nobody has read
	Mixers    Guard = "mixers"    // hiding where money came from
	Limits    Guard = "limits"    // lifting the agent's own limits and rules
)

// Guards are all of them, by name. They apply unless a configuration removes them: each bars what harms the operator of
// an agent, whatever the agent is for.
//
//workflowcheck:ignore
func Guards() []Guard { return slices.Sorted(maps.Keys(guards)) }

// Says is the guard's explanation for a barred text.
func (g Guard) Says() string { return guards[g].what }

var guards = map[Guard]struct {
	what string
	find func(r *reading, s span) []span
}{
	Secrets:   {"it gives away a secret", (*reading).secrets},
	Alarms:    {"it silences an alarm or a safeguard", (*reading).alarms},
	Approvals: {"it approves or signs without limit", (*reading).approvals},
	Mixers:    {"it hides where money came from", (*reading).mixers},
	Limits:    {"it lifts a limit or a rule of the agent", (*reading).limits},
}

var (
	secretThings = lexicon(
		`seed phrase* | seedphrase* | recovery phrase* | recovery word* | recovery seed* | recovery key* | recovery code* | wallet seed* | wallet phrase* | backup phrase* | backup word* | secret phrase* | secret word* | secret recovery | secret key* | mnemonic* | private key* | privatekey* | private wallet key* | privkey* | signing key* | master key* | wallet key* | wallets key* | treasury key* | vault key* |
		keys to the wallet | keys to the vault | keys to the treasury | keys of the wallet | key to the wallet | key to the vault | key to the treasury | key of the wallet | keys of the vault | key of the vault | keystore* | key file | keyfile | passphrase* | password* | api key* | api token* | access token* | credential* | twelve words | 12 words | twenty four words | 24 words | two factor code* | 2fa code* | otp code* | one time code* | xprv | secrets |
		words that restore the wallet | words that restore our wallet | words that recover the wallet | words that open the wallet | words that open the vault | words that unlock the wallet | words that unlock the vault | words to our wallet | words of our wallet | phrase that opens the wallet | phrase that opens the vault | phrase that opens our wallet | phrase that unlocks the wallet | phrase that unlocks the vault | phrase that restores the wallet | phrase that restores our wallet | phrase of the wallet | seed of the wallet | seed words | seed word | words of the seed | wallet backup | wallet file | multisig key* | hot wallet key* | cold wallet key* | signer key* | signers key* |
		privater schlussel | privaten schlussel | private schlussel | wiederherstellungs* | seed worter | passwort* | passworter | kennwort* | cle privee | cles privees | phrase de recuperation | phrase secrete | mot de passe | clave privada | claves privadas | frase semilla | frase de recuperacion | contrasena* | chiave privata | frase seme | приватный ключ | сид фраз* | пароль*`)
	giving = lexicon(
		`carry | carries | carrying | contain | contains | bear | bears | spread | spreads | deliver | bring | brings | hum | tuck | lay bare | put | write | writes | writing | share | shares | sharing | send | sends | sending | post | posts | posting | publish* | tell | tells | telling | give | gives | giving | gave | hand | hands | handing | show | shows | showing | reveal* | export* | paste* | pasting | upload* | email* | mail | mailing | hide | hides | hiding | put | puts | putting | print* | type | typing | enter | entering | submit* | whisper* | recit* | read out | read aloud | read | speak | spell* | encod* | embed* | tattoo* |
		copy | copies | copying | copied | forward* | message | dm | disclos* | leak* | expos* | trade | swap | photograph* | screenshot* | carve | etch | engrave | sing | sings | singing | hum | chant | paint | leave | leaves | leaving | drop | stream | broadcast* | include | includes | mention | weave | slip | sew | scatter | sprinkle | transmit* | dictate | log | journal | memorise in | note | jot | scribble | entrust | lend | sell | offer | exchange | tweet* | blog | say | repeat | shout | announce | translate | turn | pour | confide | confess |
		schreib* | teil* | sende | schick* | verrat* | zeig* | veroffentlich* | verstecke* | ecri* | partage* | envoie | envoy* | publie* | montre* | cache* | escrib* | compart* | envia* | envie | publica* | muestr* | escond* | scriv* | condivid* | invia* | напиши* | отправ* | поделись`)
	stowing = lexicon(
		`store | stores | storing | save | saves | saving | keep | keeps | keeping | back up | backup | record | records | recording | place | lay`)
	openly = lexicon(
		`journal | room | chat | log | logs | note | notes | notebook | cloud | repo | repository | prompt | context | memory | public | shared | email | mail | poem | song | story | dream | page | wiki | drive | forum | channel | message | bot | file | text | document | comment | commit | code | board | wall | screen | drawing | picture | open | everyone | somewhere`)
	custody = lexicon(
		`offline | cold | safe | steel | paper | hardware | locked | sealed | where no | out of sight | out of reach | away from | secret from | to ourselves | to itself | never leaves | vaulted | encrypted | nowhere`)
	alarming = lexicon(
		`probe | sensor | sensors | detector* | watcher* | lookouts | guard dog* | night watch | listener* | price feed* | safety system* | early warner* | alarm | alarms | alert | alerts | alerting | stop loss* | stop losses | stoploss* | stops | circuit breaker* | kill switch* | killswitch* | watchdog* | watch dog* | price probe* | the probe | probes | safeguard* | guard rail* | guardrail* | safety check* | safety net* | safety limit* | safety stop* | safety valve* | risk check* | risk engine | risk monitor* | risk control* | risk alert* | monitoring | the monitor | monitors | notification* | warnings | warning system* | warning light* | early warning* | sentinel* | siren* | pager | pagers | health check* | dead man switch | deadman switch | liquidation alert* | liquidation warning* | trailing stop* | protective stop* | hard stop | tripwire* | trip wire* | beeper | wake up call | fail safe* | failsafe* | lookout | fuse | fuses | limit order that protects | price bell | warning bell | the bell that warns |
		alarme | alarmes | alarma | alarmas | allarme | allarmi | preisalarm* | warnung* | verlustbegrenzung | alerte | alertes | alerta | alertas | сигнализаци* | тревог* | стоп лосс*`)
	noAlarm = lexicon(
		`alarm clock* | fire drill* | full stop* | bus stops | train stops | in alarm | with alarm | false alarm* | stops at | stops and | stops in | stops the`)
	silencing = lexicon(
		`stop listening | stop watching | stop checking | stop heeding | stop minding | stop reading | pay no attention to | pay no heed to | turn a deaf ear | deaf to | no need for | no need of | live without | trade without | do away with | never check | not check | kill off | power down | wind down | power off | take offline | put to sleep | let go | wave away | shrug off | shake off | talk down | lull | turn off | turns off | turning off | turned off | switch off | switches off | switching off | switched off | shut off | shut down | shutting off | shutting down | turn down | disable* | disabling | mute | mutes | muting | muted | silence | silences | silencing | silenced | snooze | snoozes | snoozing | snoozed | ignor* | remov* | delet* | cancel* | unplug* | kill | kills | killing | suspend* | paus* | deactivat* | disarm* | skip* | drop | drops | dropping | bypass* | suppress* | quiet | quieten | hush | unsubscrib* |
		take off | pull the plug on | pull the battery | cut the wire | cut | disconnect* | overrid* | override | get rid of | do without | dispense with | dismiss* | gag | gags | detach* | blind | blinds | stop the | stop all | stop every | sleep through | close our eyes to | close our ears to | look away from | stuff cotton | tear out | rip out | take out | take down | lift | lifting | clear | forget | abandon | unset | void | smother | muffle* | jam | choke | ditch | scrap | axe | shelve | trust no | loosen | relax | ungag | tune out | give up | let go of | lose the | throw away | throw out | bury | wipe | neutralise | neutralize | cover |
		ausschalt* | abschalt* | deaktivier* | ignorier* | stumm* | schalte | desactiv* | coupe* | eteindre | eteins | ignor* | apag* | silenci* | disattiv* | spegn* | отключи* | выключи* | игнорир*`)
	offWords = lexicon(
		`off | disabled | muted | silenced | removed | asleep | unplugged | deactivated | disarmed | out of the way | gone | suspended | paused | ignored | dead | quiet | silent | switched off | turned off | aus | stumm`)
	thresholds = lexicon(
		`raise | raises | raising | widen* | loosen* | push | pushes | pushing | set | sets | setting | move | moves | moving | stretch* | put | lower | drop | shift | lift`)
	neverRings = lexicon(
		`never rings | never ring | never fires | never fire | never sounds | never trips | never triggers | never wakes | never be | never reach* | never hit | never be reached | never be hit | so high | so low | so wide | so far | too high | too low | too far | out of reach | beyond reach | to zero | to infinity | to infinite | at infinity | to never | cannot ring | cannot trigger | cannot fire | cannot trip | nothing trips | nothing triggers | no longer ring* | where nothing | unreachable | as wide as | wide enough | nobody hears`)
)

// secrets finds a secret thing that is given to somebody or written where it can be read.
func (r *reading) secrets(s span) []span {
	var found []span
	for i := s.from; i < s.to; i++ {
		n := secretThings.at(r.in, i)
		if n == 0 ||
			oneOf(r.in[i], "twelve", "12", "twenty", "24") &&
				!oneOf(before(r.in, i), "our", "the", "those", "these", "its", "my", "your", "wallet", "all",
					"secret") {
			continue
		}
		from, to := max(s.from, i-12), min(s.to, i+n+10)
		if at, m := giving.in(r.in, from, i); at >= 0 && !custody.has(r.in, at, to) {
			found = append(found, span{at, max(i+n, at+m)})
		} else if at, _ := stowing.in(r.in, from, i); at >= 0 && openly.has(r.in, i, to) && !custody.has(r.in, at, to) {
			found = append(found, span{at, i + n})
		} else if at, m := giving.in(r.in, i+n,
			to); at >= 0 && !custody.has(r.in, i, to) && !negators.has(r.in, i+n, at) &&
			(passive.has(r.in, i+n, at) || openly.has(r.in, at+m, to)) {
			found = append(found, span{i, at + m})
		} else if at, m := intoOpen.in(r.in, i+n,
			to); at >= 0 && (openly.has(r.in, at+m, min(s.to, at+m+5)) || placing.has(r.in, i+n, at+m)) &&
			!custody.has(r.in, i, to) {
			found = append(found, span{i, at + m})
		} else if letting.has(r.in, max(s.from, i-6), i) {
			if !custody.has(r.in, i, s.to) && !tending.has(r.in, i, to) {
				found = append(found, span{i - 1, i + n})
			}
		}
		i += n - 1
	}
	return found
}

var (
	letting = lexicon(`let | make | turn`)
	placing = lexicon(`belong* | goes | go | lives | live | fits | could stand | should stand | stand | stands`)
	tending = lexicon(`rest | sleep | stay | remain | be safe | be kept | be locked | alone`)
	passive = lexicon(
		`should | could | can | may | must | will | would | to be | be | belongs | belong | goes | go | shall | might`)
	intoOpen = lexicon(
		`in the | in a | into the | into a | on the | on a | belongs in | belong in | goes into | for everyone`)
)

// alarms finds what silences a safeguard.
func (r *reading) alarms(s span) []span {
	var found []span
	for i := s.from; i < s.to; i++ {
		if n := noAlarm.at(r.in, i); n > 0 {
			i += n - 1
			continue
		}
		n := alarming.at(r.in, i)
		if n == 0 && oneOf(r.in[i], "stop", "threshold", "thresholds", "trigger") && neverRings.has(r.in, i, s.to) &&
			thresholds.has(r.in, s.from, i) {
			at, _ := thresholds.in(r.in, s.from, i)
			never, m := neverRings.in(r.in, i, s.to)
			found = append(found, span{at, never + m})
			continue
		}
		if n == 0 ||
			r.in[i].text == "stops" &&
				!oneOf(before(r.in, i), "our", "the", "all", "those", "every", "trailing", "hard", "its", "no") {
			continue
		}
		if where, ok := r.silenced(s, i, n); ok {
			found = append(found, where)
		}
		i += n - 1
	}
	return found
}

func (r *reading) silenced(s span, i, n int) (span, bool) {
	from := max(s.from, i-7)
	for at := i - 1; at >= from; at-- { // the verb stands in the same clause
		if hardJoints[r.in[at].text] || subords[r.in[at].text] ||
			silencing.at(r.in, at) == 0 && (bare[r.in[at].text] || calm[r.in[at].text]) && at > s.from &&
				oneOf(r.in[at-1], ",", "and") {
			from = at + 1
			break
		}
	}
	if at, m := silencing.in(r.in, from, i); at >= 0 {
		return span{at, max(i+n, at+m)}, true
	}
	for at := max(s.from, i-3); at < i; at++ {
		if m := lackingAlarm.at(r.in, at); m > 0 && at+m >= i-1 {
			return span{at, i + n}, !(oneOf(r.in[at], "no") && r.idle(s, i, n))
		}
	}
	to := min(s.to, i+n+6)
	if at, m := offWords.in(r.in, i+n, min(s.to, i+n+3)); at >= 0 &&
		(keeping.has(r.in, from, i) || passive.has(r.in, i+n, at)) {
		return span{i, at + m}, true
	}
	if at, m := awayWords.in(r.in, i+n, min(s.to, i+n+4)); at >= 0 && movers.has(r.in, from, i) {
		return span{max(from, i-3), at + m}, true
	}
	if at, m := silencing.in(r.in, i+n, to); at >= 0 && passive.has(r.in, i+n, at+1) && !negators.has(r.in, i+n, at) {
		return span{i, at + m}, true
	}
	if shut, _ := shutting.in(r.in, from, i); shut >= 0 && i+n < s.to && oneOf(r.in[i+n], "up") {
		return span{shut, i + n + 1}, true
	}
	if at, _ := thresholds.in(r.in, from, i); at >= 0 && n > 0 {
		if never, m := neverRings.in(r.in, i, min(s.to, i+n+12)); never >= 0 {
			return span{at, never + m}, true
		}
	}
	return span{}, false
}

var (
	movers = lexicon(
		`make | makes | stop | stops | keep from | turn* | take | takes | taking | shut* | switch* | put | puts | putting | set | sets | let | lets | letting | leave | leaves | leaving | pull* | push* | tear* | throw* | send* | lull* | flip* | dial* | talk* | phase* | power* | move | keep | may | should | could | can | might | must`)
	awayWords = lexicon(
		`up for good | up until | so deaf | deaf | numb | so quiet | so soft | so faint | from ringing | from waking | from sounding | off | down | offline | away | out of reach | out of sight | out of the window | out of the way | aside | asleep | to sleep | to bed | to rest | sleep | rest | nap | lapse | expire | be still | be quiet | be silent | go quiet | go silent | fall silent | fall asleep | stay quiet | stay silent | stay off | wait until | on mute | on silent`)
	shutting = lexicon(`shut | shuts | shutting`)
	calm     = set(
		`listen watch check test heed wake hear count look wait read note log trust follow answer mend fix leave keep`)
	lackingAlarm = lexicon(
		`without | without a | without an | without any | without the | without our | no | sans | ohne | sin`)
	keeping = lexicon(`with | leave | leaving | keep | keeping | once | have | having | get | let | want`)
)

// idle says whether nothing is done without the alarm: no alarm rang.
func (r *reading) idle(s span, i, n int) bool {
	return !r.acts(s.from, s.to) || i+n < s.to && pastly(r.in[i+n]) ||
		i+n < s.to && oneOf(r.in[i+n], "rang", "was", "came", "sounded", "is", "has", "rings")
}

var (
	endless = lexicon(
		`unlimited | infinite | infinity | endless | boundless | unbounded | limitless | uncapped | unrestricted | max | maximum | maxuint* | uint256 max | type uint256 max | 2^256 | full | complete | total | blanket | eternal | permanent | perpetual | unbegrenzt* | illimit* | ilimitad* | unendlich* | безлимит* | неограничен*`)
	allowances = lexicon(
		`approval* | allowance* | permit | permits | permission* | access | spending right* | spending limit* | authorisation* | authorization* | spend | spending | amount | amounts | sum | rights | token approval* | control | genehmigung* | freigabe | approbation* | aprobacion* | autorisation* | autorizacion*`)
	approving = lexicon(
		`approv* | grant* | allow | allows | allowing | allowance* | permit* | authoris* | authoriz* | sign | signs | signing | give | gives | giving | let | lets | letting | genehmig* | freigeben | approuv* | aprueb* | autoris* | autoriz*`)
	withoutEnd = lexicon(
		`as much | as many | as it wants | as it likes | as they want | as they like | at will | freely | what it wants | what it likes | until revoked | without limit | without a limit | without any limit | without cap | without a cap | no limit | any amount | for all | for everything | forever | for good | for ever | everything | whatever | all our | all tokens | all of it | all the tokens | all assets | any sum | as much as | once and for all | every token | every coin | all coins | anything | ohne limit | ohne grenze | sans limite | sin limite`)
	blindly = lexicon(
		`every transaction | all transactions | each transaction | any transactions | every signature | all signatures | every approval | every permit | all permits | whatever | anything | everything | any message | any transaction | any request | any signature | any payload | blind | blindly | unread | unseen | without reading | without looking | without checking | without a look | eyes closed | with closed eyes | every request | every prompt | every pop up | every popup | every message | all requests | all messages | each request | it all | asks for | asks us | ask for | ask us | unknown message* | unknown transaction* | unread message*`)
	signing = lexicon(
		`sign | signs | signing | signed | signature for | click approve | click accept | confirm | confirms | confirming | countersign*`)
	spenders = lexicon(
		`contract* | router* | spender* | dapp* | protocol* | bot | site | website | page | address | marketplace | exchange | operator | bridge | stranger* | airdrop | pool | vault | app | plugin | extension | aggregator`)
	wholeSale = lexicon(
		`uint 256 | uint256 | uint max | yes to every signature | yes to all signature | accept every signature | accept any signature | accept all signature | accept every request | click yes on everything | click through every | setapprovalforall | set approval for all | approve all | approveall | approve max | approve everything | blind sign* | infinite approv* | unlimited approv* | max approv* | unlimited allowance* | infinite allowance* | unlimited spend* | infinite spend* | type uint256 max | uint max | maxuint* | permit2 max`)
	spending = lexicon(`spend | take | move | pull | withdraw | draw | drain | use | transfer | manage | handle`)
)

// approvals finds approvals without a bound, and what is signed unread.
func (r *reading) approvals(s span) []span {
	if i, n := wholeSale.in(r.in, s.from, s.to); i >= 0 {
		return []span{{i, i + n}}
	}
	if approving.has(r.in, s.from, s.to) {
		for i := s.from; i+3 < s.to; i++ {
			if r.in[i].text == "2" && oneOf(r.in[i+1], "*", "^") &&
				(r.in[i+2].text == "256" || r.in[i+3].text == "256") {
				return []span{{i, min(s.to, i+4)}}
			}
			if spending.at(r.in, i) > 0 && oneOf(r.in[i+1], "all", "any", "every", "everything", "whatever") &&
				spenders.has(r.in, s.from, i) && !oneOf(r.in[i], "use") {
				return []span{{i, i + 3}}
			}
		}
	}
	for i := s.from; i < s.to; i++ {
		if n := endless.at(r.in, i); n > 0 {
			for at := i + n; at < min(s.to, i+n+3); at++ {
				if m := allowances.at(r.in, at); m > 0 && r.of(s, at+m, i, n) {
					return []span{{i, at + m}}
				}
			}
			if at, _ := approving.in(r.in, max(s.from, i-3), i); at >= 0 && i+n < s.to &&
				(hasAsset(r.in, i+n, i+n+1) || oneOf(r.in[i+n], "token", "tokens", "coins", "funds")) {
				return []span{{at, i + n + 1}}
			}
			// allowance unlimited
			if i > s.from && allowances.at(r.in, i-1) > 0 &&
				!oneOf(r.in[i], "max", "full", "total", "complete", "permanent", "perpetual") {
				return []span{{i - 1, i + n}}
			}
			if at, _ := approving.in(r.in, max(s.from, i-8), i); at >= 0 &&
				oneOf(before(r.in, i), "to", "is", "as", "be", "for", "at") {
				return []span{{at, i + n}}
			}
		}
		n := approving.at(r.in, i)
		if n == 0 {
			continue
		}
		if at, m := withoutEnd.in(r.in, i+n, min(s.to, i+n+11)); at >= 0 &&
			(!oneOf(r.in[i], "give", "gives", "giving", "let", "lets", "letting", "allow", "allows", "sign", "signs",
				"signing") ||
				spenders.has(r.in, i, s.to) && (spending.has(r.in, i, s.to) || allowances.has(r.in, i, s.to))) {
			return []span{{i, at + m}}
		}
		if m := signing.at(r.in, i); m > 0 {
			if at, k := blindly.in(r.in, i+m, min(s.to, i+m+8)); at >= 0 {
				return []span{{i, at + k}}
			}
		}
	}
	if i, n := signing.in(r.in, s.from, s.to); i >= 0 && r.begins(s, i) {
		if at, k := blindly.in(r.in, i+n, s.to); at >= 0 {
			return []span{{i, at + k}}
		}
	}
	return nil
}

// of says whether what has no end is an allowance to somebody: a word of approving, or somebody who may spend.
func (r *reading) of(s span, at, i, n int) bool {
	if oneOf(r.in[i], "full", "complete", "total", "permanent", "perpetual", "max", "maximum") &&
		!spenders.has(r.in, s.from, s.to) && !oneOf(r.in[at-1], "approval", "approvals", "allowance", "allowances") {
		return false
	}
	if oneOf(r.in[at-1], "amount", "amounts", "sum", "access", "control", "rights", "permission", "permissions",
		"permit") {
		return approving.has(r.in, s.from, i) || oneOf(r.in[at-1], "permit") || spenders.has(r.in, at, s.to)
	}
	return true
}

var (
	mixing = lexicon(
		`tornado cash | tornadocash | coinjoin* | coin join* | wasabi wallet | chipmixer | sinbad mixer | mixing service* | coin mixer* | crypto mixer* | bitcoin mixer* | eth mixer* | coin tumbler* | bitcoin tumbler* | crypto tumbler* | samourai | railgun | privacy mixer* | peel chain* | chain hop* | money laundering | geldwasche | launder* the`)
	mixers = lexicon(
		`mixer | mixers | tumbler | tumblers | tumble | blender | миксер* | mezclador | melangeur | mischer`)
	wash = lexicon(
		`launder | launders | laundering | wash | washes | washing | scrub | rinse | clean | cleans | cleanse`)
	trails = lexicon(
		`trail | trails | track | tracks | trace | traces | origin | origins | source of funds | provenance | footprint* | fingerprint* | history of the coin* | pattern of our | scent`)
	hidings = lexicon(
		`hide | hides | hiding | obscure | obscures | obscuring | cover | covers | covering | erase | erases | erasing | break | breaks | mask | masks | conceal | conceals | wash | washes | washing | blur | blurs | wipe | launder* | bury | scatter | cloak | disguise | lose | muddle | muddy | sever`)
	coins = lexicon(
		`coin | coins | fund | funds | money | profit | profits | proceeds | gain | gains | winnings | eth | btc | usdc | dai | ether | bitcoin | token | tokens | wallet | wallets | dollar* | chain | ledger | payment* | transaction* | transfer* | deposit* | withdrawal* | the take | the loot | the spoils | on chain`)
	through = lexicon(`through | via | into | by | with | using | use | durch | a travers | por | run`)
	sending = lexicon(
		`send | sends | sending | route | routes | routing | run | runs | running | pass | passes | passing | funnel* | push | move | put | feed | drop | deposit | use | using | rotate | cycle | layer`)
	kitchen = lexicon(
		`dough | flour | batter | bakery | baker | kitchen | cake | bread | sound | voice | audio | music | band | guitar | vocal* | concrete | cement | mortar | paint | food | butter | egg | eggs | cream | soup | tape | drum* | song | stage | studio | glass | gin | whisky | water | lock | gymnast* | circus | paste | spice*`)
)

var (
	laundering = lexicon(`launder | launders | laundering | laundered`)
	linen      = lexicon(`shirt* | linen* | sheet* | clothes | sail | sails | towel* | apron* | soap`)
)

// mixers finds ways to hide where money came from.
func (r *reading) mixers(s span) []span {
	if i, n := mixing.in(r.in, s.from, s.to); i >= 0 {
		return []span{{i, i + n}}
	}
	if kitchen.has(r.in, s.from, s.to) {
		return nil
	}
	if i, n := laundering.in(r.in, s.from, s.to); i >= 0 && !linen.has(r.in, s.from, s.to) {
		return []span{{i, i + n}}
	}
	if i, n := mixers.in(r.in, s.from, s.to); i >= 0 {
		if coins.has(r.in, s.from, s.to) || trails.has(r.in, s.from, s.to) ||
			through.has(r.in, max(s.from, i-4), i) && sending.has(r.in, s.from, i) {
			return []span{{i, i + n}}
		}
	}
	if i, n := hidings.in(r.in, s.from, s.to); i >= 0 {
		if at, m := trails.in(r.in, i+n, min(s.to, i+n+7)); at >= 0 && coins.has(r.in, s.from, s.to) {
			return []span{{i, at + m}}
		}
	}
	if i, n := wash.in(r.in, s.from, s.to); i >= 0 {
		if at, m := coins.in(r.in, i+n, min(s.to, i+n+4)); at >= 0 &&
			!oneOf(r.in[i], "clean", "cleans", "rinse", "scrub") {
			return []span{{i, at + m}}
		}
	}
	return nil
}

var (
	ruleThings = lexicon(
		`policy | policies | policy cage | the cage | guardrail* | guard rail* | leverage limit* | leverage cap* | leverage rule* | position limit* | position cap* | position rule* | risk limit* | risk cap* | risk rule* | spending limit* | spending cap* | budget limit* | budget cap* | slippage limit* | slippage cap* | trade limit* | order limit* | loss limit* | exposure limit* | exposure cap* | asset list | allowed list | allow list | allowlist | whitelist | our limits | our caps | our rules | our own rules | its own rules | the agents rules | safety rule* | house rule* | percent rule | % rule | x rule | x limit | x cap | % cap | % limit | percent cap | percent limit | cap on | limit on leverage | limit on position* | size limit* | size cap*`)
	lifting = lexicon(
		`disable* | disabling | remove | removes | removing | bypass* | ignore | ignores | ignoring | lift | lifts | lifting | raise | raises | raising | overrid* | override | turn off | switch off | delete | deletes | deleting | forget | forgets | rewrite | rewrites | rewriting | loosen* | evade* | evading | circumvent* | slip past | sneak past | sneak around | work around | get around | go around | dodge | dodges | escape | escapes | suspend* | drop | relax* | double | triple | break | breaks | breaking | disobey | outwit | trick | fool | widen* | abolish | scrap | waive | repeal | sidestep* | skirt | skirts | cheat | edit | stretch | bend | exceed | exceeds | blow past | blow through | pretend`)
)

// limits finds what lifts the agent's own limits.
func (r *reading) limits(s span) []span {
	for i := s.from; i < s.to; i++ {
		n := ruleThings.at(r.in, i)
		if n == 0 {
			continue
		}
		from := max(s.from, i-6)
		for at := i - 1; at >= from; at-- {
			if hardJoints[r.in[at].text] {
				from = at + 1
				break
			}
		}
		if at, m := lifting.in(r.in, from, i); at >= 0 {
			return []span{{at, max(at+m, i+n)}}
		}
	}
	return nil
}
