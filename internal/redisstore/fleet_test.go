package redisstore_test

import (
	"testing"

	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/spend/spendtest"
)

func TestTheStoreKeepsTheContractOfFleets(t *testing.T) {
	t.Parallel()
	memorytest.RunFleet(t, func(t *testing.T) memorytest.FleetStore { return fresh(t) })
}

func TestTheStoreReturnsManyBalances(t *testing.T) {
	t.Parallel()
	spendtest.RunBalances(t, fresh(t).Ledger())
}
