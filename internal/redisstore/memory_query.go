package redisstore

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// How many items one step of a query reads: some milliseconds of the server. A larger result is read in pages, and from
// the start again when there were writes in between; after some tries it is read in one step, however long that takes.
const (
	itemsPerStep = 1000
	pagedTries   = 3
	allItems     = 1 << 40
	lowest       = "-"
	highest      = "+"
	newestOrder  = "by:newest:"
	oldestOrder  = "by:oldest:"
	dueOrder     = "by:due:"
	ownerSet     = "owner:"
)

// readPlan is a query as find.lua reads it.
type readPlan struct {
	By       string        `json:"by"`
	Key      int           `json:"key"` // length of the order's key in bytes
	Pairs    []string      `json:"pairs,omitempty"`
	Set      string        `json:"set,omitempty"`
	Limit    int           `json:"limit"`
	Count    bool          `json:"count,omitempty"`
	Bare     *string       `json:"bare,omitempty"`
	Strict   bool          `json:"strict,omitempty"` // a condition below must be checked for each item
	Kinds    []string      `json:"kinds,omitempty"`  // as stored, not by their public names
	States   []dream.State `json:"states,omitempty"`
	Statuses []string      `json:"statuses,omitempty"`
	Owners   []string      `json:"owners,omitempty"`
	Dream    string        `json:"dream,omitempty"`
	Session  string        `json:"session,omitempty"`
	Salient  float64       `json:"salient,omitempty"`
	Score    float64       `json:"score,omitempty"`
	Since    *[2]int64     `json:"since,omitempty"`
	Until    *[2]int64     `json:"until,omitempty"`
	Due      *[2]int64     `json:"due,omitempty"`
	Dated    bool          `json:"dated,omitempty"`
	// The position to continue from.
	Scan  int64 `json:"scan"`
	Pair  int64 `json:"pair"`
	Found int64 `json:"found"`

	from, to      string    // bounds of the order
	cut           int       // of what was read: how much of it is the result; 0 for all
	unsorted      *readPlan // what to read while an older program's items are not sorted by their status
	needsIndexing bool      // the set lacks the items of an older program until they are fed
}

var sortOrders = map[memory.SortOrder]struct {
	by  string
	key int
}{
	"":                  {newestOrder, whenBytes},
	memory.Newest:       {newestOrder, whenBytes},
	memory.Oldest:       {oldestOrder, whenBytes},
	memory.MostSalient:  {"by:salient:", gradeBytes + whenBytes},
	memory.HighestScore: {"by:score:", gradeBytes + whenBytes},
	memory.SoonestDue:   {dueOrder, whenBytes},
}

// unsettled are the statuses in which predictions and hypotheses are sorted; memory.lua has the same.
var unsettled = map[dream.Kind][]string{
	dream.KindPrediction: {dream.PredictionOpen},
	dream.KindHypothesis: {dream.HypothesisStaged, dream.HypothesisPromoted},
}

// onlyUnsettled reports whether a query asks only for items that are sorted by their status.
func onlyUnsettled(q memory.Query) bool {
	for _, kind := range q.Kinds {
		for _, status := range q.Statuses {
			if !slices.Contains(unsettled[kind], status) {
				return false
			}
		}
	}
	return len(q.Kinds) > 0 && len(q.Statuses) > 0
}

// planUnsettled reads the items with some statuses, of which there are few, whatever the order of the result.
func planUnsettled(q memory.Query) (readPlan, error) {
	plain, err := planRead(q)
	if err != nil || plain.Set != "" {
		return plain, err
	}
	dated := q.Sort == memory.SoonestDue
	if q.Sort != "" && q.Sort != memory.Newest {
		q.Sort, q.Limit = memory.Newest, 0
	}
	p, err := planRead(q)
	p.By, p.Dated = statusOrder, dated
	p.cut, p.unsorted = plain.cut, &plain
	p.Pairs = nil
	for _, status := range p.Statuses {
		for _, pair := range plain.Pairs {
			p.Pairs = append(p.Pairs, status+":"+pair)
		}
	}
	return p, err
}

