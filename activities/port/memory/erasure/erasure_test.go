package erasure_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/erasure"
)

const secret = "Quorvelant hides the brass key under the third flowerpot of the house"

func head(kind dream.Kind, id string) dream.Head {
	return dream.Head{
		ID:    id,
		Agent: "echo",
		Kind:  kind,
		At:    time.Unix(0, 0).UTC(),
		State: dream.Live,
		Taint: dream.FromHuman,
	}
}

func episode(id, text string) *dream.Episode {
	return &dream.Episode{Head: head(dream.KindEpisode, id), Content: text}
}

func gist(dreamID, id, text string, from ...string) *dream.Gist {
	g := &dream.Gist{Head: head(dream.KindGist, id), Content: text}
	g.Dream, g.Sources, g.Taint = dreamID, from, dream.FromDream
	return g
}

func entry(id, text string, from ...string) *dream.Semantic {
	s := &dream.Semantic{Head: head(dream.KindSemantic, id), Content: text}
	s.Sources, s.Derived = from, []string{"content", "strength"}
	return s
}

func find(t *testing.T, request erasure.Request, items ...dream.Item) erasure.Plan {
	t.Helper()
	var entries []erasure.Entry
	for _, item := range items {
		entries = append(entries, erasure.Entry{Item: item})
	}
	plan, err := erasure.Find(entries, request)
	require.NoError(t, err)
	return plan
}

func whys(found []erasure.Match) map[string]erasure.Why {
	out := map[string]erasure.Why{}
	for _, f := range found {
		out[f.Item.Header().ID] = f.Why
	}
	return out
}

func idsOf(items []dream.Item) []string {
	var out []string
	for _, item := range items {
		out = append(out, item.Header().ID)
	}
	return out
}

func TestWhatIsErasedWithAMemory(t *testing.T) {
	t.Parallel()
	later := episode("later",
		"You said that Quorvelant hides the brass key under the third flowerpot of the house, where gloves were drying")
	own := &dream.Prediction{Head: head(dream.KindPrediction, "own"), Claim: "I say so", Episodes: []string{"e"}}
	for name, c := range map[string]struct {
		item  dream.Item
		why   erasure.Why // empty: it is not erased
		scrub []string
	}{
		"an entry made from it alone":         {entry("x", "Somebody noted something", "e"), erasure.Derived, nil},
		"an entry whose sources are all gone": {entry("x", "Somebody noted something"), erasure.Derived, nil},
		"an entry that quotes it": {
			entry("x", "It was noted: “Quorvelant hides the brass key”", "e", "rain"), erasure.Copied, nil,
		},
		"an entry of others":                     {entry("x", "It rains: “It rained all day”", "rain"), "", nil},
		"a dream's text made from it alone":      {gist("d", "x", "a shape of hiding", "e"), erasure.Derived, nil},
		"a dream's text made from what was made": {gist("d", "x", "a shape of a shape", "alone"), erasure.Derived, nil},
		"a dream's text that names it too": {
			gist("d", "x", "rain that conceals nothing of gold", "e", "rain"),
			"", nil,
		},
		"a dream's text with a word of it": {
			gist("d", "x", "all day the rain spoke to Quorvelant and to me", "rain"), "", []string{"content"},
		},
		"a dream's text that is a word of it": {gist("d", "x", "Quorvelant!", "rain"), erasure.Copied, nil},
		"what somebody said later":            {later, "", []string{"content"}},
		"what somebody said again":            {episode("x", strings.ToUpper(secret)+"!"), erasure.Copied, nil},
		"what happens to share a few words": {
			episode("x", "the rain stands under the third window of the year"),
			"", nil,
		},
		"what a person foretold of it": {own, "", nil},
		"the record of a night": {
			&dream.Record{Head: head(dream.KindRecord, "x"), Theme: "Quorvelant"}, "", []string{"theme"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := c.item.Header().ID
			plan := find(t, erasure.Request{IDs: []string{"e"}}, episode("e", secret),
				episode("rain", "It rained all day"), gist("d", "alone", "shape", "e"), c.item)
			require.Equal(t, erasure.Named, whys(plan.Erase)["e"])
			require.Equal(t, c.why, whys(plan.Erase)[id])
			require.Equal(t, "e", plan.Erase[len(plan.Erase)-1].Item.Header().ID,
				"the selected item is erased last")
			var scrub []string
			for _, f := range plan.Scrub {
				require.Equal(t, id, f.Item.Header().ID)
				scrub = f.Fields
			}
			require.Equal(t, c.scrub, scrub)
		})
	}
}

