package sqlitestore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

func TestTheStoreKeepsThePromisesOfAccess(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *sqlitestore.Store{"InMemory": inMemory, "OnAFile": onFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accesstest.RunStore(t, func(t *testing.T) access.Store { return open(t) })
		})
	}
}

func TestWhatWasSaidIsErasedWithMemories(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	c := access.Claim{Scope: "key_1", Name: "n", Digest: "d", Now: time.Now(), Hold: time.Minute, Keep: time.Hour}
	require.NoError(t, s.Answer(t.Context(), c, &access.Answered{Status: 200, Body: []byte("the moon is made of secrets")}))
	require.Contains(t, string(onDisk(t, path)), "made of secrets")
	accesstest.AnswersAreErased(t, s)
	require.NotContains(t, string(onDisk(t, path)), "made of secrets")
}

func TestOneOfTwoHandlesIsToldToDoARequest(t *testing.T) {
	t.Parallel()
	one, other := onOneFile(t)
	require.NoError(t, accesstest.OneDoesIt(t.Context(), one, other))
}
