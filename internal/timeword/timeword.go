// Package timeword finds the time that a question names: "yesterday", "vor zwei Wochen", "on 5 March", "去年".
package timeword

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Span is a stretch of time, From included and Until not.
type Span struct{ From, Until time.Time }

// Holds says whether a moment lies in the span.
func (s Span) Holds(at time.Time) bool { return !at.Before(s.From) && at.Before(s.Until) }

// longest bounds how many bytes of a question are read; a time is usually named near its beginning or its end.
const longest = 400

// Find returns the span that a question names first, relative to now, in now's time zone; false when it names none.
// Days begin at midnight and weeks on Monday. A weekday, a day of a month or a month without a year is the latest one
// that has begun. Only the past and the present are found, because no memory is of the future. English, German,
// French, Spanish, Italian, Portuguese, Russian, Japanese and Chinese are supported.
func Find(question string, now time.Time) (Span, bool) {
	text := strings.ToLower(question)
	if len(text) > longest {
		text = text[:longest/2] + " " + text[len(text)-longest/2:]
	}
	best, at := Span{}, -1
	for _, r := range rules {
		if !hinted(text, r.hints) {
			continue
		}
		found := r.pattern.FindStringSubmatchIndex(text)
		if found == nil || at >= 0 && found[0] >= at {
			continue
		}
		groups := make([]string, len(found)/2)
		for i := range groups {
			if found[2*i] >= 0 {
				groups[i] = text[found[2*i]:found[2*i+1]]
			}
		}
		if s, ok := r.span(groups, now); ok && !s.From.After(now) {
			best, at = s, found[0]
		}
	}
	return best, at >= 0
}

func hinted(text, hints string) bool {
	for hint := range strings.SplitSeq(hints, "|") {
		if strings.Contains(text, hint) {
			return true
		}
	}
	return false
}

type rule struct {
	hints   string // the pattern cannot match without one of these in the text; checking them costs a thousandth of it
	pattern *regexp.Regexp
	span    func(groups []string, now time.Time) (Span, bool)
}

// edge is the beginning or end of a word, in every script; \b of RE2 knows only ASCII.
const (
	begins = `(?:^|[^\p{L}\p{N}])`
	ends   = `(?:$|[^\p{L}\p{N}])`
)

// words matches one of several words or phrases that stand apart.
func words(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(begins + `(?:` + alternatives + `)` + ends)
}

// signs matches texts of scripts that write no spaces.
func signs(alternatives string) *regexp.Regexp { return regexp.MustCompile(alternatives) }

const (
	numbers  = `\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eine[mnr]?|zwei|drei|vier|fünf|sechs|une?|deux|trois|quatre|cinq|una?|dos|tres|cuatro|cinco`
	dayNames = `monday|tuesday|wednesday|thursday|friday|saturday|sunday|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag|` +
		`lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo`
	monthNames = `january|february|march|april|may|june|july|august|september|october|november|december|` +
		`januar|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|` +
		`enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre`
)

