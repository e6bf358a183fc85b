package params

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// Query is the query string of a URL.
type Query struct {
	values url.Values
	// Fault is the first error in what was read of it; nil for none.
	Fault *psyche.Fault
}

// QueryOf parses a query string. Unknown names are refused by name, and so is a duplicate. A name that ends with [] is
// a list, which may be given repeatedly, with the brackets and without.
func QueryOf(r *http.Request, names ...string) (*Query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, Wrong("", "what follows the question mark cannot be read; escape it")
	}
	for name, all := range values {
		if slices.Contains(names, strings.TrimSuffix(name, "[]")+"[]") {
			continue
		}
		if !slices.Contains(names, name) {
			hint := "this takes none"
			if len(names) > 0 {
				hint = "parameters are " + strings.Join(names, ", ")
			}
			return nil, Wrong(firstOf("", name), fmt.Sprintf("parameter %s is unknown; %s", Quoted(name), hint))
		}
		if len(all) > 1 {
			return nil, Wrong(name, name+" is given twice; give it once")
		}
	}
	return &Query{values: values}, nil
}

// Text is the value of a parameter; empty when it is absent.
func (q *Query) Text(name string) string { return q.values.Get(name) }

// Has reports whether a parameter is there.
func (q *Query) Has(name string) bool { return q.values.Has(name) }

// Wrong records that a parameter is wrong, and what it must be.
func (q *Query) Wrong(name, what string) {
	if q.Fault == nil {
		q.Fault = Wrong(name, name+" is "+Quoted(q.Text(name))+"; it must be "+what)
	}
}

// WholeNumber is a number of at least least; 0 when absent.
func (q *Query) WholeNumber(name string, least int64) int64 {
	if !q.values.Has(name) {
		return 0
	}
	n, err := strconv.ParseInt(q.Text(name), 10, 64)
	if err != nil || n < least {
		q.Wrong(name, fmt.Sprintf("a whole number from %d on", least))
		return 0
	}
	return n
}

// Limit is the size of a page, of at most most entries; 0 when absent.
func (q *Query) Limit(most int64) int {
	n := q.WholeNumber("limit", 1)
	if n > most {
		q.Wrong("limit", fmt.Sprintf("1 to %d", most))
		return 0
	}
	return int(n)
}

// OneOf is one of so many words; empty when absent.
func (q *Query) OneOf(name string, words []string) string {
	word := q.Text(name)
	if word != "" && !slices.Contains(words, word) {
		q.Wrong(name, strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1])
	}
	return word
}

// Bool is true or false; false when absent.
func (q *Query) Bool(name string) bool {
	switch q.Text(name) {
	case "true":
		return true
	case "", "false":
	default:
		q.Wrong(name, "true or false")
	}
	return false
}

// List is one or more words separated by commas.
func (q *Query) List(name string) []string {
	if q.Text(name) == "" {
		return nil
	}
	return strings.Split(q.Text(name), ",")
}
