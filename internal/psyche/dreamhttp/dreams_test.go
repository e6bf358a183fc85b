package dreamhttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

func TestEachRouteAnswersTheRolesThatItIsFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.lay("iris", 1, over(dream.Completed))
	r.lay("iris", 2, func(n *dream.Record) { n.Outcome, n.Until = dream.Interrupted, r.now().Add(time.Hour) })
	r.keep("id-iris",
		&dream.Journal{
			Head: head("j", dream.KindJournal, "dream/iris/0001"), Content: "x",
			Wake: &dream.WakeTimes{Stop: time.Millisecond},
		})
	for _, c := range []struct {
		method, path, body string
		client             bool // role client may use it
		status             int
	}{
		{"POST", "/v1/dreams", `{"agent":"iris"}`, false, 201},
		{"GET", "/v1/dreams", "", true, 200},
		{"GET", "/v1/dreams?agent=iris&status=completed&limit=1", "", true, 200},
		{"GET", "/v1/dreams/dream_iris_0001", "", true, 200},
		{"GET", "/v1/dreams/dream%2Firis%2F0001", "", true, 200},
		{"POST", "/v1/dreams/dream_iris_0002/cancel", "", false, 200},
		{"POST", "/v1/dreams/dream_iris_0002/resume", "{}", false, 200},
		{"POST", "/v1/dreams/dream_iris_0001/archive", "", false, 200},
		{"POST", "/v1/dreams/dream%2Firis%2F0001/redream", `{"from":"rem"}`, false, 201},
		{"GET", "/v1/dreams/dream_iris_0001/insights", "", true, 200},
		{"GET", "/v1/dreams/dream_iris_0001/fragments", "", false, 200},
		{"GET", "/v1/dreams/dream_iris_0001/scenarios?limit=3", "", false, 200},
		{"GET", "/v1/dreams/dream_iris_0001/hypotheses", "", false, 200},
		{"GET", "/v1/dreams/dream_iris_0001/predictions", "", false, 200},
		{"GET", "/v1/dreams/dream_iris_0001/journal", "", false, 200},
		{"GET", "/v1/agents/iris/journal", "", false, 200},
		{"GET", "/v1/agents/iris/playbook", "", false, 200},
		{"GET", "/v1/agents/iris/predictions?status=open", "", false, 200},
		{"GET", "/v1/agents/iris/claims?status=passed", "", false, 200},
		{"GET", "/v1/agents/iris/hypotheses", "", false, 200},
		{"GET", "/v1/agents/iris/hypotheses?status=lapsed&limit=3", "", false, 200},
		{"POST", "/v1/agents/iris/predictions/check", "", false, 200},
		{"GET", "/v1/agents/iris/morning", "", false, 200},
		{"GET", "/v1/agents/iris/morning?since=2026-10-01T00:00:00Z", "", false, 200},
		{"GET", "/v1/events?dream=dream_iris_0001", "", true, 204},
		{"GET", "/v1/openapi.json", "", true, 200},
	} {
		name := c.method + " " + c.path
		refused(t, r.do(nobody, c.method, c.path, c.body), 401, "invalid_api_key", "", "")
		for _, who := range []string{operator, owner} {
			require.Equal(t, c.status, r.do(who, c.method, c.path, c.body).status, "%s as %s", name, who)
		}
		a := r.do(client, c.method, c.path, c.body)
		if c.client {
			require.Equal(t, c.status, a.status, name)
		} else {
			refused(t, a, 403, "role_too_low", "", "operator")
		}
		if strings.Contains(c.path, "iris") && c.client {
			a = r.do(stranger, c.method, c.path, c.body)
			require.Equal(t, 404, a.status, "%s is out of the stranger's reach, and looks like nothing: %s", name,
				a.body)
			require.NotContains(t, string(a.body), "role")
		}
	}
}

