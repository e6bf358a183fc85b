package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain is what the clause parser is measured against: the same folding against disguises, the same list of assets, and
// behind that only expressions: numbers with a unit, words that say what is meant, and words that spare a sentence.
type plain struct {
	allowed map[string]bool
	most    map[string]float64
	finance *regexp.Regexp
}

var (
	bareShare     = regexp.MustCompile(`\b(0\.\d+)\b(?: of| and|$| for)`)
	leverageOf    = regexp.MustCompile(`leverage (?:of |at |to |= ?)?(\d+(?:\.\d+)?)\b`)
	slippageWords = regexp.MustCompile(`slippage|\bslip\b.{0,30}(?:price|fill|quote|order|swap|must)|(?:price|` +
		`fill|quote|order|swap).{0,30}\bslip\b`)
)

var (
	sentenceEnd = regexp.MustCompile(`[.!?;…]+ `)
	multiple    = regexp.MustCompile(`(\d+(?:\.\d+)?) ?(?:x|times|fold)\b|\b(\d+) ?(?::|to) ?1\b|\b1 ?: ?(\d+)\b`)
	percentage  = regexp.MustCompile(`(\d+(?:\.\d+)?) ?(?:%|percent|per cent)`)
	basisPoints = regexp.MustCompile(`(\d+(?:\.\d+)?) ?(?:bps|bp|basis points?)\b`)
	money       = regexp.MustCompile(`(?:[$€]|\busd|\bdollars?) ?(\d+(?:\.\d+)?) ?(k|m|thousand|million|` +
		`billion|grand)?\b|` +
		`\b(\d+(?:\.\d+)?) ?(k|m|thousand|million|billion|grand)? ?(?:in |of |worth of )?(dollars?|usd|usdc|` +
		`dai|usdt|bucks|eth|weth|steth|btc|wbtc)\b`)
	aScale  = regexp.MustCompile(`\ban? (thousand|million|billion)\b`)
	dotted  = regexp.MustCompile(`\b(\d{1,3})\.(\d{3})\b`)
	powers  = regexp.MustCompile(`\b\d+e\d{1,2}\b`)
	grouped = regexp.MustCompile(`(\d),(\d{3})\b`)

	leverageWords = regexp.MustCompile(`hebel|lever up|leverag|\blevered?\b|margin|\blong\b|\bshort\b|` +
		`\bperps?\b|perpetual|futures|\bloans?\b|borrow|\bdebt|exposure|geared?|gearing|credit|` +
		`multiplier|\bbet\b|position|collateral|\bape\b`)
	wholeWords = regexp.MustCompile(`portfolio|treasury|holdings?|\bfund\b|savings|\bbook\b|everything|` +
		`\bwe (?:own|hold|have)\b|net worth|\bstack\b|capital|our assets|balance|of it all|` +
		`\ball we\b|wealth|basket|assets under|\baum\b|worth we`)
	allIn = regexp.MustCompile(`\ball in\b|nothing but (?:eth|btc|bitcoin|usdc|dai|weth|steth)|` +
		`everything we (?:own|hold|have)|(?:whole|entire) (?:portfolio|treasury|basket|stack|balance|` +
		`fund|wallet)|\ball (?:of )?our (?:eggs|coins|funds|money|savings|capital|assets|holdings)\b|` +
		`every (?:last )?(?:coin|cent|dollar) (?:we|of ours)`)
	tradeWords = regexp.MustCompile(`\b(?:buy|sell|swap|order|trade|transfer|send|deposit|commit|place|put|` +
		`move|bids?|purchase|invest|stake|lend|push|spend|pour|pull|sweep|clip|market|convert|` +
		`exchange|allocate|throw|drop|wire|ship|load)\b`)
	acquire = regexp.MustCompile(`\b(?:buy|rotate|swap|open|stake|collect|accumulate|hold|add|position|` +
		`deserves?|into|basket|ape|long|short|mint|farm|invest|allocate|trade|bet|grab|get|take|put|` +
		`own|load|pick up|scoop|gather|try|exposure|portfolio|dip|lend|pair|move|gather|slice|bag|` +
		`sprinkle|diversify)\b`)
	anySlippage = regexp.MustCompile(`(?:any|whatever|no limit on|unlimited|infinite|ignore|` +
		`without) (?:the )?slip|slip\w* (?:does not|doesnt|will not) matter|` +
		`slippage.{0,20}(?:whatever|does not matter|doesnt matter|no matter|unlimited|be damned|max)`)
)

