package admission_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/internal/admission"
)

var update = flag.Bool("update", false, "rewrite the golden file")

var (
	senders    = []admission.Sender{admission.Person, admission.Stranger, admission.Agent}
	addresses  = []admission.Address{admission.Overheard, admission.InThread, admission.Mention, admission.Direct}
	activities = []admission.Activity{admission.Awake, admission.Asleep, admission.Dreaming}
)

// limitsOf are the limits that a sender can reach.
func limitsOf(s admission.Sender) []admission.Limit {
	if s != admission.Agent {
		return []admission.Limit{admission.Within, admission.Often}
	}
	return []admission.Limit{
		admission.Within, admission.Hops, admission.Pair, admission.Mentions, admission.Room,
		admission.Called, admission.Alone,
	}
}

// every is the product of all values that occur together.
func every() []admission.Case {
	var cases []admission.Case
	for _, level := range dormancy.Levels {
		for _, sender := range senders {
			for _, address := range addresses {
				for _, subscribed := range []bool{true, false} {
					for _, limit := range limitsOf(sender) {
						for _, activity := range activities {
							cases = append(cases, admission.Case{
								Level:      level,
								Sender:     sender,
								Address:    address,
								Activity:   activity,
								Subscribed: subscribed,
								Limit:      limit,
							})
						}
					}
				}
			}
		}
	}
	return cases
}

// show is a decision in one cell.
func show(d admission.Decision) string {
	out := string(d.Action)
	if d.Reason != "" {
		out += " (" + string(d.Reason) + ")"
	}
	for _, extra := range []struct {
		set  bool
		word string
	}{{d.EndSleep, "end sleep"}, {d.Interrupt, "interrupt"}, {d.Tell, "tell"}} {
		if extra.set {
			out += " + " + extra.word
		}
	}
	return out
}

// row is what an agent does that is awake, asleep or dreaming, and the cases for which it holds.
type row struct {
	cells string
	holds []string
}

// table writes the decisions, with the cases of a level, a sender and an address in one line where they are the same.
func table() string {
	var out strings.Builder
	out.WriteString("What becomes of each message, for an agent that is awake | asleep | dreaming.\n")
	cases := every()
	var rows []row
	for at := 0; at < len(cases); at += len(activities) {
		c := cases[at]
		first := at == 0
		var before admission.Case
		if !first {
			before = cases[at-1]
		}
		if first || before.Level != c.Level || before.Sender != c.Sender || before.Address != c.Address {
			out.WriteString(lines(rows))
			rows = nil
			fmt.Fprintf(&out, "\n%s, %s, sender %s\n", c.Level, c.Address, c.Sender)
		}
		var cells []string
		for _, same := range cases[at : at+len(activities)] {
			cell := show(admission.Decide(same))
			if c.Limit != admission.Within {
				cell = strings.ReplaceAll(cell, "limit "+string(c.Limit), "its limit")
			}
			cells = append(cells, fmt.Sprintf("%-32s", cell))
		}
		rows = added(rows, strings.Join(cells, " | "), label(c))
	}
	return out.String() + lines(rows)
}

func label(c admission.Case) string {
	room, limit := "subscribed", string(c.Limit)
	if !c.Subscribed {
		room = "unsubscribed"
	}
	if limit == "" {
		limit = "free"
	}
	return room + ":" + limit
}

func added(rows []row, cells, holds string) []row {
	for i := range rows {
		if rows[i].cells == cells {
			rows[i].holds = append(rows[i].holds, holds)
			return rows
		}
	}
	return append(rows, row{cells, []string{holds}})
}

func lines(rows []row) string {
	var out strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&out, "  %s\n    %s\n", strings.TrimRight(r.cells, " "), strings.Join(r.holds, " "))
	}
	return out.String()
}

func TestTheWholeTableIsTheGoldenFile(t *testing.T) {
	t.Parallel()
	got := table()
	if *update {
		require.NoError(t, os.WriteFile("testdata/table.golden", []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/table.golden")
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	require.Len(t, every(), 4*4*2*3*(2+2+7))
}

func TestEveryDecisionKeepsThePromises(t *testing.T) {
	t.Parallel()
	for _, c := range every() {
		d := admission.Decide(c)
		name := fmt.Sprintf("%+v: %s", c, show(d))
		calls := c.Address == admission.Mention || c.Address == admission.Direct
		asleep := c.Level == dormancy.Sleep

		require.Equal(t, d.Action == admission.Answer, d.Reason == "", name+": what is not answered has a reason")
		if c.Sender == admission.Person && calls {
			require.NotEqual(t, admission.Skip, d.Action, name+": a person's call is heard")
			require.Equal(t, asleep, d.EndSleep, name+": it ends sleep")
			require.Equal(t, c.Activity == admission.Dreaming, d.Interrupt, name+": it interrupts a dream")
		}
		if c.Sender == admission.Person && calls && c.Limit == admission.Within {
			require.Equal(t, admission.Answer, d.Action, name+": a person's call is answered at once")
		}
		hears := c.Level == dormancy.Active || c.Level == dormancy.HumanOnly
		if c.Sender == admission.Person && c.Subscribed && hears {
			require.NotEqual(t, admission.Skip, d.Action, name+": a person is answered where the level says so")
		}
		if asleep && !d.EndSleep {
			require.NotEqual(t, admission.Answer, d.Action, name+": sleep processes nothing")
		}
		if d.EndSleep || d.Interrupt {
			require.NotEqual(t, admission.Agent, c.Sender, name+": agents neither end sleep nor interrupt")
			require.True(t, calls, name)
		}
		if c.Sender == admission.Agent && calls && c.Limit == admission.Within {
			require.NotEqual(t, admission.Skip, d.Action, name+": an agent's call is answered or queued")
			require.Equal(t, asleep && d.Action == admission.Queue, d.Tell, name+": the room hears of the sleeper")
		}
		if c.Sender != admission.Person && c.Limit != admission.Within {
			require.NotEqual(t, admission.Answer, d.Action, name+": a limit holds")
			require.False(t, d.EndSleep || d.Interrupt, name)
		}
		if c.Activity == admission.Dreaming && d.Action == admission.Answer {
			require.True(t, d.Interrupt, name+": a dreaming agent answers nothing")
		}
		if c.Level == dormancy.MentionOnly && !calls {
			require.Equal(t, admission.Skip, d.Action, name)
		}
	}
}

// A level never answers what a more reachable one leaves out.
func TestAHigherLevelAnswersNoLess(t *testing.T) {
	t.Parallel()
	for _, c := range every() {
		if c.Level != dormancy.MentionOnly && c.Level != dormancy.HumanOnly {
			continue
		}
		if admission.Decide(c).Action == admission.Answer {
			c.Level = dormancy.Active
			require.Equal(t, admission.Answer, admission.Decide(c).Action, c)
		}
	}
}

func TestAccountsCountByKindAndTrust(t *testing.T) {
	t.Parallel()
	require.Equal(t, admission.Person, admission.SenderOf(dormancy.Person, dormancy.Own))
	require.Equal(t, admission.Stranger, admission.SenderOf(dormancy.Person, dormancy.Stranger))
	require.Equal(t, admission.Agent, admission.SenderOf(dormancy.Agent, dormancy.Own))
	require.Equal(t, admission.Agent, admission.SenderOf(dormancy.Agent, dormancy.Stranger))
	require.Equal(t, admission.Agent, admission.SenderOf("", dormancy.Own), "what is not a person is not one")
	require.Equal(t, admission.Stranger, admission.SenderOf(dormancy.Person, ""), "trust is given, never assumed")
	require.False(t, slices.Contains(senders, ""))
}
