package psyche_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

func owner(t *testing.T, text string) psyche.Owner {
	t.Helper()
	o, err := psyche.ParseOwner(text)
	require.NoError(t, err)
	require.Equal(t, text, o.String())
	return o
}

func TestAnOwnerIsAPrincipalOrOneUserOfIt(t *testing.T) {
	t.Parallel()
	require.Equal(t, psyche.Owner{Principal: "anna", Every: true}, owner(t, "anna"))
	require.Equal(t, psyche.Owner{Principal: "anna"}, owner(t, "anna/"))
	require.Equal(t, psyche.Owner{Principal: "local", User: "a/b"}, owner(t, "local/a/b"))
	for _, bad := range []string{"", "/", "/ann", "a b/c", "loopback"} {
		_, err := psyche.ParseOwner(bad)
		require.ErrorContains(t, err, "principal", bad)
	}
}

func FuzzParseOwner(f *testing.F) {
	for _, text := range []string{"anna", "anna/", "anna/bob", "local/a/b", "/", "talk/x/y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := psyche.ParseOwner(text)
		if err != nil {
			return
		}
		require.Equal(t, text, o.String())
		if again, ok := psyche.OwnerOf(speaker("key_x", o.Principal, o.User).Owner()); ok && !o.Every {
			require.Equal(t, o, again, "what is parsed is what talk is kept under")
		}
	})
}

func TestWhatOneOwnerSaidIsTransferredToAnother(t *testing.T) {
	t.Parallel()
	r := setup(t)
	old, oldBob, next := speaker("key_a", "", "ann"), speaker("key_a", "", "bob"), speaker("key_b", "anna", "ann")
	for n, c := range []psyche.Caller{old, old, oldBob} {
		r.talk(turn(c, chat(fact(n))))
	}
	r.settle()
	finds := func(c psyche.Caller) int {
		t.Helper()
		found, err := r.Recall(t.Context(), c, "echo", psyche.RecallRequest{Query: fact(0), Limit: 10})
		require.NoError(t, err)
		return len(found)
	}
	require.Equal(t, []int{2, 0}, []int{finds(old), finds(next)})

	planned, err := psyche.Transfer(t.Context(), r.store, r.agent.ID, owner(t, "key_a"), owner(t, "anna"), true)
	require.NoError(t, err)
	want := []psyche.TransferResult{
		{From: owner(t, "key_a/ann"), To: owner(t, "anna/ann"), Memories: 2},
		{From: owner(t, "key_a/bob"), To: owner(t, "anna/bob"), Memories: 1},
	}
	require.Equal(t, want, planned)
	require.Equal(t, 2, finds(old), "a dry run changes nothing")
	given, err := psyche.Transfer(t.Context(), r.store, r.agent.ID, owner(t, "key_a/ann"), owner(t, "anna"), false)
	require.NoError(t, err)
	require.Equal(t, want[:1], given)
	require.Equal(t, []int{0, 2, 1}, []int{finds(old), finds(next), finds(oldBob)})
	items, err := r.store.Find(t.Context(), memory.Query{Agent: r.agent.ID, Owners: []string{next.Owner()}})
	require.NoError(t, err)
	past, err := r.store.Revisions(t.Context(), r.agent.ID, items[0].Header().ID)
	require.NoError(t, err)
	require.Equal(t, "own", past[1].Cause)
	require.Equal(t, old.Owner(), past[0].Item.(*dream.Episode).Origin)

	list, err := psyche.Owners(t.Context(), r.store, r.agent.ID)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, owner(t, "anna/ann"), list[0].Owner())
	require.Equal(t, []int{2, 0, 1}, []int{list[0].Memories, list[0].Others, list[1].Memories})
	given, err = psyche.Transfer(t.Context(), r.store, r.agent.ID, owner(t, "key_a/ann"), owner(t, "anna"), false)
	require.NoError(t, err)
	require.Empty(t, given, "nothing is left of it")
	_, err = psyche.Transfer(t.Context(), r.store, r.agent.ID, owner(t, "anna"), owner(t, "anna"), false)
	require.ErrorContains(t, err, "the same")
}

// The id of a memory derives from who said it. When an owner transferred it and says it again, it must be remembered
// even so.
func TestWhatWasTransferredIsRememberedWhenItIsSaidAgain(t *testing.T) {
	t.Parallel()
	r := setup(t)
	old, next := speaker("key_a", "", ""), speaker("key_b", "", "")
	first, err := r.Remember(t.Context(), old, "echo", fact(1), .9)
	require.NoError(t, err)
	_, err = psyche.Transfer(t.Context(), r.store, r.agent.ID, owner(t, "key_a"), owner(t, "key_b"), false)
	require.NoError(t, err)
	again, err := r.Remember(t.Context(), old, "echo", fact(1), .9)
	require.NoError(t, err)
	require.NotEqual(t, first, again)
	same, err := r.Remember(t.Context(), old, "echo", fact(1), .9)
	require.NoError(t, err)
	require.Equal(t, again, same)
	for _, c := range []psyche.Caller{old, next} {
		found, err := r.Recall(t.Context(), c, "echo", psyche.RecallRequest{Query: fact(1), Limit: 10})
		require.NoError(t, err)
		require.Len(t, found, 1, c.Owner())
	}
}

// Dreams are shown to a client that is the only one whose talk an agent remembers. A transfer must make neither of
// two owners seem the only one.
func TestATransferChangesNothingAboutWhoMaySeeDreams(t *testing.T) {
	t.Parallel()
	r := setup(t)
	talkers := func() int {
		t.Helper()
		notes, err := r.store.Notes(t.Context(), r.agent.ID, "", "talker/")
		require.NoError(t, err)
		return len(notes)
	}
	say := func(c psyche.Caller, n int) {
		t.Helper()
		_, err := r.Remember(t.Context(), c, "echo", fact(n), .9)
		require.NoError(t, err)
	}
	old, next := speaker("key_a", "", ""), speaker("key_b", "", "")
	say(old, 1)
	say(next, 2)
	require.Equal(t, 2, talkers())
	_, err := psyche.Transfer(t.Context(), r.store, r.agent.ID, owner(t, "key_a"), owner(t, "key_b"), false)
	require.NoError(t, err)
	require.Equal(t, 1, talkers(), "nothing is left of the giver, so that the receiver is alone")
	say(old, 3)
	require.Equal(t, 2, talkers(), "a server that noted the giver once notes it again")
}