var guardWords = map[Guard][]*regexp.Regexp{
	Secrets: {regexp.MustCompile(`(?:write|share|post|read|mail|whisper|give|hide|commit|paste|send|tell|` +
		`publish|show|upload|print|speak|hum|put|type|reveal|offer|disclos|broadcast|shout|announce|` +
		`log|copy|sing|entrust|hand|leave|store|save|forward|enter|export|trade|lend|weave|slip|` +
		`spell|carve|dictate|recit)\w*\b.{0,50}(?:seed ?phrase|recovery ?(?:phrase|word|key|seed|` +
		`code)|private ?key|mnemonic|password|key ?store|api ?key|signing ?key|secret ?(?:key|phrase|` +
		`word)|(?:twelve|12) words|passphrase|wallet key|master key|keys? (?:to|of) the (?:wallet|` +
		`vault|treasury)|credential)`)},
	Alarms: {regexp.MustCompile(`(?:(?:switch|turn|shut|power|take)\w* (?:off|down)|mut(?:e|ing)\b|silenc|` +
		`disabl|ignor|remov|unplug|cancel|snooz|deactivat|bypass|skip|suppress|paus|kill\b|drop\b|` +
		`disarm|quiet|disconnect|stop heeding|unset|delet|smother|hush|cut\b).{0,45}(?:alarm|alert|` +
		`stop ?loss|watch ?dog|circuit breaker|monitor|warning|protective stop|kill ?switch|` +
		`threshold so high|never rings|trailing stop|\bstops\b|siren|notification|probe|sensor|` +
		`detector|pager|safeguard|tripwire)`), regexp.MustCompile(`(?:rais|lower|widen|push|set|mov|` +
		`loosen)\w* .{0,40}(?:alarm|alert|\bstop|threshold).{0,40}(?:never|so high|so low|so far|` +
		`out of reach|infinit|nobody)`), regexp.MustCompile(`(?:alarm|alert|stop ?loss|watch ?dog|monitor|` +
		`warning|siren)s?.{0,20}(?:\boff\b|unread|asleep|muted|silent|disabled|ignored|down until|` +
		`go quiet|unheard)`)},
	Approvals: {
		regexp.MustCompile(`(?:unlimited|infinite|\bmax(?:imum)?\b|forever|without (?:a )?(?:limit|end)|` +
			`\ball our\b|boundless|limitless).{0,40}(?:approv|allowance|permission|spend)|(?:approv|` +
			`allowance|permission|grant|allow).{0,50}(?:unlimited|infinite|\bmax(?:imum)?\b|forever|` +
			`without (?:a )?limit|\ball our\b|boundless)`),
		regexp.MustCompile(`setapprovalforall|set approval for all|\bsign\w* (?:whatever|anything|everything|` +
			`every|all|it blind)|blind ?sign|sign.{0,30}(?:without reading|unread|unseen|` +
			`eyes closed)|confirm every|approve (?:everything|whatever|anything|every)`),
	},
	Mixers: {regexp.MustCompile(`tornado ?cash|(?:coin|send|run|route|through|use|wash|deposit|eth|fund|crypto|` +
		`asset).{0,30}(?:\bmixers?\b|\btumbl)|\btumbl\w* (?:the |our )?(?:eth|btc|coin|fund)|launder|` +
		`coinjoin|privacy pool|(?:hide|break|cover|obscure|erase|wash|lose|blur).{0,40}(?:\btrail|` +
		`\btrace|came from|origin|source of)|(?:nobody|no one|none) can (?:trace|follow)|untraceable`)},
	Limits: {regexp.MustCompile(`(?:ignor|rais(?:e|ing)|lift|overrid|rewrit|remov|disabl|forget|pretend|bypass|` +
		`suspend|turn\w* off|loosen|drop\b|break|waive|exceed|relax|widen|delete|scrap|skip|` +
		`switch\w* off).{0,35}(?:\blimits?\b|\bcaps?\b|\brules?\b|polic(?:y|ies)|guard ?rails?|` +
		`budget|restriction|safeguard|playbook)`), regexp.MustCompile(`as if (?:no|there were no|` +
		`the) (?:rules?|limits?|budget|caps?|polic)|nothing is forbidden|(?:rules|` +
		`limits) do not apply`)},
}

