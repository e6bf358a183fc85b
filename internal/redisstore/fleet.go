package redisstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	overviewScript = script("status", "overview")
	statusesScript = script("status", "statuses")
	placesScript   = script("places")
	balancesScript = script("balances")
)

// How many agents or accounts one step reads: some milliseconds of the server.
const (
	agentsAtOnce   = 500
	accountsAtOnce = 2000
)

// fleet describes many agents at once, from each agent's own orders (memory.go).
type fleet struct{ *server }

// overviewPlan is what overview.lua reads.
type overviewPlan struct {
	Episodes bool          `json:"episodes"`
	By       string        `json:"by"` // of an agent's dreams, without the state
	States   []dream.State `json:"states"`
	Dreams   int           `json:"dreams"`
	Usual    string        `json:"usual"`              // the status that most dreams have
	UsualBy  string        `json:"usual_by,omitempty"` // of the dreams of that status, without the state
	Waits    []string      `json:"waits"`              // keys of which one exists if something waits for a review
	Last     int           `json:"last"`
	Open     string        `json:"open"`
}

// Overview describes agents by their ids.
func (s fleet) Overview(ctx context.Context, agents []string, q memory.OverviewQuery) ([]memory.Overview, error) {
	all, err := s.overview(ctx, agents, q)
	return store.Result(all, err, "overview of agents")
}

func (s fleet) overview(ctx context.Context, agents []string, q memory.OverviewQuery) ([]memory.Overview, error) {
	plan := overviewPlan{
		Episodes: q.Episodes,
		By:       newestOrder + string(dream.KindRecord) + ":",
		States:   []dream.State{},
		Dreams:   q.Dreams,
		Usual:    string(dream.Completed),
		Waits:    []string{},
		Last:     memory.LastDue,
		Open:     dream.PredictionOpen,
	}
	sorted := (q.Dreams > 0 || q.Waits) && s.sortDreams(ctx)
	if q.Dreams > 0 {
		plan.States = store.States(memory.Query{States: q.States})
	}
	if sorted {
		plan.UsualBy = statusOrder + plan.Usual + ":"
	}
	switch {
	case !q.Waits:
	case sorted:
		plan.Waits = []string{proposedSet}
	default:
		for _, kind := range dream.Kinds {
			plan.Waits = append(plan.Waits, newestOrder+string(kind)+":"+string(dream.Proposed))
		}
	}
	wire, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	due := ""
	if !q.DueBefore.IsZero() {
		due = below(timeKey(q.DueBefore))
	}
	all := make([]memory.Overview, len(agents))
	return all, inParts(agents, agentsAtOnce, func(first int, part []string) error {
		args := []any{wire, due}
		for _, agent := range part {
			args = append(args, s.key(agent, ""))
		}
		reply, err := s.run(ctx, overviewScript, nil, args...)
		if err != nil {
			return err
		}
		fields, _ := reply.([]any)
		return readOverviews(all[first:first+len(part)], part, fields, q.Dreams)
	})
}

// atOnce is how many parts of a list are read at once: the server answers one while this process reads the other.
const atOnce = 2

// inParts calls do with each part of a list and the place of its first element, and returns the errors.
func inParts[T any](list []T, most int, do func(first int, part []T) error) error {
	slots := make(chan struct{}, atOnce)
	faults := make([]error, (len(list)+most-1)/most)
	var group sync.WaitGroup
	for i := range faults {
		slots <- struct{}{}
		group.Go(func() {
			first := i * most
			faults[i] = do(first, list[first:min(first+most, len(list))])
			<-slots
		})
	}
	group.Wait()
	return errors.Join(faults...)
}

// readOverviews reads what overview.lua says of agents.
func readOverviews(all []memory.Overview, agents []string, fields []any, dreams int) error {
	dreaming := map[any]bool{}
	if len(fields) > 0 {
		list, _ := fields[0].([]any)
		for _, agent := range list {
			dreaming[agent] = true
		}
	}
	at := 1
	for i, agent := range agents {
		last := at + 4 + 3*int(integer(fields, at+3))
		if last > len(fields) {
			return fmt.Errorf("the server described %d of %d agents", i, len(agents))
		}
		o := memory.Overview{
			Agent:    agent,
			Episodes: int(integer(fields, at)),
			Dreaming: dreaming[agent],
			Overdue:  int(integer(fields, at+1)),
			Waits:    integer(fields, at+2) == 1,
		}
		for at += 4; at < last; at += 3 {
			member := text(fields, at+1)
			o.Dreams = append(o.Dreams, memory.DreamMark{
				ID:     member[whenBytes+textBytes:],
				At:     newestAt(member),
				Status: text(fields, at+2),
				State:  dream.State(text(fields, at)),
			})
		}
		o.Dreams = store.NewestMarks(o.Dreams, dreams)
		all[i] = o
	}
	return nil
}