// planRead chooses what to read: the items of a dream, a session or an owner other than the agent, otherwise each pair
// of kind and state in the query's order, within the bounds that the order implies. The remaining conditions are
// checked for each item.
func planRead(q memory.Query) (readPlan, error) {
	sorting, ok := sortOrders[q.Sort]
	if !ok {
		return readPlan{}, fmt.Errorf("unknown sort order %q", q.Sort)
	}
	p := readPlan{
		By:       sorting.by,
		Key:      sorting.key,
		Limit:    max(q.Limit, 0),
		cut:      max(q.Limit, 0),
		Statuses: store.Distinct(q.Statuses),
		Salient:  q.SalientFrom,
		Score:    q.ScoreFrom,
		Since:    instant(q.Since),
		Until:    instant(q.Until),
		Due:      instant(q.DueBefore),
		Dated:    q.Sort == memory.SoonestDue,
		Owners:   store.Distinct(q.Owners),
		Pair:     1,
		from:     lowest,
		to:       highest,
	}
	oneOwner := len(p.Owners) == 1 && p.Owners[0] != ""
	if q.Dream != "" || q.Session != "" || oneOwner {
		for _, kind := range store.Kinds(q) {
			p.Kinds = append(p.Kinds, string(kind))
		}
		p.States = store.States(q)
		p.Dream, p.Session, p.Strict = q.Dream, q.Session, true
		switch {
		case q.Dream != "":
			p.Set = "dream:" + q.Dream
		case q.Session != "":
			p.Set = "session:" + q.Session
		default:
			p.Set, p.needsIndexing = ownerSet+p.Owners[0], true
		}
		return p, nil
	}
	for _, kind := range store.Kinds(q) {
		for _, state := range store.States(q) {
			p.Pairs = append(p.Pairs, string(kind)+":"+string(state))
		}
	}
	p.bound(q)
	p.Strict =
		len(p.Owners) > 0 || len(p.Statuses) > 0 || p.Salient != 0 || p.Score != 0 || p.Since != nil ||
			p.Until != nil || p.Due != nil || p.Dated
	return p, nil
}

// bound narrows the range of the order by the value it sorts by, which then need not be checked for each item.
func (p *readPlan) bound(q memory.Query) {
	switch p.By {
	case newestOrder:
		if !q.Until.IsZero() {
			p.from = atLeast(next(inverted(timeKey(q.Until))))
		}
		if !q.Since.IsZero() {
			p.to = below(next(inverted(timeKey(q.Since))))
		}
		p.Since, p.Until = nil, nil
	case oldestOrder:
		if !q.Since.IsZero() {
			p.from = atLeast(timeKey(q.Since))
		}
		if !q.Until.IsZero() {
			p.to = below(timeKey(q.Until))
		}
		p.Since, p.Until = nil, nil
	case dueOrder:
		if !q.DueBefore.IsZero() {
			p.to = below(timeKey(q.DueBefore))
		}
		p.Due, p.Dated = nil, false
	case sortOrders[memory.MostSalient].by:
		if q.SalientFrom != 0 {
			// checked for each item too, for kinds in another order (find.lua)
			p.to = below(next(inverted(numberKey(q.SalientFrom))))
		}
	default:
		if q.ScoreFrom != 0 {
			p.to = below(next(inverted(numberKey(q.ScoreFrom))))
		}
		p.Score = 0
	}
}

// next is the smallest key above b; nil when there is none.
func next(b []byte) []byte {
	for i := len(b) - 1; i >= 0; i-- {
		b[i]++
		if b[i] != 0 {
			return b
		}
	}
	return nil
}

func atLeast(b []byte) string {
	if b == nil {
		return highest
	}
	return "[" + string(b)
}

func below(b []byte) string {
	if b == nil {
		return highest
	}
	return "(" + string(b)
}

func instant(t time.Time) *[2]int64 {
	if t.IsZero() {
		return nil
	}
	return &[2]int64{t.Unix(), int64(t.Nanosecond())}
}