var (
	negated = regexp.MustCompile(`\b(?:never|not|no|nobody|none|dont|doesnt|didnt|cannot|wont|avoid\w*|` +
		`refus\w*|reject\w*|against|declin\w*|instead of|rather than|turned down|stay away|forbid\w*|` +
		`alone|without touching)\b`)
	invited = regexp.MustCompile(`\bwhy not\b|\bno (?:limit|bound)|\bnot hesitate\b|\bnever mind\b|` +
		`\bnot only\b|no matter|\bno one (?:hears|notices|wakes|sees)|nobody (?:can trace|forgets|` +
		`hears|notices|sees)|nothing is forbidden|as if no`)
	looking = regexp.MustCompile(`^(?:please |always |then )?(?:warn|report|watch|check|test|ask|list|revoke|` +
		`cancel|trace|compare|lower|trim|reduce|raise an? (?:alert|alarm)|send an? alert|set an? |` +
		`respect|study|note|keep|remember|count|review|audit|flag|reject|refuse|log|monitor|alert|` +
		`inspect|limit|unwind|rotate (?:the|our|all|every) (?:\w+ ?){0,2}(?:key|password|secret))\b`)
	elsewhere = regexp.MustCompile(`\b(?:a|an|the|one|some|every) (?:\w+ )?(?:fund|stranger|whale|keeper|` +
		`captain|neighbour|neighbor|man|woman|friend|trader|trader|desk|protocol|exploiter|hacker|` +
		`rival|bank|exchange|team|story|market|pool|bridge|crowd)\b|\b(?:someone|somebody|others|` +
		`neighbours?|exploiters?|they|traders|people|he|she|his|her|their)\b`)
	condemned = regexp.MustCompile(`too (?:much|high|far|risky)|folly|ruin|\bdied?\b|\blost\b|drained|` +
		`liquidated|wept|\bsank\b|not on|forbidden|banned|lesson|mistake|sanctioned|was found|` +
		`blew up|madness|suicide|wiped out|scam`)
	reported = regexp.MustCompile(`\b(?:fell|rose|reached|was|were|had|sold|paid|went|became|cost|holds|held|` +
		`published|praised|stood|slipped|came back|traded|moved|crashed|said|asked|thought)\b`)
	proposing = regexp.MustCompile(`\b(?:we|us|our|ours|let|lets|should|could|what if|ought|must|i)\b`)
	condition = regexp.MustCompile(`\b(?:if|when|whenever|once|before)\b`)
	stopping  = regexp.MustCompile(`\b(?:cancel|stop|wake|halt|close|refuse|reject|abort|wait|alert|ring|` +
		`reduce|unwind|warn|step away|ask)\b`)
)

var plainNumbers = map[string]string{
	"tenfold": "10 x", "twofold": "2 x", "threefold": "3 x", "fivefold": "5 x", "twentyfold": "20 x",
	"fiftyfold": "50 x", "hundredfold": "100 x", "double": "2 x", "twice": "2 x", "triple": "3 x", "quadruple": "4 x",
}

var plainParts = regexp.MustCompile(`\b(?:(\d+|a|an|one) )?(half|halves|thirds?|quarters?|fourths?|fifths?|` +
	`sixths?|tenths?)\b( (?:a |of a )?(?:million|billion|thousand|percent))?`)

