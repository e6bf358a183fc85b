package dreamhttp_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// plant fills a dream with secrets, each in a place that role client must not see, and with what it may.
func (r *rig) plant() (secrets []string, lines []string) {
	r.t.Helper()
	secret := func(where string) string {
		word := "SECRET-" + where + "-0x5eed"
		secrets = append(secrets, word)
		return word
	}
	may := func(word string) string { lines = append(lines, word); return word }
	const one = "dream/iris/0001"
	record := r.lay("iris", 1, func(n *dream.Record) {
		over(dream.Completed)(n)
		n.Theme, n.Reason, n.Models = secret("theme"), secret("reason"), []string{"generator=" + secret("model")}
		n.Phases, n.Insights = []dream.Tally{{Phase: dream.Onset, Reason: secret("tally")}}, []string{"j1", "j6"}
	})
	flag := []dream.Flag{{By: "policy/x", Reason: "barred", Bars: true}}
	j := func(id, content string, significance float64, edit func(*dream.Journal)) *dream.Journal {
		e := &dream.Journal{Head: head(id, dream.KindJournal, one), Content: content, Significance: significance}
		if edit != nil {
			edit(e)
		}
		return e
	}
	h := func(id string, state dream.State) dream.Head {
		head := head(id, dream.KindHypothesis, one)
		head.State = state
		return head
	}
	r.keep("id-iris",
		&dream.Fragment{
			Head: head("f", dream.KindFragment, one), Content: secret("fragment"),
			Reason: secret("verdict"),
		},
		&dream.Scenario{
			Head: head("s", dream.KindScenario, one), Content: secret("scenario"),
			Premise: secret("premise"), JudgeReason: secret("judge"),
		},
		&dream.Prediction{
			Head:    head("p", dream.KindPrediction, one),
			Claim:   secret("claim"),
			Trace:   secret("trace"),
			Horizon: dawn.Add(time.Hour),
			Status:  dream.PredictionOpen,
		},
		&dream.Hypothesis{Head: h("h1", dream.Live), Claim: secret("staged"), Status: dream.HypothesisStaged},
		&dream.Hypothesis{Head: h("h2", dream.Archived), Claim: secret("undone"), Status: dream.HypothesisPromoted},
		&dream.Hypothesis{
			Head:       h("h3", dream.Live),
			Claim:      may("the harbour master answers on Tuesdays"),
			FirstStep:  secret("step"),
			Status:     dream.HypothesisPromoted,
			Confidence: .9,
		},
		&dream.Gist{Head: head("g", dream.KindGist, one), Content: secret("gist")},
		j("j1", secret("slight"), journal.Threshold-.01, nil),
		j("j2", secret("partial"), .9, func(e *dream.Journal) { e.Interrupted = true }),
		j("j3", secret("barred"), .9, func(e *dream.Journal) { e.Flags = flag }),
		j("j4", secret("archived"), .9, func(e *dream.Journal) { e.State = dream.Archived }),
		j("j5", secret("proposed"), .9, func(e *dream.Journal) { e.State = dream.Proposed }),
		j("j6", may("tides and answers may be one"), .9, nil),
	)
	for n, payload := range []event.Payload{
		event.DreamStarted{Tier: dream.Core},
		event.OnsetSkipped{Reason: secret("skipped")},
		event.FragmentDiscarded{Fragment: "f", Reason: secret("discarded")},
		event.DaliInterrupt{TooDeep: secret("deep")},
		event.OnsetCompleted{Reason: secret("onset")},
		event.AlarmAbort{Trigger: secret("trigger")},
		event.AlarmRaised{Feed: secret("feed"), Rule: secret("rule")},
		event.HookTimedOut{Hook: secret("hook")},
		event.Spent{Tally: record.Phases[0]},
		event.DreamAborted{Reason: secret("aborted")},
		event.FragmentFlagged{Fragment: "f", By: secret("by")},
		event.PredictionResolved{By: secret("person")},
		event.DreamInterrupted{Cause: "connect", Journal: "j2"},
		event.AgentAwake{Epoch: 1, Cause: "connect"},
		event.DreamEnded{Outcome: dream.Completed, Reason: secret("ended")},
	} {
		r.announce(event.New(fmt.Sprintf("p%d", n), "id-iris", one, dawn, payload))
	}
	return secrets, lines
}

