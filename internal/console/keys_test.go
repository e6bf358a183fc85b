package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestAKeyIsMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	require.Equal(t, exit.OK, d.run(80, "keys", "list"))
	require.Contains(t, d.err.String(), "No keys yet")
	require.Equal(t, exit.OK, d.run(80, "keys", "open"))
	require.Contains(t, d.out.String(), "Nothing to do")
	require.Equal(t, exit.OK,
		d.run(0, "keys", "add", "laptop", "--agent", "@echo", "--agent", "tally", "--role", "operator", "--expires",
			"90d", "--rate", "60", "--day", "$2", "--json"), d.err.String())
	var made struct {
		ID, Secret, State string
		Role              access.Role
		Day               budget.Micros `json:"day_micros"`
		First             bool
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &made))
	require.Equal(t, "live", made.State)
	require.True(t, made.First)
	require.Equal(t, exit.Refused, d.run(0, "keys", "open", "--yes"))
	require.Contains(t, d.err.String(), "a key is live")
	require.Equal(t, 2*budget.Dollar, made.Day)
	require.NotContains(t, d.out.String(), "hash")
	keys, err := d.store.Keys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Equal(t, access.Hash(made.Secret), keys[0].Hash)
	require.Equal(t, []string{"echo", "tally"}, keys[0].Agents)
	require.Equal(t, now.AddDate(0, 0, 90), keys[0].Expires)
	require.True(t, strings.HasPrefix(made.Secret, access.SecretPrefix))
	require.Len(t, made.Secret, len(access.SecretPrefix)+52, "256 bits")

	require.Equal(t, exit.OK, d.run(0, "keys", "list", "--json"))
	require.NotContains(t, d.out.String(), made.Secret)
	require.NotContains(t, d.out.String(), keys[0].Hash)
	for range 2 {
		require.Equal(t, exit.OK, d.run(0, "keys", "revoke", made.ID), d.err.String())
		require.Contains(t, d.out.String(), "is revoked")
	}
	require.Equal(t, exit.NotFound, d.run(0, "keys", "revoke", "key_nobody"))
	require.Contains(t, d.err.String(), `there is no key "key_nobody"; oneiros keys list shows the names and ids of all`)
	keys, err = d.store.Keys(t.Context())
	require.NoError(t, err)
	require.False(t, keys[0].Live(now))

	require.Equal(t, exit.Refused, d.run(0, "keys", "open"))
	require.Contains(t, d.err.String(), "add --yes")
	require.Equal(t, exit.OK, d.run(0, "keys", "open", "--yes"), d.err.String())
	required, err := d.store.KeysRequired(t.Context())
	require.NoError(t, err)
	require.False(t, required)
	require.Equal(t, exit.OK, d.run(100, "keys", "add", "again"))
	require.Contains(t, strings.Join(strings.Fields(d.err.String()), " "),
		"within a second every request to a server of this deployment needs one")
	require.Equal(t, exit.OK, d.run(100, "keys", "add", "and-again"))
	require.NotContains(t, d.err.String(), "This is the first key")
}

func TestTheScreensOfKeys(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	nothing, some := budget.Micros(0), 2*budget.Dollar
	for n, k := range []access.Key{
		{Name: "laptop", Role: access.Client, Agents: []string{"echo", "tally"}},
		{
			Name:    "a name that is rather long for a column",
			Role:    access.Operator,
			Expires: now.AddDate(0, 0, 90),
			Rate:    60,
			Day:     &some,
		},
		{Name: "old", Role: access.Owner, Expires: now.Add(-time.Hour), Day: &nothing},
		{Name: "lost", Role: access.Client, Agents: []string{"echo"}, Revoked: now.Add(-time.Hour)},
	} {
		k.ID, k.Hash, k.Created = fmt.Sprintf("key_abcdefghijk%d", n), access.Hash(fmt.Sprint(n)),
			now.AddDate(0, 0, n-10)
		require.NoError(t, d.store.PutKey(t.Context(), k))
	}
	for n, at := range []time.Time{now, now, now.AddDate(0, 0, -1)} { // one settled, one still open, and yesterday's
		hold, err := d.store.Ledger().Reserve(t.Context(), spend.Ask{
			Step:   fmt.Sprint("talk/", n),
			Agent:  "ag_echo",
			Phase:  "talk",
			Model:  "house/small",
			Day:    "2026-11-20",
			Amount: 250_000,
			At:     at,
			Accounts: []budget.Account{
				{Scope: access.Key{ID: "key_abcdefghijk1"}.Account(at), Limit: budget.Unlimited},
			},
		})
		require.NoError(t, err)
		if n == 0 {
			require.NoError(t,
				d.store.Ledger().Settle(t.Context(), hold, spend.Bill{State: spend.Settled, Amount: 120_000}))
		}
	}
	require.Equal(t, exit.OK, d.run(0, "keys", "list", "--json"))
	var listed []struct {
		Today *budget.Micros `json:"today_micros"`
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &listed), d.out.String())
	require.Equal(t, budget.Micros(370_000), *listed[1].Today)
	require.Zero(t, *listed[0].Today)
	for _, width := range []int{80, 200} {
		require.Equal(t, exit.OK, d.run(width, "keys", "list"))
		d.golden(fmt.Sprintf("keys-list-%d", width))
		for _, line := range strings.Split(d.out.String(), "\n") {
			require.LessOrEqual(t, len([]rune(line)), width)
		}
	}
	require.Equal(t, exit.OK, d.run(80, "keys", "add", "desk", "--day", "0"))
	for _, text := range []string{"secret     " + access.SecretPrefix, "agents     all", "a day      $0.00"} {
		require.Contains(t, d.out.String(), text)
	}
	require.Contains(t, d.err.String(), "shown only now")
	require.Equal(t, exit.OK, d.run(0, "keys", "revoke", "--help"))
	require.Equal(t, exit.OK, d.run(0, "__complete", "keys", "revoke", ""))
	require.Contains(t, d.out.String(), "key_abcdefghijk0\tlaptop")
	require.NotContains(t, d.out.String(), "lost")
}

