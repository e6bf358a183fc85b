package derive

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is a token of a text.
type word struct {
	text    string // as written, without possessive 's
	hash    uint64 // of the folded form
	initial bool   // first of its sentence
	capital bool
	digits  bool
	joined  bool // only a blank stands between it and the word before
	plain   bool // a function word or a courtesy: no subject
}

// words appends the tokens of a text to a reusable slice: runs of letters and digits, joined by apostrophes and
// hyphens inside.
func words(s string, into []word) []word {
	initial, last := true, -2
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if !IsWordRune(r) {
			if r == '.' || r == '!' || r == '?' || r == '\n' || r == ':' || r == '…' || r == '"' || r == '“' {
				initial = true
			}
			i += size
			continue
		}
		end := wordEnd(s, i)
		w := word{text: trimPossessive(s[i:end]), initial: initial, capital: unicode.IsUpper(r)}
		w.hash, w.digits = fold(w.text)
		w.plain, w.joined = plainWords[w.hash], i == last+1 && s[last] == ' '
		into = append(into, w)
		initial, i, last = false, end, end
	}
	return into
}

func wordEnd(s string, from int) int {
	for i := from; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if !IsWordRune(r) {
			joins := r == '\'' || r == '’' || r == '-' || (r == '.' || r == ',') && isDigit(s[i-1])
			after, _ := utf8.DecodeRuneInString(s[i+size:])
			if !joins || !IsWordRune(after) || (r == '.' || r == ',') && !unicode.IsDigit(after) {
				return i
			}
		}
		i += size
	}
	return len(s)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func trimPossessive(s string) string {
	return strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
}

// fold hashes the lower-case form of a word (FNV-1a), one form for both apostrophes, and says if it has a digit.
func fold(s string) (hash uint64, digits bool) {
	hash = 14695981039346656037
	for _, r := range s {
		switch {
		case r == '’':
			r = '\''
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r >= '0' && r <= '9':
			digits = true
		case r >= utf8.RuneSelf:
			r = unicode.ToLower(r)
		}
		for ; r > 0; r >>= 8 {
			hash = (hash ^ uint64(r&0xff)) * 1099511628211
		}
	}
	return hash, digits
}

// singular folds the commonest English plurals, so that one subject is counted once.
func singular(s string) string {
	switch {
	case len(s) > 4 && strings.HasSuffix(s, "ies"):
		return s[:len(s)-3] + "y"
	case len(s) > 3 && strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && !strings.HasSuffix(s, "us") &&
		!strings.HasSuffix(s, "is"):
		return s[:len(s)-1]
	}
	return s
}

// inPlural says whether the last word of an English subject stands in the plural.
func inPlural(what string) bool {
	last := strings.ToLower(what[strings.LastIndexByte(what, ' ')+1:])
	hash, _ := fold(last)
	return irregular[hash] || singular(last) != last && !alwaysS[hash] && !strings.HasSuffix(last, "ics")
}

var (
	irregular = hashed("people children men women feet teeth mice geese wolves police cattle folk")
	alwaysS   = hashed(
		"news series species lens gas atlas canvas christmas yes maths bias alias chaos cosmos ethos pathos rhinoceros asparagus")
)

// article is the indefinite one before a word, by its first letter.
func article(what string) string {
	if strings.ContainsRune("aeio", rune(what[0])) {
		return "an"
	}
	return "a"
}

// contentWords counts the words of a text that can be a subject.
func contentWords(s string) int {
	n := 0
	var room [32]word
	for _, w := range words(s, room[:0]) {
		if !w.plain {
			n++
		}
	}
	return n
}

// plainWords are English function words, small talk, and common verbs and adjectives that are no subject by
// themselves.
var plainWords = hashed(plainList)

const plainList = `
a an the this that these those some any each every no none both either neither all most more less few many much other another such own same
i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our ours ourselves they them their theirs themselves
who whom whose which what where when why how whatever whenever wherever someone somebody something anyone anybody anything everyone everybody everything nobody nothing one ones
and or but nor so yet for if then else than because though although while until unless since as like about above across after against along among around at before behind below beneath beside between beyond by down during except from in inside into near of off on onto out outside over past per through throughout to toward towards under up upon via with within without
am is are was were be been being do does did doing done have has had having can could may might must shall should will would ought
i'm i've i'd i'll you're you've you'd you'll he's she's it's we're we've we'd we'll they're they've they'd they'll that's there's here's what's who's how's where's let's
isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't ain't it'd it'll must've could've should've would've im ive dont cant thats
not never ever always often sometimes usually again also just only even still already too very really quite rather pretty almost enough now soon later today yesterday tomorrow tonight ago once twice here there back away together apart maybe perhaps probably definitely absolutely totally actually basically literally especially certainly exactly truly simply finally currently recently lately forward ahead instead anyway though alone
hey hi hello bye goodbye wow woah whoa oh ah aww haha lol yeah yep yes yup nope nah ok okay alright please thanks thank thx cheers welcome sorry congrats congratulations sure great good nice cool awesome amazing fantastic wonderful lovely super incredible glad happy best better well fine right wrong true fun kind kinda sorta gonna wanna gotta lot lots bit pretty sweet interesting exciting excited impressive inspiring special important new old big small little long short high low hard easy different full whole last next first second able ready real keen proud grateful thankful perfect beautiful gorgeous
get gets got getting gotten go goes going went gone come comes came coming make makes made making take takes took taking taken give gives gave giving given put puts keep keeps kept keeping let lets say says said saying tell tells told telling ask asks asked asking talk talks talked talking speak speaks spoke speaking know knows knew known knowing think thinks thought thinking feel feels felt feeling seem seems seemed look looks looked looking see sees saw seen seeing watch hear heard hearing find finds found finding want wants wanted wanting need needs needed needing like likes liked love loves loved loving hope hopes hoped hoping wish wishes try tries tried trying use uses used using help helps helped helping helpful start starts started starting stop stops stopped begin begins began end ends ended ending happen happens happened happening become becomes became becoming mean means meant show shows showed shown showing share shares shared sharing bring brings brought bringing call calls called turn turns turned leave leaves left learn learned believe remember forget stay stays stayed run work works worked working live lives lived play plays played believe enjoy enjoys enjoyed enjoying appreciate check checking reach reached reaching set add added pick picked wait waiting spend spent hang hit catch figure guess bet agree matter matters plan plans planned planning decide decided
safe huge blast fam differences difference tough powerful positive favorite favourite loved loving journey group groups words word
thing things stuff way ways time times day days week weeks month months year years moment moments morning afternoon evening night hour hours minute minutes people person guy guys man men woman women kind sort part parts place places point case idea ideas reason fact side end start number name names pic pics photo photos picture pictures image
hundred thousand million two three four five six seven eight nine ten couple half
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december
dear mate dude man bro buddy friend etc mr mrs ms dr vs user assistant system
`
