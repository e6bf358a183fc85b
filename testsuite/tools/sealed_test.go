package tools_test

import (
	"encoding/base64"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/internal/payload"
)

var base64d = regexp.MustCompile(`"data": "([A-Za-z0-9+/=]+)"`)

// data is the content of the payloads of a printed history.
func data(t *testing.T, printed string) string {
	t.Helper()
	var all strings.Builder
	for _, found := range base64d.FindAllStringSubmatch(printed, -1) {
		body, err := base64.StdEncoding.DecodeString(found[1])
		require.NoError(t, err)
		all.Write(body)
	}
	require.NotEmpty(t, all.String())
	return all.String()
}

func TestASealedDreamIsReadThroughTheCodecServer(t *testing.T) {
	t.Parallel()
	made, err := payload.NewLine("spring", strings.NewReader("a key of 32 bytes, for this test"))
	require.NoError(t, err)
	keys, err := payload.Parse(made)
	require.NoError(t, err)
	s := dreaming(t, func(o *client.Options) { o.DataConverter, o.FailureConverter = payload.New(keys) })
	const show = `temporal workflow show --workflow-id dream/echo/0001 --output json`
	sealed := s.run(show)
	require.NotContains(t, data(t, sealed), "scripted/script", "the order names its models, and the order is sealed")
	server := httptest.NewServer(payload.Server{Keys: keys, Token: "sesame"}.Handler())
	defer server.Close()
	opened := s.run(show + " --codec-endpoint " + server.URL + " --codec-auth 'Bearer sesame'")
	require.Contains(t, data(t, opened), "scripted/script")

	var printed strings.Builder
	n, err := payload.OpenJSON(keys, strings.NewReader(sealed), &printed)
	require.NoError(t, err)
	require.Positive(t, n)
	require.Contains(t, printed.String(), "scripted/script")

	// search attributes are never sealed
	s.shows(`temporal workflow list --query 'OneirosAgent = "echo" AND OneirosPhase = "nrem"'`, night)
	text := s.run(
		"temporal workflow query --workflow-id dream/echo/0001 --type progress --codec-endpoint " + server.URL +
			" --codec-auth 'Bearer sesame'")
	require.Contains(t, text, `"phase":"nrem"`)
}
