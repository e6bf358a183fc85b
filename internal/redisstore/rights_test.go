package redisstore_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	client "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// documentedUser is the command of docs/redis.md that makes a user.
func documentedUser(name string) (words []any) {
	page, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		panic(err)
	}
	line := regexp.MustCompile("(?s)```text\n(ACL SETUSER " + name + " .*?)```").FindSubmatch(page)
	if line == nil {
		panic("docs/redis.md does not show the rights of the user " + name)
	}
	for _, word := range strings.Fields(string(line[1])) {
		words = append(words, word)
	}
	return words
}

// limited lets a server accept the documented user, for the keys and channels of a prefix, and returns the user's
// address.
func limited(t testing.TB, server *redis.Server, prefix string) string {
	t.Helper()
	words := documentedUser("oneiros")
	text := strings.NewReplacer("PASSWORD", "s3cret", "~oneiros:", "~"+prefix, "&oneiros:", "&"+prefix)
	for i, word := range words {
		words[i] = text.Replace(word.(string))
	}
	require.NoError(t, server.Dial(t).Do(t.Context(), words...).Err())
	return strings.Replace(server.URL, "redis://", "redis://oneiros:s3cret@", 1)
}

// allowed is the address of the tests' server for a user that may do what docs/redis.md lists, and nothing else.
func allowed(t testing.TB) string {
	t.Helper()
	sharedTo.Store(redis.Shared(t).Address, true)
	return limited(t, redis.Shared(t), "Test")
}

// sharedTo is where the tests' server is, once a test used it.
var sharedTo sync.Map

// TestMain fails when a documented right was used by no test, provided that all tests ran.
func TestMain(m *testing.M) {
	code := m.Run()
	some := flag.Lookup("test.run").Value.String() + flag.Lookup("test.skip").Value.String()
	if code == 0 && some == "" && !testing.Short() {
		for address := range sharedTo.Range {
			if unused := unusedRights(address.(string)); len(unused) > 0 {
				fmt.Fprintln(os.Stderr, "docs/redis.md lists rights that no test needs:", strings.Join(unused, " "))
				code = 1
			}
		}
	}
	os.Exit(code)
}

// unusedRights are the documented rights to commands that a server has never run.
func unusedRights(address string) (unused []string) {
	c := client.NewClient(&client.Options{Addr: address})
	defer c.Close()
	stats := c.Info(context.Background(), "commandstats").Val()
	for _, word := range documentedUser("oneiros") {
		if command, ok := strings.CutPrefix(word.(string), "+"); ok && !strings.Contains(stats, "cmdstat_"+command+":") {
			unused = append(unused, command)
		}
	}
	return unused
}

func TestTheDocumentedUserLooksAtTheServer(t *testing.T) {
	t.Parallel()
	s := open(t, strings.TrimSuffix(allowed(t), "0")+"3", redis.Prefix(t))
	c, err := s.Condition(t.Context())
	require.NoError(t, err)
	require.False(t, c.Now.IsZero())
	require.Positive(t, c.Used)
	require.Positive(t, c.Disk)
	require.Zero(t, c.Evicted)
}

func TestTheDocumentedUserReachesItsOwnDeploymentOnly(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	url := strings.TrimSuffix(limited(t, server, "oneiros:"), "0") + "3"
	s := open(t, url, "oneiros:")
	write(t, s, memory.Write{Cause: "d1", Add: []dream.Item{episode("e1", "a boat")}})
	stop, err := s.Listen(nil)
	require.NoError(t, err)
	defer stop()
	_, err = s.Reserve(t.Context(), askFor("step"))
	require.NoError(t, err)
	_, err = redisstore.Open(t.Context(), url, redisstore.Prefix("other:"))
	require.ErrorContains(t, err, "NOPERM")
	require.ErrorIs(t, err, redisstore.ErrCredentials)
}

// usable are rights without which a store does everything that it keeps.
var usable = []string{"+config|get", "+bgrewriteaof"}

func TestAMissingRightIsNamed(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s := open(t, limited(t, server, "oneiros:"), "oneiros:")
	admin := server.Dial(t)
	missing := func() []string {
		t.Helper()
		c, err := s.Condition(t.Context())
		require.NoError(t, err)
		return c.Missing
	}
	require.Empty(t, missing())
	named := 0
	for _, word := range documentedUser("oneiros") {
		right := word.(string)
		command, granted := strings.CutPrefix(right, "+")
		if !granted || slices.Contains(usable, right) {
			continue
		}
		require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "oneiros", "-"+command).Err(), right)
		require.Equal(t, []string{right}, missing())
		require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "oneiros", right).Err())
		named++
	}
	require.Greater(t, named, 50)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "oneiros", "resetchannels").Err())
	require.Equal(t, []string{"&oneiros:*"}, missing())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "oneiros", "resetkeys").Err())
	require.Equal(t, []string{"~oneiros:*"}, missing())
	require.Equal(t, []string{"oneiros:schema"}, admin.Keys(t.Context(), "*").Val(), "it looked and wrote nothing")
}

// What cannot be kept is neither bought nor answered; what is kept can be read; and a right that is granted is found
// without a restart.
func TestAStoreWithoutARightTakesNoWrites(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	url := limited(t, server, "oneiros:")
	s := holding(t, url)
	admin := server.Dial(t)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "oneiros", "-zadd").Err())
	_, err := s.Commit(t.Context(), memory.Write{Agent: echo, Cause: "d2", Add: []dream.Item{episode("e2", "a harbour")}})
	require.ErrorContains(t, err, "takes no writes (a right is missing): its user lacks +zadd; docs/redis.md lists")
	again := open(t, url, "oneiros:")
	for _, one := range []*redisstore.Store{s, again} {
		_, err := one.Arrive(t.Context(), visitNow())
		require.ErrorIs(t, err, memory.ErrUnwritable)
		_, err = one.Reserve(t.Context(), askFor("another"))
		require.ErrorIs(t, err, memory.ErrUnwritable)
		require.ErrorIs(t, one.Ledger().Allow(t.Context(), echo, "2026-01-01", "d3", 0, 0), memory.ErrUnwritable)
		n, err := one.Count(t.Context(), memory.Query{Agent: echo})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "oneiros", "+zadd").Err())
	for _, one := range []*redisstore.Store{s, again} {
		_, err = one.Arrive(t.Context(), visitNow())
		require.NoError(t, err)
	}
}