func TestAKeyIsRevokedByItsName(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	phone := d.keyFrom("keys", "add", "phone")
	twins := []addedKey{d.keyFrom("keys", "add", "twin"), d.keyFrom("keys", "add", "twin")}
	named := d.keyFrom("keys", "add", phone.ID) // another key's id as a name
	revoked := func(arg string) addedKey { return d.keyFrom("keys", "revoke", arg) }

	require.Equal(t, exit.Usage, d.run(0, "keys", "revoke", "twin"))
	require.Contains(t, d.err.String(), `2 keys are called "twin"; name one by its id: `)
	for _, k := range twins {
		require.Contains(t, d.err.String(), k.ID)
	}
	require.Equal(t, twins[0].ID, revoked(twins[0].ID).ID)
	require.Equal(t, twins[1].ID, revoked("twin").ID, "the one that is live")
	require.Equal(t, "revoked", revoked("twin").State, "nothing is left to do")
	require.Equal(t, phone.ID, revoked(phone.ID).ID, "an id goes before a name")
	keys, err := d.store.Keys(t.Context())
	require.NoError(t, err)
	for _, k := range keys {
		require.Equal(t, k.ID == named.ID, k.Live(now), k.Name)
	}
}

// addedKey is the JSON of keys add and keys rotate.
type addedKey struct {
	ID, Secret, Principal, State string
	Role                         access.Role
}

func (d *fixture) keyFrom(args ...string) addedKey {
	d.Helper()
	require.Equal(d, exit.OK, d.run(0, append(args, "--json")...), d.err.String())
	var k addedKey
	require.NoError(d, json.Unmarshal(d.out.Bytes(), &k))
	return k
}

func TestARotatedKeySpeaksAsTheSamePrincipal(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	old := d.keyFrom(
		"keys",
		"add",
		"laptop",
		"--agent",
		"echo",
		"--role",
		"operator",
		"--rate",
		"60",
		"--day",
		"$2",
		"--expires",
		"90d",
	)
	require.Equal(t, old.ID, old.Principal, "without --principal a key is a principal of its own")
	next := d.keyFrom("keys", "rotate", "laptop", "--grace", "24h")
	require.NotEqual(t, old.Secret, next.Secret)
	require.Equal(t, old.ID, next.Principal)
	keys, err := d.store.Keys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 2)
	byID := map[string]access.Key{keys[0].ID: keys[0], keys[1].ID: keys[1]}
	require.Equal(t, now.Add(24*time.Hour), byID[old.ID].Expires)
	rotated := byID[next.ID]
	require.Equal(t, []string{"echo"}, rotated.Agents)
	require.Equal(t, access.Operator, rotated.Role)
	require.Equal(t, 60, rotated.Rate)
	require.Equal(t, 2*budget.Dollar, *rotated.Day)
	require.Equal(t, byID[old.ID].Account(now), rotated.Account(now), "rotating doubles no cap")

	require.Equal(t, exit.Usage, d.run(0, "keys", "rotate", "laptop"), "two live keys have the name")
	require.Contains(t, d.err.String(), next.ID)
	require.Equal(t, exit.OK, d.run(0, "keys", "rotate", old.ID))
	require.Contains(t, d.err.String(), old.ID+" has expired")
	require.Equal(t, exit.Usage, d.run(0, "keys", "rotate", old.ID))
	require.Contains(t, d.err.String(), "oneiros keys add \"laptop\" --principal "+old.ID)
	require.Equal(t, exit.NotFound, d.run(0, "keys", "rotate", "nobody"))
	require.Equal(t, exit.Usage, d.run(0, "keys", "rotate", next.ID, "--grace", "-1h"))
}