func TestAWordThatOthersUseIsNoTrace(t *testing.T) {
	t.Parallel()
	plan := find(t, erasure.Request{IDs: []string{"e"}},
		episode("e", secret), episode("pot", "I bought a flowerpot"), gist("d", "x", "a flowerpot in the rain", "pot"))
	require.Empty(t, plan.Scrub)
	require.Len(t, plan.Erase, 1)
}

func TestAPhraseInManyMemoriesIsNoCopy(t *testing.T) {
	t.Parallel()
	const phrase = "Please remember for me that the plan of the evening is as follows: "
	items := []dream.Item{episode("e", phrase+"Quorvelant sings")}
	for i, text := range []string{"soup", "bread", "cheese", "wine"} {
		items = append(items, episode(string(rune('a'+i)), phrase+text))
	}
	dreamt := gist("d", "g", "the plan of the evening tastes of bread", "b")
	plan := find(t, erasure.Request{IDs: []string{"e"}}, append(items, dreamt)...)
	require.Empty(t, plan.Scrub)
	require.Equal(t, []string{"a", "b", "c", "d"}, idsOf(plan.Alike), "they are listed in the plan")
	plan = find(t, erasure.Request{IDs: []string{"a", "b", "c", "d", "e"}},
		append(items, episode("last", phrase+"Quorvelant sings, and I listen to him"))...)
	require.Empty(t, plan.Alike)
	require.Len(t, plan.Scrub, 1)
}

func TestNeighboursQuotesAreTakenOut(t *testing.T) {
	t.Parallel()
	next := episode("next", "It rained.")
	next.Context = "On a Monday. Anna had just said: “Quorvelant hides the brass key under the third flower…”"
	next.Action, next.Outcome = "Ben said: “It rained.”", "What came next: “The sun shone on everyone”."
	next.Derived = []string{"context", "action", "outcome"}
	before := episode("before", "The sun shone on everyone")
	plan := find(t, erasure.Request{IDs: []string{"e"}}, before, episode("e", secret), next)
	require.Len(t, plan.Scrub, 1)
	require.Equal(t, []string{"context"}, plan.Scrub[0].Fields)
	body, err := json.Marshal(next)
	require.NoError(t, err)
	scrubbed, changed, err := plan.Scrubber.Scrub(dream.KindEpisode, body)
	require.NoError(t, err)
	require.True(t, changed)
	item, err := dream.Decode(dream.KindEpisode, scrubbed)
	require.NoError(t, err)
	after := item.(*dream.Episode)
	require.Equal(t, "On a Monday. Anna had just said: “[forgotten]…”", after.Context)
	require.Equal(t, next.Outcome, after.Outcome)
	require.Equal(t, next.Action, after.Action)
}

func TestWhatAForgottenMemoryQuotesOfOthersStays(t *testing.T) {
	t.Parallel()
	e := episode("e", secret)
	e.Context, e.Derived = "Anna had just said: “The harbour master sold eleven boats before the flood came”",
		[]string{"context"}
	plan := find(t, erasure.Request{IDs: []string{"e"}},
		episode("boats", "The harbour master sold eleven boats before the flood came"), e)
	require.Empty(t, plan.Scrub)
	require.Equal(t, map[string]erasure.Why{"e": erasure.Named}, whys(plan.Erase))
}

func TestForgettingWhatWasDerivedLeavesWhereItCameFrom(t *testing.T) {
	t.Parallel()
	plan := find(t, erasure.Request{IDs: []string{"k"}}, episode("e", secret),
		entry("k", "It was noted: “"+secret+"”", "e"), gist("d", "g", "Quorvelant and the rain", "e"))
	require.Empty(t, plan.Scrub)
	require.Equal(t, map[string]erasure.Why{"k": erasure.Named}, whys(plan.Erase))
}

