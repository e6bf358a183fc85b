package deploy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// status is what a probe gets when the parts say these words.
func (r *readiness) status(words map[string]string) int {
	for name := range r.parts {
		r.parts[name] = func(context.Context) string { return words[name] }
	}
	answer := httptest.NewRecorder()
	r.serve(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return answer.Code
}

func TestEachProcessIsReadyWithWhatItsWorkNeeds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		away         string
		talks, works int
	}{
		"all is there":           {"", http.StatusOK, http.StatusOK},
		"the store is away":      {partStore, http.StatusServiceUnavailable, http.StatusServiceUnavailable},
		"Temporal is away":       {partTemporal, http.StatusOK, http.StatusServiceUnavailable},
		"the provider is away":   {partProvider, http.StatusServiceUnavailable, http.StatusOK},
		"a part nobody has":      {"moon", http.StatusOK, http.StatusOK},
		"the store is read-only": {partStore, http.StatusServiceUnavailable, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			words := map[string]string{partStore: partOK, partTemporal: partOK, partProvider: partOK}
			words[c.away] = partAway
			if name == "the store is read-only" {
				words[c.away] = "takes no writes: read-only"
			}
			e := &engine{}
			require.Equal(t, c.talks, readyToTalk(e).status(words), "a server")
			require.Equal(t, c.works, readyToWork(e).status(words), "a worker")
			words[partMatrix] = partOK
			require.Equal(t, c.talks, readyToBridge(e).status(words), "a bridge")
			words[partMatrix] = partAway
			require.Equal(t, http.StatusServiceUnavailable, readyToBridge(e).status(words), "a bridge to nowhere")
		})
	}
}
