package week_test

import (
	"testing"

	"github.com/seed-56a03226/oneiros/testsuite/week"
)

// logObserved logs what happened to an agent, by its wall clock, when something of it is wrong.
func logObserved(t *testing.T, a *week.Sleeper, l *week.Observed, nights []week.ObservedDream) {
	t.Helper()
	t.Logf("%s, %s in %s, %s to %s; its clock changes by %s at %s",
		a.Agent.Handle, a.Hours.Name, a.Zone, a.Start, l.End.In(a.Zone), a.TurnBy, a.Turn.In(a.Zone))
	for _, v := range a.Visits {
		t.Logf("%s %s is to come for %s, and to leave after %s", v.At.In(a.Zone), v.Who, v.For, v.Stays)
	}
	for _, h := range l.Held {
		t.Logf("held by %s from %s to %s", h.Who, h.From.In(a.Zone), h.To.In(a.Zone))
	}
	for _, n := range nights {
		t.Logf("%s from %s to %s, %d stretches: %s %s", n.ID, n.Begin().In(a.Zone), n.End().In(a.Zone),
			len(n.Stretches), n.Outcome, n.Reason)
	}
	t.Logf("its state is %+v", l.AgentState)
}
