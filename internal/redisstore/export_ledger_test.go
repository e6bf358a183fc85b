package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

const day = "2026-03-01"

func purchase(step, dream string) spend.Ask {
	return spend.Ask{
		Step:   step,
		Agent:  "echo",
		Dream:  dream,
		Phase:  "talk",
		Model:  "m",
		Day:    day,
		Amount: 5,
		At:     noon,
		Accounts: []budget.Account{
			{Scope: "day", Limit: budget.Unlimited}, {Scope: "by " + dream, Limit: budget.Unlimited},
		},
	}
}

func paid(answer string) spend.Bill {
	return spend.Bill{State: spend.Settled, Amount: 1, At: noon, Answer: []byte(answer)}
}

// book makes writes to a ledger, each of which must succeed.
type book struct {
	t *testing.T
	redisstore.Ledger
}

func (b book) reserve(step, dream string) spend.Hold {
	b.t.Helper()
	h, err := b.Reserve(b.t.Context(), purchase(step, dream))
	require.NoError(b.t, err)
	return h
}

func (b book) buy(step, dream string) {
	b.t.Helper()
	require.NoError(b.t, b.Settle(b.t.Context(), b.reserve(step, dream), paid("words")))
}

func (b book) rows() []spend.Row {
	b.t.Helper()
	var all []spend.Row
	for after := int64(0); ; {
		rows, next, err := b.Attempts(b.t.Context(), after, 1000)
		require.NoError(b.t, err)
		all = append(all, rows...)
		if next == 0 {
			return all
		}
		after = next
	}
}

// end settles rows of a state.
func (b book) end(state spend.State, answer string, rows []spend.Row) {
	b.t.Helper()
	n := 0
	for _, r := range rows {
		if r.State == state {
			require.NoError(b.t, b.Settle(b.t.Context(), spend.Hold{Step: r.Step, Attempt: r.Attempt}, paid(answer)))
			n++
		}
	}
	require.Positive(b.t, n, state)
}

// fold folds every row that may be.
func (b book) fold(rows []spend.Row) {
	b.t.Helper()
	n := 0
	for some := range slices.Chunk(rows, 500) {
		folded, err := b.Fold(b.t.Context(), some)
		require.NoError(b.t, err)
		n += folded
	}
	require.Positive(b.t, n)
}

// filled returns a store with so many rows in every state.
func filled(t *testing.T, attempts int) (*redisstore.Store, book) {
	t.Helper()
	s := fresh(t)
	_, err := s.Import(t.Context(), memorytest.Fill(memorytest.Deployment(5, memorytest.Size{
		Agents:   2,
		Items:    3,
		Events:   2,
		Attempts: attempts,
		Dim:      2,
	})))
	require.NoError(t, err)
	b := book{t, s.Ledger()}
	b.reserve("open at the moment", "dream/x/1")
	refused := spend.Bill{State: spend.Refused, At: noon}
	require.NoError(t, b.Settle(t.Context(), b.reserve("asked once more", "dream/x/2"), refused))
	b.buy("asked and bought", "dream/x/2")
	return s, b
}

// written collects an export, during which do is called when the ledger begins to come.
func written(t *testing.T, s *redisstore.Store, do func()) (others []memory.Record, answers map[string]string) {
	t.Helper()
	answers = map[string]string{}
	done := false
	for r, err := range s.Export(t.Context()) {
		require.NoError(t, err)
		if r.Attempt != nil && !done {
			done = true
			do()
		}
		if r.Answer != nil {
			answers[r.Answer.Step] = string(r.Answer.Answer)
		} else {
			others = append(others, r)
		}
	}
	require.True(t, done)
	return others, answers
}

