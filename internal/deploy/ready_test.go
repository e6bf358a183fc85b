package deploy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// probed is what a probe gets when the parts say these words.
func (r *readiness) probed(words map[string]string) *httptest.ResponseRecorder {
	for name := range r.parts {
		r.parts[name] = func(context.Context) string { return words[name] }
	}
	answer := httptest.NewRecorder()
	r.serve(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return answer
}

func (r *readiness) status(words map[string]string) int { return r.probed(words).Code }

// All servers have the same provider: without it they are ready, and the body names it.
func TestTheAnswerNamesAProviderThatIsAway(t *testing.T) {
	t.Parallel()
	words := map[string]string{partStore: partOK, partTemporal: partOK, partMatrix: partOK, partProvider: partAway}
	for _, r := range []*readiness{readyToTalk(&engine{}), readyToBridge(&engine{})} {
		answer := r.probed(words)
		require.Equal(t, http.StatusOK, answer.Code)
		require.Contains(t, answer.Body.String(), `"provider":"away"`)
		require.Contains(t, answer.Body.String(), `"status":"ready"`)
	}
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
		"the provider is away":   {partProvider, http.StatusOK, http.StatusOK},
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
