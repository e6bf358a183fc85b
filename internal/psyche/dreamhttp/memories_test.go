package dreamhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// asleep are agents that nobody wakes.
type asleep struct{}

func (asleep) Wake(context.Context, string, string, time.Duration) (psyche.WakeResult, error) {
	return psyche.WakeResult{}, nil
}
func (asleep) Leave(context.Context, string, string) error { return nil }
func (asleep) Status(context.Context, string) (presence.Status, error) {
	return presence.Status{}, nil
}

// withBeing adds a psyche.Service to the API.
func withBeing(t *testing.T, ledger spend.Ledger, edit ...func(*psyche.Options)) func(*rig, *front.Options) {
	t.Helper()
	return func(r *rig, _ *front.Options) {
		table := inference.Table{}
		for _, spec := range localmodel.Specs() {
			table[spec.Name] = spec
		}
		o := psyche.Options{
			Talker: localmodel.Associative, Models: map[dream.Role]string{dream.Embedder: localmodel.Lexical},
			FleetDay: budget.Unlimited,
		}
		for _, e := range edit {
			e(&o)
		}
		b := psyche.New(psyche.Ports{
			Memory: r.store,
			Waker:  asleep{},
			Guard:  &spend.Guard{Ledger: ledger, Model: localmodel.New(), Catalog: table, Now: r.now},
		}, o)
		t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
		r.handler.Memories = b
	}
}

// onEachStoreAwake runs a test over SQLite and over a real Redis server, with a psyche.Service.
func onEachStoreAwake(t *testing.T, prove func(t *testing.T, r *rig)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlitestore.Open(t.Context(), t.TempDir()+"/memory.db")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		prove(t, rigOver(t, s, withBeing(t, s.Ledger())))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s, err := redisstore.Open(t.Context(), redis.Shared(t).URL, redisstore.Prefix(redis.Prefix(t)), redisstore.Timeout(time.Minute))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		prove(t, rigOver(t, s, withBeing(t, s.Ledger())))
	})
}

const irisMemories = "/v1/agents/iris/memories"

func episodeOf(id, text, owner, conversation string, at time.Time) *dream.Episode {
	h := head(id, dream.KindEpisode, "")
	h.At, h.Taint = at, dream.FromHuman
	return &dream.Episode{
		Head:     h,
		Content:  text,
		Salience: .5,
		Origin:   owner,
		Session:  conversation,
		Speaker:  "user",
	}
}

func dreamtItems() []dream.Item {
	const of = "dream/iris/0001"
	return []dream.Item{
		&dream.Fragment{
			Head:    head(of+"/onset/1.1", dream.KindFragment, of),
			Content: "The lighthouse walks into the harbour.",
		},
		&dream.Journal{
			Head: head(of+"/return/1", dream.KindJournal, of), Content: "A lighthouse is a promise.",
			Significance: .9,
		},
		&dream.Journal{
			Head: head(of+"/return/2", dream.KindJournal, of), Content: "A lighthouse hums.",
			Significance: .01,
		},
		&dream.Hypothesis{
			Head: head(of+"/hy", dream.KindHypothesis, of), Claim: "The lighthouse fears fog.",
			Status: dream.HypothesisStaged,
		},
	}
}

