package retention_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/retention"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/footprint"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

const day = 24 * time.Hour

// What is promised of a store after the time that history is kept.
const (
	mostOfATurn  = 100    // bytes
	mostOfANight = 60_000 // bytes
)

// span is how much is lived in a proof: a year in full, of ONEIROS_YEAR_AGENTS agents, and some weeks in short.
type span struct {
	agents, days, nights, turns int // nights and turns of an agent's day
	kept                        time.Duration
}

// agentsOfAYear is of how many agents a year is lived where nothing else is wanted: two minutes of a processor each on
// SQLite, and more than three on Redis.
var agentsOfAYear = map[string]int{"SQLite": 10, "Redis": 4}

func spanOf(t *testing.T, kind string) span {
	t.Helper()
	if os.Getenv("PROVE") == "full" {
		agents, err := strconv.Atoi(cmp.Or(os.Getenv("ONEIROS_YEAR_AGENTS"), strconv.Itoa(agentsOfAYear[kind])))
		require.NoError(t, err)
		return span{
			agents: agents,
			days:   365,
			nights: 4,
			turns:  100,
			kept:   30 * day,
		}
	}
	return span{
		agents: 2,
		days:   36,
		nights: 2,
		turns:  20,
		kept:   16 * day,
	}
}

// store is what a year is lived in.
type store interface {
	memory.Store
	memory.Aging
	memory.Movable
	memory.Responses
	retention.Store
}

type ledger interface {
	spend.Ledger
	spend.Folder
}

// world is a deployment without processes: its days are written through the ports of its store.
type world struct {
	*testing.T
	span
	store  store
	ledger ledger
	now    time.Time
	size   func() footprint.Footprint
	night  night
	sweeps *retention.Sweeper
	open   []foretold          // predictions that are not resolved yet, oldest first
	spent  map[string]spentSum // by scope of an account, and by "agent day principal"
	dice   *rand.Rand          // of an agent's day

	episodes           int      // episodes
	cameTrue, promoted string   // a fragment and a scenario that something rests on
	void               []string // predictions that came to nothing
	noneWaits          bool     // no dream waits to go on
	changing           string   // the dream that changed a memory within the window
	claim              string   // a claim that passed
	lived              []string // the episodes that show it
	responds           bool     // an answer is kept each day
	responses          []memory.KeptResponse
	responsesFor       time.Duration // how long these are kept; 0: for ever
}

type spentSum struct {
	calls int
	sum   budget.Micros
}

type foretold struct {
	agent string
	id    string
	until time.Time
}

// dawn is the first day.
var dawn = time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, kind string, l span) *world {
	t.Helper()
	w := &world{
		T:     t,
		span:  l,
		now:   dawn,
		night: readNight(t),
		spent: map[string]spentSum{},
		dice:  rand.New(rand.NewPCG(1, 2)),

		responsesFor: l.kept / 2,
	}
	clock := func() time.Time { return w.now }
	switch kind {
	case "SQLite":
		path := filepath.Join(t.TempDir(), "year.db")
		s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Clock(clock))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		w.store, w.ledger = s, s.Ledger()
		w.size = func() footprint.Footprint {
			f, err := footprint.File(t.Context(), path)
			require.NoError(t, err)
			return f
		}
	default:
		server, prefix := serverOf(t, l), redis.Prefix(t)
		s, err := redisstore.Open(t.Context(), server.URL, redisstore.Prefix(prefix), redisstore.Clock(clock),
			redisstore.Timeout(time.Minute))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		w.store, w.ledger = s, s.Ledger()
		w.size = func() footprint.Footprint {
			f, err := footprint.Server(t.Context(), server.Dial(t), prefix)
			require.NoError(t, err)
			return f
		}
	}
	w.sweeps = &retention.Sweeper{
		Store:  w.store,
		Ledger: w.ledger,
		Ages:   retention.Ages{Ledger: l.kept, Events: l.kept, Undo: l.kept, Dreams: l.kept},
		Now:    clock,
		By:     "the proof",
	}
	for n := range l.agents {
		a := dream.Agent{ID: agentID(n), Handle: agentID(n), Zone: "UTC"}
		require.NoError(t, w.store.PutAgent(t.Context(), a))
	}
	return w
}

func agentID(n int) string { return fmt.Sprintf("iris%02d", n) }

// dreamID is the id of a night of an agent's day.
func (w *world) dreamID(agent string, today, n int) string {
	return fmt.Sprintf("dream/%s/%04d", agent, today*max(1, w.nights)+n+1)
}