func TestADreamHasThePublicShapeAndOperatorsSeeItsRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	began := r.lay("iris", 1, func(n *dream.Record) {
		over(dream.Exhausted)(n)
		n.Reason = "the cap of the day"
		n.Theme = "the harbour"
		n.Seed = 1 << 63
		n.Insights = []string{"a", "b"}
		n.Spent = 1234
		n.Phases = []dream.Tally{
			{
				Phase:  dream.Onset,
				State:  "ran",
				Calls:  3,
				Spent:  1000,
				In:     10,
				Out:    20,
				Made:   5,
				Kept:   2,
				Failed: 1,
			},
			{
				Phase:  dream.Return,
				State:  "ran",
				Calls:  1,
				Spent:  234,
				In:     1,
				Cached: 1,
				Out:    2,
				Made:   1,
				Kept:   1,
			},
		}
	})
	made := dream.Head{
		Agent: "id-iris",
		At:    began.At,
		State: dream.Live,
		Taint: dream.FromDream,
		Dream: began.ID,
	}
	gist, faded, open := made, made, made
	gist.ID, gist.Kind = "gist/se-1", dream.KindGist
	faded.ID, faded.Kind = "se-1", dream.KindSemantic
	faded.State, faded.NewerID = dream.Archived, gist.ID
	faded.Dream, faded.Taint = "", dream.FromWeb
	open.ID, open.Kind = "p-1", dream.KindPrediction
	eventOf := func(p event.Payload) event.Event {
		return event.New(p.EventType(), "id-iris", began.ID, began.At, p)
	}
	_, err := r.store.Commit(t.Context(), memory.Write{
		Agent: "id-iris", Cause: "test",
		Add: []dream.Item{
			&dream.Gist{Head: gist, Content: "Harbours silt up."}, &dream.Semantic{Head: faded, Content: "Silt."},
			&dream.Prediction{Head: open, Claim: "It silts up.", Status: dream.PredictionOpen},
		},
		Events: []event.Event{
			eventOf(event.MemoriesRenewed{Memories: 2}),
			eventOf(event.ItemArchived{Item: "se-1", Kind: dream.KindSemantic, Newer: gist.ID, Reason: event.Faded}),
		},
	})
	require.NoError(t, err)
	d := as[psyche.Dream](t, r.get(operator, "/v1/dreams/dream_iris_0001"), 200)
	ended := began.Ended.Unix()
	require.Equal(t, psyche.Dream{
		ID:       "dream_iris_0001",
		Object:   "dream",
		Dream:    "dream/iris/0001",
		Agent:    "iris",
		Status:   dream.StatusCompleted,
		Outcome:  dream.Exhausted,
		Reason:   "the cap of the day",
		Created:  began.At.Unix(),
		Ended:    &ended,
		Insights: 2,
		Record: &psyche.Record{
			Theme:    "the harbour",
			Tier:     dream.Hardened,
			Seed:     "9223372036854775808",
			Budget:   dream.DefaultCaps.Dream,
			Spent:    1234,
			Phases:   began.Phases,
			Usage:    psyche.Usage{Input: 11, Cached: 1, Output: 22},
			Counters: psyche.Counters{Calls: 4, Failed: 1, Made: 5, Kept: 2},
			Summary: &screen.Summary{
				Changed: "The money ran out; until then: 1 gist and 1 prediction added; " +
					"2 memories strengthened by use.",
				Archived: "1 memory, 1 of which left a gist in its place (oneiros dreams show dream/iris/0001 lists what); " +
					"to bring it back: oneiros memory restore -a iris --dream 0001",
				Next:    "See what the money went to: oneiros spend -a iris --dream 0001 --by phase",
				Restore: "oneiros memory restore -a iris --dream 0001",
				Command: "oneiros spend -a iris --dream 0001 --by phase",
				Counts: screen.Changes{
					Gists:        1,
					Predictions:  1,
					Open:         1,
					Strengthened: 2,
					Replaced:     1,
					Archived:     1,
				},
			},
		},
	}, d)
	seen := as[psyche.Dream](t, r.get(client, "/v1/dreams/dream_iris_0001"), 200)
	d.Reason, d.Record = "", nil
	require.Equal(t, d, seen)
}

