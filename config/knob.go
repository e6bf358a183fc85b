package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Sort is the type of a knob's value.
type Sort string

// The sorts, named as in the documentation.
const (
	Text    Sort = "text"
	Choice  Sort = "choice"
	YesNo   Sort = "true or false"
	Whole   Sort = "whole number"
	Number  Sort = "number"
	Span    Sort = "duration"
	Dollars Sort = "dollars"
)

// Knob is one row of the table that defines defaults, validation and the reference.
type Knob struct {
	Key       string
	Sort      Sort
	Default   any // in the form used in a file
	Unit      string
	Low, High float64  // limits of numbers; for durations in seconds; both zero for none
	Choices   []string // the values of a choice
	Reason    string   // why this default, or the source of the number
	Flag      string   // the command-line flag that sets it, if there is one of its own
	Unlimited bool     // money that may be "unlimited", or an age that may be "never"

	Was    string            // the key before 0.1.0, which is refused with the name of today
	Field  string            // where Config has it; empty: under Key
	Former map[string]string // names of choices before 0.1.0, each with its name of today
}

// Env is the environment variable that sets the knob.
func (k Knob) Env() string { return envName(k.Key) }

func envName(key string) string {
	return "ONEIROS_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// bounded reports whether the knob has limits.
func (k Knob) bounded() bool { return k.Low != 0 || k.High != 0 }

// read converts a value from a file, a variable or a flag to the knob's Go type, or returns an error that says what
// would be valid.
func (k Knob) read(raw any) (any, error) {
	switch k.Sort {
	case Text:
		return k.readText(raw)
	case Choice:
		return k.readChoice(raw)
	case YesNo:
		return k.readYesNo(raw)
	case Whole:
		n, err := k.readNumber(raw)
		if err == nil && n != math.Trunc(n) {
			err = k.wrong(raw, "a whole number")
		}
		return int64(n), err
	case Number:
		n, err := k.readNumber(raw)
		return n, err
	case Span:
		return k.readSpan(raw)
	case Dollars:
		return k.readMoney(raw)
	}
	return nil, fmt.Errorf("%s has no sort", k.Key)
}

func (k Knob) wrong(raw any, right string) error {
	return fmt.Errorf("%s is %s; it must be %s", k.Key, quoted(raw), right)
}

func (k Knob) readText(raw any) (any, error) {
	switch v := raw.(type) {
	case string:
		return v, nil
	case int, int64, float64:
		return fmt.Sprint(v), nil
	}
	return nil, k.wrong(raw, "text")
}

func (k Knob) readChoice(raw any) (any, error) {
	s, _ := raw.(string)
	for _, c := range k.Choices {
		if strings.EqualFold(s, c) {
			return c, nil
		}
	}
	return nil, k.wrong(raw, "one of "+strings.Join(k.Choices, ", "))
}

func (k Knob) readYesNo(raw any) (any, error) {
	switch v := raw.(type) {
	case bool:
		return v, nil
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			return b, nil
		}
	}
	return nil, k.wrong(raw, "true or false")
}

func (k Knob) readNumber(raw any) (float64, error) {
	var n float64
	switch v := raw.(type) {
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case uint64:
		n = float64(v)
	case float64:
		n = v
	case string:
		parsed, err := strconv.ParseFloat(strings.ReplaceAll(v, "_", ""), 64)
		if err != nil {
			return 0, k.wrong(raw, "a number")
		}
		n = parsed
	default:
		return 0, k.wrong(raw, "a number")
	}
	if math.IsNaN(n) || (k.bounded() && (n < k.Low || n > k.High)) {
		return 0, k.wrong(n, fmt.Sprintf("between %v and %v", plain(k.Low), plain(k.High)))
	}
	return n, nil
}

func (k Knob) readSpan(raw any) (any, error) {
	s, ok := raw.(string)
	if !ok {
		return nil, k.wrong(raw, "a duration with its unit, such as 90s, 30m, 12h or 7d")
	}
	if k.Unlimited && strings.EqualFold(strings.TrimSpace(s), never) {
		return time.Duration(0), nil
	}
	d, err := parseSpan(s)
	if err != nil {
		return nil, k.wrong(raw, "a duration with its unit, such as 90s, 30m, 12h or 7d")
	}
	if k.bounded() && (d.Seconds() < k.Low || d.Seconds() > k.High) {
		return nil, k.wrong(raw, fmt.Sprintf("between %s and %s", spanOf(k.Low), spanOf(k.High)))
	}
	return d, nil
}

func (k Knob) readMoney(raw any) (any, error) {
	var text string
	switch v := raw.(type) {
	case string:
		text = v
	case int, int64, uint64:
		text = fmt.Sprint(v)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	if k.Unlimited && strings.EqualFold(strings.TrimSpace(text), "unlimited") {
		return budget.Unlimited, nil
	}
	m, err := budget.ParseMicros(text)
	if err != nil {
		right := "an amount of dollars such as 0.50"
		if k.Unlimited {
			right += `, or "unlimited"`
		}
		return nil, k.wrong(raw, right)
	}
	return m, nil
}

// never is the age of what is kept for ever, as it may be written in place of 0s.
const never = "never"

// ParseSpan parses a duration in the configuration's form: 90s, 30m, 12h, 7d.
func ParseSpan(s string) (time.Duration, error) { return parseSpan(s) }

// parseSpan parses what time.ParseDuration accepts, and days such as 7d or 0.5d.
func parseSpan(s string) (time.Duration, error) {
	text := strings.TrimSpace(s)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || math.IsNaN(n) || math.Abs(n) > 36500 {
			return 0, fmt.Errorf("%q is not a number of days", s)
		}
		return time.Duration(n * 24 * float64(time.Hour)), nil
	}
	return time.ParseDuration(text)
}

// spanText formats a duration in the shortest form: 90s, 30m, 12h, 30d.
func spanText(d time.Duration) string {
	switch {
	case d != 0 && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d != 0 && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d != 0 && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}

func spanOf(seconds float64) string {
	return spanText(time.Duration(seconds * float64(time.Second)))
}

// text formats a knob's Go value in the form used in a file.
func text(v any) string {
	switch v := v.(type) {
	case time.Duration:
		return spanText(v)
	case float64:
		return plain(v)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// quoted quotes a value, truncated so that an error stays on one line.
func quoted(raw any) string {
	if raw == nil {
		return "empty"
	}
	s, isText := raw.(string)
	if !isText {
		s = fmt.Sprint(raw)
	}
	if r := []rune(s); len(r) > 60 {
		s = string(r[:57]) + "..."
	}
	if isText {
		return strconv.Quote(s)
	}
	return s
}
