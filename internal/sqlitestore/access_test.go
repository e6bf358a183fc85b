package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

func TestTheStoreKeepsTheContractOfAccess(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *sqlitestore.Store{"InMemory": inMemory, "OnAFile": onFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accesstest.RunStore(t, func(t *testing.T) access.Store { return open(t) })
		})
	}
}

// A file of a schema without the setting for required keys is migrated to the newest schema.
func TestAFileOfAnOlderSchemaWithKeysRequiresThem(t *testing.T) {
	t.Parallel()
	steps, err := filepath.Glob("schema/*.sql")
	require.NoError(t, err)
	for _, insert := range []string{"", "INSERT INTO keys (id, hash, body) VALUES ('a', 'h', '{}')"} {
		path := filepath.Join(t.TempDir(), "oneiros.db")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		older := raw(t, path)
		run := func(statement string) {
			_, err := older.ExecContext(t.Context(), statement)
			require.NoError(t, err)
		}
		for n, name := range steps {
			script, err := os.ReadFile(name)
			require.NoError(t, err)
			if strings.Contains(string(script), "access_settings") {
				run(insert)
				run(fmt.Sprintf("PRAGMA user_version = %d", n))
				break
			}
			run(string(script))
		}
		run(fmt.Sprintf("PRAGMA application_id = %d", 0x6f6e6569))
		required, err := open(t, path).KeysRequired(t.Context())
		require.NoError(t, err)
		require.Equal(t, insert != "", required)
	}
}

func TestRecordedResponsesAreErasedWithMemories(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	s := open(t, path)
	c := access.Claim{
		Scope:  "key_1",
		Name:   "n",
		Digest: "d",
		Now:    time.Now(),
		Hold:   time.Minute,
		Keep:   time.Hour,
	}
	require.NoError(t,
		s.Answer(t.Context(), c, &access.StoredResponse{Status: 200, Body: []byte("the moon is made of secrets")}))
	require.Contains(t, string(onDisk(t, path)), "made of secrets")
	accesstest.AnswersAreErased(t, s)
	require.NotContains(t, string(onDisk(t, path)), "made of secrets")
}

func TestOneOfTwoHandlesClaimsARequest(t *testing.T) {
	t.Parallel()
	one, other := onOneFile(t)
	require.NoError(t, accesstest.ClaimConcurrently(t.Context(), one, other))
}