func TestStatusesArePublicOnes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	waits := r.lay("iris", 1, func(n *dream.Record) { n.Outcome, n.Until = dream.Interrupted, r.now().Add(time.Hour) })
	r.lay("iris", 2, func(n *dream.Record) { n.Run = "" })
	r.lay("iris", 3, nil)
	r.lay("iris", 4, over(dream.Aborted))
	r.lay("iris", 5, over(dream.Canceled))
	r.lay("iris", 6, over(dream.Empty))
	for n, want := range []dream.Status{
		dream.StatusRunning, dream.StatusPending, dream.StatusRunning,
		dream.StatusFailed, dream.StatusCanceled, dream.StatusCompleted,
	} {
		d := as[psyche.Dream](t, r.get(client, fmt.Sprintf("/v1/dreams/dream_iris_%04d", n+1)), 200)
		require.Equal(t, want, d.Status)
		require.Equal(t, want.Over(), d.Ended != nil)
		page := as[psyche.Page[psyche.Dream]](t, r.get(client, "/v1/dreams?status="+string(want)), 200)
		require.NotEmpty(t, page.Data)
		for _, each := range page.Data {
			require.Equal(t, want, each.Status)
		}
	}
	d := as[psyche.Dream](t, r.get(client, "/v1/dreams/dream_iris_0001"), 200)
	require.Equal(t, waits.Until.Unix(), *d.Resumable)
	r.pass(2 * time.Hour)
	d = as[psyche.Dream](t, r.get(client, "/v1/dreams/dream_iris_0001"), 200)
	require.Equal(t, dream.StatusCompleted, d.Status, "its time to be resumed ran out")
	require.Nil(t, d.Resumable)
}

func TestAListIsWalkedToItsEndPageByPage(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		var want []string
		for n := range int64(23) {
			r.lay("iris", n+1, over(dream.Completed))
			r.lay("tally_0001", n+1, func(record *dream.Record) { // at the same times
				over(dream.Completed)(record)
				if n == 7 {
					record.Shelved = r.now()
				}
			})
			want = append(want, psyche.PublicID(fmt.Sprintf("dream/tally_0001/%04d", n+1)),
				psyche.PublicID(fmt.Sprintf("dream/iris/%04d", n+1)))
		}
		for _, c := range []struct {
			who, query string
			wanted     func(id string) bool
		}{
			{operator, "", func(id string) bool { return id != "dream_tally_0001_0008" }},
			{operator, "&include_archived=true", func(string) bool { return true }},
			{operator, "&agent=iris", func(id string) bool { return strings.HasPrefix(id, "dream_iris_") }},
			{
				operator, "&agent=id-iris&status=completed",
				func(id string) bool { return strings.HasPrefix(id, "dream_iris_") },
			},
			{client, "", func(id string) bool { return strings.HasPrefix(id, "dream_iris_") }},
			{operator, "&status=failed", func(string) bool { return false }},
		} {
			var expected, found []string
			for i := len(want) - 1; i >= 0; i-- {
				if c.wanted(want[i]) {
					expected = append(expected, want[i])
				}
			}
			after := ""
			for pages := 0; pages < 20; pages++ {
				p := as[psyche.Page[psyche.Dream]](t, r.get(c.who, "/v1/dreams?limit=7"+c.query+after), 200)
				require.Equal(t, "list", p.Object)
				for _, d := range p.Data {
					found = append(found, d.ID)
				}
				if len(p.Data) > 0 {
					require.Equal(t, p.Data[0].ID, p.First)
					require.Equal(t, p.Data[len(p.Data)-1].ID, p.Last)
				}
				if !p.More {
					break
				}
				require.Len(t, p.Data, 7)
				after = "&after=" + p.Last
			}
			require.Equal(t, expected, found, c.query)
		}
	})
}

func TestADreamIsBegunWithWhatWasAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.post(operator, "/v1/dreams",
		`{"agent":"id-iris","instructions":"the harbour","tier":"core","model":"house/large","models":{"observer":"house/small"},"budget_micros":250000,"seed":"18446744073709551615","theme":null}`)
	d := as[psyche.Dream](t, a, 201)
	require.Equal(t, dream.StatusPending, d.Status)
	require.Equal(t, "/v1/dreams/"+d.ID, a.header.Get("Location"))
	require.Equal(t, "the harbour", d.Record.Theme)
	amount, seed := budget.Micros(250000), uint64(1<<64-1)
	require.Equal(t, psyche.DreamRequest{
		Agent:  "iris",
		Theme:  "the harbour",
		Tier:   dream.Core,
		Budget: &amount,
		Seed:   &seed,
		Models: map[dream.Role]string{
			dream.Generator: "house/large", dream.Observer: "house/small", dream.Replayer: "house/large",
			dream.Imaginer: "house/large", dream.Integrator: "house/large",
		},
	}, r.fixture.requests[0])

	r.lay("iris", 40, over(dream.Completed))
	as[psyche.Dream](t,
		r.post(operator, "/v1/dreams/dream_iris_0040/redream", `{"from":"rem","theme":"tides","seed":7}`), 201)
	require.Equal(t, dream.REM, r.fixture.again[0].From)
	require.Equal(t, "dream/iris/0040", r.fixture.again[0].Dream)
	require.Equal(t, "iris", r.fixture.again[0].Agent)
	require.EqualValues(t, 7, *r.fixture.again[0].Seed)
}

func TestABodyThatIsWrongIsRefusedByTheNameOfItsField(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for body, want := range map[string][3]string{ // code, parameter, hint
		``:                                {"invalid_json", "", "no JSON object"},
		`{"agent":"iris"`:                 {"invalid_json", "", "the body ends at byte 15"},
		`{"agent":"iris"} {}`:             {"invalid_json", "", "byte 17 is '{' where nothing more is due"},
		`[1]`:                             {"invalid_json", "", "no JSON object"},
		`null`:                            {"invalid_json", "", "no JSON object"},
		`{"agent":"iris","agent":"iris"}`: {"invalid_value", "agent", "is given twice"},
		"{\"agent\":\"\xff\"}":            {"invalid_json", "", "UTF-8"},
		`{}`:                              {"invalid_value", "agent", "agent is missing"},
		`{"agent":7}`:                     {"invalid_value", "agent", "must be a string"},
		`{"agent":"iris","themes":"x"}`: {
			"invalid_value", "themes",
			`field "themes" is unknown; fields are agent, budget_micros, instructions`,
		},
		`{"agent":"iris","budget_micros":0.5}`:            {"invalid_value", "budget_micros", "must be a whole number"},
		`{"agent":"iris","seed":-1}`:                      {"invalid_value", "seed", "18446744073709551615"},
		`{"agent":"iris","seed":1e3}`:                     {"invalid_value", "seed", "whole number"},
		`{"agent":"iris","models":{"a":1}}`:               {"invalid_value", "models", "an object of strings"},
		`{"agent":"iris","theme":"a","instructions":"b"}`: {"invalid_value", "theme", "two names of one thing"},
		`{"agent":"iris","theme":"a\u0000b"}`:             {"invalid_value", "instructions", "control characters"},
		`{"agent":"iris","x":1,"tier":3}`:                 {"invalid_value", "tier", "; field"},
	} {
		refused(t, r.post(operator, "/v1/dreams", body), 400, want[0], want[1], want[2])
	}
	refused(t, r.post(operator, "/v1/dreams", `{"agent":"nobody"}`), 404, "agent_not_found", "agent", "nobody")
	refused(t, r.post(operator, "/v1/dreams", `{"agent":"iris","theme":"`+strings.Repeat("x", 17<<10)+`"}`), 413,
		"body_too_large", "", "16384 bytes")
	refused(t, r.post(operator, "/v1/dreams/dream_iris_0009/cancel", ""), 404, "dream_not_found", "id",
		"dream_iris_0009")
	refused(t, r.post(operator, "/v1/dreams/nonsense/archive", ""), 404, "dream_not_found", "id", "nonsense")
	r.lay("iris", 1, over(dream.Completed))
	refused(t, r.post(operator, "/v1/dreams/dream_iris_0001/cancel", `{"force":true}`), 400, "invalid_value", "force",
		"takes none")
	refused(t, r.post(operator, "/v1/dreams/dream_iris_0001/redream", `{}`), 400, "invalid_value", "from",
		"from is missing")
	require.Empty(t, r.fixture.done(), "nothing was begun")
}