// everything is all that a key can read of the API.
func (r *rig) everything(who string) []byte {
	r.t.Helper()
	var all bytes.Buffer
	for _, method := range []string{"GET", "POST"} {
		for _, path := range []string{
			"/v1/dreams", "/v1/dreams?include_archived=true", "/v1/dreams?agent=iris&status=completed",
			"/v1/dreams/dream_iris_0001", "/v1/dreams/dream%2Firis%2F0001",
			"/v1/dreams/dream_iris_0001/insights", "/v1/dreams/dream_iris_0001/fragments",
			"/v1/dreams/dream_iris_0001/scenarios", "/v1/dreams/dream_iris_0001/hypotheses",
			"/v1/dreams/dream_iris_0001/predictions", "/v1/dreams/dream_iris_0001/journal", "/v1/agents/iris/journal",
			"/v1/agents/iris/playbook", "/v1/agents/iris/predictions", "/v1/agents/iris/claims",
			"/v1/agents/iris/hypotheses",
			"/v1/agents/iris/predictions/check",
			"/v1/agents/iris/morning?since=2020-01-01T00:00:00Z",
			"/v1/dreams/dream_iris_0001/cancel", "/v1/dreams/dream_iris_0001/resume",
			"/v1/dreams/dream_iris_0001/archive", "/v1/dreams/dream_iris_0001/redream",
			"/v1/events?dream=dream_iris_0001", "/v1/events?dream=dream_iris_0001&after=0&text=true",
			"/v1/events?dream=dream_iris_0001&type=FragmentDiscarded,DreamAborted,Spent", "/v1/dreams/j1",
			"/v1/dreams?after=j1", "/v1/openapi.json",
		} {
			a := r.do(who, method, path, "")
			fmt.Fprintf(&all, "%s %s %d %v %s\n", method, path, a.status, a.header, a.body)
		}
	}
	return all.Bytes()
}

func TestRoleClientReachesNothingThatWasThoughtOrWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secrets, lines := r.plant()
	all := r.everything(client)
	for _, s := range secrets {
		require.NotContains(t, string(all), s)
	}
	for _, may := range lines {
		require.Contains(t, string(all), may)
	}
	require.Contains(t, string(all), journal.Label)
	for _, s := range append(secrets, lines...) {
		require.NotContains(t, string(r.everything(stranger)), s)
	}
	r.handler.Dreams.Private = true
	all = r.everything(client)
	for _, may := range lines {
		require.NotContains(t, string(all), may, "a private deployment tells nothing of dreams")
	}
	seen := string(r.everything(operator)) // the test finds what it looks for
	for _, s := range secrets {
		switch s {
		case "SECRET-gist-0x5eed": // has no route of its own
		default:
			require.Contains(t, seen, s)
		}
	}
}

func TestTheHeaderOfADigestHoldsNoWord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, lines := r.plant()
	r.handler.Dreams.Digest = journal.DigestHeader
	page := as[psyche.Page[psyche.Insight]](t, r.get(client, "/v1/dreams/dream_iris_0001/insights"), 200)
	require.Len(t, page.Data, len(lines))
	for _, i := range page.Data {
		require.Empty(t, i.Content)
		require.Empty(t, i.Topics)
	}
	require.True(t, page.Data[0].Promoted)
	require.Equal(t, journal.Label, page.Data[1].Label)
	r.handler.Dreams.Digest = journal.DigestOff
	require.Empty(t, as[psyche.Page[psyche.Insight]](t, r.get(client, "/v1/dreams/dream_iris_0001/insights"), 200).Data)
	require.Zero(t, as[psyche.Dream](t, r.get(client, "/v1/dreams/dream_iris_0001"), 200).Insights,
		"not even how many there are")
	require.Equal(t, 2, as[psyche.Dream](t, r.get(operator, "/v1/dreams/dream_iris_0001"), 200).Insights)
	require.Len(t,
		as[psyche.Page[psyche.Insight]](t, r.get(operator, "/v1/dreams/dream_iris_0001/insights"), 200).Data,
		len(lines))
}
