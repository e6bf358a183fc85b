package deploy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheDoctorReportsAWireThatAProviderLacks asks a server that speaks Responses and no Messages.
func TestTheDoctorReportsAWireThatAProviderLacks(t *testing.T) {
	t.Parallel()
	var bodies []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[]}`)
	})
	mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(raw))
		http.Error(w, `{"error":{"message":"model is missing"}}`, http.StatusBadRequest)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	const wrong = " answers, and not on the wires that it is said to speak: messages (HTTP 404 at /messages)"
	for wires, want := range map[string]string{
		"[chat]":                      " answers",
		"[chat, responses]":           " answers, on the wires chat, responses",
		"[chat, responses, messages]": wrong,
	} {
		d := appOf(t, "providers:\n  house: {profile: vllm, base_url: \""+server.URL+"/v1\", wires: "+wires+"}\n")
		found := d.checkProvider(t.Context(), "house")
		require.Equal(t, server.URL+"/v1"+want, found.Found)
		if want == wrong {
			require.Equal(t, Warning, found.State)
			require.Contains(t, found.Advice, "providers.house.wires")
		}
	}
	for _, body := range bodies {
		require.JSONEq(t, "{}", body, "a body without a model costs nothing")
	}
	require.Len(t, bodies, 2)
}
