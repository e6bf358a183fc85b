package formats

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// moment is a time as a source states it. The stamp goes into ids: times without a zone are hashed as they are
// written, so that an agent that moves to another zone does not remember everything twice.
type moment struct {
	at    time.Time // UTC
	stamp string
}

func exactly(at time.Time) moment {
	at = at.UTC()
	return moment{at, at.Format(time.RFC3339Nano)}
}

func wallClock(at time.Time) moment {
	return moment{at.UTC(), at.Format("2006-01-02T15:04:05.999999999")}
}

var zonedLayouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04Z07:00",
	"2006-01-02 15:04:05 -0700", time.RFC1123Z, time.RFC1123,
}

var wallLayouts = []string{
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04",
	"2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04:05", "2006/01/02 15:04", "2006/01/02",
}

// readTime parses a JSON value as a time: RFC 3339 and its relatives, a date, or a Unix count in seconds,
// milliseconds, microseconds or nanoseconds, distinguished by size. Times without a zone are in the agent's.
func readTime(raw json.RawMessage, zone *time.Location) (moment, error) {
	s := strings.TrimSpace(string(raw))
	if strings.HasPrefix(s, `"`) {
		if err := json.Unmarshal(raw, &s); err != nil {
			return moment{}, fmt.Errorf("time %s is not readable: %w", derive.Clip(s, 60), err)
		}
		s = strings.TrimSpace(s)
		for _, layout := range zonedLayouts {
			if at, err := time.Parse(layout, s); err == nil {
				return exactly(at), nil
			}
		}
		for _, layout := range wallLayouts {
			if at, err := time.ParseInLocation(layout, s, zone); err == nil {
				return wallClock(at), nil
			}
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return unixTime(n), nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1e14 {
		if math.Abs(f) >= 1e11 {
			f /= 1000
		}
		return exactly(time.UnixMicro(int64(math.Round(f * 1e6)))), nil
	}
	return moment{},
		fmt.Errorf("time %q is not readable; use RFC 3339 such as 2026-03-05T14:30:00Z, a date, or Unix seconds",
			derive.Clip(s, 60))
}

func unixTime(n int64) moment {
	size := n
	if size < 0 {
		size = -size
	}
	switch {
	case size < 1e11 && size >= 0:
		return exactly(time.Unix(n, 0))
	case size < 1e14 && size >= 0:
		return exactly(time.UnixMilli(n))
	case size < 1e17 && size >= 0:
		return exactly(time.UnixMicro(n))
	default:
		return exactly(time.Unix(0, n))
	}
}

// firstTime parses the first of several fields that has a value.
func firstTime(zone *time.Location, fields ...json.RawMessage) (m moment, reported bool, err error) {
	for _, raw := range fields {
		if s := strings.TrimSpace(string(raw)); s != "" && s != "null" && s != `""` {
			m, err = readTime(raw, zone)
			return m, err == nil, err
		}
	}
	return moment{}, false, nil
}
