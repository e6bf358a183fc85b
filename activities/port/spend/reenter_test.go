package spend_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

func (b biller) entered(ledger spend.Ledger) (int, budget.Micros) {
	b.t.Helper()
	b.Ledger = ledger
	entered, err := b.Reenter(b.t.Context())
	require.NoError(b.t, err)
	var sum budget.Micros
	for _, one := range entered {
		sum += one.Counts()
	}
	return len(entered), sum
}

func TestWhatALedgerHasLostIsEnteredOnceWhateverTheCapsSay(t *testing.T) {
	t.Parallel()
	b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	c := charge(budget.Unlimited, budget.Unlimited, 1_000)
	_, err := b.Generate(t.Context(), c, request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	want := b.rows()
	n, sum := b.entered(b.Ledger)
	require.Zero(t, n, "nothing was lost")
	require.Zero(t, sum)

	behind := open(t)
	_, err = behind.ledger.Reserve(t.Context(), spend.Ask{
		Step: "other", Agent: "echo", Accounts: c.Accounts,
		Amount: 1_000,
	})
	require.NoError(t, err, "the cap of the day is used up")
	n, sum = b.entered(behind.ledger)
	require.Equal(t, 1, n)
	require.Equal(t, budget.Micros(35), sum)
	n, _ = b.entered(behind.ledger)
	require.Zero(t, n, "entered already")
	rows := behind.rows()
	require.Len(t, rows, 2)
	got := rows[1]
	got.Accounts = want[0].Accounts // without limits
	require.Equal(t, want[0], got)
	require.Equal(t, budget.Micros(35), behind.balance("dream:1").Spent)
	require.Equal(t, budget.Micros(35), behind.balance("day:echo").Spent)
	_, kept, err := behind.ledger.Answer(t.Context(), step)
	require.NoError(t, err)
	require.False(t, kept, "an answer whose dream may be over is not stored again")
}

func TestAReservationOutlivesTheLossOfItsEnd(t *testing.T) {
	t.Parallel()
	b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	behind := open(t)
	_, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	one := b.Purchases()[0]
	_, err = behind.ledger.Reserve(t.Context(), one.Ask)
	require.NoError(t, err)
	n, _ := b.entered(behind.ledger)
	require.Zero(t, n)
	require.Equal(t, spend.Balance{Spent: 35}, behind.balance("day:echo"))
	require.Len(t, behind.rows(), 1)
}

func TestACallWhoseReservationIsLostMeanwhileIsEntered(t *testing.T) {
	t.Parallel()
	b, behind := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)}), open(t)
	b.model.hook = func() { b.Ledger = behind.ledger }
	_, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	require.Equal(t, spend.Balance{Spent: 35}, behind.balance("day:echo"))
	n, _ := b.entered(behind.ledger)
	require.Zero(t, n)
}

func TestPurchasesOfAnEarlierProcessAreEntered(t *testing.T) {
	t.Parallel()
	b, next := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)}), open(t)
	_, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	next.Remember(b.Purchases())
	n, sum := next.entered(next.ledger)
	require.Equal(t, 1, n)
	require.Equal(t, budget.Micros(35), sum)
}

func TestWhatTheLedgerHasFoldedIsNotEnteredAgain(t *testing.T) {
	t.Parallel()
	b, folded := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)}), open(t)
	_, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	one := b.Purchases()[0]
	now := one.Bill.At.Add(time.Hour)
	later := &spend.Guard{Ledger: folded.ledger, Now: func() time.Time { return now }, Keeps: time.Hour - 1}
	later.Remember([]spend.Purchase{one})
	entered, err := later.Reenter(t.Context())
	require.NoError(t, err)
	require.Empty(t, entered)
	later.Keeps = time.Hour
	entered, err = later.Reenter(t.Context())
	require.NoError(t, err)
	require.Len(t, entered, 1)
}

func TestAPhaseThatWasCompletedFromItsWorkflowIsNotEnteredAgain(t *testing.T) {
	t.Parallel()
	b, behind := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)}), open(t)
	_, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	one := b.Purchases()[0]
	one.Ask.Step, one.Bill.Finish = "dream/echo/0001/onset/lost", spend.Completed
	require.NoError(t, spend.Enter(t.Context(), behind.ledger, one))
	n, _ := b.entered(behind.ledger)
	require.Zero(t, n)
}

