package formats

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// A passage is about as long as one thought: paragraphs are joined up to the first number of runes, and one paragraph
// longer than the second is split between sentences.
const (
	passageRunes = 700
	longestRunes = 1200
	noon         = 12 * time.Hour // an entry that has only its day
)

// diary is a diary being read.
type diary struct {
	src      *Source
	to       *Sink
	dayFirst bool

	year    int // of the last heading that had one, for headings without
	day     time.Time
	clock   time.Duration
	hasDay  bool // a day has been read
	section string
	matter  bool // inside front matter

	para      []string
	paraLine  int
	passages  []string
	startLine int
	position  int // passages since the last heading, to keep them in order
}

// readDiary reads entries under dated headings: 2024-03-05, 5 March 2024, March 5th, 2024, Tuesday 5.3.2024 and so
// on, as Markdown headings, in bold, after "Date:", in front matter, or alone on a line; with a time of day or under
// times of day. 3/5/2024 is month first unless a number above 12 in the same file shows otherwise. A file without any
// date takes the one in its name, or the caller's.
func readDiary(src *Source, to *Sink) error {
	body, err := io.ReadAll(io.LimitReader(src.In, MaxDiary+1))
	if err != nil {
		return err
	}
	if len(body) > MaxDiary {
		return fmt.Errorf("it is longer than %d MiB; split it", MaxDiary>>20)
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(body))
	rows := strings.Split(text, "\n")
	d := &diary{src: src, to: to, dayFirst: dayFirst(rows)}
	base := strings.TrimSuffix(src.Name, filepath.Ext(src.Name))
	if found, ok := dateLine(strings.ReplaceAll(base, "_", "-"), true, false); ok && found.full {
		d.open(found)
	}
	for i, row := range rows {
		if err := d.row(i+1, row); err != nil {
			return err
		}
	}
	return d.flush()
}

func (d *diary) row(number int, row string) error {
	trimmed := strings.TrimSpace(row)
	if d.frontMatter(number, trimmed) {
		return nil
	}
	if ruled.MatchString(trimmed) {
		d.endParagraph()
		return nil
	}
	text, dressed := stripMarkup(row)
	text = derive.Clean(text)
	if found, ok := dateLine(text, dressed, d.dayFirst); ok && (found.full || d.year > 0) {
		if err := d.flush(); err != nil {
			return err
		}
		d.open(found)
		return d.trailing(number, found.rest, dressed)
	}
	if clock, rest, ok := timeLine(text, dressed); ok && d.hasDay {
		if err := d.flush(); err != nil {
			return err
		}
		d.clock, d.position, d.section = clock, 0, ""
		return d.trailing(number, rest, dressed)
	}
	if m := heading.FindStringSubmatch(trimmed); m != nil {
		if y := yearAlone.FindString(text); y != "" {
			d.year, _ = strconv.Atoi(y)
		}
		d.section = text
		return d.flush()
	}
	if trimmed == "" {
		d.endParagraph()
		return d.full()
	}
	if len(d.para) == 0 {
		d.paraLine = number
	}
	d.para = append(d.para, trimmed)
	return nil
}

// frontMatter takes the date and the title out of a block between --- lines at the top of the file.
func (d *diary) frontMatter(number int, row string) bool {
	switch {
	case number == 1 && row == "---":
		d.matter = true
		return true
	case !d.matter:
		return false
	case row == "---" || row == "...":
		d.matter = false
		return true
	}
	key, value, _ := strings.Cut(row, ":")
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	switch strings.ToLower(strings.TrimSpace(key)) {
	case "date", "created", "day":
		if found, ok := dateLine(value, true, d.dayFirst); ok && found.full {
			title := d.section
			d.open(found)
			d.section = title
		}
	case "title":
		d.section = derive.Clean(value)
	}
	return true
}

// open begins the entry of a day.
func (d *diary) open(found dated) {
	if found.full {
		d.year = found.year
	}
	d.day = time.Date(d.year, found.month, found.day, 0, 0, 0, 0, time.UTC)
	d.clock = found.clock
	d.hasDay = true
	d.section = ""
	d.position = 0
}

// trailing handles what follows a date: a heading's is a title, a line's begins the entry.
func (d *diary) trailing(number int, rest string, dressed bool) error {
	rest = strings.Trim(rest, " *_")
	switch {
	case !strings.ContainsFunc(rest, derive.IsWordRune):
	case dressed:
		d.section = strings.TrimRight(rest, ".")
	default:
		d.paraLine, d.para = number, append(d.para, rest)
	}
	return nil
}

func (d *diary) endParagraph() {
	if len(d.para) == 0 {
		return
	}
	if len(d.passages) == 0 {
		d.startLine = d.paraLine
	}
	d.passages = append(d.passages, derive.Clean(strings.Join(d.para, "\n")))
	d.para = nil
}

// full emits what makes a passage already.
func (d *diary) full() error {
	n := 0
	for _, p := range d.passages {
		n += utf8.RuneCountInString(p)
	}
	if n >= passageRunes {
		return d.flush()
	}
	return nil
}

func (d *diary) flush() error {
	d.endParagraph()
	text := derive.Clean(strings.Join(d.passages, "\n"))
	d.passages = nil
	for _, piece := range split(text) {
		if err := d.emit(piece); err != nil {
			return err
		}
	}
	return nil
}

func split(text string) []string {
	if utf8.RuneCountInString(text) <= longestRunes {
		return []string{text}
	}
	var out []string
	piece := ""
	for _, s := range derive.Sentences(text) {
		if piece != "" && utf8.RuneCountInString(piece)+utf8.RuneCountInString(s) >= longestRunes {
			out, piece = append(out, piece), ""
		}
		piece = strings.TrimSpace(piece + " " + s)
	}
	return append(out, piece)
}

func (d *diary) emit(text string) error {
	if !strings.ContainsFunc(text, derive.IsWordRune) {
		return nil
	}
	out := &derive.Draft{Line: d.startLine, Undated: !d.hasDay, Dated: d.hasDay && d.clock >= 0, Scene: "in the diary"}
	if d.section != "" {
		out.Scene += ", under " + derive.Quoted(derive.Clip(d.section, 80))
	}
	if d.hasDay {
		clock := d.clock
		if clock < 0 {
			clock = noon
		}
		y, m, day := d.day.Date()
		at := wallClock(time.Date(y, m, day, 0, 0, int(clock/time.Second), 0, d.src.Zone))
		out.Stamp, out.Episode.At = at.stamp, at.at.Add(time.Duration(d.position)*time.Second)
		d.position++
	}
	out.Episode.Content, out.Episode.Taint, out.Episode.Origin = text, dream.FromHuman, d.src.origin(d.startLine)
	if d.hasDay {
		out.Episode.Session = "diary/" + d.day.Format(time.DateOnly)
	}
	d.to.Read(1)
	return d.to.Draft(out)
}