// live lives the days from one to another, each with its nights and turns, and sweeps at the end of each day.
func (w *world) live(from, to int, sweep bool) {
	w.Helper()
	for today := from; today < to; today++ {
		w.now = dawn.AddDate(0, 0, today)
		w.resolve()
		w.everyAgent(func(own *world, n int) {
			agent := agentID(n)
			own.dice = rand.New(rand.NewPCG(uint64(today), uint64(n)))
			for night := range own.nights {
				own.dream(agent, own.dreamID(agent, today, night), dream.Completed)
				own.now = own.now.Add(time.Minute)
			}
			for turn := range own.turns {
				own.turn(agent, fmt.Sprintf("talk/%s/%d/%d", agent, today, turn), fmt.Sprint("ada", turn%2))
			}
		})
		if w.responds {
			w.respond()
		}
		if sweep {
			_, err := w.sweeps.Pass(w.Context())
			require.NoError(w, err)
		}
		if w.days >= 365 && (today+1)%int(w.kept/day) == 0 {
			w.Logf("%d agents, %d nights and %d turns a day, on day %d: %s", w.agents, w.nights, w.turns, today+1, w.size())
		}
	}
}

// atOnce is how many agents live at the same time, as in a deployment: their payments share transactions.
const atOnce = 16

// everyAgent lives a day of every agent, each with a time, dice and books of its own, and adds these to the world's. The
// clock of the store stands still meanwhile.
func (w *world) everyAgent(live func(own *world, n int)) {
	w.Helper()
	lives := make([]*world, w.agents)
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for n := range lives {
		own := *w
		own.open, own.spent = nil, map[string]spentSum{}
		lives[n] = &own
		free <- struct{}{}
		all.Go(func() { // a failed requirement ends this goroutine only
			defer func() { <-free }()
			live(lives[n], n)
		})
	}
	all.Wait()
	if w.Failed() {
		w.FailNow()
	}
	for _, own := range lives {
		w.open = append(w.open, own.open...)
		for name, s := range own.spent {
			sum := w.spent[name]
			w.spent[name] = spentSum{sum.calls + s.calls, sum.sum + s.sum}
		}
		if own.now.After(w.now) {
			w.now = own.now
		}
	}
}

// turn pays for a turn of a conversation and moves the mood, as the server does. What is said is memory and not counted
// here.
func (w *world) turn(agent, step, principal string) {
	w.Helper()
	w.now = w.now.Add(time.Second)
	date := w.now.Format(time.DateOnly)
	unlimited := dream.Caps{Day: budget.Unlimited, Month: budget.Unlimited}
	accounts := activities.DayAccounts(dream.Agent{ID: agent, Caps: unlimited}, date, budget.Unlimited)
	for _, call := range []struct{ model, step string }{{"script/talker", step}, {"script/embedder", step + "/embed"}} {
		w.pay(spend.Ask{
			Step:     call.step,
			Agent:    agent,
			Phase:    "talk",
			Model:    call.model,
			Day:      date,
			At:       w.now,
			Amount:   900,
			Accounts: append(accounts, budget.Account{Scope: "key:" + principal + "/" + date, Limit: budget.Unlimited}),
		}, spend.Bill{State: spend.Settled, Amount: 500 + budget.Micros(w.dice.IntN(300)), Finish: "stop"}, principal)
	}
	_, err := w.store.Commit(w.Context(), memory.Write{
		Agent: agent, Cause: "talk",
		Affect: &dream.Affect{PAD: mood.PAD{Pleasure: w.dice.Float64()}, Since: w.now.UTC(), Cause: "talk"},
	})
	require.NoError(w, err)
}

func (w *world) pay(a spend.Ask, b spend.Bill, principal string) {
	w.Helper()
	h, err := w.ledger.Reserve(w.Context(), a)
	require.NoError(w, err)
	b.At = w.now
	require.NoError(w, w.ledger.Settle(w.Context(), h, b))
	count := func(name string) {
		s := w.spent[name]
		s.calls++
		s.sum += b.Amount
		w.spent[name] = s
	}
	for _, account := range a.Accounts {
		count(account.Scope)
	}
	count(a.Agent + " " + a.Day + " " + principal)
}

// renamed returns the recorded night's JSON for another dream and agent, at another time.
func (w *world) renamed(body []byte, agent, dreamID string) []byte {
	body = bytes.ReplaceAll(body, []byte(w.night.Dream), []byte(dreamID))
	return bytes.ReplaceAll(body, []byte(w.night.Agent), []byte(agent))
}