// newestAt reads the time that a member of the order of the newest begins with.
func newestAt(member string) time.Time {
	b := inverted([]byte(member[:whenBytes]))
	return time.Unix(int64(binary.BigEndian.Uint64(b)^1<<63), int64(binary.BigEndian.Uint32(b[8:]))).UTC()
}

// dreamSource is an order of an agent's dreams, with what was read of it.
type dreamSource struct {
	agent, key string
	members    []string
}

// sameMoment is how many more dreams of an agent are read than are wanted, in case that several began at the same
// moment: the order has them by their themes, and a list by their ids.
const sameMoment = 16

// Dreams lists the records of the dreams of several agents.
func (s fleet) Dreams(ctx context.Context, q memory.DreamsQuery) ([]*dream.Record, error) {
	found, err := s.dreams(ctx, q)
	return store.Result(found, err, "list dreams of agents")
}

func (s fleet) dreams(ctx context.Context, q memory.DreamsQuery) ([]*dream.Record, error) {
	var found []*dream.Record
	n := q.Limit
	var orders []string
	switch {
	case len(q.Statuses) == 0:
		orders = []string{newestOrder + string(dream.KindRecord) + ":"}
	case s.sortDreams(ctx):
		for _, status := range store.Distinct(q.Statuses) {
			orders = append(orders, statusOrder+status+":")
		}
	default:
		orders = []string{newestOrder + string(dream.KindRecord) + ":"}
		n = max(n, itemsPerStep)
	}
	for len(found) < q.Limit {
		places, err := s.places(ctx, q, orders, n)
		if err != nil {
			return nil, err
		}
		ended := len(places) < n
		if !ended {
			q.After = places[n-1]
		}
		places, err = s.ofStatuses(ctx, places, q.Statuses)
		if err != nil {
			return nil, err
		}
		records, err := s.records(ctx, places[:min(q.Limit-len(found), len(places))])
		if err != nil {
			return nil, err
		}
		found = append(found, records...)
		if ended {
			break
		}
		n *= 16
	}
	return found, nil
}

// places returns the places of the next n dreams in orders, whatever their status.
func (s fleet) places(ctx context.Context, q memory.DreamsQuery, orders []string, n int) ([]memory.DreamPlace, error) {
	p := readPlan{By: newestOrder, from: lowest, to: highest}
	until := q.Until
	if at := q.After.At; !q.After.IsZero() && (until.IsZero() || at.Before(until)) {
		until = at.Add(1) // the dreams of that very moment are sorted out below
	}
	p.bound(memory.Query{Since: q.Since, Until: until})
	sources := make([]dreamSource, 0, len(q.Agents))
	for _, agent := range slices.Compact(slices.Sorted(slices.Values(q.Agents))) {
		for _, state := range store.States(memory.Query{States: q.States}) {
			for _, by := range orders {
				sources = append(sources, dreamSource{agent: agent, key: s.key(agent, by+string(state))})
			}
		}
	}
	if err := s.first(ctx, sources, p, 1); err != nil {
		return nil, err
	}
	sources = newestSources(sources, q.After, n)
	if err := s.first(ctx, sources, p, n+sameMoment); err != nil {
		return nil, err
	}
	var places []memory.DreamPlace
	for _, source := range sources {
		for _, m := range source.members {
			place := memory.DreamPlace{At: newestAt(m), Agent: source.agent, ID: m[whenBytes+textBytes:]}
			if q.After.IsZero() || q.After.Compare(place) < 0 {
				places = append(places, place)
			}
		}
	}
	slices.SortFunc(places, memory.DreamPlace.Compare)
	return places[:min(n, len(places))], nil
}