func idsOf(found psyche.Found) []string {
	ids := []string{}
	for _, m := range found.Data {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestWhatWasDreamtIsFoundOnRequestAndLabelled(t *testing.T) {
	t.Parallel()
	onEachStoreAwake(t, func(t *testing.T, r *rig) {
		r.keep("id-iris",
			append(dreamtItems(), episodeOf("ep_1", "The lighthouse was painted white.", "", "", dawn))...)
		search := func(who, more string) psyche.Found {
			return as[psyche.Found](t, r.get(who, irisMemories+"?query=lighthouse"+more), http.StatusOK)
		}
		for _, who := range []string{owner, operator, client} {
			require.Equal(t, []string{"ep_1"}, idsOf(search(who, "")), who)
			require.Equal(t, []string{"ep_1"}, idsOf(search(who, "&include_dreamt=false")), who)
		}
		all := search(operator, "&include_dreamt=true")
		require.Equal(t, []string{
			"dream/iris/0001/hy", "dream/iris/0001/onset/1.1", "dream/iris/0001/return/1", "dream/iris/0001/return/2",
			"ep_1",
		}, idsOf(all))
		for _, m := range all.Data {
			if m.ID == "ep_1" {
				require.False(t, m.Dreamt)
				require.Empty(t, m.Label)
				continue
			}
			require.True(t, m.Dreamt)
			require.Equal(t, "dream/iris/0001", m.Dream)
			require.Equal(t, "dreamt, not experienced", m.Label)
			require.Equal(t, dream.FromDream, m.Taint)
		}
		require.Len(t, search(operator, "&include_dreamt=true&limit=2").Data, 2)
		require.Equal(t, []string{"dream/iris/0001/return/1", "ep_1"}, idsOf(search(client, "&include_dreamt=true")),
			"a client is told of significant insights alone")
	})
}

func TestNoClientFindsWhatWasDreamtOfAnothersTalk(t *testing.T) {
	t.Parallel()
	onEachStoreAwake(t, func(t *testing.T, r *rig) {
		r.keep("id-iris", dreamtItems()...)
		as[psyche.AddedMemory](t,
			r.post(owner, irisMemories, `{"content":"My boat lies at pier nine.","owner":"ben/x"}`), http.StatusCreated)
		found := as[psyche.Found](t, r.get(client, irisMemories+"?query=lighthouse&include_dreamt=true"), http.StatusOK)
		require.Empty(t, found.Data)
		found = as[psyche.Found](t, r.get(client, irisMemories+"?query=boat+pier&include_dreamt=true"), http.StatusOK)
		require.Empty(t, found.Data, "nor what another said")
		found = as[psyche.Found](t, r.get(operator, irisMemories+"?query=lighthouse&include_dreamt=true"),
			http.StatusOK)
		require.Len(t, found.Data, 4, "operators may read the journal anyway")
	})
}

func TestHiddenDreamsAreFoundByNoClient(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*psyche.Options){
		"private":       func(o *psyche.Options) { o.Private = true },
		"digest off":    func(o *psyche.Options) { o.Digest = journal.DigestOff },
		"digest header": func(o *psyche.Options) { o.Digest = journal.DigestHeader },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := sqlitestore.Open(t.Context(), t.TempDir()+"/memory.db")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			r := rigOver(t, s, withBeing(t, s.Ledger(), edit))
			r.keep("id-iris", dreamtItems()...)
			found := as[psyche.Found](t, r.get(client, irisMemories+"?query=lighthouse&include_dreamt=true"),
				http.StatusOK)
			require.Empty(t, found.Data)
		})
	}
}

