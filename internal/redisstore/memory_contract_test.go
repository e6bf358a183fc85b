package redisstore_test

import (
	"testing"

	"github.com/seed-56a03226/oneiros/activities/port/fabric/fabrictest"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/presence/presencetest"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
)

func TestTheStoreKeepsTheContractOfMemory(t *testing.T) {
	t.Parallel()
	memorytest.Run(t, func(t *testing.T) memory.Store { return fresh(t) })
}

func TestTheStoreKeepsTheContractOfFeeds(t *testing.T) {
	t.Parallel()
	memorytest.RunFeeds(t, func(t *testing.T) memorytest.FeedStore { return fresh(t) })
}

func TestTheStoreKeepsTheContractOfEmbedJobs(t *testing.T) {
	t.Parallel()
	memorytest.RunEmbedJobs(t, func(t *testing.T) memory.EmbedQueue { return fresh(t) })
}

func TestTheStoreKeepsTheContractOfTalks(t *testing.T) {
	t.Parallel()
	memorytest.RunTalks(t, func(t *testing.T) memorytest.TalkStore { return fresh(t) })
	memorytest.RunResponses(t, func(t *testing.T) memorytest.ResponseStore { return fresh(t) })
}

func TestTheStoreKeepsTheContractOfRemovals(t *testing.T) {
	t.Parallel()
	presencetest.RunRemovals(t, func(t *testing.T) presencetest.Removal {
		one, other := pair(t)
		return presencetest.Removal{One: one, Other: other, Ledger: other.Ledger(), Empty: fresh(t)}
	})
}

func TestTheStoresOfTwoProcessesShareOneMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunShared(t, func(t *testing.T) (memory.Store, memory.Store) { return pair(t) })
}

func TestTheStoreKeepsTheContractOfPresence(t *testing.T) {
	t.Parallel()
	presencetest.Run(t, func(t *testing.T) presencetest.Store { return fresh(t) })
}

func TestTheStoresOfTwoProcessesShareOnePresence(t *testing.T) {
	t.Parallel()
	presencetest.RunShared(t, func(t *testing.T) (presencetest.Store, presencetest.Store) { return pair(t) })
}

func TestTheStoreKeepsTheContractOfTheLog(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (log, store *redisstore.Store){
		"Alone":          func(t *testing.T) (log, store *redisstore.Store) { s := fresh(t); return s, s },
		"FromAnotherOne": func(t *testing.T) (log, store *redisstore.Store) { return pair(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fabrictest.Run(t, func(t *testing.T) fabrictest.Announcer {
				log, store := open(t)
				return fabrictest.Announcer{Log: log, Store: store}
			})
		})
	}
}
