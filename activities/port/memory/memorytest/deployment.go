package memorytest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Size is the size of a generated deployment.
type Size struct {
	Agents, Items, Events, Attempts int // items and events are per agent
	Dim                             int // dimension of a vector
}

// Deployment generates the content of a store: every kind of record, with unusual names, times and amounts that all
// stores must handle alike. The same seed gives the same content.
func Deployment(seed uint64, size Size) []memory.Record {
	f := generator{r: rand.New(rand.NewPCG(seed, 1)), size: size}
	records := f.names()
	for n := range size.Agents {
		records = append(records, f.mind(agentID(n))...)
	}
	return append(append(records, f.rooms()...), f.book()...)
}

// Fill yields records one after another, as a store does.
func Fill(records []memory.Record) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// CutAfter yields n records and then ErrCut, like a truncated file.
func CutAfter(n int, records []memory.Record) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		for _, r := range records[:n] {
			if !yield(r, nil) {
				return
			}
		}
		yield(memory.Record{}, ErrCut)
	}
}

// ErrCut is the error of CutAfter.
var ErrCut = errors.New("cut by the test")

type generator struct {
	r    *rand.Rand
	size Size
}

func agentID(n int) string { return fmt.Sprintf("agent %03d: é%%", n) }

// oddTexts are texts that have caused errors before.
var oddTexts = []string{
	"plain", "", "quoted \"so\" and \\so", "日本語 ünïcödé", "two\nlines\ttab", "<&>\u2028", "a:b:c%3A",
	"nul \x00 inside", strings.Repeat("long ", 40),
}

func (f *generator) text() string { return oddTexts[f.r.IntN(len(oddTexts))] + fmt.Sprint(f.r.IntN(9)) }

// at returns a time with nanoseconds, or a round one.
func (f *generator) at() time.Time {
	t := dawn.Add(time.Duration(f.r.Int64N(int64(1000 * time.Hour))))
	return t.Truncate([]time.Duration{1, time.Millisecond, time.Second}[f.r.IntN(3)])
}

func (f *generator) pad() mood.PAD {
	return mood.PAD{Pleasure: 2*f.r.Float64() - 1, Arousal: 2*f.r.Float64() - 1, Dominance: float64(f.r.IntN(3) - 1)}
}

func (f *generator) some(most int) []string {
	var out []string
	for range f.r.IntN(most + 1) {
		out = append(out, f.text())
	}
	return out
}

func jsonOf(body any) memory.Raw {
	b, bad := json.Marshal(body)
	if bad != nil {
		panic(bad) // the generator itself is wrong
	}
	return b
}

func (f *generator) names() []memory.Record {
	var records []memory.Record
	for n := range 3 {
		feed := dream.Feed{
			Name: fmt.Sprint("feed ", n), URL: "https://example.org/" + f.text(),
			Every: time.Duration(n) * time.Minute,
			Rules: []dream.Rule{{Name: f.text(), Kind: dream.Above, Number: f.r.NormFloat64()}},
		}
		records = append(records, memory.Record{Feed: &memory.KeptFeed{Name: feed.Name, Body: jsonOf(feed)}})
	}
	for n := range f.size.Agents {
		a := dream.Agent{
			ID:        agentID(n),
			Handle:    fmt.Sprint("handle-", f.size.Agents-n),
			Persona:   f.text(),
			Interests: f.some(3),
			Zone:      "Europe/Berlin",
			Tier:      dream.Core,
			Feed:      "feed 1",
			Auto:      n%2 == 0,
			Created:   f.at(),
			Caps:      dream.Caps{},
			Triggers:  []dream.Trigger{{Name: "full", Kind: dream.OnEpisodes, Episodes: 1 + n}}[:n%2],
		}
		records = append(records, memory.Record{Agent: &memory.KeptAgent{ID: a.ID, Handle: a.Handle, Body: jsonOf(a)}})
	}
	return append(records, f.keys()...)
}