// What is written after the moment is not in an export, also where it replaces what has not been read yet.
func TestAnExportIsOfTheMomentBeforeTheLedgerComes(t *testing.T) {
	t.Parallel()
	grow := func(b book) {
		rows := b.rows()
		b.end(spend.Open, "late", rows[len(rows)/2:])
		b.end(spend.Lost, "much later", rows)
		b.buy("asked once more", "dream/x/2")
		b.buy("new", "dream/x/9")
		_, _, err := b.Close(b.t.Context(), "dream/x/1", noon)
		require.NoError(b.t, err)
		require.NoError(b.t, b.Allow(b.t.Context(), "echo", day, "dream/x/9", 5, budget.Unlimited))
		require.NoError(b.t, b.GiveBack(b.t.Context(), "dream/x/3"))
		require.NoError(b.t, b.Allow(b.t.Context(), "echo", day, "dream/x/3", 6, budget.Unlimited))
	}
	shrink := func(b book) {
		require.NoError(b.t, b.Forget(b.t.Context(), "dream/x/0"))
		b.fold(b.rows())
		require.NoError(b.t, b.GiveBack(b.t.Context(), "dream/x/4"))
	}
	for name, do := range map[string]func(book){
		"it grows":             grow,
		"it shrinks":           shrink,
		"it grows and shrinks": func(b book) { grow(b); shrink(b) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := filled(t, 2500)
			before, answered := written(t, s, func() {})
			during, still := written(t, s, func() { do(b) })
			require.Equal(t, before, during)
			if name == "it grows" {
				require.Equal(t, answered, still)
			}
			for step, answer := range still {
				require.Equal(t, answered[step], answer, step)
			}
			after, _ := written(t, s, func() {})
			require.NotEqual(t, before, after)
		})
	}
}

// A row that stays while all others are folded, and is folded itself while it is exported.
func TestAnExportHasARowThatIsFoldedAtLast(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	b := book{t, s.Ledger()}
	stays := b.reserve("stays", "dream/x/1")
	for i := range 1500 {
		b.buy(fmt.Sprint("goes ", i), "")
	}
	b.fold(b.rows())
	require.NoError(t, b.Settle(t.Context(), stays, paid("")))
	b.buy("last", "")
	before, _ := written(t, s, func() {})
	hook := &beforeCommand{is: func(c goredis.Cmder) bool {
		return c.Name() == "zrange" && strings.HasSuffix(fmt.Sprint(c.Args()[1]), "m:unfolded")
	}}
	hook.do = func(int) { b.fold(b.rows()) }
	redisstore.Hook(s, hook)
	during, _ := written(t, s, func() {})
	require.Equal(t, 1, hook.n)
	require.Equal(t, before, during)
}

// beforeCommand calls do with 1, 2, … before a store sends such commands.
type beforeCommand struct {
	is func(goredis.Cmder) bool
	do func(int)
	n  int
}

func (b *beforeCommand) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (b *beforeCommand) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if b.is(cmd) {
			b.n++
			b.do(b.n)
		}
		return next(ctx, cmd)
	}
}

func (b *beforeCommand) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func isMoment(cmd goredis.Cmder) bool {
	return cmd.Name() == "evalsha" && cmd.Args()[1] == redisstore.MomentHash()
}

// What is written while the accounts are read is in an export, with the accounts that it changed.
func TestAnExportReadsTheAccountsThatChangeBeforeItsMoment(t *testing.T) {
	t.Parallel()
	few := func(name string) func(book) {
		return func(b book) {
			b.buy(name+"/1", name)
			b.reserve(name+"/2", name)
			b.buy("awake/"+name, "")
		}
	}
	for name, do := range map[string]func(book){
		"reserved and settled": few("fresh"),
		"more than one look reads": func(b book) {
			for i := range 300 {
				b.buy(fmt.Sprint("many/", i), fmt.Sprint("dream/", i%7))
			}
		},
		"open ones end": func(b book) { b.end(spend.Open, "late", b.rows()) },
		"lost ones end": func(b book) { b.end(spend.Lost, "later", b.rows()) },
		"lost ones end and are folded": func(b book) {
			b.end(spend.Lost, "later", b.rows())
			b.fold(b.rows())
		},
		"new ones are folded": func(b book) {
			few("folded")(b)
			b.fold(b.rows())
		},
		"a dream is closed": func(b book) {
			_, _, err := b.Close(b.t.Context(), "dream/x/1", noon)
			require.NoError(b.t, err)
		},
		"allowances": func(b book) {
			require.NoError(b.t, b.Allow(b.t.Context(), "echo", day, "dream/x/9", 5, budget.Unlimited))
			require.NoError(b.t, b.GiveBack(b.t.Context(), "dream/x/4"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, prefix := redis.Shared(t), redis.Prefix(t)
			_, err := open(t, server.URL, prefix).Import(t.Context(), memorytest.Fill(memorytest.Deployment(6,
				memorytest.Size{
					Agents:   2,
					Attempts: 60,
					Dim:      2,
				})))
			require.NoError(t, err)
			s, b := open(t, server.URL, prefix), book{t, open(t, server.URL, prefix).Ledger()}
			b.reserve("open", "dream/x/1")
			looks := &beforeCommand{is: isMoment, do: func(n int) {
				switch n {
				case 2:
					do(b)
				case 3:
					few("third")(b)
				}
			}}
			redisstore.Hook(s, looks)
			during := tallied(t, s.Export(t.Context()))
			require.GreaterOrEqual(t, looks.n, 2)
			require.Equal(t, name == "more than one look reads", looks.n > 2)
			require.Equal(t, tallied(t, open(t, server.URL, prefix).Export(t.Context())), during)
		})
	}
}

// An export that cannot tell what changed fails rather than being of several moments.
func TestAnExportIsTornByChangesThatItCannotTell(t *testing.T) {
	t.Parallel()
	server := redis.Shared(t)
	client := server.Dial(t)
	for name, do := range map[string]func(book, string) error{
		"a program that keeps nothing": func(b book, prefix string) error {
			return client.Incr(b.t.Context(), prefix+"m:changes").Err()
		},
		"what was replaced is gone": func(b book, prefix string) error {
			b.fold(b.rows())
			return client.Del(b.t.Context(), prefix+"m:change:1").Err()
		},
		"an import": func(b book, prefix string) error {
			return client.Set(b.t.Context(), prefix+"schema", "importing x", 0).Err()
		},
		"an older program folds": func(b book, prefix string) error {
			return client.HSet(b.t.Context(), prefix+"m:sums", "echo:"+day+":", "").Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := redis.Prefix(t)
			s := open(t, server.URL, prefix)
			b := book{t, s.Ledger()}
			for i := range 3 {
				b.buy(fmt.Sprint(i), "")
			}
			require.NoError(t, client.Set(t.Context(), prefix+"raised", 1, 0).Err())
			var failed error
			done := false
			for r, err := range s.Export(t.Context()) {
				if r.Attempt != nil && !done {
					done = true
					require.NoError(t, do(b, prefix))
				}
				failed = err
			}
			require.ErrorIs(t, failed, memory.ErrTorn)
		})
	}
}

