package psyche_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// speaker is a caller with a key of a principal.
func speaker(id, principal, user string) psyche.Caller {
	return psyche.Caller{Key: access.Key{ID: id, Role: access.Client, Principal: principal}, User: user}
}

func TestTheKeysOfAPrincipalFindWhatEachOtherSaid(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.talk(
		turn(speaker("key_a", "", "ann"), chat("Please remember that my dog is called Rex and sleeps in the harbour.")))
	r.settle()
	for _, c := range []struct {
		who   psyche.Caller
		finds int
	}{
		{speaker("key_b", "key_a", "ann"), 1}, // the key that key_a was rotated into
		{speaker("key_c", "key_a", "bob"), 0}, // another user of it
		{speaker("key_d", "", "ann"), 0},      // another principal, whose user has the same name
		{speaker("key_e", access.Local, "ann"), 0},
	} {
		found, err := r.Recall(t.Context(), c.who, "echo",
			psyche.RecallRequest{Query: "Where does my dog Rex sleep?", Limit: 5})
		require.NoError(t, err)
		require.Len(t, found, c.finds, c.who.Owner())
	}
}

func TestAKeyOfTheLocalPrincipalFindsWhatWasSaidWithoutAKey(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.talk(
		turn(psyche.Caller{Key: access.Key{Role: access.Owner}},
			chat("Please remember that my dog is called Rex and sleeps in the harbour.")))
	r.settle()
	found, err := r.Recall(t.Context(), speaker("key_a", access.Local, ""), "echo",
		psyche.RecallRequest{Query: "Where does my dog Rex sleep?", Limit: 5})
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestATalkWithoutANameIsIdentifiedByItsFirstMessageAndItsGroup(t *testing.T) {
	t.Parallel()
	r := setup(t)
	name := func(group, first string) string {
		request := turn(ann, chat(first))
		request.Group = group
		_, report := r.talk(request)
		return report.Conversation
	}
	hello := name("", "Hello")
	require.Equal(t, hello, name("", "Hello"))
	app := name("app", "Hello")
	require.NotEqual(t, hello, app)
	require.Equal(t, app, name("app", "Hello"))
	require.NotEqual(t, app, name("app", "Good evening"), "one key of an application is not one talk")
	require.NotEqual(t, app, name("another", "Hello"))
}
