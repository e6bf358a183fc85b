package access_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/access"
)

var noon = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

func TestAPrincipalNamesTalkAccountAndClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key                            access.Key
		speaks, shown, account, claims string
	}{
		"a request without a key":   {access.Key{}, "", "local", "key:local/2026-03-20", "loopback"},
		"a key without a principal": {access.Key{ID: "key_a"}, "key_a", "key_a", "key:key_a/2026-03-20", "key_a"},
		"a key of a principal": {
			access.Key{ID: "key_a", Principal: "anna"},
			"anna", "anna",
			"key:anna/2026-03-20", "anna",
		},
		"a rotated key": {
			access.Key{ID: "key_b", Principal: "key_a"},
			"key_a", "key_a",
			"key:key_a/2026-03-20", "key_a",
		},
		"a key of the local one": {
			access.Key{ID: "key_a", Principal: access.Local},
			"", "local",
			"key:local/2026-03-20", "loopback",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.speaks, c.key.SpeaksAs())
			require.Equal(t, c.shown, c.key.PrincipalName())
			require.Equal(t, c.account, c.key.Account(noon))
			require.Equal(t, c.claims, c.key.ClaimScope())
		})
	}
}

func TestARotatedKeyIsTheSameInAllButItsSecret(t *testing.T) {
	t.Parallel()
	day := 2 * budget.Dollar
	old, secret := access.New("laptop", access.Operator, []string{"echo"}, noon)
	old.Rate, old.Day, old.Expires = 60, &day, noon.AddDate(0, 0, 90)
	old.Program = true
	later := noon.AddDate(0, 0, 30)
	next, fresh := old.Rotated(later)
	require.NotEqual(t, secret, fresh)
	require.NotEqual(t, old.ID, next.ID)
	require.Equal(t, access.Hash(fresh), next.Hash)
	require.Equal(t, old.Account(later), next.Account(later), "both pay from one account")
	require.NotSame(t, old.Day, next.Day)
	want := old
	want.ID, want.Hash, want.Principal = next.ID, next.Hash, old.ID
	want.Created, want.Expires = later, later.AddDate(0, 0, 90)
	require.Equal(t, want, next)
	require.NoError(t, next.Validate())
	again, _ := next.Rotated(later)
	require.Equal(t, old.SpeaksAs(), again.SpeaksAs(), "the principal outlives every key of it")
}

func TestThePrincipalsThatMayBeNamed(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"anna", "local", "anna@example.org", "key_abcdefghijkl", "A-1_b.c+d",
		strings.Repeat("a", 64),
	} {
		require.NoError(t, access.ValidPrincipal(good), good)
	}
	for _, bad := range []string{"", "a/b", "/", "a b", ".a", "-a", "é", "a\n", "loopback", strings.Repeat("a", 65)} {
		require.ErrorContains(t, access.ValidPrincipal(bad), "principal", bad)
	}
}