func TestAnAnswerInTheSameConversationRepeatsNoWord(t *testing.T) {
	t.Parallel()
	request := episode("e", "My locker is 4931, of all numbers")
	request.Session = "s"
	answer := episode("a", "Locker: 4931. I have written that down.")
	answer.Session, answer.Taint = "s", dream.FromAgent
	other := episode("o", "4931 steps lead up there")
	plan := find(t, erasure.Request{IDs: []string{"e"}}, request, answer)
	require.Len(t, plan.Scrub, 1)
	plan = find(t, erasure.Request{IDs: []string{"e"}}, request, other)
	require.Empty(t, plan.Scrub, "a number that another person mentioned independently")
	exchange := episode("x", "user: 4931 steps lead up there\nassistant: That is a long climb.")
	exchange.Session, exchange.Taint, exchange.Speaker = "s", dream.FromAgent, "user"
	plan = find(t, erasure.Request{IDs: []string{"e"}}, request, exchange)
	require.Empty(t, plan.Scrub, "an exchange that a person began is not an answer")
}

func TestEarlierRevisionsAreReadToo(t *testing.T) {
	t.Parallel()
	now := gist("d", "g", "rain alone", "rain")
	plan, err := erasure.Find([]erasure.Entry{
		{Item: episode("new", "kept"), Earlier: []dream.Item{episode("new", secret)}},
		{Item: now, Earlier: []dream.Item{gist("d", "g", "Quorvelant in the rain", "rain")}},
		{Item: episode("rain", "rain")},
	}, erasure.Request{IDs: []string{"new"}})
	require.NoError(t, err)
	require.Len(t, plan.Scrub, 1)
	require.Equal(t, "g", plan.Scrub[0].Item.Header().ID)
}

func TestAGivenTextIsFoundWithoutAnItem(t *testing.T) {
	t.Parallel()
	plan := find(t, erasure.Request{IDs: []string{"long gone"}, Texts: []string{secret}}, episode("rain", "rain"),
		gist("d", "g", "Quorvelant speaks to the rain at night", "rain"))
	require.Equal(t, []string{"long gone"}, plan.Absent)
	require.Len(t, plan.Scrub, 1)
}

func TestParaphrasesAreListedAndErasedOnRequest(t *testing.T) {
	t.Parallel()
	items := []dream.Item{
		episode("e", secret), episode("rain", "It rained"),
		gist("d", "g", "something is hidden in the rain", "e", "rain"),
		gist("d", "unsourced", "a thought"), gist("d2", "other", "rain", "rain"),
	}
	plan := find(t, erasure.Request{IDs: []string{"e"}}, items...)
	require.Equal(t, []string{"g", "unsourced"}, idsOf(plan.Left))
	plan = find(t, erasure.Request{IDs: []string{"e"}, Derived: true}, items...)
	require.Empty(t, plan.Left)
	require.Equal(t, map[string]erasure.Why{"e": erasure.Named, "g": erasure.Traced, "unsourced": erasure.Traced},
		whys(plan.Erase))
	items = append(items, gist("d", "copy", secret, "rain"))
	plan = find(t, erasure.Request{IDs: []string{"e"}, ItemsOnly: true}, items...)
	require.Equal(t, map[string]erasure.Why{"e": erasure.Named}, whys(plan.Erase))
	require.Nil(t, plan.Scrubber)
}

func TestWhatIsWrittenMeanwhileIsFoundAgain(t *testing.T) {
	t.Parallel()
	plan := find(t, erasure.Request{IDs: []string{"e"}}, episode("e", secret), episode("rain", "rain"))
	late := gist("d", "late", "Quorvelant! the rain came and it came and it came", "rain")
	again, more, err := erasure.Again([]erasure.Entry{{Item: episode("rain", "rain")}, {Item: late}}, plan)
	require.NoError(t, err)
	require.True(t, more)
	require.Len(t, again.Scrub, 1)
	_, more, err = erasure.Again([]erasure.Entry{{Item: episode("rain", "rain")}}, plan)
	require.NoError(t, err)
	require.False(t, more)
}

func TestOtherScripts(t *testing.T) {
	t.Parallel()
	plan := find(t, erasure.Request{IDs: []string{"e"}}, episode("e", "我的保险箱密码写在冰箱后面的纸条上"), episode("rain", "昨天下雨了"),
		gist("d", "g", "她说保险箱密码写在冰箱后面，雨还在下，没有人回家，灯也灭了", "rain"), episode("o", "Über Zürich schneit es"))
	require.Len(t, plan.Scrub, 1)
	require.Equal(t, "g", plan.Scrub[0].Item.Header().ID)
}