func TestAddedWordsAreTheirOwnersAndCorrect(t *testing.T) {
	t.Parallel()
	onEachStoreAwake(t, func(t *testing.T, r *rig) {
		anna := []string{"X-Oneiros-User", "anna"}
		first := as[psyche.AddedMemory](t, r.post(client, irisMemories, `{"content":"The port is 5432."}`, anna...),
			http.StatusCreated)
		require.Regexp(t, "/anna$", first.Owner)
		require.True(t,
			as[psyche.AddedMemory](t, r.post(client, irisMemories, `{"content":"The port is 5432."}`, anna...),
				http.StatusOK).Existing)
		r.pass(time.Hour)
		second := as[psyche.AddedMemory](t, r.post(client, irisMemories, `{"content":"The port is 5433."}`, anna...),
			http.StatusCreated)
		require.Equal(t, []string{first.ID}, second.Replaced)
		read := func(who string, header ...string) []string {
			return idsOf(
				as[psyche.Found](t, r.do(who, http.MethodGet, irisMemories+"?query=port", "", header...),
					http.StatusOK))
		}
		require.Equal(t, []string{second.ID}, read(client, anna...))
		require.Empty(t, read(client, "X-Oneiros-User", "ben"))
		item, err := memory.One[*dream.Episode](t.Context(), r.store, "id-iris", second.ID)
		require.NoError(t, err)
		require.Equal(t, dream.FromHuman, item.Taint)

		refused(t, r.post(client, irisMemories, `{"content":"x y","owner":"other/z"}`), 403, "role_required", "owner",
			"role owner")
		as[psyche.AddedMemory](t, r.post(owner, irisMemories, `{"content":"The pier is closed.","owner":"other/z"}`),
			http.StatusCreated)
		owners := as[psyche.Page[psyche.OwnedMemories]](t, r.get(owner, "/v1/agents/iris/owners"), http.StatusOK)
		require.Len(t, owners.Data, 2)
		at := slices.IndexFunc(owners.Data,
			func(o psyche.OwnedMemories) bool { return o.Principal == "other" && o.User == "z" })
		require.GreaterOrEqual(t, at, 0)
		require.Equal(t, 1, owners.Data[at].Memories)
		refused(t, r.get(operator, "/v1/agents/iris/owners"), 403, "role_too_low", "", "owner")
	})
}

// talks are memories of two users in two conversations, and what was derived from one of them.
func talks() []dream.Item {
	derived := &dream.Semantic{
		Head:    head("se_1", dream.KindSemantic, ""),
		Content: "It is known that zebrafish glow at Kaltenbrunn.", Strength: .9,
	}
	derived.Taint, derived.Sources, derived.Derived = dream.FromHuman, []string{"ep_a"}, []string{"content"}
	echo := &dream.Journal{
		Head:         head("dream/iris/0001/return/1", dream.KindJournal, "dream/iris/0001"),
		Significance: .9,
	}
	echo.Content, echo.Sources = "Somebody spoke of zebrafish and of the ferry that left.", []string{"ep_a", "ep_b"}
	return []dream.Item{
		episodeOf("ep_a", "My zebrafish glow at Kaltenbrunn.", "talk/lap/anna", "harbour", dawn.Add(-48*time.Hour)),
		episodeOf("ep_b", "The ferry left without me.", "talk/lap/ben", "pier", dawn.Add(-24*time.Hour)),
		derived, echo,
	}
}

func TestForgettingOverTheWireErasesWhatIsSelectedAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, selector := range map[string]string{
		"user":         `"user":"anna"`,
		"conversation": `"conversation":"harbour"`,
		"owner":        `"owner":"lap/anna"`,
		"ids":          `"ids":["ep_a"]`,
		"time":         fmt.Sprintf(`"until":%q`, dawn.Add(-36*time.Hour).Format(time.RFC3339)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStoreAwake(t, func(t *testing.T, r *rig) {
				r.keep("id-iris", talks()...)
				const forget = irisMemories + "/forget"
				dry := r.post(owner, forget, `{`+selector+`,"dry_run":true}`)
				plan := as[psyche.Erasure](t, dry, http.StatusOK)
				require.True(t, plan.DryRun)
				require.Zero(t, plan.Forgotten)
				removed := map[string]string{}
				for _, m := range plan.Erase {
					removed[m.ID] = string(m.Why)
				}
				require.Equal(t, map[string]string{"ep_a": "named", "se_1": "derived"}, removed)
				require.Len(t, plan.Scrub, 1)
				require.Equal(t, "dream/iris/0001/return/1", plan.Scrub[0].ID)
				for _, word := range []string{"zebrafish", "Kaltenbrunn", "ferry"} {
					require.NotContains(t, string(dry.body), word, "a plan quotes nothing")
				}
				require.Equal(t, 4, r.stored(), "a dry run changes nothing")

				done := as[psyche.Erasure](t, r.post(owner, forget, `{`+selector+`}`), http.StatusOK)
				require.Equal(t, 2, done.Forgotten)
				require.Equal(t, 1, done.Scrubbed)
				require.NotContains(t, r.allRevisions(), "zebrafish")
				require.Contains(t, r.allRevisions(), "ferry that left")

				again := as[psyche.Erasure](t, r.post(owner, forget, `{`+selector+`}`), http.StatusOK)
				require.Zero(t, again.Forgotten, "twice is once")
			})
		})
	}
}