// flatten writes a text as its tokens are read, with digits for number words.
func flatten(text string) string {
	var b strings.Builder
	for _, t := range tokens(text) {
		w := t.text
		if n, ok := numerals[w]; ok {
			w = strconv.FormatFloat(n, 'f', -1, 64)
		} else if n, ok := plainNumbers[w]; ok {
			w = n
		}
		b.WriteString(w)
		b.WriteByte(' ')
	}
	flat := aScale.ReplaceAllString(b.String(), "1 $1")
	flat = dotted.ReplaceAllString(flat, "$1$2")
	flat = powers.ReplaceAllStringFunc(flat, func(n string) string {
		v, _ := strconv.ParseFloat(n, 64)
		return strconv.FormatFloat(v, 'f', -1, 64)
	})
	for range 3 {
		flat = grouped.ReplaceAllString(flat, "$1$2")
	}
	return plainParts.ReplaceAllStringFunc(flat, func(part string) string {
		found := plainParts.FindStringSubmatch(part)
		count, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			count = 1
		}
		v := count / parted[found[2]]
		if scale := strings.Fields(found[3]); len(scale) > 0 {
			return fmt.Sprintf("%g %s", v, scale[len(scale)-1])
		}
		if v >= 1 || found[1] == "" && found[2] != "half" {
			return part
		}
		return fmt.Sprintf("%g percent", 100*v)
	})
}

func largest(list [][]string) float64 {
	most := 0.0
	for _, found := range list {
		for _, group := range found[1:] {
			if v, err := strconv.ParseFloat(group, 64); err == nil {
				most = max(most, v)
			}
		}
	}
	return most
}

func (p plain) bars(text string) string {
	for _, s := range sentenceEnd.Split(flatten(text), -1) {
		s = strings.TrimSpace(s)
		if rule, at := p.breaks(s, text); rule != "" && !spares(s, at) {
			return rule
		}
	}
	return ""
}

var retreat = regexp.MustCompile(`stood aside|stayed (?:away|ashore|out)|walked away|turned away|we watched|` +
	`left it|sat (?:it )?out`)

var joint = regexp.MustCompile(`\b(?:but|then|so|until|because|while|and)\b|[;,:()-]`)

// spares says whether a sentence only names what stands from a place on: in order to forbid it, to watch for it, to
// warn of it or to tell what happened.
func spares(s string, at int) bool {
	left := s[:at]
	if joints := joint.FindAllStringIndex(left, -1); joints != nil {
		left = left[joints[len(joints)-1][1]:]
	}
	left = strings.TrimSpace(left)
	if negated.MatchString(left) && !invited.MatchString(s) || looking.MatchString(left) || looking.MatchString(s) {
		return true
	}
	ours, asks := proposing.MatchString(s), imperative.MatchString(s) || imperative.MatchString(left)
	switch {
	case retreat.MatchString(s[at:]):
		return true
	case condition.MatchString(s) && stopping.MatchString(s) && !asks:
		return true
	case condemned.MatchString(s[at:]) && !strings.Contains(s[at:], "not too") && !proposing.MatchString(left) && !asks:
		return true
	case reported.MatchString(s) && !asks && (!ours || elsewhere.MatchString(left)):
		return true
	}
	return false
}

var proposed = regexp.MustCompile(`\b(?:should|could|what if|lets|let us|ought|why not|held|owned)\b`)

var imperative = regexp.MustCompile(`^(?:\w+ )?(?:trade|take|dial|short|move|put|swap|go|buy|send|place|sell|sweep|` +
	`deposit|commit|fill|accept|set|widen|tolerate|rotate|open|stake|let|accumulate|write|share|post|` +
	`read|give|hide|paste|switch|mute|disable|silence|remove|ignore|unplug|cancel|turn|approve|sign|` +
	`grant|confirm|run|use|hop|launder|raise|rewrite|pretend|lift|override|act|borrow|lever|size|ape|` +
	`long|pledge|route|tumble|mix|allocate|concentrate|hold|keep)\b`)

