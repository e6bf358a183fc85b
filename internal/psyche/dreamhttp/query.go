package dreamhttp

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// query is the query string of a URL. Its fault is the first error in it.
type query struct {
	values url.Values
	fault  *psyche.Fault
}

// queryOf parses a query string. Unknown names are refused by name, and so is a duplicate.
func queryOf(r *http.Request, names ...string) (*query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badParam("", "what follows the question mark cannot be read; escape it")
	}
	for name, all := range values {
		if !slices.Contains(names, name) {
			hint := "this takes none"
			if len(names) > 0 {
				hint = "parameters are " + strings.Join(names, ", ")
			}
			return nil, badParam(firstOf("", name), fmt.Sprintf("parameter %s is unknown; %s", quoted(name), hint))
		}
		if len(all) > 1 {
			return nil, badParam(name, name+" is given twice; give it once")
		}
	}
	return &query{values: values}, nil
}

func (q *query) text(name string) string { return q.values.Get(name) }

func (q *query) wrong(name, what string) {
	if q.fault == nil {
		q.fault = badParam(name, name+" is "+quoted(q.text(name))+"; it must be "+what)
	}
}

// wholeNumber is a number of at least least; 0 when absent.
func (q *query) wholeNumber(name string, least int64) int64 {
	if !q.values.Has(name) {
		return 0
	}
	n, err := strconv.ParseInt(q.text(name), 10, 64)
	if err != nil || n < least {
		q.wrong(name, fmt.Sprintf("a whole number from %d on", least))
		return 0
	}
	return n
}

func (q *query) limit() int {
	n := q.wholeNumber("limit", 1)
	if n > psyche.LargestPage {
		q.wrong("limit", fmt.Sprintf("1 to %d", psyche.LargestPage))
		return 0
	}
	return int(n)
}

// status is one of so many; empty when absent.
func (q *query) status(of []string) string {
	status := q.text("status")
	if status != "" && !slices.Contains(of, status) {
		q.wrong("status", strings.Join(of[:len(of)-1], ", ")+" or "+of[len(of)-1])
	}
	return status
}

func (q *query) boolean(name string) bool {
	switch q.text(name) {
	case "true":
		return true
	case "", "false":
	default:
		q.wrong(name, "true or false")
	}
	return false
}

// list is one or more words separated by commas.
func (q *query) list(name string) []string {
	if q.text(name) == "" {
		return nil
	}
	return strings.Split(q.text(name), ",")
}
