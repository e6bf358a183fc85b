// Package selfcommand reads the commands that agents give themselves in rooms, such as "@self dormant sleep for 2h",
// and words what they and the room are answered.
package selfcommand

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/internal/prose"
)

// Usage answers a command that cannot be read.
const Usage = "Usage: @self dormant [mention-only|human-only|sleep] [for <duration>]"

// Verb is what a command does.
type Verb string

// The verbs.
const (
	Dormant Verb = "dormant"
	Awake   Verb = "awake"
	Status  Verb = "status"
)

// Command is what an agent asked for.
type Command struct {
	Verb Verb
	// Here confines it to the room in which it was text: "@self dormant sleep here", "@self awake here".
	Here   bool
	Level  dormancy.Level // of Dormant
	Until  time.Time      // zero: until it is ended otherwise
	Reason string
}

const (
	mark = "@self"
	// longest bounds the part of a post that is read, in bytes: about ten pages.
	longest = 32 << 10
	// LongestDormancy bounds what a command may ask for: a year. Setters of programs may go beyond.
	LongestDormancy = 365 * 24 * time.Hour
)

// Find reads the first command of a post: a line that begins with "@self", outside of code and quotes. It answers
// false when there is none, and always for posts of others than agents. now is the time of the post in the zone of the
// agent, in which times of day are meant. The error says what is wrong; its author is answered with Usage.
func Find(by dormancy.Kind, post string, now time.Time) (Command, bool, error) {
	if by != dormancy.Agent || !strings.Contains(strings.ToLower(post), mark) {
		return Command{}, false, nil
	}
	post = post[:min(len(post), longest)]
	begin := 0
	for line := range strings.SplitAfterSeq(prose.Read(post).Text, "\n") {
		text := strings.TrimLeftFunc(line, unicode.IsSpace)
		if isCommand(text) {
			from, to := len(line)-len(text)+len(mark), len(line)
			command, err := parse(line[from:], post[begin+from:begin+to], now)
			return command, true, err
		}
		begin += len(line)
	}
	return Command{}, false, nil
}

// isCommand says whether a line begins with the mark as a word.
func isCommand(line string) bool {
	if len(line) < len(mark) || !strings.EqualFold(line[:len(mark)], mark) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(line[len(mark):])
	return len(line) == len(mark) || unicode.IsSpace(next)
}

// parse reads what follows the mark: the author's words, and the line as it was written, of the same length. Only a
// reason may hold code and links.
func parse(line, written string, now time.Time) (Command, error) {
	reason := ""
	if at := reasonAt(line); at >= 0 {
		line, reason = line[:at], oneLine(written[at+len(because):])
	}
	words := strings.Fields(strings.ToLower(strings.TrimRight(strings.TrimSpace(line), ".!")))
	if len(words) == 0 {
		return Command{}, fmt.Errorf("a verb is missing; it must be dormant, awake or status")
	}
	c := Command{Verb: Verb(words[0]), Reason: reason}
	words = words[1:]
	switch c.Verb {
	case Dormant:
		if len(words) == 0 {
			return Command{}, fmt.Errorf("a level is missing; it must be mention-only, human-only or sleep")
		}
		c.Level = dormancy.Level(words[0])
		if !c.Level.Valid() || c.Level == dormancy.Active {
			return Command{}, fmt.Errorf("level %q must be mention-only, human-only or sleep", short(words[0]))
		}
		words = words[1:]
	case Awake, Status:
	default:
		return Command{}, fmt.Errorf("verb %q must be dormant, awake or status", short(string(c.Verb)))
	}
	if len(words) > 0 && words[0] == "here" && c.Verb != Status {
		c.Here, words = true, words[1:]
	}
	if len(words) == 0 {
		return c, nil
	}
	if c.Verb != Dormant {
		return Command{}, fmt.Errorf("%q follows %s, which takes nothing more", short(words[0]), c.Verb)
	}
	until, err := end(words, now)
	c.Until = until
	if err != nil {
		return Command{}, err
	}
	return c, nil
}

const because = "because"

// reasonAt finds the word because; -1 where there is none.
func reasonAt(line string) int {
	for at := 0; at+len(because) <= len(line); at++ {
		before, _ := utf8.DecodeLastRuneInString(line[:at])
		next, size := utf8.DecodeRuneInString(line[at+len(because):])
		if strings.EqualFold(line[at:at+len(because)], because) && unicode.IsSpace(before) &&
			(size == 0 || unicode.IsSpace(next)) {
			return at
		}
	}
	return -1
}

// oneLine makes a reason fit a line.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > dormancy.LongestReason {
		text = string(runes[:dormancy.LongestReason-1]) + "…"
	}
	return text
}

// end reads "for 2h", "for 30m" or "until TIME".
func end(words []string, now time.Time) (time.Time, error) {
	switch what := strings.Join(words[1:], " "); words[0] {
	case "for":
		span, err := duration(what)
		return now.Add(span), err
	case "until":
		return until(what, now)
	}
	return time.Time{}, fmt.Errorf("%q must be here, for, until or because", short(words[0]))
}

func duration(text string) (time.Duration, error) {
	wrong := fmt.Errorf("duration %q must be a whole number of hours or minutes from 1m to %dh, such as 2h or 30m",
		short(text), LongestDormancy/time.Hour)
	unit := time.Hour
	digits, hours := strings.CutSuffix(text, "h")
	if !hours {
		unit = time.Minute
		var minutes bool
		digits, minutes = strings.CutSuffix(text, "m")
		if !minutes {
			return 0, wrong
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 || n > uint64(LongestDormancy/unit) {
		return 0, wrong
	}
	return time.Duration(n) * unit, nil
}

// short is a text of at most 40 characters.
func short(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return text
}
