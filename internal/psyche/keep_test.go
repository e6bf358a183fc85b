package psyche_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

func (r *rig) superseded() []*dream.Episode {
	r.t.Helper()
	items, err := r.store.Find(r.t.Context(), memory.Query{
		Agent: r.agent.ID, Kinds: []dream.Kind{dream.KindEpisode}, States: []dream.State{dream.Superseded},
	})
	require.NoError(r.t, err)
	return memory.As[*dream.Episode](items)
}

func (r *rig) tells(text string) {
	r.t.Helper()
	r.clock.pass(time.Hour)
	r.talk(turn(ann, chat(text)))
	r.settle()
}

func TestACorrectionReplacesAndSaysWhatWasSoBefore(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.tells("The staging database listens on port 5432.")
	r.tells("The staging database listens on port 5433.")
	live := r.episodes()
	require.Len(t, live, 1)
	require.Equal(t, "The staging database listens on port 5433.", live[0].Content)
	require.Equal(t,
		"The staging database listens on port 5433.\n(until 2026-11-20: The staging database listens on port 5432.)",
		live[0].Text())
	old := r.superseded()
	require.Len(t, old, 1)
	require.Equal(t, live[0].ID, old[0].NewerID)
	require.EqualValues(t, 1, r.Counts()["corrected"])

	found, err := r.Recall(t.Context(), ann, "echo",
		psyche.RecallRequest{Query: "Which port does the staging database listen on?", Limit: 5})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Content, "5433")

	r.tells("The staging database listens on port 5432.")
	live = r.episodes()
	require.Len(t, live, 1, "what was corrected and is said again counts again")
	require.Contains(t, live[0].Content, "5432")
	require.Len(t, live[0].Replaces, 2)

	_, err = r.store.Forget(t.Context(), r.agent.ID, live[0].Replaces[0].ID)
	require.NoError(t, err)
	live = r.episodes()
	require.Len(t, live[0].Replaces, 1, "what is forgotten is quoted by no correction")
	require.NotContains(t, live[0].Text(), "5433")
}

func TestNobodyCorrectsWhatAnotherHasSaid(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.tells("My phone number is 555 0141.")
	r.talk(turn(caller("key_b", "ben"), chat("My phone number is 555 0188.")))
	r.settle()
	require.Len(t, r.episodes(), 2)
	require.Empty(t, r.superseded())
	r.provider.answer = says("Please remember: your phone number is 555 0000.")
	r.tells("What is my phone number again, please?")
	require.Empty(t, r.superseded(), "nor does the agent itself")
}

func TestOneWordOfDifferenceIsAnotherMemory(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.tells("Anna is allergic to penicillin and to hazelnuts.")
	r.tells("Anne is allergic to penicillin and to hazelnuts.")
	r.tells("Please remember that Anna is allergic to penicillin and to hazelnuts!")
	require.Len(t, r.episodes(), 2)
}

func TestOfAWrappedMessageOnlyThePersonsWordsAreKeptAndAsked(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.talk(turn(ann, `{"model":"echo","messages":[{"role":"user","content":[`+
		`{"type":"text","text":"<system-reminder>\nThe lighthouse of Skagen is closed on Mondays.\n</system-reminder>"},`+
		`{"type":"text","text":"My boat Aurora lies at quay 7."}]}]}`))
	r.settle()
	live := r.episodes()
	require.Len(t, live, 1)
	require.Equal(t, "My boat Aurora lies at quay 7.", live[0].Content)
	r.plant(lived("ep_1", "The lighthouse of Skagen is closed on Mondays, says the keeper."))
	_, report := r.talk(
		turn(ann,
			chat(
				"<system-reminder>\nThe lighthouse of Skagen is closed on Mondays.\n</system-reminder>\nQwertz uiop asdf ghjk yxcv bnm qayw sxed crfv.")))
	require.Zero(t, report.Recalled, "a client's words are no question")
}

func TestACorrectionWithoutItsSubjectMeansTheLastStatementOfItsTalk(t *testing.T) {
	t.Parallel()
	r := setup(t)
	in := func(talk, text string) {
		r.clock.pass(time.Minute)
		answer := turn(ann, chat(text))
		answer.Conversation = talk
		r.talk(answer)
		r.settle()
	}
	in("one", "The database listens on port 5432.")
	in("two", "No, it's 5433 now.")
	require.Empty(t, r.superseded(), "another talk")
	in("one", "No, it's 5434 now.")
	require.Len(t, r.superseded(), 1)
	found, err := r.Recall(t.Context(), ann, "echo",
		psyche.RecallRequest{Query: "Which port does the database listen on?", Limit: 5})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	require.Contains(t, found[0].Content, "No, it's 5434 now.\n(until 2026-11-20: The database listens on port 5432.)")
}