// diary is a journal in memory.
type diary map[string]spend.Purchase

func (d diary) Began(key string, a spend.Ask) { d[key] = spend.Purchase{Ask: a} }

func (d diary) Ended(key string, b spend.Bill) { d[key] = spend.Purchase{Ask: d[key].Ask, Bill: b} }

func TestAJournalIsToldOfEveryPurchaseWhileItIsMade(t *testing.T) {
	t.Parallel()
	answer := turn{answer: answerOf(15, 10, 10, inference.ByProvider)}
	b, kept := open(t, answer, answer), diary{}
	b.model.hook = func() { // the first call runs already
		b.KeepIn(kept)
		require.Len(t, kept, 1)
	}
	_, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	c := charge()
	c.Step = "second"
	b.model.hook = func() {
		require.Equal(t, "second", kept["second#1"].Ask.Step, "before it is sent")
		require.Empty(t, kept["second#1"].Bill)
	}
	_, err = b.Generate(t.Context(), c, request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	require.Len(t, kept, 2)
	for _, one := range b.Purchases() {
		require.Equal(t, one, kept[one.Ask.Step+"#1"])
		require.Nil(t, one.Bill.Answer)
		require.Equal(t, budget.Micros(35), one.Counts())
	}
}

// The reservation of a call whose end did not reach the ledger counts in full once its dream is over, and the record of
// the dream says so.
func TestWhatAClosedDreamCountsIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	behind := open(t)
	_, err := b.Generate(t.Context(), charge(), request("p/model"), func(string) bool { return true })
	require.NoError(t, err)
	one := b.Purchases()[0]
	_, err = behind.ledger.Reserve(t.Context(), one.Ask)
	require.NoError(t, err)
	_, counted, err := behind.ledger.Close(t.Context(), one.Ask.Dream, one.Bill.At)
	require.NoError(t, err)
	require.Greater(t, counted, one.Bill.Amount)
	n, _ := b.entered(behind.ledger)
	require.Zero(t, n)
	require.Equal(t, spend.Balance{Spent: counted}, behind.balance("day:echo"))
}

var errAway = errors.New("away")

// settlesLate is a ledger that lets so many settlements fail.
type settlesLate struct {
	spend.Ledger
	fails int
}

func (s *settlesLate) Settle(ctx context.Context, h spend.Hold, b spend.Bill) error {
	s.fails--
	if s.fails >= 0 {
		return errAway
	}
	return s.Ledger.Settle(ctx, h, b)
}

func (b biller) buy(c spend.Charge) (spend.PaidAnswer, error) {
	b.t.Helper()
	return b.Generate(b.t.Context(), c, request("p/model"), func(string) bool { return true })
}

// requireBoughtOnce requires one settled attempt at its exact price, and an answer.
func (b biller) requireBoughtOnce(want string) {
	b.t.Helper()
	rows := b.rows()
	require.Len(b.t, rows, 1)
	require.Equal(b.t, spend.Settled, rows[0].State)
	require.Equal(b.t, budget.Micros(35), rows[0].Counted)
	body, kept, err := b.ledger.Answer(b.t.Context(), step)
	require.NoError(b.t, err)
	require.True(b.t, kept)
	require.Contains(b.t, string(body), want)
}

func TestAStoreThatWasAwayIsSettledWithOnceItAnswers(t *testing.T) {
	t.Parallel()
	b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
	b.Ledger, b.Away = &settlesLate{b.ledger, 2}, func(err error) bool { return errors.Is(err, errAway) }
	paid, err := b.buy(charge())
	require.NoError(t, err)
	b.requireBoughtOnce(paid.Text)
}

