package utterance

import (
	_ "embed" // words.txt
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/wordlist"
)

// wordsText says what each of the lists below recognises.
//
//go:embed words.txt
var wordsText string

var sections = wordlist.Read(wordsText)

// list is a list of phrases, table a set of words or phrases.
func list(name string) []string         { return sections[name].Phrases() }
func table(name string) map[string]bool { return sections[name].Set() }

var (
	smallTalk       = table("smallTalk")
	greetings       = table("greetings")
	lead            = table("lead")
	asksToKeep      = list("asksToKeep")
	interrogatives  = table("interrogatives")
	auxiliaries     = table("auxiliaries")
	addressed       = table("addressed")
	selves          = table("selves")
	requests        = table("requests")
	statementVerbs  = table("statementVerbs")
	requestEnds     = list("requestEnds")
	requestLast     = table("requestLast")
	requestBegins   = list("requestBegins")
	questionEnds    = list("questionEnds")
	questionIn      = list("questionIn")
	lastQuestion    = table("lastQuestion")
	tagQuestions    = table("tagQuestions")
	phrases         = table("phrases")
	leadsToFact     = table("leadsToFact")
	explicitWords   = table("explicitWords")
	explicitPhrases = list("explicitPhrases")
	nowPhrases      = list("nowPhrases")
	nowSigns        = list("nowSigns")
	noLongerPhrases = list("noLongerPhrases")
	contrastPhrases = list("contrastPhrases")
	changeWords     = table("changeWords")
	from            = table("from")
	to              = table("to")
	pastWords       = table("pastWords")
	notPast         = table("notPast")
	manyValued      = table("manyValued")
	attributes      = list("attributes")
	attributeSigns  = list("attributeSigns")
	residence       = table("residence")
	weekdays        = table("weekdays")
	months          = table("months")
	numbers         = table("numbers")
	hollow          = table("hollow")
	pronouns        = table("pronouns")
	copulas         = table("copulas")
	dayHalves       = table("dayHalves")
	articles        = table("articles")
	determiners     = table("determiners")
	strongPhrases   = list("strongPhrases")
	strongWords     = table("strongWords")
)

// wanting begins something that the speaker wants of the listener.
var wanting = []string{
	"i want you to", "i need you to", "i'd like you to", "i would like you to", "ich möchte, dass du",
	"ich möchte dass du", "ich will, dass du", "je veux que tu",
	"je voudrais que tu", "j'aimerais que tu", "quiero que", "me gustaría que", "voglio che", "vorrei che",
	"quero que você", "gostaria que",
	"хочу, чтобы ты", "я хочу, чтобы ты", "i want a ", "give me", "let's ", "let us ", "lass uns ",
}

// anyOf says whether a text begins with, ends with or contains one of some phrases.
func anyOf(match func(text, phrase string) bool, text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return match(text, p) })
}

func beginsWithAny(text string, all []string) bool { return anyOf(strings.HasPrefix, text, all) }
func endsWithAny(text string, all []string) bool   { return anyOf(strings.HasSuffix, text, all) }
func containsAny(text string, all []string) bool   { return anyOf(strings.Contains, text, all) }
