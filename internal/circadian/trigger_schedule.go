package circadian

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schedule is when a dream is called for by local time in an agent's zone. The zero Schedule never calls.
//
// A time that is skipped when clocks go forward occurs at the change; one that is repeated when clocks go back occurs
// the first time only.
type Schedule struct {
	minutes              uint64 // bit m: minute m of the hour
	hours                uint32
	days                 uint32 // of the month, bits 1 to 31
	months               uint16 // bits 1 to 12
	weekdays             uint8  // bits 0 (Sunday) to 6
	anyDay, everyWeekday bool
}

// field is one of the five fields of a cron line.
type field struct {
	name      string
	low, high int
	names     []string // of low, low+1, …
}

var fields = [5]field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"weekday", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// ParseSchedule reads "03:30", "mon-fri 03:30", "sat,sun 10:00", and the five fields of cron: minute, hour, day of
// the month, month, weekday, each a list of numbers or names, ranges and steps, as in "30 3 * * 1-5" and "*/20 22-23
// 1,15 * *". As in cron, when both kinds of days are restricted, either matches. The error says what is wrong and
// what would be right.
func ParseSchedule(text string) (Schedule, error) {
	words := strings.Fields(strings.ToLower(text))
	var s Schedule
	var err error
	switch len(words) {
	case 1, 2:
		s, err = parseDaily(words)
	case 5:
		s, err = parseCron(words)
	default:
		err = fmt.Errorf("it has %d words", len(words))
	}
	if err == nil && s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC).IsZero() {
		err = fmt.Errorf("such a day does not exist")
	}
	if err != nil {
		if r := []rune(text); len(r) > 60 {
			text = string(r[:57]) + "..."
		}
		return Schedule{},
			fmt.Errorf(
				"schedule %q: %w; write it like \"03:30\", \"mon-fri 03:30\" or, as cron does, \"30 3 * * 1-5\"",
				text, err)
	}
	return s, nil
}

func parseDaily(words []string) (Schedule, error) {
	minute, ok := parseClock(words[len(words)-1])
	if !ok || minute == minutesOfDay {
		return Schedule{}, fmt.Errorf("%q is not a time from 00:00 to 23:59", words[len(words)-1])
	}
	s := Schedule{
		minutes:      1 << (minute % 60),
		hours:        1 << (minute / 60),
		days:         1<<32 - 2,
		months:       1<<13 - 2,
		weekdays:     1<<7 - 1,
		anyDay:       true,
		everyWeekday: true,
	}
	if len(words) == 1 {
		return s, nil
	}
	on, fault := parseDays(words[0])
	if fault != "" {
		return Schedule{}, fmt.Errorf("%s", fault)
	}
	s.weekdays, s.everyWeekday = 0, false
	for d, yes := range on { // Monday first
		if yes {
			s.weekdays |= 1 << ((d + 1) % 7)
		}
	}
	return s, nil
}

func parseCron(words []string) (Schedule, error) {
	var sets [5]uint64
	for i, f := range fields {
		var err error
		sets[i], err = f.parse(words[i])
		if err != nil {
			return Schedule{}, err
		}
	}
	weekdays := sets[4] | sets[4]>>7&1 // 7 is Sunday as well
	return Schedule{
		minutes:      sets[0],
		hours:        uint32(sets[1]),
		days:         uint32(sets[2]),
		months:       uint16(sets[3]),
		weekdays:     uint8(weekdays & 0x7f),
		anyDay:       strings.HasPrefix(words[2], "*"),
		everyWeekday: strings.HasPrefix(words[4], "*"),
	}, nil
}

// parse reads a list such as "1,5-9,*/20".
func (f field) parse(text string) (set uint64, err error) {
	for _, part := range strings.Split(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			step, err = strconv.Atoi(stepText)
			if err != nil || step < 1 || step > f.high {
				return 0,
					fmt.Errorf("the %s %q steps by %q, which is not a number from 1 to %d", f.name, part, stepText,
						f.high)
			}
		}
		low, high := f.low, min(f.high, f.low+len(f.names)-1)
		if f.names == nil {
			high = f.high
		}
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			if !ranged && !stepped {
				last = first
			}
			var firstOK, lastOK bool
			low, firstOK = f.value(first)
			lastOK = !ranged && stepped
			if !lastOK {
				high, lastOK = f.value(last)
			}
			if !firstOK || !lastOK || low > high {
				return 0,
					fmt.Errorf("the %s %q is not a value from %d to %d or a range of them", f.name, part, f.low, f.high)
			}
		}
		for v := low; v <= high; v += step {
			set |= 1 << v
		}
	}
	return set, nil
}

func (f field) value(text string) (int, bool) {
	if at := slices.Index(f.names, text); at >= 0 {
		return f.low + at, true
	}
	v, ok := twoDigits(text)
	return v, ok && v >= f.low && v <= f.high
}

// farthest is how many days ahead are searched: leap days are up to eight years apart.
const farthest = 8*366 + 1

// Next is the first time after a moment at which the schedule calls; zero for never. Without a zone it is UTC.
func (s Schedule) Next(after time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := after.In(zone).Date()
	noon := time.Date(y, m, d, 12, 0, 0, 0, time.UTC) // calendar days only: UTC has no change of offset
	for range farthest {
		if s.on(noon) {
			if at := s.nextOn(noon, after, zone); !at.IsZero() {
				return at.In(after.Location())
			}
		}
		noon = noon.AddDate(0, 0, 1)
	}
	return time.Time{}
}

// on says whether the schedule calls on a day.
func (s Schedule) on(day time.Time) bool {
	if s.months&(1<<day.Month()) == 0 {
		return false
	}
	ofMonth, ofWeek := s.days&(1<<day.Day()) != 0, s.weekdays&(1<<day.Weekday()) != 0
	if s.anyDay || s.everyWeekday {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

func (s Schedule) nextOn(day, after time.Time, zone *time.Location) time.Time {
	y, m, d := day.Date()
	for hours := s.hours; hours != 0; hours &= hours - 1 {
		for minutes := s.minutes; minutes != 0; minutes &= minutes - 1 {
			at := onClock(y, m, d, bits.TrailingZeros32(hours), bits.TrailingZeros64(minutes), zone)
			if at.After(after) {
				return at
			}
		}
	}
	return time.Time{}
}

// onClock is the first moment at which the local time is reached or skipped.
func onClock(y int, month time.Month, d, hour, minute int, zone *time.Location) time.Time {
	at := time.Date(y, month, d, hour, minute, 0, 0, zone)
	wanted := time.Date(y, month, d, hour, minute, 0, 0, time.UTC)
	_, offset := at.Zone()
	shown := at.Add(time.Duration(offset) * time.Second).UTC()
	begin, end := at.ZoneBounds()
	switch {
	case shown.After(wanted): // skipped: time.Date used the offset before the change
		return begin
	case shown.Before(wanted):
		return end
	}
	if begin.IsZero() {
		return at
	}
	_, before := begin.Add(-1).In(zone).Zone()
	if earlier := wanted.Add(-time.Duration(before) * time.Second); earlier.Before(begin) && earlier.Before(at) {
		return earlier.In(zone) // repeated
	}
	return at
}
