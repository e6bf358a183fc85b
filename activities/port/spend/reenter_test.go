package spend_test

import (
	"testing"

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
