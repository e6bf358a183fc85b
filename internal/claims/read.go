package claims

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Describe says what a check looks for, in a sentence that Read understands.
func Describe(c dream.Check) string {
	many := max(1, c.Least)
	switch {
	case c.When != "" && c.Within == 0 && c.Not:
		return fmt.Sprintf("the next memory that names %s does not name %s.", c.When, c.Then)
	case c.When != "" && c.Within == 0:
		return fmt.Sprintf("the next memory that names %s also names %s.", c.When, c.Then)
	case c.When != "":
		return fmt.Sprintf("%s %s within %s of the next that names %s.", memories(many, c.Not, ""), c.Then, span(c.Within),
			c.When)
	}
	return fmt.Sprintf("%s %s.", memories(many, c.Not, "new "), c.Then)
}

// memories is how many memories name something.
func memories(n int, not bool, kind string) string {
	switch {
	case n == 1 && not:
		return "no " + kind + "memory names"
	case n == 1:
		return "a " + kind + "memory names"
	case not:
		return fmt.Sprintf("fewer than %d %smemories name", n, kind)
	}
	return fmt.Sprintf("%d %smemories name", n, kind)
}

// units are the spans of time in which a wait is said, the longest first.
var units = []struct {
	name   string
	length time.Duration
}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}}

func span(d time.Duration) string {
	for _, u := range units {
		if n := d / u.length; d%u.length == 0 && n == 1 {
			return "1 " + u.name
		} else if d%u.length == 0 && n > 0 {
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return d.String()
}

// The sentences that Read understands.
var (
	sentenceTogether = regexp.MustCompile(`(?is)^the next memory that names (.+?) (also names|does not name) (.+?)\.?$`)
	sentenceAfter    = regexp.MustCompile(
		`(?is)^(.+?) memor(?:y|ies) names? (.+) within (\d+|a|an|one) (minute|hour|day|week)s? of the next that names (.+?)\.?$`)
	sentenceAgain = regexp.MustCompile(`(?is)^(.+?) new memor(?:y|ies) names? (.+?)\.?$`)
	sentenceMany  = regexp.MustCompile(`(?i)^(?:(a|no)|(fewer than )?(\d+))$`)
)

// Read reads the sentence of a criterion that a program can look up; false when it is in other words:
//
//	the next memory that names A also names B
//	the next memory that names A does not name B
//	a memory names B within 3 days of the next that names A
//	a new memory names B
//
// and the last two with "no", "3" or "fewer than 3" memories. What it reads may still fail Validate.
func Read(criterion string) (dream.Check, bool) {
	text := strings.TrimSpace(criterion)
	if m := sentenceTogether.FindStringSubmatch(text); m != nil {
		return dream.Check{When: m[1], Then: m[3], Not: strings.EqualFold(m[2], "does not name")}, true
	}
	if m := sentenceAfter.FindStringSubmatch(text); m != nil {
		c, ok := counted(m[1], m[2])
		within, fits := waited(m[3], m[4])
		c.When, c.Within = m[5], within
		return c, ok && fits
	}
	if m := sentenceAgain.FindStringSubmatch(text); m != nil {
		return counted(m[1], m[2])
	}
	return dream.Check{}, false
}

// counted is a check of how many memories name something.
func counted(many, then string) (dream.Check, bool) {
	m := sentenceMany.FindStringSubmatch(strings.TrimSpace(many))
	if m == nil {
		return dream.Check{}, false
	}
	c := dream.Check{Then: then, Not: strings.EqualFold(m[1], "no") || m[2] != ""}
	if m[3] != "" {
		n, err := strconv.Atoi(m[3])
		if err != nil || n < 1 {
			return dream.Check{}, false
		}
		c.Least = n
	}
	if c.Least == 1 {
		c.Least = 0
	}
	return c, true
}

// waited is a span such as "3 days"; false for one that no check may wait.
func waited(number, unit string) (time.Duration, bool) {
	n, err := strconv.Atoi(number)
	switch strings.ToLower(number) {
	case "a", "an", "one":
		n, err = 1, nil
	}
	if err != nil {
		return 0, false
	}
	if strings.EqualFold(unit, "week") {
		n, unit = 7*min(n, 1000), "day"
	}
	for _, u := range units {
		if strings.EqualFold(unit, u.name) && n > 0 && n <= int(LongestWait/u.length) {
			return time.Duration(n) * u.length, true
		}
	}
	return 0, false
}