func TestForgettingWhatIsPartlyGoneErasesTheRest(t *testing.T) {
	t.Parallel()
	onEachStoreAwake(t, func(t *testing.T, r *rig) {
		r.keep("id-iris", talks()...)
		_, err := r.store.Forget(t.Context(), "id-iris", "ep_a") // as in a forgetting that was cut off
		require.NoError(t, err)
		done := as[psyche.Erasure](t,
			r.post(owner, irisMemories+"/forget", `{"ids":["ep_a"],"texts":["My zebrafish glow at Kaltenbrunn."]}`),
			http.StatusOK)
		require.Equal(t, []string{"ep_a"}, done.Absent)
		require.NotContains(t, r.allRevisions(), "zebrafish")
	})
}

func TestSelectorsThatCannotBeMeantAreRefusedByName(t *testing.T) {
	t.Parallel()
	onEachStoreAwake(t, func(t *testing.T, r *rig) {
		const forget = irisMemories + "/forget"
		for _, c := range []struct{ body, code, param, hint string }{
			{`{}`, "invalid_value", "", "nothing is named to forget"},
			{`{"dry_run":true}`, "invalid_value", "", "nothing is named to forget"},
			{
				`{"users":"anna"}`, "invalid_value", "users",
				`field "users" is unknown; fields are conversation, derived`,
			},
			{`{"ids":"ep_a"}`, "invalid_value", "ids", "ids must be a list"},
			{`{"ids":[""]}`, "invalid_value", "ids", "an empty id"},
			{`{"texts":[" "]}`, "invalid_value", "texts", "must hold the words to forget"},
			{`{"owner":"lap"}`, "invalid_value", "owner", `owner "lap" names no user; write lap/USER`},
			{`{"since":"yesterday"}`, "invalid_value", "since", `since is "yesterday"; it must be a time of RFC 3339`},
			{
				`{"since":"2026-11-20T06:00:00Z","until":"2026-11-19T06:00:00Z"}`, "invalid_value", "since",
				"which is not before until",
			},
			{`{"user":"anna","only":true,"derived":true}`, "invalid_value", "only", "neither derived nor texts"},
			{`{"user":"anna","dry_run":"no"}`, "invalid_value", "dry_run", "dry_run must be true or false"},
			{`[]`, "invalid_json", "", "no JSON object"},
		} {
			refused(t, r.post(owner, forget, c.body), 400, c.code, c.param, c.hint)
		}
		for _, who := range []string{client, operator} {
			refused(t, r.post(who, forget, `{"user":"anna"}`), 403, "role_too_low", "", "owner")
		}
		refused(t, r.post(owner, "/v1/agents/nobody/memories/forget", `{"user":"anna"}`), 404, "agent_not_found", "",
			"nobody")
		refused(t, r.get(client, irisMemories), 400, "invalid_value", "query", "query is missing")
		refused(t, r.get(client, irisMemories+"?query=x&limit=51"), 400, "invalid_value", "limit", "1 to 50")
		refused(t, r.get(client, irisMemories+"?query=x&dreamt=true"), 400, "invalid_value", "dreamt", "include_dreamt")
		refused(t, r.get(client, irisMemories+"?query=x&include_dreamt=1"), 400, "invalid_value", "include_dreamt",
			"true or false")
		refused(t, r.get(stranger, irisMemories+"?query=x"), 404, "agent_not_found", "", "iris")
		refused(t, r.post(client, irisMemories, `{"content":" "}`), 400, "invalid_value", "content", "0 characters")
		refused(t, r.post(client, irisMemories, `{"content":"x","at":"2030-01-01T00:00:00Z"}`), 400, "invalid_value",
			"at", "in the future")
		refused(t, r.post(owner, irisMemories, `{"content":"x","owner":"a b"}`), 400, "invalid_value", "owner",
			"owner \"a b\"")
		require.NotContains(t, r.allRevisions(), "anna")
	})
}

