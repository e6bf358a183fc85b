package dreamhttp_test

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/serving/described"
)

// published is the description as served, read once.
var published = sync.OnceValues(func() (*described.Document, error) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	return described.Read(text)
})

// validate compares a response with the published description.
func validate(t *testing.T, method, path string, a publicError) {
	t.Helper()
	d, err := published()
	require.NoError(t, err)
	require.NoError(t, d.Holds(described.Answer{
		Method: method,
		Path:   path,
		Status: a.status,
		Header: a.header,
		Body:   a.body,
	}))
}
