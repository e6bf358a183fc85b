package dreamsapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workflows"
)

const request = `{"agent":"sleeper","seed":7,"instructions":"the quay"}`

func TestADreamIsBegunFollowedReadAndArchived(t *testing.T) {
	t.Parallel()
	h := open(t, provider.Options{Seed: 1})
	begun := h.dream(http.StatusCreated, "POST", "/v1/dreams", request, "Idempotency-Key", "tonight")
	require.Equal(t, "dream_sleeper_0001", begun.ID)
	require.Equal(t, "the quay", begun.Record.Theme)
	again := h.dream(http.StatusCreated, "POST", "/v1/dreams", request, "Idempotency-Key", "tonight")
	require.Equal(t, begun, again, "the same request sent twice starts one dream")

	kinds, numbers := h.follow(access.Client, begun.ID)
	require.Equal(t, "DreamStarted", kinds[0])
	require.Equal(t, "DreamEnded", kinds[len(kinds)-1])
	require.NotContains(t, kinds, "FragmentCaptured", "clients are sent events of states only")
	all, every := h.follow(access.Operator, begun.ID)
	require.Contains(t, all, "FragmentCaptured")
	require.True(t, slices.IsSorted(numbers))
	require.True(t, slices.IsSorted(every))
	stored, err := h.Store.Events(h.ctx, h.agent.ID, 0, 0)
	require.NoError(t, err)
	var ofTheDream []int64
	for _, e := range stored {
		if e.Dream == begun.Dream {
			ofTheDream = append(ofTheDream, e.Seq)
		}
	}
	require.Equal(t, ofTheDream, every, "each event exactly once")

	d := h.dream(http.StatusOK, "GET", "/v1/dreams/"+begun.ID, "")
	require.Equal(t, dream.StatusCompleted, d.Status, d.Reason)
	require.Equal(t, dream.Completed, d.Outcome)
	require.Equal(t, h.upstream.Billing.Book().Total, d.Record.Spent)
	require.Len(t, d.Record.Phases, len(dream.Phases))
	require.Positive(t, d.Record.Usage.Output)
	record, err := memory.One[*dream.Record](h.ctx, h.Store, h.agent.ID, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, record.Status(time.Now()), d.Status, "what the command line prints")
	require.Equal(t, record.Phases, d.Record.Phases)

	_, text := h.do(access.Operator, "GET", "/v1/dreams/"+begun.ID+"/fragments?limit=100", "")
	var fragments psyche.Page[*dream.Fragment]
	require.NoError(t, json.Unmarshal(text, &fragments))
	items, err := h.Store.Find(h.ctx,
		memory.Query{
			Agent: h.agent.ID, Dream: begun.Dream, Kinds: []dream.Kind{dream.KindFragment},
			States: dream.States,
		})
	require.NoError(t, err)
	require.Len(t, fragments.Data, len(items))

	h.requireSameDream(begun.ID)
	h.requireSameJournal()
	h.refused(http.StatusConflict, "dream_over", "POST", "/v1/dreams/"+begun.ID+"/cancel", "")
	require.NotNil(t, h.dream(http.StatusOK, "POST", "/v1/dreams/"+begun.ID+"/archive", "").Archived)
	_, text = h.do(access.Client, "GET", "/v1/dreams", "")
	require.Contains(t, string(text), `"data":[]`)
	require.Equal(t, dream.StatusCompleted, h.dream(http.StatusOK, "GET", "/v1/dreams/"+begun.ID, "").Status)
	undone, err := h.Store.Undo(h.ctx, h.agent.ID, begun.Dream)
	require.NoError(t, err)
	require.Empty(t, undone.Kept, "an archived dream is undone like any other")
}

func TestADreamIsCanceledAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	h := open(t, provider.Options{Seed: 1, Each: 4 * time.Millisecond})
	begun := h.dream(http.StatusCreated, "POST", "/v1/dreams", request)
	h.served(10)
	going := h.dream(http.StatusOK, "GET", "/v1/dreams/"+begun.ID, "")
	require.Equal(t, dream.StatusRunning, going.Status)
	require.NotEmpty(t, going.Record.Phases, "as its events have them")
	h.refused(http.StatusConflict, "already_dreaming", "POST", "/v1/dreams", request)
	h.refused(http.StatusConflict, "dream_not_over", "POST", "/v1/dreams/"+begun.ID+"/archive", "")
	h.dream(http.StatusOK, "POST", "/v1/dreams/"+begun.ID+"/cancel", "")
	kinds, _ := h.follow(access.Client, begun.ID)
	require.Equal(t, "DreamEnded", kinds[len(kinds)-1])
	d := h.dream(http.StatusOK, "GET", "/v1/dreams/"+begun.ID, "")
	require.Equal(t, dream.StatusCanceled, d.Status, d.Reason)
	require.Equal(t, dream.StatusCanceled,
		h.dream(http.StatusOK, "POST", "/v1/dreams/"+begun.ID+"/cancel", "").Status, "twice is once")
	require.NotNil(t, h.dream(http.StatusOK, "POST", "/v1/dreams/"+begun.ID+"/archive", "").Archived)
}