func TestWhatADreamArchivedIsListedAndRestored(t *testing.T) {
	t.Parallel()
	onEachStoreAwake(t, func(t *testing.T, r *rig) {
		r.lay("iris", 1, over(dream.Completed))
		existing := &dream.Semantic{
			Head: head("se_1", dream.KindSemantic, ""), Content: "The mole is dry.",
			Strength: .1,
		}
		existing.Taint = dream.FromTool
		r.keep("id-iris", existing)
		faded, err := memory.One[*dream.Semantic](t.Context(), r.store, "id-iris", "se_1")
		require.NoError(t, err)
		faded.State = dream.Archived
		_, err = r.store.Commit(t.Context(),
			memory.Write{Agent: "id-iris", Cause: "dream/iris/0001", Change: []dream.Item{faded}})
		require.NoError(t, err)

		const list, restore = irisMemories + "/archived", irisMemories + "/restore"
		for _, path := range []string{list, list + "?dream=dream_iris_0001"} {
			answer := r.get(operator, path)
			page := as[psyche.Page[psyche.ArchivedMemory]](t, answer, http.StatusOK)
			require.Len(t, page.Data, 1)
			require.Equal(t, "se_1", page.Data[0].ID)
			require.NotContains(t, string(answer.body), "mole", "its words are left out")
		}
		refused(t, r.get(client, list), 403, "role_too_low", "", "operator")
		refused(t, r.get(operator, list+"?dream=dream_tally_0001"), 400, "invalid_value", "dream", "no dream of iris")
		refused(t, r.post(operator, restore, `{}`), 400, "invalid_value", "ids", "nothing is named to restore")
		refused(t, r.post(operator, restore, `{"ids":["se_1"],"dream":"dream_iris_0001"}`), 400, "invalid_value",
			"dream", "give one of them")
		refused(t, r.post(operator, restore, `{"ids":["se_1","nothing"]}`), 400, "invalid_value", "ids",
			"nothing was restored")
		done := as[psyche.Restored](t, r.post(operator, restore, `{"dream":"dream_iris_0001"}`), http.StatusOK)
		require.Equal(t, []string{"se_1"}, done.Restored)
		refused(t, r.post(operator, restore, `{"ids":["se_1"]}`), 400, "invalid_value", "ids",
			"was not archived by a dream: it is live")
		require.Empty(t, as[psyche.Page[psyche.ArchivedMemory]](t, r.get(operator, list), http.StatusOK).Data)
	})
}

// stored counts the items of iris.
func (r *rig) stored() int {
	r.t.Helper()
	n, err := r.store.Count(r.t.Context(), memory.Query{Agent: "id-iris", States: dream.States})
	require.NoError(r.t, err)
	return n
}

// allRevisions is the JSON of all items of iris in all revisions.
func (r *rig) allRevisions() string {
	r.t.Helper()
	items, err := r.store.Find(r.t.Context(), memory.Query{Agent: "id-iris", States: dream.States})
	require.NoError(r.t, err)
	var all strings.Builder
	for _, item := range items {
		revisions, err := r.store.Revisions(r.t.Context(), "id-iris", item.Header().ID)
		require.NoError(r.t, err)
		body, err := json.Marshal(revisions)
		require.NoError(r.t, err)
		all.Write(body)
	}
	return all.String()
}