// busy writes to a ledger without a pause until its context ends: every kind of write that there is.
type busy struct {
	t      *testing.T
	server *redis.Server
	prefix string
	done   sync.WaitGroup
	counts [5]atomic.Int64
}

// What busy counts.
const (
	countCalls = iota
	countDreams
	countLate
	countFolded
	countForgotten
)

func (w *busy) run(ctx context.Context, do func(context.Context, redisstore.Ledger, int) error) {
	l := open(w.t, w.server.URL, w.prefix).Ledger()
	w.done.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if err := do(ctx, l, n); err != nil && ctx.Err() == nil {
				w.t.Error(err)
				return
			}
		}
	})
}

// talk buys without pause. Each call begins when the one before has ended.
func (w *busy) talk(who string) func(context.Context, redisstore.Ledger, int) error {
	return func(ctx context.Context, l redisstore.Ledger, n int) error {
		h, err := l.Reserve(ctx, purchase(fmt.Sprintf("talk/%s/%d", who, n), ""))
		if err == nil {
			err = l.Settle(ctx, h, paid("answer"))
		}
		w.counts[countCalls].Add(1)
		return err
	}
}

// dream buys three steps, loses one of them, closes, learns what the lost one cost, forgets and gives back.
func (w *busy) dream(ctx context.Context, l redisstore.Ledger, n int) error {
	id := fmt.Sprint("dream/busy/", n)
	err := l.Allow(ctx, "echo", day, id, 7, budget.Unlimited)
	var holds []spend.Hold
	for _, step := range []string{"first", "lost", "answered"} {
		h, reserved := l.Reserve(ctx, purchase(id+"/"+step, id))
		holds, err = append(holds, h), errors.Join(err, reserved)
	}
	err = errors.Join(err, l.Settle(ctx, holds[0], spend.Bill{State: spend.Refused, At: noon}),
		l.Settle(ctx, holds[2], paid("answer")))
	_, _, closed := l.Close(ctx, id, noon)
	err = errors.Join(err, closed, l.Settle(ctx, holds[1], paid("late answer")))
	w.counts[countLate].Add(1)
	_, reserved := l.Reserve(ctx, purchase(id+"/last", id))
	err = errors.Join(err, reserved, l.Forget(ctx, id), l.GiveBack(ctx, id))
	w.counts[countForgotten].Add(1)
	_, reserved = l.Reserve(ctx, purchase(id+"/given back", id))
	_, _, closed = l.Close(ctx, id, noon)
	w.counts[countDreams].Add(1)
	return errors.Join(err, reserved, closed)
}