func TestUnsettledDreamsAreNamed(t *testing.T) {
	t.Parallel()
	goes := &dream.Record{Head: head(dream.KindRecord, "n1"), Outcome: dream.Dreaming}
	over := &dream.Record{Head: head(dream.KindRecord, "n2"), Outcome: dream.Completed}
	require.Equal(t, []string{"n1"},
		find(t, erasure.Request{IDs: []string{"e"}}, episode("e", secret), goes, over).Dreams)
}

// TestEveryTextFieldOfAnItemIsClassified fails when an item gets a text field that is not classified yet: as one that
// holds words, or as one that names, counts or classifies.
func TestEveryTextFieldOfAnItemIsClassified(t *testing.T) {
	t.Parallel()
	for _, kind := range dream.Kinds {
		item, err := dream.Decode(kind, []byte("{}"))
		require.NoError(t, err)
		for _, name := range textsOf(reflect.TypeOf(item).Elem(), map[reflect.Type]bool{}) {
			require.True(t, slices.Contains(nameless, name) || erasure.HoldsWords(kind, name),
				"%s has a field %q: list it in wordFields if people or models write it, otherwise in nameless",
				kind, name)
		}
	}
}

// nameless are text fields that hold ids, names and labels.
var nameless = []string{
	"id", "agent", "kind", "state", "taint", "dream", "phase", "sources", "derived", "newer", "newer_id", "session",
	"origin", "speaker", "judge", "stage", "foretold",
	"status", "scenario", "hypothesis", "parent", "parents", "seeds", "operation", "ended", "confirmed",
	"contradicted", "source", "episodes",
	"fragment", "resolved_by", "feed", "rule", "means", "workflow", "cluster", "run", "tier", "outcome", "insights",
	"models", "review", "valence",
	"does", "of", "decided", "by", "model", "effective", "loosening", "steering", "held_to", "rated", "way", "blind",
	"from", "marker", "markers", "owner", "owners", "playbook",
	"prediction_id", "source_ids", "event_ids", "dependent", "claim_ids", "playbook_ids", "decided_by",
}

func textsOf(typ reflect.Type, seen map[reflect.Type]bool) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() || seen[typ] {
		return nil
	}
	seen[typ] = true
	var out []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if inner.Kind() == reflect.String && name != "-" {
			out = append(out, name)
		}
		out = append(out, textsOf(inner, seen)...)
	}
	return out
}

// FuzzScrub takes words out of bodies that a damaged file might hold, and out of notes of any form.
func FuzzScrub(f *testing.F) {
	f.Add(`{"id":"a","content":"Quorvelant hides the brass key","flags":[{"reason":"the third flowerpot"}]}`)
	f.Add(`{"content":7,"topics":["Quorvelant",null],"claim":"\u0000Quorvelant"}`)
	f.Add(`["Quorvelant"`)
	plan, err := erasure.Find([]erasure.Entry{{Item: episode("e", secret)}}, erasure.Request{IDs: []string{"e"}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body string) {
		plan.Scrubber.Holds([]byte(body))
		if note, changed := plan.Scrubber.Note([]byte(body)); changed {
			_, more := plan.Scrubber.Note(note)
			require.False(t, more, "a second run changes nothing")
		}
		for _, kind := range dream.Kinds {
			scrubbed, changed, err := plan.Scrubber.Scrub(kind, []byte(body))
			if err != nil || !changed {
				continue
			}
			_, err = dream.Decode(kind, scrubbed)
			require.NoError(t, err)
			_, changed, err = plan.Scrubber.Scrub(kind, scrubbed)
			require.NoError(t, err)
			require.False(t, changed, "a second run changes nothing")
		}
	})
}

// A dream notes rare words of memories as a list: each of them is a trace of its memory.
func TestRareWordsInADreamsNotesAreRemoved(t *testing.T) {
	t.Parallel()
	plan := find(t, erasure.Request{IDs: []string{"e"}}, episode("e", secret), episode("rain", "Saltmarsh rain"))
	note, changed := plan.Scrubber.Note(
		[]byte(`{"questions":[{"id":"x","words":["quorvelant","flowerpot"]},{"id":"y","words":["saltmarsh"]}]}`))
	require.True(t, changed)
	require.NotContains(t, string(note), "quorvelant")
	require.NotContains(t, string(note), "flowerpot")
	require.Contains(t, string(note), "saltmarsh")
}