func TestAQueryThatIsWrongIsRefusedByTheNameOfItsParameter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, want := range map[string][2]string{
		"/v1/dreams?limit=0":                                 {"limit", "from 1 on"},
		"/v1/dreams?limit=101":                               {"limit", "1 to 100"},
		"/v1/dreams?limit=x":                                 {"limit", "whole number"},
		"/v1/dreams?status=asleep":                           {"status", "pending, running"},
		"/v1/dreams?include_archived=1":                      {"include_archived", "true or false"},
		"/v1/dreams?before=x":                                {"before", "parameters are after, limit, agent"},
		"/v1/dreams?agent=iris&agent=iris":                   {"agent", "given twice"},
		"/v1/agents/iris/journal?after=gone":                 {"after", "last_id"},
		"/v1/agents/iris/predictions?status=maybe":           {"status", "open, correct"},
		"/v1/agents/iris/claims?status=open":                 {"status", "tried, passed"},
		"/v1/agents/iris/hypotheses?status=open":             {"status", "staged, promoted"},
		"/v1/agents/iris/hypotheses?limit=0":                 {"limit", "from 1 on"},
		"/v1/agents/iris/morning?since=yesterday":            {"since", "a time such as 2026-11-22T06:00:00Z"},
		"/v1/agents/iris/morning?since=2126-10-01T00:00:00Z": {"since", "still to come"},
		"/v1/agents/iris/playbook?status=x":                  {"status", "parameters are after, limit"},
		"/v1/events?agent=iris&after=-1":                     {"after", "from 0 on"},
		"/v1/events?agent=iris&type=DreamStartled":           {"type", "oneiros events types"},
		"/v1/events": {"agent", "reaches 2 agents"},
		"/v1/events?agent=tally_0001&dream=dream_iris_0001": {"agent", "leave agent out"},
	} {
		if strings.Contains(path, "dream_iris_0001") {
			r.lay("iris", 1, nil)
		}
		refused(t, r.get(operator, path), 400, "invalid_value", want[0], want[1])
	}
	for _, bogus := range []string{"bogus", "dream_iris_0777", "dream_nobody_0001", "dream/iris/0777"} {
		refused(t, r.get(operator, "/v1/dreams?after="+bogus), 400, "invalid_value", "after", `after is "`+bogus+`"`)
		refused(t, r.get(operator, "/v1/dreams?after="+bogus), 400, "invalid_value", "after",
			"the last_id of the page before")
	}
	refused(t, r.get(stranger, "/v1/dreams?after=dream_iris_0001"), 400, "invalid_value", "after",
		"no dream that this key reaches")
}

func TestAnOperationThatMayNotBeIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.lay("iris", 1, nil)
	r.lay("iris", 2, over(dream.Completed))
	r.lay("iris", 3, over(dream.Canceled))
	refused(t, r.post(operator, "/v1/dreams/dream_iris_0002/cancel", ""), 409, "dream_over", "", "completed")
	refused(t, r.post(operator, "/v1/dreams/dream_iris_0001/resume", ""), 409, "dream_not_resumable", "", "running")
	refused(t, r.post(operator, "/v1/dreams/dream_iris_0001/redream", `{"from":"rem"}`), 409, "dream_not_over", "",
		"running")
	as[psyche.Dream](t, r.post(operator, "/v1/dreams/dream_iris_0003/cancel", ""), 200)
	require.Empty(t, r.fixture.done())
	r.fixture.refuse = &psyche.Fault{
		Status:  409,
		Type:    "invalid_request_error",
		Code:    "agent_awake",
		Message: "iris is held awake",
		Retry:   90 * time.Second,
	}
	a := r.post(operator, "/v1/dreams", `{"agent":"iris"}`)
	refused(t, a, 409, "agent_awake", "", "held awake")
	require.Equal(t, "90", a.header.Get("Retry-After"))
	r.fixture.refuse = fmt.Errorf("the secret of the store: %w", errSmall)
	a = r.post(operator, "/v1/dreams", `{"agent":"iris"}`)
	refused(t, a, 500, "internal_error", "", "")
	require.NotContains(t, string(a.body), "secret")
}

func TestAnArchivedDreamLeavesTheListsAndIsStillThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.lay("iris", 1, over(dream.Completed))
	for range 2 {
		d := as[psyche.Dream](t, r.post(operator, "/v1/dreams/dream_iris_0001/archive", ""), 200)
		require.Equal(t, dawn.Unix(), *d.Archived)
	}
	require.Equal(t, []string{"archive dream/iris/0001"}, r.fixture.done(), "twice is once")
	require.Empty(t, as[psyche.Page[psyche.Dream]](t, r.get(client, "/v1/dreams"), 200).Data)
	require.Len(t, as[psyche.Page[psyche.Dream]](t, r.get(client, "/v1/dreams?include_archived=true"), 200).Data, 1)
	require.Equal(t, dream.StatusCompleted,
		as[psyche.Dream](t, r.get(client, "/v1/dreams/dream_iris_0001"), 200).Status)
}

func TestItemsOfADreamAreWalkedPageByPageAndAreTheStores(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		record := r.lay("iris", 1, over(dream.Completed))
		var want []*dream.Fragment
		for n := range 5 {
			f := &dream.Fragment{
				Head: head(fmt.Sprintf("f%d", n), dream.KindFragment, record.ID), Content: "thought",
				Status: dream.FragmentDiscarded,
			}
			f.At = dawn.Add(time.Duration(n) * time.Second)
			if n == 3 {
				f.State = dream.Archived
			}
			want = append(want, f)
			r.keep("id-iris", f)
		}
		var found []*dream.Fragment
		for after := ""; ; {
			p := as[psyche.Page[*dream.Fragment]](t,
				r.get(operator, "/v1/dreams/dream_iris_0001/fragments?limit=2"+after), 200)
			found = append(found, p.Data...)
			after = "&after=" + p.Last
			if !p.More {
				break
			}
		}
		require.Equal(t, want, found)
	})
}

func TestASecondRequestUnderTheSameNameBeginsNothing(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		first := r.post(operator, "/v1/dreams", `{"agent":"iris"}`, "Idempotency-Key", "tonight")
		again := r.post(operator, "/v1/dreams", `{"agent":"iris"}`, "Idempotency-Key", "tonight")
		require.Equal(t, http.StatusCreated, first.status, "%s", first.body)
		require.Equal(t, first.body, again.body)
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
		require.Equal(t, []string{"begin iris"}, r.fixture.done())
		refused(t, r.post(operator, "/v1/dreams", `{"agent":"iris","tier":"core"}`, "Idempotency-Key", "tonight"),
			422, "idempotency_key_reused", "", "")
		as[psyche.Dream](t, r.post(owner, "/v1/dreams", `{"agent":"iris"}`, "Idempotency-Key", "tonight"), 201)
		nights, err := r.store.Find(t.Context(), memory.Query{Agent: "id-iris", Kinds: []dream.Kind{dream.KindRecord}})
		require.NoError(t, err)
		require.Len(t, nights, 2, "another key's name is another request")
	})
}