var rules = []rule{
	{
		"today|this |tonight|heute|aujourd|hoy|oggi|hoje|сегодня",
		words(`today|this (?:morning|afternoon|evening)|tonight|heute|aujourd['’]hui|hoy|oggi|hoje|сегодня`), days(0),
	},
	{"今", signs(`今日|今天|今朝|今晚`), days(0)},
	{
		"yesterday|gestern|hier |ayer|ieri|ontem|вчера",
		words(`yesterday|gestern|hier (?:soir|matin)|ayer|ieri|ontem|вчера`), days(-1),
	},
	// "hier" alone is German for "here"
	{"hier", words(`(?:j['’]ai|je|tu|nous|vous|qu['’]\S+|que|est-ce)[^.?!]{0,80} hier`), days(-1)},
	{"昨|きのう", signs(`昨日|昨天|昨晚|きのう`), days(-1)},
	{
		"day before|vorgestern|avant-hier|anteayer|antier|altro ieri|anteontem|позавчера",
		words(
			`(?:the )?day before yesterday|vorgestern|avant-hier|anteayer|antier|l['’]altro ieri|anteontem|позавчера`),
		days(-2),
	},
	{"一昨日|おととい|前天", signs(`一昨日|おととい|前天`), days(-2)},
	{
		"last night|letzte nacht|nuit|anoche|stanotte|noite",
		words(`last night|letzte nacht|la nuit dernière|anoche|stanotte|ontem à noite`), lastNight,
	},
	{
		"this week|diese woche|cette|esta|questa|на этой",
		words(`this week|diese woche|cette semaine|esta semana|questa settimana|на этой неделе`), weeks(0),
	},
	{
		"week|woche|semain|seman|settiman|недел",
		words(
			`(?:last|past) week|(?:letzte|vorige|vergangene) woche|(?:la )?semaine dernière|(?:la )?semana pasada|(?:la )?settimana scorsa|semana passada|на прошлой неделе`),
		weeks(-1),
	},
	{"今週|这周|這週|本", signs(`今週|这周|這週|本周|本週`), weeks(0)},
	{"先週|上", signs(`先週|上周|上週|上星期`), weeks(-1)},
	{
		"this month|diesen monat|ce mois|este|questo mese|в этом",
		words(`this month|diesen monat|ce mois(?:-ci)?|este mes|questo mese|este mês|в этом месяце`), months(0),
	},
	{
		"month|monat|mois|mes|mês|месяц",
		words(
			`last month|(?:letzten|vorigen|vergangenen) monat|(?:le )?mois dernier|(?:el )?mes pasado|(?:il )?mese scorso|mês passado|в прошлом месяце`),
		months(-1),
	},
	{"今月|个月|個月|本月", signs(`今月|这个月|這個月|本月`), months(0)},
	{"先月|上", signs(`先月|上个月|上個月`), months(-1)},
	{
		"this year|dieses jahr|année|año|anno|ano|в этом",
		words(`this year|dieses jahr|cette année|este año|quest['’]anno|este ano|в этом году`), years(0),
	},
	{
		"year|jahr|ann|an|año|ano|год",
		words(
			`last year|(?:letztes|voriges|vergangenes) jahr|(?:l['’])?année dernière|l['’]an dernier|(?:el )?año pasado|(?:l['’])?anno scorso|ano passado|в прошлом году`),
		years(-1),
	},
	{"今年", signs(`今年`), years(0)},
	{"去年|昨年", signs(`去年|昨年`), years(-1)},
	{" ago", words(`(` + numbers + `) (days?|weeks?|months?|years?) ago`), ago},
	{"vor ", words(`vor (` + numbers + `) (tag(?:en)?|wochen?|monat(?:en)?|jahr(?:en)?)`), ago},
	{"il y a", words(`il y a (` + numbers + `) (jours?|semaines?|mois|ans?)`), ago},
	{"hace ", words(`hace (` + numbers + `) (días?|semanas?|mes(?:es)?|años?)`), ago},
	{" fa", words(`(\d{1,4}) (giorn[oi]|settiman[ae]|mes[ei]|ann[oi]) fa`), ago},
	{"há ", words(`há (\d{1,4}) (dias?|semanas?|m[eê]s(?:es)?|anos?)`), ago},
	{"назад", words(`(\d{1,4}) (дн[яей]+|день|недел[иьюя]|месяц(?:а|ев)?|лет|года?) назад`), ago},
	{"前", signs(`(\d{1,4}) ?(日|天|週間|周|ヶ月|か月|个月|個月|年)前`), ago},
	{dayNames, words(`(?:on|last|this|am|letzten|diesen|vergangenen|le|el|este|il) (` + dayNames + `)`), weekday},
	{
		monthNames,
		words(
			`(?:on |am |le |el )?(?:the )?(\d{1,2})(?:st|nd|rd|th|\.)? (?:of |de )?(` + monthNames +
				`)(?:,? (?:de )?(\d{4}))?`), dayOfMonth(1, 2, 3),
	},
	{monthNames, words(`(` + monthNames + `) (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?`), dayOfMonth(2, 1, 3)},
	{monthNames, words(`(?:in|im|en|last|during|since|of|seit|depuis|desde) (` + monthNames + `)(?: (\d{4}))?`), month},
	{"-", words(`(\d{4})-(\d{2})-(\d{2})`), date(1, 2, 3)},
	{".", words(`(\d{1,2})\.(\d{1,2})\.(\d{4})`), date(3, 2, 1)},
	{"20|19", words(`(?:in|im jahr|en|nel|em|в) (20\d\d|19\d\d)`), year},
	{"年", signs(`(20\d\d|19\d\d)年`), year},
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

func dayAt(t time.Time) Span {
	from := midnight(t)
	return Span{from, from.AddDate(0, 0, 1)}
}

func weekAt(t time.Time) Span {
	from := midnight(t).AddDate(0, 0, -(int(t.Weekday())+6)%7)
	return Span{from, from.AddDate(0, 0, 7)}
}

func monthAt(t time.Time) Span {
	from := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, t.Location())
	return Span{from, from.AddDate(0, 1, 0)}
}

func yearAt(t time.Time) Span {
	from := time.Date(t.Year(), 1, 1, 0, 0, 0, 0, t.Location())
	return Span{from, from.AddDate(1, 0, 0)}
}

func days(n int) func([]string, time.Time) (Span, bool) {
	return func(_ []string, now time.Time) (Span, bool) { return dayAt(now.AddDate(0, 0, n)), true }
}

// lastNight begins at six in the evening and ends at six in the morning.
func lastNight(_ []string, now time.Time) (Span, bool) {
	today := midnight(now)
	return Span{today.Add(-6 * time.Hour), today.Add(6 * time.Hour)}, true
}

func weeks(n int) func([]string, time.Time) (Span, bool) {
	return func(_ []string, now time.Time) (Span, bool) { return weekAt(now.AddDate(0, 0, 7*n)), true }
}

