package policy

import "strings"

// words is a list of words and phrases to find in a text. A star ends a word whose endings do not matter.
type words struct {
	first map[string][][]string // by the first word
	stems map[string][][]string // by the first word without its star
	long  int                   // letters of the longest stem
}

// lexicon reads "lever up | leverag*".
func lexicon(texts ...string) *words {
	w := &words{first: map[string][][]string{}, stems: map[string][][]string{}}
	for phrase := range strings.SplitSeq(strings.Join(texts, "|"), "|") {
		parts := strings.Fields(phrase)
		if len(parts) == 0 {
			continue
		}
		if stem, starred := strings.CutSuffix(parts[0], "*"); starred {
			w.stems[stem] = append(w.stems[stem], parts)
			w.long = max(w.long, len(stem))
		} else {
			w.first[parts[0]] = append(w.first[parts[0]], parts)
		}
	}
	return w
}

// at is how many tokens the longest phrase of the list takes that begins at a token; 0 for none.
func (w *words) at(in []token, i int) int {
	if i >= len(in) || in[i].sort == mark || in[i].sort == address {
		return 0
	}
	best := longest(w.first[in[i].text], in, i, 0)
	if in[i].plain != in[i].text {
		best = longest(w.first[in[i].plain], in, i, best)
	}
	for n := min(len(in[i].text), w.long); n > 1 && len(w.stems) > 0; n-- {
		best = longest(w.stems[in[i].text[:n]], in, i, best)
	}
	return best
}

func longest(phrases [][]string, in []token, i, best int) int {
	for _, phrase := range phrases {
		if len(phrase) > best && follows(phrase[1:], in, i+1) {
			best = len(phrase)
		}
	}
	return best
}

func follows(rest []string, in []token, i int) bool {
	if i+len(rest) > len(in) {
		return false
	}
	for n, want := range rest {
		if stem, starred := strings.CutSuffix(want,
			"*"); in[i+n].sort == mark || starred && !strings.HasPrefix(in[i+n].text, stem) ||
			!starred && in[i+n].text != want && in[i+n].plain != want {
			return false
		}
	}
	return true
}

// in finds the first phrase of the list in a stretch of tokens, and how many tokens it takes; at is -1 for none.
func (w *words) in(in []token, from, to int) (at, took int) {
	for i := max(0, from); i < min(to, len(in)); i++ {
		if n := w.at(in, i); n > 0 && i+n <= to {
			return i, n
		}
	}
	return -1, 0
}

func (w *words) has(in []token, from, to int) bool {
	at, _ := w.in(in, from, to)
	return at >= 0
}

// endsWith says whether a phrase of the list ends right before a token.
func endsWith(in []token, before int, w *words) bool {
	for n := 1; n <= 4 && before-n >= 0; n++ {
		if w.at(in, before-n) == n {
			return true
		}
	}
	return false
}

func set(text string) map[string]bool {
	table := map[string]bool{}
	for each := range strings.FieldsSeq(text) {
		table[each] = true
	}
	return table
}

func oneOf(t token, list ...string) bool {
	for _, each := range list {
		if t.text == each {
			return true
		}
	}
	return false
}

// watched are the words that disguises are undone for: those that rules look for.
var watched = watch()

// misspelt are the words that are known with a slip in them.
var misspelt = strings.Fields(
	`leverage leveraged leveraging slippage portfolio mnemonic keystore unlimited infinite allowance approval dogecoin ethereum
cardano polkadot passphrase liquidation perpetual password percent bitcoin everything safeguard setapprovalforall tornadocash stoploss`)

// common words that stand beside each other without being one.
var common = set(
	`a an the of to in on at by for and or but is it its we us our he she they i you no not be as so if all any one two up out off my me do go can may use`)

func watch() map[string]bool {
	table := set(`
	leverage leveraged levered leveraging lever gearing geared margin perp perps perpetual perpetuals futures borrow borrowed exposure hebel levier apalancamiento
	slippage tolerance portfolio treasury capital holdings bankroll everything entire whole percent unlimited infinite boundless
	seed phrase recovery mnemonic private secret keystore passphrase password passwords credentials seedphrase privatekey wallet wallets
	alarm alarms alert alerts stoploss stop loss watchdog disable mute silence unplug ignore circuit breaker
	tornado tornadocash mixer mixers tumbler tumblers coinjoin launder launders laundering wasabi
	approve approval approvals allowance allowances infinite setapprovalforall permit router sign
	share export publish reveal send post buy swap sell stake hold trade order long short invest token tokens coin coins dollars dollar thousand million hundred
	fivefold tenfold times never avoid policy cage guardrail guardrails bypass disable`)
	for name := range numerals {
		if len(name) >= 3 && onlyASCII(name) {
			table[name] = true
		}
	}
	for name := range assetNames {
		if len([]rune(name)) >= 3 && !strings.Contains(name, " ") {
			table[name] = true
		}
	}
	return table
}