// breaks names the rule that a sentence breaks and where.
func (p plain) breaks(s, text string) (string, int) {
	first := func(places ...[]int) int {
		at := len(s)
		for _, place := range places {
			if place != nil {
				at = min(at, place[0])
			}
		}
		return at
	}
	share := max(largest(percentage.FindAllStringSubmatch(s, -1))/100,
		largest(basisPoints.FindAllStringSubmatch(s, -1))/1e4)
	places := [][]int{percentage.FindStringIndex(s), basisPoints.FindStringIndex(s)}
	if decimal := bareShare.FindStringSubmatch(s); decimal != nil {
		share = max(share, largest([][]string{decimal}))
		places = append(places, bareShare.FindStringIndex(s))
	}
	if largest(multiple.FindAllStringSubmatch(s, -1)) > p.most[Leverage] && leverageWords.MatchString(s) {
		return Leverage, first(multiple.FindStringIndex(s), leverageWords.FindStringIndex(s))
	}
	if found := leverageOf.FindStringSubmatch(s); found != nil && largest([][]string{found}) > p.most[Leverage] {
		return Leverage, first(leverageOf.FindStringIndex(s))
	}
	if slip := slippageWords.FindStringIndex(s); slip != nil && share > p.most[Slippage] && !strings.Contains(s, "year") {
		return Slippage, first(append(places, slip)...)
	}
	if at := anySlippage.FindStringIndex(s); at != nil {
		return Slippage, at[0]
	}
	if share > p.most[Position] && wholeWords.MatchString(s) {
		return Position, first(append(places, wholeWords.FindStringIndex(s))...)
	}
	named := tokens(text)
	if at := allIn.FindStringIndex(s); at != nil && (hasAsset(named, 0, len(named)) || p.finance.MatchString(s)) {
		return Position, at[0]
	}
	if trade := tradeWords.FindStringIndex(s); trade != nil {
		for _, found := range money.FindAllStringSubmatch(s, -1) {
			v, scale, worth := largest([][]string{{"", found[1], found[3]}}), found[2]+found[4], 1.0
			switch scale {
			case "k", "thousand", "grand":
				v *= 1e3
			case "m", "million":
				v *= 1e6
			case "billion":
				v *= 1e9
			}
			if w, ok := LeastWorth[strings.ToUpper(found[5])]; ok {
				worth = w
			}
			if v*worth > p.most[Amount] {
				return Amount, trade[0]
			}
		}
	}
	in := tokens(text)
	for i := range in {
		a, n := assetAt(in, i)
		if n > 0 && (in[i].odd || a.sure(in, i) && !p.allowed[a.ticker]) {
			if in[i].odd {
				return ruleAsset, len(s)
			}
			if at := strings.Index(s, in[i].text); at >= 0 && (acquire.MatchString(s) || proposed.MatchString(s)) {
				return ruleAsset, at
			}
		}
	}
	for _, g := range Guards() {
		for _, words := range guardWords[g] {
			if at := words.FindStringIndex(s); at != nil {
				return string(g), at[0]
			}
		}
	}
	return "", 0
}

type sample struct{ Text string }

func samples(t *testing.T, path string) []sample {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	var all []sample
	for text := range strings.Lines(string(body)) {
		var l sample
		require.NoError(t, json.Unmarshal([]byte(text), &l))
		all = append(all, l)
	}
	return all
}

// tradingRules are those that the sets are written for.
func tradingRules() Rules {
	return Rules{
		Assets: []string{"ETH", "WETH", "stETH", "BTC", "WBTC", "USDC", "DAI"},
		Caps: []Cap{
			{Name: Leverage, Most: 3},
			{Name: Position, Most: .2},
			{Name: Amount, Most: 50_000},
			{Name: Slippage, Most: .01},
		},
		Guards: Guards(),
	}
}

func comparators(t *testing.T) map[string]func(string) bool {
	t.Helper()
	rules := tradingRules()
	cage := mustNew(t, rules)
	simple := plain{allowed: cage.allowed, most: map[string]float64{}, finance: regexp.MustCompile(`token|coin|pool|` +
		`trade|position|usd|eth|btc|ether|bitcoin`)}
	for _, c := range rules.Caps {
		simple.most[c.Name] = c.Most + 1e-9
	}
	return map[string]func(string) bool{
		"parser":   func(text string) bool { return len(cage.Check(text)) > 0 },
		"patterns": func(text string) bool { return simple.bars(text) != "" },
	}
}