// sweep folds the rows that dreams left.
func (w *busy) sweep(ctx context.Context, l redisstore.Ledger, _ int) error {
	for after := int64(0); ; {
		rows, next, err := l.Attempts(ctx, after, 400)
		rows = slices.DeleteFunc(rows, func(r spend.Row) bool { return strings.HasPrefix(r.Step, "talk/") })
		n := 0
		if err == nil {
			n, err = l.Fold(ctx, rows)
		}
		w.counts[countFolded].Add(int64(n))
		if err != nil || next == 0 {
			return err
		}
		after = next
	}
}

// Exports of a ledger that is written to without a pause come to their end, and each is of one moment.
func TestExportsEndWhileOthersWriteWithoutAPause(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s := open(t, server.URL, "oneiros:")
	_, err := s.Import(t.Context(), memorytest.Fill(memorytest.Deployment(8, memorytest.Size{
		Agents:   2,
		Attempts: 1500,
		Dim:      2,
	})))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	w := &busy{t: t, server: server, prefix: "oneiros:"}
	w.run(ctx, w.talk("ann"))
	w.run(ctx, w.talk("bob"))
	w.run(ctx, w.dream)
	w.run(ctx, w.sweep)
	for n := range 5 {
		var kept bytes.Buffer
		tally, err := archive.Write(&kept, s.Export(t.Context()))
		require.NoError(t, err)
		ofOneMoment(t, archive.Read(bytes.NewReader(kept.Bytes())))
		if n != 2 {
			continue
		}
		file, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "oneiros.db"))
		require.NoError(t, err)
		imports(t, file, kept.Bytes(), tally)
		require.NoError(t, file.Close())
		imports(t, open(t, server.URL, fmt.Sprintf("copy%d:", n)), kept.Bytes(), tally)
	}
	stop()
	w.done.Wait()
	for what := range w.counts {
		require.Positive(t, w.counts[what].Load(), what)
	}
	t.Logf("written meanwhile: %d calls, %d dreams, %d rows folded", w.counts[countCalls].Load(),
		w.counts[countDreams].Load(), w.counts[countFolded].Load())
}

// ofOneMoment checks what writers never leave otherwise.
func ofOneMoment(t *testing.T, records memory.Records) {
	t.Helper()
	newest, allowed := map[string]memory.KeptAttempt{}, map[string]bool{}
	settled, last, givenBack := map[string]bool{}, map[string]bool{}, map[string]bool{}
	answers, folded := map[string]bool{}, map[string]bool{}
	for r, err := range records {
		require.NoError(t, err)
		switch {
		case r.Sum != nil:
			folded[r.Sum.Dream] = true
		case r.Attempt != nil:
			who, call, _ := strings.Cut(strings.TrimPrefix(r.Attempt.Step, "talk/"), "/")
			if strings.HasPrefix(r.Attempt.Step, "talk/") {
				require.NotEqual(t, "open", newest[who].State, "%s calls before the call before has ended", who)
				newest[who] = *r.Attempt
				settled[r.Attempt.Step] = r.Attempt.State == string(spend.Settled)
			} else if r.Attempt.Dream != "" {
				last[r.Attempt.Dream] = last[r.Attempt.Dream] || strings.HasSuffix(call, "/last")
				givenBack[r.Attempt.Dream] = givenBack[r.Attempt.Dream] || strings.HasSuffix(call, "/given back")
			}
		case r.Answer != nil:
			answers[r.Answer.Step] = true
		case r.Allowance != nil:
			allowed[r.Allowance.Dream] = true
		}
	}
	for step, ended := range settled {
		require.Equal(t, ended, answers[step], "the answer of %s", step)
	}
	for id := range last {
		if strings.HasPrefix(id, "dream/busy/") {
			over := last[id] || givenBack[id] || folded[id] // the row that would tell may be in a sum
			require.True(t, over || allowed[id], "%s has an allowance", id)
			require.False(t, givenBack[id] && allowed[id], "%s has given back its allowance", id)
		}
	}
}

// imports fills a store with an archive and verifies it.
func imports(t *testing.T, s interface {
	memory.Movable
	memory.Verifier
	spend.DayTotals
}, kept []byte, tally memory.Tally,
) {
	t.Helper()
	given, err := s.Import(t.Context(), archive.Read(bytes.NewReader(kept)))
	require.NoError(t, err)
	require.Equal(t, tally, given)
	_, err = s.DayTotals(t.Context(), "", "")
	require.NoError(t, err)
	found, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Faults)
	require.Equal(t, tally, tallied(t, s.Export(t.Context())))
}