func months(n int) func([]string, time.Time) (Span, bool) {
	return func(_ []string, now time.Time) (Span, bool) { return monthAt(monthAt(now).From.AddDate(0, n, 0)), true }
}

func years(n int) func([]string, time.Time) (Span, bool) {
	return func(_ []string, now time.Time) (Span, bool) { return yearAt(now.AddDate(n, 0, 0)), true }
}

var spelled = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10,
	"eine": 1, "einem": 1, "einen": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
	"un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "una": 1, "dos": 2, "tres": 3, "cuatro": 4,
	"cinco": 5,
}

// ago is around a day so long ago: people use round numbers, so that a day more or less, a few days of weeks, and
// half a month of months are included.
func ago(groups []string, now time.Time) (Span, bool) {
	n, ok := spelled[groups[1]]
	if !ok {
		var err error
		n, err = strconv.Atoi(groups[1])
		if err != nil {
			return Span{}, false
		}
	}
	unit := groups[2]
	starts := func(with ...string) bool {
		for _, w := range with {
			if strings.HasPrefix(unit, w) {
				return true
			}
		}
		return false
	}
	switch {
	case starts("day", "tag", "jour", "día", "dia", "giorn", "дн", "ден", "日", "天"):
		about := 0
		if n > 3 {
			about = 1
		}
		mid := dayAt(now.AddDate(0, 0, -n))
		return Span{mid.From.AddDate(0, 0, -about), mid.Until.AddDate(0, 0, about)}, true
	case starts("week", "woche", "semain", "seman", "settiman", "недел", "週", "周"):
		mid := dayAt(now.AddDate(0, 0, -7*n))
		return Span{mid.From.AddDate(0, 0, -3), mid.Until.AddDate(0, 0, 3)}, true
	case starts("month", "monat", "moi", "mes", "mês", "месяц", "ヶ", "か", "个", "個"):
		mid := dayAt(now.AddDate(0, -n, 0))
		return Span{mid.From.AddDate(0, 0, -15), mid.Until.AddDate(0, 0, 15)}, true
	}
	mid := dayAt(now.AddDate(-n, 0, 0))
	return Span{mid.From.AddDate(0, -4, 0), mid.Until.AddDate(0, 4, 0)}, true
}

// weekday is the latest one before today, as people mean it when they speak of the past.
func weekday(groups []string, now time.Time) (Span, bool) {
	at := 0
	for i, name := range strings.Split(dayNames, "|") {
		if name == groups[1] {
			at = i
		}
	}
	// The names stand in rows of seven from Monday; German has two for Saturday.
	wanted := at % 7
	if german := at - 7; german >= 0 && german < 8 {
		wanted = min(german, 6)
		if german >= 6 {
			wanted = german - 1
		}
	} else if at >= 15 {
		wanted = (at - 15) % 7
	}
	back := (int(now.Weekday())+6)%7 - wanted
	if back <= 0 {
		back += 7
	}
	return dayAt(now.AddDate(0, 0, -back)), true
}

var monthOf = func() map[string]time.Month {
	all := map[string]time.Month{}
	for _, row := range []string{
		"january february march april may june july august september october november december",
		"januar februar märz april mai juni juli august september oktober november dezember",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
	} {
		for i, name := range strings.Fields(row) {
			all[name] = time.Month(i + 1)
		}
	}
	return all
}()

// newest is a date of this year, or of the year before where it has not come yet, unless a year is named.
func newest(month time.Month, day int, named string, now time.Time) (time.Time, bool) {
	in := now.Year()
	if named != "" {
		in, _ = strconv.Atoi(named)
	}
	at := time.Date(in, month, day, 0, 0, 0, 0, now.Location())
	if named == "" && at.After(now) {
		at = time.Date(in-1, month, day, 0, 0, 0, 0, now.Location())
	}
	return at, at.Day() == day && at.Month() == month
}

func dayOfMonth(day, month, year int) func([]string, time.Time) (Span, bool) {
	return func(groups []string, now time.Time) (Span, bool) {
		d, _ := strconv.Atoi(groups[day])
		at, ok := newest(monthOf[groups[month]], d, groups[year], now)
		return dayAt(at), ok
	}
}

func month(groups []string, now time.Time) (Span, bool) {
	at, ok := newest(monthOf[groups[1]], 1, groups[2], now)
	return monthAt(at), ok
}

func date(year, month, day int) func([]string, time.Time) (Span, bool) {
	return func(groups []string, now time.Time) (Span, bool) {
		m, _ := strconv.Atoi(groups[month])
		d, _ := strconv.Atoi(groups[day])
		at, ok := newest(time.Month(m), d, groups[year], now)
		return dayAt(at), ok
	}
}

func year(groups []string, now time.Time) (Span, bool) {
	in, _ := strconv.Atoi(groups[1])
	return yearAt(time.Date(in, 1, 1, 0, 0, 0, 0, now.Location())), true
}
