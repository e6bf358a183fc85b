package utterance

import (
	"regexp"
	"strings"
	"unicode"
)

// likeness is what a line looks like.
type likeness int

const (
	prose       likeness = iota
	either               // it could be a machine's among others of a machine
	machineMade          // no person writes this
)

// Lines that programs write or that programs are written in. Each pattern is a form of a language, a format or a
// tool, not a word.
var (
	ofMachine = regexp.MustCompile(`^\s*(?:` + strings.Join([]string{
		`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d`,                                        // ISO 8601 at the head: a log
		`\[?\d\d:\d\d:\d\d[.,\]\s]`,                                                // a time at the head
		`(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d`, // syslog
		// an address at the head: an access log
		`\d{1,3}(?:\.\d{1,3}){3}\s`,
		`\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\]?[\s:]`, // a level at the head
		`[bcdlps-](?:[r-][w-][xsS-]){3}`, `total \d+$`,             // ls -l
		`(?:diff --git |index [0-9a-f]{6,}|@@ -\d|\+\+\+ |--- [ab/])`, // a patch
		`(?:Traceback \(most|File ".*", line \d+|panic: |goroutine \d+|exit status \d)`,
		`at [\w$.<>]+ ?\(.*\)$`, `(?:Exception in thread|Caused by:|[\w.]+(?:Error|Exception): )`,
		`(?:=== (?:RUN|PAUSE|CONT)|--- (?:FAIL|PASS|SKIP):|(?:ok|FAIL)\s+\S+\s+[\d.]+s)`, `(?:FAIL|PASS)$`,
		`[\w./-]+\.\w{1,4}:\d+(?::\d+)?:`, // a file, a line
		`(?:package|import|module|namespace|using) [\w."/{*]+[\w."/{}* ,]*;?$`, `from \S+ import `,
		`#(?:include|define|ifdef|pragma)\b`,
		`(?:export |public |private |static |async |pub |abstract )*(?:def|func|fn|function|class|struct|enum|interface|impl|trait|type) [\w$<>]*.*[{:(;]$`,
		`(?:export )?(?:const|let|var|val) [\w$,{}\[\] ]+(?::[^=]+)?=`,
		`(?:if|for|while|switch|match|elif|else if|catch|try|else|do)\b.*[{:]$`,
		`use [\w:]+(?:::[\w{}*, ]+)?;$`, `return\b.*;$`,
		`(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|ALTER TABLE|FROM|WHERE|GROUP BY|ORDER BY|LEFT JOIN)\s.*[\w;),]$`,
		`</?[a-z][\w-]*(?:\s[^<>]*)?>(?:.*>)?$`, `[\]})]+[;,]*$`, `(?://|/\*|\*/)`, `"[^"]*"\s*:`, `[{\[]\s*(?:"|$)`,
		`[\w.-]+\s*:\s*$`, `-\s+[\w.-]+:\s`, `apiVersion:\s`, `\$ \S`, `>>> `, `\d{3,6}[|:]\s`,
		`[\w.]+(?:\[[^\]]*\])?\s*(?::=|\+=|-=|==?)\s*[^=\s].*[;)\]}"'\w]$`, `[\w.]+\(.*\)[;{]?$`, `\)[ \w>.-]*\{$`,
	}, "|") + `)`)
	// surely are such lines that could pass for sentences by their words.
	surely = regexp.MustCompile(
		`^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|Traceback \(most recent|panic: |Exception in thread|Caused by: |goroutine \d+ \[|diff --git |` +
			`(?:[A-Z]\w*)?(?:Error|Exception|Warning): |(?:[a-z_]\w*\.)+[A-Z]\w*(?:Error|Exception)\b)`)
	pair    = regexp.MustCompile(`^\s+[\w.-]+\s*[:=]\s*\S+$`)
	setting = regexp.MustCompile(`^[\w.-]+:\s+\S+$`)
)

// longestLine is how many bytes of a line are judged, longestForm how many are held against the forms of programs.
const (
	longestLine = 400
	longestForm = 160
)

var (
	// telltales stand in every line of surely that begins with no digit.
	telltales = []string{
		"Traceback", "panic: ", "Exception", "Error", "Warning", "Caused by: ", "goroutine ",
		"diff --git ",
	}
	codeEnds = []string{"{", ";", "=>", "->", "(", "&&", "||"}
)

func firstBytes(s string, most int) string { return s[:min(len(s), most)] }

// likenessOf judges one line by its form. Letters of other scripts than Latin are a person's.
func likenessOf(line string) likeness {
	if len(line) > longestLine {
		line = firstPart(line, longestLine)
	}
	trimmed := strings.TrimSpace(line)
	if trimmed == "" {
		return prose
	}
	letters, symbols, total := 0, 0, 0
	for _, r := range trimmed {
		total++
		switch {
		case unicode.IsLetter(r):
			if r > 0x24f {
				letters++
			}
			letters++
		case strings.ContainsRune("{}[]()<>=;:/\\|&*_\"$#@^~+-`", r), unicode.IsDigit(r):
			symbols++
		}
	}
	if (unicode.IsDigit(rune(trimmed[0])) || containsAny(trimmed, telltales)) && surely.MatchString(trimmed) {
		return machineMade
	}
	if endsWithAny(trimmed, codeEnds) && strings.ContainsAny(trimmed, "(){}=<>") ||
		total >= 16 && 10*symbols > 4*total {
		return machineMade
	}
	if !isSentence(trimmed) && ofMachine.MatchString(firstBytes(trimmed, longestForm)) {
		return machineMade
	}
	switch {
	case pair.MatchString(line), setting.MatchString(line):
		return either
	case line[0] == '\t' || strings.HasPrefix(line, "    "):
		return either
	case total >= 12 && 4*symbols > total:
		return either
	}
	return prose
}

// isSentence says whether a line reads like one: it begins with a letter, and most of it is words with blanks between.
func isSentence(line string) bool {
	line = strings.TrimSpace(line)
	words, plainWords := 0, 0
	for w := range strings.FieldsSeq(line) {
		words++
		w = strings.Trim(w, `.,;:!?"'()`+"`")
		if w != "" && !strings.ContainsFunc(w, func(r rune) bool {
			return !unicode.IsLetter(r) && r != '\'' && r != '’' && r != '-' && !unicode.IsMark(r)
		}) {
			plainWords++
		}
	}
	first := []rune(line)
	return len(first) > 0 && unicode.IsLetter(first[0]) && words >= 4 && 4*plainWords >= 3*words &&
		!strings.ContainsAny(line, "{};=<>")
}