// dream writes what the recorded night left, as the night of an agent.
func (w *world) dream(agent, dreamID string, outcome dream.Outcome) {
	w.Helper()
	ctx := w.Context()
	f := memory.Fence{Dream: dreamID, Run: "run"}
	_, err := w.store.TakeSlot(ctx, agent, memory.Slot{Fence: f, Workflow: dreamID, Since: w.now}, memory.Fence{})
	require.NoError(w, err)
	write := memory.Write{Agent: agent, Fence: f}
	for _, kept := range w.night.Items {
		item, err := dream.Decode(dream.Kind(kept.Kind), w.renamed(kept.Body, agent, dreamID))
		require.NoError(w, err)
		h := item.Header()
		h.At = w.now.UTC()
		switch i := item.(type) {
		case *dream.Record:
			i.Outcome, i.Ended = outcome, w.now.UTC()
			if outcome == dream.Interrupted {
				i.Until = w.now.AddDate(2, 0, 0)
			}
		case *dream.Prediction:
			i.Status, i.Horizon = dream.PredictionOpen, w.now.AddDate(0, 0, 14).UTC()
			w.open = append(w.open, foretold{agent, i.ID, i.Horizon})
		}
		write.Add = append(write.Add, item)
		if len(kept.Vector) > 0 {
			write.Vectors = append(write.Vectors, memory.Vector{Item: h.ID, Space: "builtin/1", V: kept.Vector})
		}
	}
	for _, e := range w.night.Events {
		next := event.Event{
			Agent: agent, ID: strings.ReplaceAll(e.ID, w.night.Dream, dreamID), Schema: e.Schema,
			Subsystem: e.Subsystem, Dream: dreamID, Type: e.Type, At: w.now.UTC(),
			Data: w.renamed(e.Data, agent, dreamID),
		}
		if next.ID == e.ID {
			next.ID = dreamID + "/" + e.ID
		}
		write.Events = append(write.Events, next)
	}
	_, err = w.store.Commit(ctx, write)
	require.NoError(w, err)
	for _, row := range w.night.Rows {
		wire, err := json.Marshal(row.Ask)
		require.NoError(w, err)
		var a spend.Ask
		require.NoError(w, json.Unmarshal(w.renamed(wire, agent, dreamID), &a))
		a.Day, a.At = w.now.Format(time.DateOnly), w.now
		for i, account := range a.Accounts {
			a.Accounts[i].Scope = strings.NewReplacer(row.Day, a.Day, row.Day[:7], a.Day[:7]).Replace(account.Scope)
			a.Accounts[i].Limit = budget.Unlimited
		}
		w.pay(a, spend.Bill{State: row.State, Amount: 7, Tokens: row.Tokens, Finish: row.Finish}, "")
	}
	if outcome != dream.Interrupted {
		require.NoError(w, w.ledger.Forget(ctx, dreamID))
	}
	require.NoError(w, w.store.FreeSlot(ctx, agent, f))
}

// resolve lets the predictions whose horizon has passed be void, as the clock does.
func (w *world) resolve() {
	w.Helper()
	for len(w.open) > 0 && w.open[0].until.Before(w.now) {
		p := w.open[0]
		w.open = w.open[1:]
		found, err := memory.One[*dream.Prediction](w.Context(), w.store, p.agent, p.id)
		require.NoError(w, err)
		at := w.now.UTC()
		found.Status, found.ResolvedAt, found.ResolvedBy = dream.PredictionVoid, &at, dream.ByHorizon
		_, err = w.store.Commit(w.Context(), memory.Write{
			Agent: p.agent, Cause: "horizon", Change: []dream.Item{found},
		})
		require.NoError(w, err)
	}
}

// serverOf is a server for a world. In a short span it never rewrites its log: while Redis does that, the tables of its
// hashes do not follow what they hold, which is much beside what few turns leave.
func serverOf(t *testing.T, l span) *redis.Server {
	t.Helper()
	if l.days > 100 {
		return redis.Shared(t)
	}
	return redis.Start(t, redis.Config("auto-aof-rewrite-percentage", "0"))
}

// late is how many days after its time history has gone for sure: revisions are trimmed once a day, and naming the
// origins of what goes makes new ones.
const late = 2

