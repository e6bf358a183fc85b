package memorytest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// ResponseStore keeps responses beside memory.
type ResponseStore interface {
	memory.Store
	memory.Responses
}

var responses = []struct {
	name string
	run  func(*testing.T, ResponseStore)
}{
	{"AResponseComesBackAsItWasPut", responseComesBack},
	{"AResponseIsItsPrincipalsAlone", responsesApart},
	{"AResponseEnds", responseEnds},
	{"TheOldestResponsesMakeRoom", responsesBounded},
	{"AResponseIsRemoved", responseRemoved},
	{"ForgettingRemovesEveryResponseOfTheAgent", responsesForgotten},
	{"AResponseThatIsWrongIsRefused", wrongResponses},
}

// RunResponses tests a store's responses.
func RunResponses(t *testing.T, open func(t *testing.T) ResponseStore) {
	t.Helper()
	for _, c := range responses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

func response(n int) memory.KeptResponse {
	at := dawn.Add(time.Duration(n) * time.Second)
	return memory.KeptResponse{
		ID:       fmt.Sprint("resp_", n),
		Scope:    "key_1",
		User:     "ann: 5%",
		Agent:    echo,
		Previous: "resp_before",
		At:       at,
		Until:    at.Add(time.Hour),
		Body:     []byte("{\"a\":\"\x00é\xff\"}"),
	}
}

func keepResponse(t *testing.T, s ResponseStore, r memory.KeptResponse, most int) {
	t.Helper()
	require.NoError(t, s.PutResponse(t.Context(), r, most))
}

func isKept(t *testing.T, s ResponseStore, r memory.KeptResponse) {
	t.Helper()
	got, err := s.Response(t.Context(), r.Scope, r.ID, r.At)
	require.NoError(t, err)
	require.Equal(t, r, got)
}

func isMissing(t *testing.T, s ResponseStore, scope, id string, now time.Time) {
	t.Helper()
	_, err := s.Response(t.Context(), scope, id, now)
	require.ErrorIs(t, err, memory.ErrNotFound)
}

func responseComesBack(t *testing.T, s ResponseStore) {
	r := response(1)
	keepResponse(t, s, r, 0)
	isKept(t, s, r)
	r.User, r.Previous, r.Body = "", "", []byte("{}")
	keepResponse(t, s, r, 0)
	isKept(t, s, r)
}

func responsesApart(t *testing.T, s ResponseStore) {
	r := response(1)
	keepResponse(t, s, r, 0)
	isMissing(t, s, "key_2", r.ID, r.At)
	require.ErrorIs(t, s.DropResponse(t.Context(), "key_2", r.ID), memory.ErrNotFound)
	other := r
	other.Scope, other.Body = "key_2", []byte("2")
	keepResponse(t, s, other, 0)
	isKept(t, s, r)
	isKept(t, s, other)
	mixed := r
	mixed.Scope, mixed.ID = "key_1:resp", "1"
	keepResponse(t, s, mixed, 0)
	isMissing(t, s, "key_1", "resp:1", r.At)
}

func responseEnds(t *testing.T, s ResponseStore) {
	r, lasting := response(1), response(2)
	lasting.Until = time.Time{}
	keepResponse(t, s, r, 0)
	keepResponse(t, s, lasting, 0)
	_, err := s.Response(t.Context(), r.Scope, r.ID, r.Until.Add(-time.Nanosecond))
	require.NoError(t, err)
	isMissing(t, s, r.Scope, r.ID, r.Until)
	late := response(3)
	late.At = r.Until.Add(time.Minute)
	late.Until = late.At.Add(time.Hour)
	keepResponse(t, s, late, 0)
	isMissing(t, s, r.Scope, r.ID, r.Until)
	got, err := s.Response(t.Context(), lasting.Scope, lasting.ID, dawn.AddDate(90, 0, 0))
	require.NoError(t, err)
	require.Equal(t, lasting, got)
}

func responsesBounded(t *testing.T, s ResponseStore) {
	other := response(0)
	other.Scope = "key_2"
	keepResponse(t, s, other, 2)
	for n := range 4 {
		keepResponse(t, s, response(n), 2)
	}
	isMissing(t, s, "key_1", "resp_0", dawn)
	isMissing(t, s, "key_1", "resp_1", dawn)
	isKept(t, s, response(2))
	isKept(t, s, response(3))
	isKept(t, s, other)
}

func responseRemoved(t *testing.T, s ResponseStore) {
	r := response(1)
	keepResponse(t, s, r, 0)
	require.NoError(t, s.DropResponse(t.Context(), r.Scope, r.ID))
	isMissing(t, s, r.Scope, r.ID, r.At)
	require.ErrorIs(t, s.DropResponse(t.Context(), r.Scope, r.ID), memory.ErrNotFound)
}

func responsesForgotten(t *testing.T, s ResponseStore) {
	commit(t, s, memory.Write{Add: []dream.Item{episode("ep_1", "the harbour lamp")}})
	one, other := response(1), response(2)
	other.Agent = "mute"
	keepResponse(t, s, one, 0)
	keepResponse(t, s, other, 0)
	_, err := s.Forget(t.Context(), echo, "ep_1")
	require.NoError(t, err)
	isMissing(t, s, one.Scope, one.ID, one.At)
	isKept(t, s, other)
}

func wrongResponses(t *testing.T, s ResponseStore) {
	for _, spoil := range []func(*memory.KeptResponse){
		func(r *memory.KeptResponse) { r.ID = "" },
		func(r *memory.KeptResponse) { r.Scope = "" },
		func(r *memory.KeptResponse) { r.Agent = "" },
		func(r *memory.KeptResponse) { r.At = time.Time{} },
		func(r *memory.KeptResponse) { r.Until = r.At },
	} {
		r := response(1)
		spoil(&r)
		require.Error(t, s.PutResponse(t.Context(), r, 0))
	}
}