func TestSeveralKeysSpeakAsOnePrincipal(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	laptop := d.keyFrom("keys", "add", "laptop", "--principal", "anna")
	require.Equal(t, "anna", laptop.Principal)
	require.Equal(t, exit.OK, d.run(80, "keys", "add", "phone", "--principal", "anna"))
	require.Contains(t, d.err.String(), "speaks as anna, as do "+laptop.ID)
	require.Equal(t, exit.OK, d.run(80, "keys", "add", "desk", "--principal", "local"))
	require.Contains(t, d.err.String(), "said without a key")
	require.Equal(t, exit.Usage, d.run(0, "keys", "add", "other", "--principal", "anna/bob"))
	require.Contains(t, d.err.String(), `principal "anna/bob"`)
	require.Equal(t, exit.OK, d.run(0, "__complete", "keys", "add", "x", "--principal", ""))
	require.Contains(t, d.out.String(), "anna\nlocal\n")
}

func TestAKeyThatIsWrongIsNotMade(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	for line, why := range map[string]string{
		"--role god":      `role is "god"`,
		"--rate -1":       "must not be negative",
		"--day lots":      "--day",
		"--day -1":        "not a number of dollars",
		"--expires 0s":    "must be above zero",
		"--expires never": "must be a duration",
	} {
		require.Equal(t, exit.Usage,
			d.run(0, append([]string{"keys", "add", "laptop"}, strings.Fields(line)...)...), line)
		require.Contains(t, d.err.String(), why, line)
	}
	require.Equal(t, exit.Usage, d.run(0, "keys", "add", "two\nlines"))
	require.Equal(t, exit.NotFound, d.run(0, "keys", "add", "laptop", "--agent", "nobody"))
	keys, err := d.store.Keys(t.Context())
	require.NoError(t, err)
	require.Empty(t, keys)
}

func TestLimitsOfAKeyAreChanged(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	laptop := d.keyFrom("keys", "add", "laptop", "--agent", "echo", "--rate", "60", "--day", "$2")
	stored := func() access.Key {
		t.Helper()
		keys, err := d.store.Keys(t.Context())
		require.NoError(t, err)
		require.Len(t, keys, 1)
		return keys[0]
	}
	before := stored()
	require.Equal(t, exit.OK, d.run(80, "keys", "set", "laptop", "--rate", "120", "--tokens", "50000",
		"--program"), d.err.String())
	require.Equal(t, "key     "+laptop.ID+"\nname    laptop\nasks    a program\nrate    120 a minute\n"+
		"tokens  50000 a minute\na day   $2.00\n", d.out.String())
	before.Rate, before.Tokens, before.Program = 120, 50_000, true
	require.Equal(t, before, stored(), "all else stays, its secret too")
	changed := d.keyFrom("keys", "set", laptop.ID, "--program=false", "--rate", "0", "--tokens", "0",
		"--day", "")
	require.Equal(t, laptop.ID, changed.ID)
	before.Rate, before.Tokens = 0, 0
	before.Program, before.Day = false, nil
	require.Equal(t, before, stored())

	require.Equal(t, exit.Usage, d.run(0, "keys", "set", "laptop"))
	require.Contains(t, d.err.String(), "--rate, --tokens, --program or --day")
	require.Equal(t, exit.Usage, d.run(0, "keys", "set", "laptop", "--rate", "-1"))
	require.Contains(t, d.err.String(), "rate is -1 requests a minute")
	require.Equal(t, exit.Usage, d.run(0, "keys", "set", "laptop", "--tokens", "-1"))
	require.Contains(t, d.err.String(), "tokens are -1 a minute; they must not be negative")
	require.Equal(t, exit.Usage, d.run(0, "keys", "set", "laptop", "--day", "much"))
	require.Equal(t, exit.NotFound, d.run(0, "keys", "set", "nobody", "--rate", "1"))
	require.Equal(t, exit.OK, d.run(0, "keys", "revoke", "laptop"))
	require.Equal(t, exit.Refused, d.run(0, "keys", "set", "laptop", "--rate", "1"))
	require.Contains(t, d.err.String(), "has ended and stays so")
	require.Equal(t, before.Rate, stored().Rate)
}