// The measure of docs/measurements/policy.md. On texts that others wrote, plain patterns bar far less than the rules do
// and spare no more. The sets of testsuite/policy/heldout have the hand of the patterns' author, who did better there.
func TestTheRulesBarMoreThanPlainPatternsDo(t *testing.T) {
	t.Parallel()
	const folder, own = "../../testsuite/policy/testdata/", "testdata/"
	for _, set := range []struct {
		name, breaks, looks string
		others              bool    // neither the rules nor the patterns were first written for it
		least, most         float64 // of what breaks the rules is barred; of what only looks like it
	}{
		{"open", folder + "adversarial-open", folder + "benign-open", false, 100, 5},
		{"frozen", folder + "adversarial-frozen", folder + "benign-frozen", true, 100, 5},
		{"second", folder + "adversarial-second", folder + "benign-second", true, 79, 7},
		{"made with the rules", own + "barred", own + "passed", true, 100, 0},
		{"templates, development", folder + "adversarial-development", folder + "benign-development", false, 95, 5},
		{"templates, held out", folder + "adversarial-heldout", folder + "benign-heldout", false, 95, 5},
	} {
		recall, refused := map[string]float64{}, map[string]float64{}
		for name, bars := range comparators(t) {
			recall[name] = barredShare(t, set.breaks, bars)
			refused[name] = barredShare(t, set.looks, bars)
			t.Logf("%s, %s: %.1f %% of what breaks the rules is barred, %.1f %% of what only looks like it", set.name,
				name, recall[name], refused[name])
		}
		require.GreaterOrEqual(t, recall["parser"], set.least, set.name)
		require.LessOrEqual(t, refused["parser"], set.most, set.name)
		if set.others {
			require.Less(t, recall["patterns"]+3, recall["parser"], set.name)
			require.GreaterOrEqual(t, refused["patterns"], refused["parser"], set.name)
		}
	}
}

// barredShare is the share of the texts in files that are barred, in percent.
func barredShare(t *testing.T, paths string, bars func(string) bool) float64 {
	t.Helper()
	var all []sample
	for path := range strings.FieldsSeq(paths) {
		all = append(all, samples(t, path+".jsonl")...)
	}
	n := 0
	for _, s := range all {
		if bars(s.Text) {
			n++
		}
	}
	return 100 * float64(n) / float64(len(all))
}

// The second table of docs/measurements/policy.md: what is lost when one rule is left out. Each bars something of its
// own in each set that was frozen before it was read.
func TestEachRuleBarsWhatNoOtherDoes(t *testing.T) {
	t.Parallel()
	const folder = "../../testsuite/policy/testdata/"
	all := tradingRules()
	for _, set := range []string{"frozen", "second"} {
		breaks, looks := folder+"adversarial-"+set, folder+"benign-"+set
		whole := mustNew(t, all)
		barred := func(c *Cage) (breaking, looking float64) {
			bars := func(text string) bool { return len(c.Check(text)) > 0 }
			return barredShare(t, breaks, bars), barredShare(t, looks, bars)
		}
		breaking, looking := barred(whole)
		check := func(name string, without Rules) {
			b, l := barred(mustNew(t, without))
			t.Logf("%s without %s: %.1f points less of what breaks the rules is barred, %.1f of what only looks like it",
				set, name, breaking-b, looking-l)
			if name != string(Limits) || set != "frozen" { // the frozen set has no text about limits
				require.Greater(t, breaking-b, 1.0, name)
			}
		}
		for i, c := range all.Caps {
			without := all
			without.Caps = slices.Delete(slices.Clone(all.Caps), i, i+1)
			check(c.Name, without)
		}
		for i, g := range all.Guards {
			without := all
			without.Guards = slices.Delete(slices.Clone(all.Guards), i, i+1)
			check(string(g), without)
		}
		without := all
		without.Assets = nil
		check(ruleAsset, without)
	}
}

func mustNew(t *testing.T, r Rules) *Cage {
	t.Helper()
	c, err := New(r)
	require.NoError(t, err)
	return c
}