// newestSources are the sources that can have one of the next n dreams after a place, by their first member.
func newestSources(sources []dreamSource, after memory.DreamPlace, n int) []dreamSource {
	sources = slices.DeleteFunc(sources, func(s dreamSource) bool { return len(s.members) == 0 })
	slices.SortFunc(sources, func(a, b dreamSource) int {
		return cmp.Compare(a.members[0][:whenBytes], b.members[0][:whenBytes])
	})
	beyond := 0 // sources whose first member is surely after that place
	for i, source := range sources {
		first := source.members[0]
		if !after.IsZero() && !newestAt(first).Before(after.At) {
			continue
		}
		beyond++
		if beyond < n {
			continue
		}
		last := i + 1
		for last < len(sources) && strings.HasPrefix(sources[last].members[0], first[:whenBytes]) {
			last++
		}
		return sources[:last]
	}
	return sources
}

// first reads the first members of sources within bounds.
func (s fleet) first(ctx context.Context, sources []dreamSource, bounds readPlan, limit int) error {
	return inParts(sources, agentsAtOnce, func(_ int, part []dreamSource) error {
		args := []any{bounds.from, bounds.to, limit}
		for _, source := range part {
			args = append(args, source.key)
		}
		reply, err := s.run(ctx, placesScript, nil, args...)
		if err != nil {
			return err
		}
		lists, _ := reply.([]any)
		if len(lists) != len(part) {
			return fmt.Errorf("the server read %d of %d orders", len(lists), len(part))
		}
		for i := range part {
			part[i].members, err = texts(lists[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ofStatuses returns those places where the record has one of the statuses; all of them if there are none.
func (s fleet) ofStatuses(ctx context.Context, places []memory.DreamPlace, statuses []string,
) ([]memory.DreamPlace, error) {
	if len(statuses) == 0 {
		return places, nil
	}
	var found []memory.DreamPlace
	for part := range slices.Chunk(places, itemsPerStep) {
		args := make([]any, 0, 2*len(part))
		for _, place := range part {
			args = append(args, s.key(place.Agent, "items"), place.ID)
		}
		of, err := s.runTexts(ctx, statusesScript, nil, args...)
		if err != nil {
			return nil, err
		}
		for i, place := range part {
			if i < len(of) && slices.Contains(statuses, of[i]) {
				found = append(found, place)
			}
		}
	}
	return found, nil
}

// records reads the records at places.
func (s fleet) records(ctx context.Context, places []memory.DreamPlace) ([]*dream.Record, error) {
	var found []*dream.Record
	for part := range slices.Chunk(places, itemsPerStep) {
		rows := make([]*redis.StringCmd, len(part))
		err := s.exchange(ctx, func(ctx context.Context) error {
			_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i, place := range part {
					rows[i] = p.HGet(ctx, s.key(place.Agent, "items"), place.ID)
				}
				return nil
			})
			return ignoreMissing(err)
		})
		if err != nil {
			return nil, err
		}
		for i, place := range part {
			kept := rows[i].Val()
			if kept == "" { // it was deleted in between
				continue
			}
			record, err := recordOf(place.ID, kept)
			if err != nil {
				return nil, err
			}
			found = append(found, record)
		}
	}
	return found, nil
}

// recordOf decodes the row of a record.
func recordOf(id, kept string) (*dream.Record, error) {
	r, err := parseRow(id, kept, false)
	if err != nil {
		return nil, err
	}
	item, err := r.item()
	if err != nil {
		return nil, err
	}
	record, ok := item.(*dream.Record)
	if !ok {
		return nil, fmt.Errorf("%s is a %s; expected the record of a dream", id, r.kind)
	}
	return record, nil
}

// Balances returns the balances of several accounts, in this order.
func (s ledger) Balances(ctx context.Context, scopes []string) ([]spend.Balance, error) {
	all := make([]spend.Balance, len(scopes))
	err := inParts(scopes, accountsAtOnce, func(first int, part []string) error {
		args := make([]any, len(part))
		for i, scope := range part {
			args[i] = scope
		}
		sums, err := s.runTexts(ctx, balancesScript, nil, args...)
		if err == nil && len(sums) != 2*len(part) {
			err = fmt.Errorf("the server read %d sums of %d accounts", len(sums), len(part))
		}
		if err != nil {
			return err
		}
		var p parser
		for i := range part {
			all[first+i] = spend.Balance{
				Reserved: budget.Micros(p.number(sums[2*i])),
				Spent:    budget.Micros(p.number(sums[2*i+1])),
			}
		}
		return p.err
	})
	return store.Result(all, err, "balances of accounts")
}