// keyBody has the fields of access.Key, which this package must not import.
type keyBody struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	Agents  []string  `json:"agents,omitempty"`
	Hash    string    `json:"hash"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Rate    int       `json:"rate,omitempty"`
	Day     int64     `json:"day,omitempty"`
}

func (f *generator) keys() []memory.Record {
	var records []memory.Record
	for n := range 3 {
		sum := sha256.Sum256([]byte(f.text() + fmt.Sprint(n)))
		k := keyBody{
			ID: fmt.Sprint("key_", n), Name: fmt.Sprintf("<&> né %d", f.r.IntN(9)),
			Role: []string{"client", "operator", "owner"}[n], Agents: f.some(2),
			Hash: hex.EncodeToString(sum[:]), Created: f.at(), Rate: f.r.IntN(100),
		}
		if n > 0 {
			k.Expires, k.Day = f.at(), f.r.Int64N(1<<50)
		}
		records = append(records, memory.Record{Key: &memory.KeptKey{ID: k.ID, Hash: k.Hash, Body: jsonOf(k)}})
	}
	if f.r.IntN(2) == 0 {
		records = append(records, memory.Record{Access: &memory.KeptAccess{}})
	}
	return records
}

const (
	ownSpace   = "made-up/1/own"
	otherSpace = "made-up/2/other: %"
)

func (f *generator) mind(agent string) []memory.Record {
	counters := memory.KeptCounters{
		Agent:      agent,
		Seq:        int64(2*f.size.Events + 3),
		Dreams:     f.r.Int64N(50),
		Scrubs:     f.r.Int64N(3),
		Space:      ownSpace,
		Dim:        f.size.Dim,
		Collecting: []memory.KeptSpace{{Space: otherSpace, Dim: f.size.Dim + 1}},
		Epoch:      3 + f.r.Int64N(1<<53),
		Lock:       f.at(),
		Seen:       f.at(),
		Digest:     f.some(5),
		Aged:       memory.Aged{Undo: f.at(), Details: f.at()},
	}
	counters.RecordedEpoch = counters.Epoch - f.r.Int64N(2)
	counters.Wake = &memory.KeptWake{
		Epoch:  counters.Epoch,
		Cause:  "connect",
		Client: f.text(),
		At:     f.at(),
		Dream:  "dream/x/0001",
		Affect: f.pad(),
		Delta:  f.r.Float64(),
		Digest: f.some(3),
	}
	records := []memory.Record{{Counters: &counters}}
	for n := range 3 {
		since := f.at()
		records = append(records, memory.Record{Lease: &memory.KeptLease{
			Agent:  agent,
			Client: fmt.Sprintf("client %d %s", n, f.text()),
			Cause:  "alarm",
			Since:  since,
			Until:  since.Add(time.Hour),
		}})
	}
	if f.r.IntN(3) > 0 {
		left := memory.MoodOnWake{PAD: f.pad(), Since: f.at()}
		records = append(records, memory.Record{Slot: &memory.KeptSlot{
			Agent:    agent,
			Dream:    "dream/" + f.text(),
			Run:      "run",
			Workflow: f.text(),
			Cluster:  f.text(),
			Since:    f.at(),
			Epoch:    counters.Epoch - 1,
			Mood:     &left,
		}})
	}
	for n := range 4 {
		cause := f.text()
		zone := time.FixedZone("", n*1800)
		records = append(records, memory.Record{Affect: &memory.KeptAffect{
			Agent: agent, Number: n + 1, Cause: cause,
			Affect: dream.Affect{PAD: f.pad(), Since: f.at().In(zone), Cause: cause},
		}})
	}
	records = append(records, f.items(agent)...)
	for n := range f.size.Events {
		e := memory.KeptEvent{
			Agent:     agent,
			Seq:       int64(2*n + 1),
			ID:        fmt.Sprintf("%s %d", f.text(), n),
			Schema:    event.Schema,
			Subsystem: event.Subsystem,
			Dream:     f.text(),
			Type:      "Made.Up",
			At:        f.at(),
			Data:      jsonOf(map[string]any{"x": f.text(), "n": f.r.Float64()}),
		}
		switch n % 5 {
		case 3:
			e.Data = nil
		case 4:
			e.Data = memory.Raw(" [1, \"<\"] ") // encoding/json would write it differently
		}
		records = append(records, memory.Record{Event: &e})
	}
	for n := range 5 {
		value := make([]byte, f.r.IntN(40))
		for i := range value {
			value[i] = byte(f.r.Uint32())
		}
		records = append(records, memory.Record{Note: &memory.KeptNote{
			Agent: agent, Dream: fmt.Sprintf("dream/x/%04d", n/2), Key: fmt.Sprintf("snapshot/%d %s", n, f.text()),
			Value: value,
		}})
	}
	return records
}

func (f *generator) items(agent string) []memory.Record {
	records := make([]memory.Record, 0, f.size.Items)
	for n := range f.size.Items {
		id := fmt.Sprintf("item %06d %s", n, f.text())
		k := memory.KeptItem{
			Agent: agent, ID: id,
			Kind: string([]dream.Kind{dream.KindEpisode, dream.KindSemantic, dream.KindHypothesis, dream.KindPrediction}[n%4]),
		}
		var numbers []int
		for number := range 1 + max(0, f.r.IntN(6)-3) {
			numbers = append(numbers, number+1+number*(n%3/2)) // every third item has gaps between its revisions
			k.Revisions = append(k.Revisions,
				memory.KeptRevision{
					Cause: fmt.Sprint("cause ", number), At: f.at(),
					Body: f.body(agent, id, dream.Kind(k.Kind), number),
				})
		}
		k.SetNumbers(numbers)
		if n%7 == 6 {
			k.Vectors = append(k.Vectors, memory.KeptVector{Space: otherSpace, V: f.numbers(f.size.Dim + 1)})
		}
		if n%5 > 0 {
			k.Vectors = slices.Insert(k.Vectors, 0, memory.KeptVector{Space: ownSpace, V: f.numbers(f.size.Dim)})
		}
		records = append(records, memory.Record{Item: &k})
	}
	return records
}

func (f *generator) body(agent, id string, kind dream.Kind, number int) memory.Raw {
	h := dream.Head{
		ID:    id,
		Agent: agent,
		Kind:  kind,
		At:    f.at(),
		State: dream.Live,
		Taint: dream.FromHuman,
	}
	if number > 0 {
		h.State = []dream.State{dream.Live, dream.Superseded, dream.Archived}[f.r.IntN(3)]
	}
	if f.r.IntN(3) == 0 {
		h.Dream, h.Phase, h.Sources = "dream/x/0001", dream.Onset, []string{"item of " + f.text(), "item"}
	}
	if f.r.IntN(20) == 0 {
		h.At = time.Date(1066, 10, 14, 9, 0, 0, 0, time.UTC) // earlier than a SQLite store can sort
	}
	switch kind {
	case dream.KindSemantic:
		s := &dream.Semantic{Head: h, Content: f.text(), Strength: f.r.Float64()}
		if number%2 == 0 {
			s.Due = f.at()
		}
		return jsonOf(s)
	case dream.KindHypothesis:
		return jsonOf(
			&dream.Hypothesis{Head: h, Claim: f.text(), Confidence: f.r.Float64(), Status: dream.HypothesisStaged})
	case dream.KindPrediction:
		return jsonOf(&dream.Prediction{Head: h, Claim: f.text(), Horizon: f.at(), Status: "open"})
	default:
		return jsonOf(&dream.Episode{
			Head:     h,
			Content:  f.text(),
			Salience: f.r.Float64(),
			Surprise: f.r.Float64(),
			Affect:   f.pad(),
			Session:  f.text(),
		})
	}
}

func (f *generator) numbers(n int) []byte {
	var b []byte
	for range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f.r.NormFloat64())))
	}
	return b
}

// book generates a ledger whose sums are right.
func (f *generator) book() []memory.Record {
	var records []memory.Record
	attempts, answered := map[string]int{}, map[string]bool{}
	sums := map[string]*memory.KeptAccount{}
	for n := range f.size.Attempts {
		a := memory.KeptAttempt{
			Step:  fmt.Sprintf("step %d/%s", f.r.IntN(1+f.size.Attempts/2), "x:y"),
			Agent: agentID(n % max(1, f.size.Agents)), Phase: "onset", Model: f.text(),
			Day: fmt.Sprintf("2026-03-%02d", 1+n%9), At: f.at(), Reserved: budget.Micros(f.r.Int64N(1 << 40)),
			State: []string{"open", "settled", "partial", "refused", "unknown"}[n%5],
		}
		if n%3 > 0 {
			a.Dream = fmt.Sprint("dream/x/", n%4)
		}
		attempts[a.Step]++
		a.Attempt = attempts[a.Step]
		a.Counted = a.Reserved
		if a.State != memory.OpenAttempt {
			a.Latest = a.Attempt + n%2
			a.Ended, a.Finish, a.Counted = f.at(), "stop", budget.Micros(f.r.Int64N(1<<50))
			a.Tokens = budget.Tokens{In: f.r.Int64N(9999), Out: f.r.Int64N(999), Reasoning: f.r.Int64N(2)}
			answered[a.Step] = a.State == "settled"
		} else if n%2 == 0 {
			a.Forgotten = true
		}
		for _, scope := range []string{"fleet/" + a.Day, "agent:" + a.Agent + "/" + a.Day, "odd " + f.text()} {
			a.Accounts = append(a.Accounts,
				budget.Account{Scope: scope, Limit: budget.Micros(math.MaxInt64 - f.r.Int64N(9))})
			s := sums[scope]
			if s == nil {
				s = &memory.KeptAccount{Scope: scope}
				sums[scope] = s
			}
			if a.State == memory.OpenAttempt {
				s.Reserved += a.Counted
			} else {
				s.Spent += a.Counted
			}
		}
		records = append(records, memory.Record{Attempt: &a})
	}
	for _, folded := range f.folded() {
		for _, scope := range folded.Scopes {
			s := sums[scope]
			if s == nil {
				s = &memory.KeptAccount{Scope: scope}
				sums[scope] = s
			}
			s.Spent += folded.Counted
		}
		records = append(records, memory.Record{Sum: &folded})
	}
	for _, scope := range slices.Sorted(maps.Keys(sums)) {
		records = append(records, memory.Record{Account: sums[scope]})
	}
	for _, step := range slices.Sorted(maps.Keys(answered)) {
		if answered[step] {
			records = append(records,
				memory.Record{
					Answer: &memory.KeptAnswer{Step: step, Answer: append([]byte{}, f.numbers(f.r.IntN(9))...)},
				})
		}
	}
	for n := range min(9, f.size.Attempts) {
		records = append(records, memory.Record{Allowance: &memory.KeptAllowance{
			Dream: fmt.Sprint("dream/x/", n), Agent: agentID(n % max(1, f.size.Agents)), Day: "2026-03-01",
			Amount: budget.Micros(f.r.Int64N(1 << 60)),
		}})
	}
	return records
}

// folded generates sums of attempts that are gone, in their order.
func (f *generator) folded() []memory.KeptSum {
	var all []memory.KeptSum
	for n := range f.size.Attempts / 2 {
		s := memory.KeptSum{
			Agent: agentID(n % max(1, f.size.Agents)), Day: fmt.Sprintf("2026-02-%02d", 1+n%5), Phase: "onset",
			Model: f.text(), State: []string{"settled", "partial", "refused", "unknown"}[n%4], Folded: 1 + n,
			Reserved: budget.Micros(f.r.Int64N(1 << 40)), Counted: budget.Micros(f.r.Int64N(1 << 40)),
			Tokens: budget.Tokens{In: f.r.Int64N(9999), Cached: 1, Out: f.r.Int64N(999), Reasoning: f.r.Int64N(2)},
		}
		if n%3 > 0 {
			s.Dream = fmt.Sprint("dream/x/", n%4)
		}
		s.Scopes = []string{"fleet/" + s.Day, "agent:" + s.Agent, "other of " + f.text()}
		all = append(all, s)
	}
	slices.SortFunc(all, memory.KeptSum.Compare)
	return slices.CompactFunc(all, func(a, b memory.KeptSum) bool { return a.Compare(b) == 0 })
}