// spans is the size of a store at the end of each time that history is kept, from the second one on.
func spans(t *testing.T, kind string, l span, spoil func(*world)) (sizes []footprint.Footprint) {
	t.Helper()
	w := newWorld(t, kind, l)
	if spoil != nil {
		spoil(w)
	}
	window := int(l.kept / day)
	from := 0
	for to := 2*window + late; to <= l.days; to += window {
		w.live(from, to, true)
		sizes = append(sizes, w.size())
		from = to
	}
	require.Greater(t, len(sizes), 1)
	return sizes
}

// checkGrowth checks that history stays as large as it was at the end of the second time that it is kept, and that each
// turn or night since leaves at most so many bytes: of a span with one of the two.
func checkGrowth(t *testing.T, kind, what string, l span, spoil func(*world), most int64) error {
	t.Helper()
	sizes := spans(t, kind, l, spoil)
	first := sizes[0]
	var faults []error
	for i, size := range sizes[1:] {
		n := (i + 1) * int(l.kept/day) * l.agents * max(l.nights, l.turns)
		parts := size.Growth(first, n)
		if i == len(sizes)-2 {
			t.Logf("%s: %s leaves %d bytes for ever, at most %d are promised; of these\n%s", kind, what, parts.Live, most,
				parts)
		}
		if parts.Live > most {
			faults = append(faults, fmt.Errorf("%s: %s leaves %d bytes for ever; at most %d are promised", kind, what,
				parts.Live, most))
		}
		faults = append(faults, flat(first, size))
	}
	return errors.Join(faults...)
}

// history is what goes by age: the tables of a file, with their indexes, and the classes of a server's keys. Everything
// else stays.
var history = []struct {
	name  string
	parts []string
}{
	{"calls", []string{"attempts", "answers", "m:row", "m:rows", "m:step", "m:asks", "m:awake"}},
	{"events", []string{"events", "a:events", "a:announced"}},
	{"revisions", []string{"revisions", "a:revisions"}},
	{"affects", []string{"affects", "a:affects"}},
	{"vectors", []string{"vectors", "a:vectors", "a:tides"}},
}

// pages is by how much a part may grow before it counts: a file's tables grow by pages.
const pages = 2 * 4096

// flat checks that no part of history is larger than it was, by more than a twentieth.
func flat(before, after footprint.Footprint) error {
	var faults []error
	for _, h := range history {
		was, is := sumOf(before, h.parts), sumOf(after, h.parts)
		if is > was+was/20+pages {
			faults = append(faults, fmt.Errorf("%s take %d bytes, and took %d before: what goes by age grows", h.name, is,
				was))
		}
	}
	return errors.Join(faults...)
}

// sumOf adds up some parts of a store, with the indexes of those that are tables.
func sumOf(f footprint.Footprint, parts []string) (sum int64) {
	for name, size := range f.Parts {
		table := strings.TrimPrefix(name, "sqlite_autoindex_")
		if slices.ContainsFunc(parts, func(p string) bool { return table == p || strings.HasPrefix(table, p+"_") }) {
			sum += size
		}
	}
	return sum
}

// neverSwept lets every pass find nothing that is old.
func neverSwept(w *world) { w.sweeps.Ages = retention.Ages{} }

func kinds(t *testing.T, do func(t *testing.T, kind string)) {
	t.Helper()
	for _, kind := range []string{"SQLite", "Redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			do(t, kind)
		})
	}
}

// growing is a span of one agent in which growth is measured, and a short one in which nothing is swept.
func growing(t *testing.T, kind string) (swept, not span) {
	t.Helper()
	swept = spanOf(t, kind)
	swept.agents, swept.days = 1, max(swept.days, 50)
	not = swept
	not.days = 26
	not.kept = 8 * day
	return swept, not
}

func TestATurnLeavesLittleForEver(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		swept, not := growing(t, kind)
		swept.nights, not.nights = 0, 0
		require.NoError(t, checkGrowth(t, kind, "a turn", swept, nil, mostOfATurn))
		err := checkGrowth(t, kind, "a turn that is not swept", not, neverSwept, mostOfATurn)
		for _, fault := range []string{"for ever", "calls take", "affects take"} {
			require.ErrorContains(t, err, fault)
		}
	})
}

func TestANightLeavesLittleForEver(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		swept, not := growing(t, kind)
		swept.turns, not.turns = 0, 0
		require.NoError(t, checkGrowth(t, kind, "a night", swept, nil, mostOfANight))
		err := checkGrowth(t, kind, "a night that is not swept", not, neverSwept, mostOfANight)
		for _, fault := range []string{"for ever", "calls take", "events take", "revisions take", "vectors take"} {
			require.ErrorContains(t, err, fault)
		}
	})
}
