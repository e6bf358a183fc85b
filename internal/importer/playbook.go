package importer

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// PlaybookMarkdown writes PLAYBOOK.md: the heuristics of an agent, by confidence, and the hypotheses that are staged,
// promoted or refuted. Archived and superseded entries are left out, refuted hypotheses are not.
func PlaybookMarkdown(entries []*dream.Playbook, hyps []*dream.Hypothesis) string {
	var rules, staged, promoted, refuted []line
	for _, p := range entries {
		if p.State != dream.Live {
			continue
		}
		from := "written by hand"
		switch {
		case p.Claim != "":
			from = "from claim " + p.Claim
		case p.Hypothesis != "":
			from = "from hypothesis " + p.Hypothesis
		case p.Dream != "":
			from = "from dream " + p.Dream
		case p.Taint != dream.FromHuman && p.Taint != "":
			from = "from " + string(p.Taint)
		}
		rules = append(rules,
			line{
				p.Content, p.Confidence,
				[]string{fmt.Sprintf("confidence %.2f", p.Confidence), "since " + day(p.At), from},
			})
	}
	for _, h := range hyps {
		l := line{
			h.Claim, h.Confidence,
			[]string{fmt.Sprintf("confidence %.2f", h.Confidence), day(h.At), "hypothesis " + h.ID},
		}
		if h.Dream != "" {
			l.notes = append(l.notes, "dream "+h.Dream)
		}
		if step := prose(h.FirstStep); step != "" {
			l.notes = append(l.notes, "first step: "+step)
		}
		switch {
		case h.Status == dream.HypothesisRefuted:
			refuted = append(refuted, l)
		case h.State != dream.Live:
		case h.Status == dream.HypothesisPromoted:
			promoted = append(promoted, l)
		default:
			staged = append(staged, l)
		}
	}
	var b strings.Builder
	b.WriteString(
		"# Playbook\n\nWhat this agent acts by, and what it is still trying out. Confidence lies between 0 and 1.\n")
	section(&b, "Acts by", "Nothing yet.", rules)
	section(&b, "On trial", "Nothing is staged.", staged)
	section(&b, "Promoted", "", promoted)
	section(&b, "Refuted", "", refuted)
	return b.String()
}

// line is one entry with the details below it.
type line struct {
	text       string
	confidence float64
	notes      []string
}

func section(b *strings.Builder, title, empty string, lines []line) {
	if len(lines) == 0 && empty == "" {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if len(lines) == 0 {
		b.WriteString(empty + "\n")
		return
	}
	sort.SliceStable(lines, func(i, j int) bool {
		if lines[i].confidence != lines[j].confidence {
			return lines[i].confidence > lines[j].confidence
		}
		return lines[i].text < lines[j].text
	})
	for _, l := range lines {
		fmt.Fprintf(b, "- %s  \n  %s\n", prose(l.text), strings.Join(l.notes, " · "))
	}
}

// prose is text on one line in which nothing is Markdown. Addresses are written as code: renderers make links of bare
// ones, and text of dreams or strangers must not become clickable.
func prose(s string) string {
	s = derive.Flat(derive.Clean(s))
	var b strings.Builder
	from := 0
	for _, at := range addresses.FindAllStringIndex(s, -1) {
		b.WriteString(markdown.Replace(s[from:at[0]]))
		b.WriteString("`" + s[at[0]:at[1]] + "`")
		from = at[1]
	}
	b.WriteString(markdown.Replace(s[from:]))
	s = b.String()
	if s != "" && strings.ContainsRune("#>+-", rune(s[0])) {
		s = `\` + s
	}
	return s
}

// addresses are what renderers of Markdown make links of by themselves: with a scheme, from www., and of mail.
var addresses = regexp.MustCompile(
	"(?i)(?:[a-z][a-z0-9+.-]*://|www\\.|(?:mailto|xmpp):)[^\\s`<>]+|[^\\s`<>@]+@[^\\s`<>@]+\\.[^\\s`<>@]+")

var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "|", `\|`)

func day(at time.Time) string {
	if at.IsZero() {
		return "undated"
	}
	return at.UTC().Format("2 January 2006")
}
