package feedhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/ohler55/ojg/jp"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
)

// Read finds the readings of a JSON document. The path is a JSONPath: "$.data[0].price", the dollar may be left out,
// and none means the whole document. What stands there may be
//
//   - a number, a word, true or false: one reading without a metric;
//   - an object with a metric and a number, value or state: one reading;
//   - another object: one reading a member that is a number, a word, true or false, by its name;
//   - an array of objects with a metric.
//
// A string that is written as a number is both: many price feeds quote their numbers.
func Read(document []byte, path string) ([]dream.Reading, error) {
	x, err := expression(path)
	if err != nil {
		return nil, err
	}
	var root any
	if err := decode(document, &root, false); err != nil {
		return nil, errors.New("its answer is not JSON")
	}
	found, err := follow(x, root)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", path, err)
	}
	var readings []dream.Reading
	scalars := 0
	for _, at := range found {
		some, err := readingsOf(at)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", path, err)
		}
		if _, ok := scalar(at); ok {
			scalars++
		}
		readings = append(readings, some...)
	}
	if scalars > 1 {
		return nil,
			fmt.Errorf(
				"path %q: it leads to %d numbers or words without names; let it end at one, or at the object that holds them",
				path, scalars)
	}
	return readings, nil
}

// decode reads exactly one JSON value.
func decode(document []byte, into any, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(document))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// longestPath is far more than a person writes.
const longestPath = 500

func expression(path string) (x jp.Expr, err error) {
	if path == "" {
		path = "$"
	}
	if len(path) > longestPath {
		return nil, fmt.Errorf("the path is %d bytes long; %d at most", len(path), longestPath)
	}
	defer func() {
		if recover() != nil {
			x, err = nil, fmt.Errorf("path %q cannot be read; it must be like $.data[0].price", path)
		}
	}()
	x, err = jp.ParseString(path)
	if err != nil {
		return nil, fmt.Errorf("path %q cannot be read: %w; it must be like $.data[0].price", path, err)
	}
	return x, nil
}

// follow evaluates a path. The library panics on some comparisons in filters.
func follow(x jp.Expr, root any) (found []any, err error) {
	defer func() {
		if recover() != nil {
			found, err = nil, errors.New("it cannot be followed in this document")
		}
	}()
	found = x.Get(root)
	if len(found) == 0 {
		return nil, errors.New("it leads to nothing")
	}
	return found, nil
}

func readingsOf(v any) ([]dream.Reading, error) {
	if r, ok := scalar(v); ok {
		return []dream.Reading{r}, alarm.ValidateReading(r)
	}
	switch v := v.(type) {
	case map[string]any:
		if r, ok, err := named(v); ok || err != nil {
			return []dream.Reading{r}, err
		}
		return members(v)
	case []any:
		var readings []dream.Reading
		for i, each := range v {
			object, _ := each.(map[string]any)
			r, ok, err := named(object)
			if !ok && err == nil {
				err = errors.New(
					`it is no object with a metric and a number or a state; for one element, let the path end with [n]`)
			}
			if err != nil {
				return nil, fmt.Errorf("element %d of the array: %w", i, err)
			}
			readings = append(readings, r)
		}
		return readings, nil
	}
	return nil, errors.New("it leads to null")
}

// members reads an object with one reading per member, in order; members that are no readings are left out.
func members(object map[string]any) ([]dream.Reading, error) {
	var readings []dream.Reading
	for name, value := range object {
		if r, ok := scalar(value); ok {
			r.Metric = name
			if alarm.ValidateReading(r) == nil {
				readings = append(readings, r)
			}
		}
	}
	if len(readings) == 0 {
		return nil, errors.New("the object there has neither a number nor a word")
	}
	slices.SortFunc(readings, func(a, b dream.Reading) int { return bytes.Compare([]byte(a.Metric), []byte(b.Metric)) })
	return readings, nil
}

// named is a reading that names its own metric; false when the object is something else.
func named(object map[string]any) (r dream.Reading, ok bool, err error) {
	metric, ok := object["metric"].(string)
	if !ok {
		return r, false, nil
	}
	for _, member := range []string{"number", "value", "state"} {
		if answer, is := scalar(object[member]); is && r.Number == nil {
			r.Number = answer.Number
			if answer.State != "" {
				r.State = answer.State
			}
		}
	}
	if r.Number == nil && r.State == "" {
		return r, false, nil
	}
	if at, is := object["at"].(string); is {
		r.At, err = time.Parse(time.RFC3339, at)
		if err != nil {
			return r, false, fmt.Errorf("the time of a reading must be like %s", time.RFC3339)
		}
	}
	r.Metric = metric
	return r, true, alarm.ValidateReading(r)
}

// scalar is a reading without a metric.
func scalar(v any) (dream.Reading, bool) {
	switch v := v.(type) {
	case float64:
		return dream.Reading{Number: &v}, true
	case bool:
		return dream.Reading{State: strconv.FormatBool(v)}, true
	case string:
		r := dream.Reading{State: v}
		if n, ok := quoted(v); ok {
			r.Number = &n
		}
		return r, true
	}
	return dream.Reading{}, false
}

// quoted parses a string that contains a JSON number.
func quoted(s string) (float64, bool) {
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	var n float64
	err := json.Unmarshal([]byte(s), &n)
	return n, err == nil
}
