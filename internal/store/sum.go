package store

import (
	"encoding/json"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// Sum is what is left of attempts that were folded. Both stores keep the sums of a group together, packed.
type Sum = memory.KeptSum

// SumGroup names the sums that are kept together: those of a dream, or of an agent's day outside of dreams.
type SumGroup struct{ Agent, Day, Dream string }

// Group returns the group that an attempt is folded into.
func Group(a spend.Ask) SumGroup { return SumGroup{Agent: a.Agent, Day: a.Day, Dream: a.Dream} }

// SumOf is an attempt as a sum of one.
func SumOf(r spend.Row) Sum {
	s := Sum{
		Agent:    r.Agent,
		Day:      r.Day,
		Dream:    r.Dream,
		Phase:    r.Phase,
		Model:    r.Model,
		State:    string(r.State),
		Folded:   r.Calls(),
		Reserved: r.Reserved,
		Counted:  r.Counted,
		Tokens:   r.Tokens,
	}
	for _, account := range r.Accounts {
		if !slices.Contains(s.Scopes, account.Scope) {
			s.Scopes = append(s.Scopes, account.Scope)
		}
	}
	return s
}

// AddSum adds a sum to sums, which are in the order of KeptSum.Compare.
func AddSum(sums []Sum, s Sum) []Sum {
	at, found := slices.BinarySearchFunc(sums, s, Sum.Compare)
	if !found {
		return slices.Insert(sums, at, s)
	}
	t := &sums[at]
	t.Folded += s.Folded
	t.Reserved, t.Counted = spend.Add(t.Reserved, s.Reserved), spend.Add(t.Counted, s.Counted)
	t.Tokens = budget.Tokens{
		In:        t.Tokens.In + s.Tokens.In,
		Cached:    t.Tokens.Cached + s.Tokens.Cached,
		Out:       t.Tokens.Out + s.Tokens.Out,
		Reasoning: t.Tokens.Reasoning + s.Tokens.Reasoning,
	}
	return sums
}

// SumRow returns a sum as the port lists it.
func SumRow(s Sum) spend.Row {
	r := spend.Row{
		Ask: spend.Ask{
			Agent:  s.Agent,
			Dream:  s.Dream,
			Phase:  s.Phase,
			Model:  s.Model,
			Day:    s.Day,
			Amount: s.Reserved,
		},
		Reserved: s.Reserved,
		Counted:  s.Counted,
		State:    spend.State(s.State),
		Tokens:   s.Tokens,
		Folded:   s.Folded,
	}
	for _, scope := range s.Scopes {
		r.Accounts = append(r.Accounts, budget.Account{Scope: scope})
	}
	return r
}

// SumRows returns those of the sums that a query selects, in their order, as the port lists them.
func SumRows(sums []Sum, q spend.Query) []spend.Row {
	slices.SortFunc(sums, Sum.Compare)
	var rows []spend.Row
	for _, s := range sums {
		if r := SumRow(s); q.Matches(r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// PackSums returns the stored form of the sums of a group.
func PackSums(sums []Sum) ([]byte, error) {
	body, err := json.Marshal(sums)
	return packed.Pack(body), err
}

// UnpackSums reads what PackSums wrote; nothing for no bytes.
func UnpackSums(body []byte) ([]Sum, error) {
	if len(body) == 0 {
		return nil, nil
	}
	plain, err := packed.Unpack(body)
	if err != nil {
		return nil, err
	}
	var sums []Sum
	return sums, json.Unmarshal(plain, &sums)
}

// WholeSteps returns the rows that may be folded, as far as they tell: they have ended, and rows have all attempts of their
// step, of which count says how many there are.
func WholeSteps(rows []spend.Row, count func(step string) int) []spend.Row {
	given := map[string]int{}
	for _, r := range rows {
		if r.State != spend.Open && r.Folded == 0 {
			given[r.Step]++
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r spend.Row) bool {
		return r.State == spend.Open || r.Folded > 0 || given[r.Step] != count(r.Step)
	})
}
