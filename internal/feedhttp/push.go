package feedhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
)

// ParsePush parses the body of a push: one reading, {"metric":"price","number":100}, or an array of them. A reading
// has a number, a state, or both; its metric and its time may be left out.
func ParsePush(body []byte) ([]dream.Reading, error) {
	var readings []dream.Reading
	text := strings.TrimLeft(string(body), " \t\r\n")
	var err error
	if strings.HasPrefix(text, "[") {
		err = decode(body, &readings, true)
	} else {
		var one dream.Reading
		err = decode(body, &one, true)
		readings = []dream.Reading{one}
	}
	if err != nil {
		return nil,
			fmt.Errorf(
				`read the body: %s; it must be one reading or an array of them, each like {"metric":"price","number":100} `+
					`or {"state":"paused"}, with "at" for a time such as 2026-10-19T22:00:00Z`, jsonFault(err))
	}
	if len(readings) == 0 || len(readings) > alarm.MostReadings {
		return nil, fmt.Errorf("there are %d readings; 1 to %d at once", len(readings), alarm.MostReadings)
	}
	var faults []error
	for _, r := range readings {
		faults = append(faults, alarm.ValidateReading(r))
	}
	return readings, errors.Join(faults...)
}

// jsonFault is a JSON error without the library's prefix, at most a line long.
func jsonFault(err error) string {
	var kind *json.UnmarshalTypeError
	text := strings.TrimPrefix(err.Error(), "json: ")
	if errors.As(err, &kind) {
		text = fmt.Sprintf("%s is a %s", kind.Field, kind.Value)
	}
	if text == "EOF" {
		text = "it is empty"
	}
	if len(text) > 120 {
		text = strings.ToValidUTF8(text[:117], "") + "..."
	}
	return text
}