func TestAnAnswerWhoseSettlementFailedIsNotBoughtAgain(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(b biller) (spend.PaidAnswer, error){
		"ByTheSameProcess": func(b biller) (spend.PaidAnswer, error) { return b.buy(charge()) },
		"ByAnotherProcess": func(b biller) (spend.PaidAnswer, error) {
			entered, err := b.Resettle(b.t.Context())
			require.NoError(b.t, err)
			require.Empty(b.t, entered, "the reservation is not lost")
			return biller{Guard: &spend.Guard{Ledger: b.ledger, Model: b.model, Catalog: catalog, Now: b.Now}, t: b.t}.
				buy(charge())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)})
			b.Ledger, b.t = &settlesLate{b.ledger, 1}, t
			first, err := b.buy(charge())
			require.ErrorIs(t, err, errAway)
			require.Equal(t, spend.Open, b.rows()[0].State)
			paid, err := again(b)
			require.NoError(t, err)
			require.True(t, paid.Reused)
			require.Equal(t, first.Text, paid.Text)
			b.requireBoughtOnce(first.Text)
			entered, err := b.Resettle(t.Context())
			require.NoError(t, err)
			require.Empty(t, entered, "settled already")
			b.requireBoughtOnce(first.Text)
		})
	}
}

// A server that lost the end of a call, and not its reservation, gets its answer again, unless its dream is over.
func TestAnAnswerWhoseEndWasLostIsStoredAgain(t *testing.T) {
	t.Parallel()
	for name, forgotten := range map[string]bool{"WhileItsDreamRuns": false, "AfterItsDream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, behind := open(t, turn{answer: answerOf(15, 10, 10, inference.ByProvider)}), open(t)
			paid, err := b.buy(charge())
			require.NoError(t, err)
			_, err = behind.ledger.Reserve(t.Context(), b.Purchases()[0].Ask)
			require.NoError(t, err)
			if forgotten {
				require.NoError(t, behind.ledger.Forget(t.Context(), b.Purchases()[0].Ask.Dream))
			}
			n, _ := b.entered(behind.ledger)
			require.Zero(t, n)
			if !forgotten {
				behind.requireBoughtOnce(paid.Text)
				return
			}
			_, kept, err := behind.ledger.Answer(t.Context(), step)
			require.NoError(t, err)
			require.False(t, kept)
		})
	}
}

// A server that lost all of a call is given it again by the process that made it, once that is asked for the step again
// and what it is for is still needed.
func TestAnAnswerThatWasLostIsNotBoughtAgainByItsProcess(t *testing.T) {
	t.Parallel()
	answer := turn{answer: answerOf(15, 10, 10, inference.ByProvider)}
	for name, entered := range map[string]bool{"BeforeItIsEntered": false, "OnceItWasEntered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, behind := open(t, answer), open(t)
			first, err := b.buy(charge())
			require.NoError(t, err)
			b.Ledger = behind.ledger
			paid, err := b.buy(charge(10))
			require.NoError(t, err, "it was bought, whatever the caps say")
			require.Equal(t, first.Text, paid.Text)
			behind.requireBoughtOnce(first.Text)
			if entered {
				n, _ := b.entered(behind.ledger)
				require.Zero(t, n)
				behind.requireBoughtOnce(first.Text)
			}
		})
	}
	outdated := errors.New("a memory was forgotten")
	b, behind := open(t, answer), open(t)
	_, err := b.buy(charge())
	require.NoError(t, err)
	b.Ledger = behind.ledger
	c := charge()
	c.StillNeeded = func(context.Context) error { return outdated }
	_, err = b.buy(c)
	require.ErrorIs(t, err, outdated)
	_, kept, err := behind.ledger.Answer(t.Context(), step)
	require.NoError(t, err)
	require.False(t, kept)
}

// The answers that a process remembers for the ledger are bounded by their size.
func TestOldAnswersAreNotRemembered(t *testing.T) {
	t.Parallel()
	long := answerOf(15, 10, 10, inference.ByProvider)
	long.Text = strings.Repeat("x", 3<<20)
	b, behind := open(t, turn{answer: long}), open(t)
	buy := func(name string) {
		c := charge()
		c.Step = name
		_, err := b.buy(c)
		require.NoError(t, err)
	}
	buy("one")
	buy("two")
	b.Ledger = behind.ledger
	buy("two")
	require.Len(t, b.model.requests, 2)
	buy("one")
	require.Len(t, b.model.requests, 3)
}
