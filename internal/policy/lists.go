package policy

import (
	_ "embed" // words.txt

	"github.com/seed-56a03226/oneiros/internal/wordlist"
)

// wordsText says what each of the lists below recognises, with an example.
//
//go:embed words.txt
var wordsText string

var sections = wordlist.Read(wordsText)

// list is a list of phrases, table one of single words.
func list(name string) *words           { return lexicon(sections[name].Words) }
func table(name string) map[string]bool { return sections[name].Set() }

var (
	bare     = table("bare")
	acts     = list("acts")
	holdings = list("holdings")
	venues   = list("venues")
)

var (
	having       = list("having")
	contexts     = list("contexts")
	capitalWords = table("capitalWords")
	chainNouns   = table("chainNouns")
	carrying     = list("carrying")
	closing      = table("closing")
	light        = table("light")
	whose        = table("whose")
	anyWhich     = table("anyWhich")
)

var (
	everyday = table("everyday")
	kinds    = list("kinds")
)

var (
	levered       = list("levered")
	lending       = list("lending")
	running       = list("running")
	growth        = list("growth")
	margins       = list("margins")
	highest       = list("highest")
	again         = list("again")
	deposits      = list("deposits")
	borrowing     = list("borrowing")
	foreach       = list("foreach")
	finance       = list("finance")
	factorWord    = list("factorWord")
	looping       = list("looping")
	turns         = list("turns")
	multiplying   = list("multiplying")
	thinness      = list("thinness")
	countedThings = table("countedThings")
	staked        = list("staked")
	playing       = list("playing")
)

var (
	wholes     = list("wholes")
	funds      = list("funds")
	sized      = list("sized")
	into       = list("into")
	alls       = list("alls")
	majority   = list("majority")
	allFalse   = list("allFalse")
	besides    = list("besides")
	keepOnly   = list("keepOnly")
	changing   = list("changing")
	spreading  = list("spreading")
	relocating = list("relocating")
	onePlace   = list("onePlace")
)

var (
	tickets       = list("tickets")
	pools         = list("pools")
	subords       = table("subords")
	sixFigures    = list("sixFigures")
	moving        = list("moving")
	observing     = list("observing")
	boundlessSize = list("boundlessSize")
)

var (
	slipping   = list("slipping")
	slips      = list("slips")
	unbounded  = list("unbounded")
	minimumOut = list("minimumOut")
	protection = list("protection")
	market     = list("market")
	disarming  = list("disarming")
	lacking    = list("lacking")
)

var (
	units     = table("units")
	percents  = list("percents")
	points    = list("points")
	permilles = list("permilles")
	multiples = list("multiples")
	monies    = list("monies")
	exceeding = list("exceeding")
	changes   = list("changes")
	spans     = list("spans")
	whiles    = table("whiles")
)

var (
	secretThings = list("secretThings")
	giving       = list("giving")
	stowing      = list("stowing")
	openly       = list("openly")
	custody      = list("custody")
	alarming     = list("alarming")
	noAlarm      = list("noAlarm")
	silencing    = list("silencing")
	offWords     = list("offWords")
	thresholds   = list("thresholds")
	neverRings   = list("neverRings")
	letting      = list("letting")
	placing      = list("placing")
	tending      = list("tending")
	passive      = list("passive")
	intoOpen     = list("intoOpen")
	movers       = list("movers")
	awayWords    = list("awayWords")
	shutting     = list("shutting")
	calm         = table("calm")
	lackingAlarm = list("lackingAlarm")
	keeping      = list("keeping")
	endless      = list("endless")
	allowances   = list("allowances")
	approving    = list("approving")
	withoutEnd   = list("withoutEnd")
	blindly      = list("blindly")
	signing      = list("signing")
	spenders     = list("spenders")
	wholeSale    = list("wholeSale")
	spending     = list("spending")
	mixing       = list("mixing")
	mixerWords   = list("mixerWords")
	wash         = list("wash")
	trails       = list("trails")
	hidings      = list("hidings")
	coins        = list("coins")
	through      = list("through")
	sending      = list("sending")
	kitchen      = list("kitchen")
	laundering   = list("laundering")
	linen        = list("linen")
	ruleThings   = list("ruleThings")
	lifting      = list("lifting")
)

var (
	negators   = list("negators")
	cancels    = list("cancels")
	rather     = list("rather")
	refusals   = list("refusals")
	guardVerbs = list("guardVerbs")
	condemning = list("condemning")
	uncondemn  = list("uncondemn")
	despite    = list("despite")
	own        = list("own")
	plans      = list("plans")
	others     = list("others")
	past       = list("past")
	adjectives = table("adjectives")
	inquiring  = list("inquiring")
	iffy       = list("iffy")
	halting    = list("halting")
	joints     = table("joints")
	hardJoints = table("hardJoints")
	touching   = list("touching")
	inviting   = list("inviting")
	it         = list("it")
)

var common = table("common")
