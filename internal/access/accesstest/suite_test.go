package accesstest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
)

func TestTheBookKeepsThePromises(t *testing.T) {
	t.Parallel()
	accesstest.RunStore(t, func(*testing.T) access.Store { return &accesstest.Book{} })
}

// looking reads first and claims then, as a careless store would.
type looking struct {
	*accesstest.Book
}

func (l looking) Claim(context.Context, access.Claim) (*access.StoredResponse, error) {
	return nil, nil
}

func TestAStoreThatGrantsAClaimTwiceIsCaught(t *testing.T) {
	t.Parallel()
	careless := looking{Book: &accesstest.Book{}}
	require.ErrorContains(t, accesstest.ClaimConcurrently(t.Context(), careless, careless), "32 of 32 got the claim")
}