func TestADreamInterruptedByAClientIsRunningAndMayBeResumed(t *testing.T) {
	t.Parallel()
	h := open(t, provider.Options{Seed: 1, Each: 4 * time.Millisecond})
	begun := h.dream(http.StatusCreated, "POST", "/v1/dreams", request)
	h.served(10)
	woken, err := h.Starter.Wake(h.ctx, starter.Connection{Agent: h.agent.Handle, Client: "guest"})
	require.NoError(t, err)
	_, err = h.Starter.Recorded(h.ctx, h.agent.ID, woken.Epoch)
	require.NoError(t, err)
	d := h.dream(http.StatusOK, "GET", "/v1/dreams/"+begun.ID, "")
	require.Equal(t, dream.StatusRunning, d.Status)
	require.Equal(t, dream.Interrupted, d.Outcome)
	require.NotNil(t, d.Resumable)
	require.Nil(t, d.Ended)
	h.refused(http.StatusConflict, "agent_awake", "POST", "/v1/dreams", request)
	h.refused(http.StatusConflict, "agent_awake", "POST", "/v1/dreams/"+begun.ID+"/resume", "")
	_, text := h.do(access.Client, "GET", "/v1/dreams?status=running", "")
	require.Contains(t, string(text), begun.ID)

	require.NoError(t, h.Starter.Leave(h.ctx, h.agent.Handle, "guest"))
	require.Eventually(t, func() bool {
		agentState, err := h.Starter.AgentState(h.ctx, h.agent.Handle)
		return err == nil && agentState.State == workflows.Sleeping
	}, patience, 5*time.Millisecond)
	h.dream(http.StatusOK, "POST", "/v1/dreams/"+begun.ID+"/resume", "")
	kinds, numbers := h.follow(access.Client, begun.ID)
	require.Contains(t, kinds, "DreamInterrupted")
	require.Contains(t, kinds, "DreamResumed")
	require.True(t, slices.IsSorted(numbers))
	d = h.dream(http.StatusOK, "GET", "/v1/dreams/"+begun.ID, "")
	require.Equal(t, dream.StatusCompleted, d.Status, d.Reason)
	require.Equal(t, 1, d.Resumes)
	h.refused(http.StatusConflict, "dream_not_resumable", "POST", "/v1/dreams/"+begun.ID+"/resume", "")

	anew := h.dream(http.StatusCreated, "POST", "/v1/dreams/"+begun.ID+"/redream", `{"from":"return"}`)
	require.Equal(t, begun.Dream, anew.Record.Redreams.Dream)
	h.follow(access.Client, anew.ID)
	require.Equal(t, dream.StatusCompleted, h.dream(http.StatusOK, "GET", "/v1/dreams/"+anew.ID, "").Status)
}

func TestConcurrentRequestsForTheSameDreamStartOne(t *testing.T) {
	t.Parallel()
	h := open(t, provider.Options{Seed: 1, Each: 4 * time.Millisecond})
	var all sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		all.Go(func() {
			resp, _ := h.do(access.Operator, "POST", "/v1/dreams", request, "Idempotency-Key", "same")
			statuses[i] = resp.StatusCode
		})
	}
	all.Wait()
	begun := 0
	for _, status := range statuses {
		require.Contains(t, []int{http.StatusCreated, http.StatusConflict}, status, "it is started, or running already")
		if status == http.StatusCreated {
			begun++
		}
	}
	require.Positive(t, begun)
	n, err := h.Store.Count(h.ctx, memory.Query{Agent: h.agent.ID, Kinds: []dream.Kind{dream.KindRecord}})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	h.dream(http.StatusOK, "POST", "/v1/dreams/dream_sleeper_0001/cancel", "")
	h.follow(access.Client, "dream_sleeper_0001")
}

func TestADreamThatACapForbidsIsRefusedBeforeItStarts(t *testing.T) {
	t.Parallel()
	h := open(t, provider.Options{Seed: 1})
	h.refused(http.StatusPaymentRequired, "over_cap", "POST", "/v1/dreams",
		`{"agent":"sleeper","budget_micros":999000000}`)
	h.refused(http.StatusBadRequest, "invalid_value", "POST", "/v1/dreams",
		`{"agent":"sleeper","model":"house/unknown"}`)
	h.refused(http.StatusBadRequest, "invalid_value", "POST", "/v1/dreams", `{"agent":"sleeper","tier":"deep"}`)
	h.refused(http.StatusNotFound, "agent_not_found", "POST", "/v1/dreams", `{"agent":"nobody"}`)
	h.agent.Caps = dream.Caps{Dream: 0, Day: 0, Month: budget.Dollar}
	require.NoError(t, h.Store.PutAgent(h.ctx, h.agent))
	h.refused(http.StatusTooManyRequests, "cap_reached", "POST", "/v1/dreams", `{"agent":"sleeper"}`)
	n, err := h.Store.Count(h.ctx, memory.Query{Agent: h.agent.ID, Kinds: []dream.Kind{dream.KindRecord}})
	require.NoError(t, err)
	require.Zero(t, n)
}
