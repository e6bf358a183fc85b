package psyche

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// The sizes of a page of a list.
const (
	UsualPage   = 20
	LargestPage = 100
)

// ListRequest asks for dreams, newest first. Zero fields do not filter.
type ListRequest struct {
	Agent    string       // handle or id; empty: every agent that the caller reaches
	Status   dream.Status // one of dream.Statuses
	After    string       // the id of the last dream of the previous page
	Limit    int          // 1 to LargestPage; 0: UsualPage
	Archived bool         // archived ones as well
}

// Page is a part of a list.
type Page[T any] struct {
	Object string `json:"object"` // "list"
	Data   []T    `json:"data"`
	First  string `json:"first_id"` // empty when there is nothing
	Last   string `json:"last_id"`
	More   bool   `json:"has_more"` // there is more after last_id
}

// List answers a page of dreams, to every role.
func (d *Dreams) List(ctx context.Context, c Caller, l ListRequest) (Page[Dream], error) {
	none := Page[Dream]{Object: "list", Data: []Dream{}}
	if l.Status != "" && !slices.Contains(dream.Statuses, l.Status) {
		return none,
			badParam("status", "status is %q; statuses are pending, running, completed, failed and canceled", l.Status)
	}
	limit, err := pageLimit(l.Limit)
	if err != nil {
		return none, err
	}
	agents, err := d.reached(ctx, c, l.Agent)
	if err != nil {
		return none, err
	}
	var from *dream.Record
	var whose dream.Agent
	if l.After != "" {
		whose, from, err = d.record(ctx, c, access.Client, l.After)
		if missing(err) {
			err = badParam("after",
				"after is %q, which is no dream that this key reaches; it is the last_id of the page before, such as dream_iris_0042",
				l.After)
		}
		if err != nil {
			return none, err
		}
	}
	var rows []rankedDream
	if d.Fleet != nil && len(agents) > oneByOne {
		rows, err = d.recordsOfMany(ctx, agents, l, from, limit+1)
		if err != nil {
			return none, unreadStore(ctx, err)
		}
		agents = nil
	}
	for _, a := range agents {
		found, err := d.recordsOf(ctx, a, l, whose, from, limit+1)
		if err != nil {
			return none, unreadStore(ctx, err)
		}
		rows = append(rows, found...)
	}
	slices.SortFunc(rows, rankedDream.compare)
	none.More = len(rows) > limit
	for _, r := range rows[:min(limit, len(rows))] {
		none.Data = append(none.Data, d.view(c, r.agent, r.record))
	}
	if len(none.Data) > 0 {
		none.First, none.Last = none.Data[0].ID, none.Data[len(none.Data)-1].ID
	}
	return none, nil
}

// oneByOne is up to how many agents each is asked for its dreams: for so few that is as fast.
const oneByOne = 8

// rankedDream is a dream with its place in the list (memory.DreamPlace).
type rankedDream struct {
	agent  dream.Agent
	record *dream.Record
}

func (r rankedDream) compare(o rankedDream) int {
	return memory.PlaceOf(r.record).Compare(memory.PlaceOf(o.record))
}

// recordsOfMany finds up to n dreams of several agents after the last one of the previous page.
func (d *Dreams) recordsOfMany(ctx context.Context, agents []dream.Agent, l ListRequest, from *dream.Record, n int,
) ([]rankedDream, error) {
	byID := map[string]dream.Agent{}
	q := memory.DreamsQuery{
		States:   []dream.State{dream.Live, dream.Archived},
		Statuses: markedAs[l.Status],
		Limit:    n,
	}
	for _, a := range agents {
		q.Agents, byID[a.ID] = append(q.Agents, a.ID), a
	}
	if from != nil {
		q.After = memory.PlaceOf(from)
	}
	var rows []rankedDream
	for {
		records, err := d.Fleet.Dreams(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			if d.selects(l, record) && len(rows) < n {
				rows = append(rows, rankedDream{byID[record.Agent], record})
			}
		}
		if len(rows) >= n || len(records) < q.Limit {
			return rows, nil
		}
		q.After = memory.PlaceOf(records[len(records)-1])
		q.Limit *= 4
	}
}

// markedAs are the statuses in the marks of records that may have a public status; those of the others need no filter.
var markedAs = map[dream.Status][]string{
	dream.StatusPending:  {string(dream.Dreaming)},
	dream.StatusRunning:  {string(dream.Dreaming), dream.RecordWaits},
	dream.StatusFailed:   {string(dream.Aborted)},
	dream.StatusCanceled: {string(dream.Canceled)},
}

// selects reports whether a request asks for a dream, wherever it stands in the list.
func (d *Dreams) selects(l ListRequest, record *dream.Record) bool {
	return (l.Archived || record.Shelved.IsZero()) && (l.Status == "" || record.Status(d.Now()) == l.Status)
}

// recordsOf finds up to n dreams of an agent after the last one of the previous page.
func (d *Dreams) recordsOf(ctx context.Context, a dream.Agent, l ListRequest, whose dream.Agent, from *dream.Record,
	n int,
) ([]rankedDream, error) {
	q := memory.Query{
		Agent: a.ID, Kinds: []dream.Kind{dream.KindRecord},
		States: []dream.State{dream.Live, dream.Archived}, Limit: 2 * n,
	}
	if from != nil {
		q.Until = from.At.Add(1) // includes those of the same moment, which are sorted out below
	}
	var rows []rankedDream
	for {
		items, err := d.Memory.Find(ctx, q)
		if err != nil {
			return nil, err
		}
		rows = rows[:0]
		for _, record := range memory.As[*dream.Record](items) {
			r := rankedDream{a, record}
			behind := from == nil || rankedDream{whose, from}.compare(r) < 0
			if behind && d.selects(l, record) {
				rows = append(rows, r)
			}
		}
		if len(rows) >= n || len(items) < q.Limit {
			return rows[:min(n, len(rows))], nil
		}
		q.Limit *= 4
	}
}

// reached are the agents that a caller reaches, by handle, or the one it names.
func (d *Dreams) reached(ctx context.Context, c Caller, name string) ([]dream.Agent, error) {
	if name != "" {
		a, err := d.agent(ctx, c, access.Client, name)
		return []dream.Agent{a}, err
	}
	all, err := d.Memory.Agents(ctx)
	if err != nil {
		return nil, unreadStore(ctx, err)
	}
	return slices.DeleteFunc(all, func(a dream.Agent) bool { return !c.May(access.Client, a.Handle) }), nil
}

func pageLimit(n int) (int, error) {
	if n < 0 || n > LargestPage {
		return 0, badParam("limit", "limit is %d; it must be 1 to %d", n, LargestPage)
	}
	return cmp.Or(n, UsualPage), nil
}

// missing reports whether something does not exist or is out of reach.
func missing(err error) bool {
	f, ok := errors.AsType[*Fault](err)
	return ok && f.Status == http.StatusNotFound
}

func badParam(param, format string, args ...any) *Fault {
	return Refuse(http.StatusBadRequest, "invalid_value", param, format, args...)
}

// pageFrom makes a page of items that were found in order, one more than fit if there are more.
func pageFrom[T any](found []T, limit int, id func(T) string) Page[T] {
	p := Page[T]{Object: "list", Data: append([]T{}, found[:min(limit, len(found))]...), More: len(found) > limit}
	if len(p.Data) > 0 {
		p.First, p.Last = id(p.Data[0]), id(p.Data[len(p.Data)-1])
	}
	return p
}
