package roomhttp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/roomhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/webhooks"
)

// A program without a key posts under the signature of a webhook. Who has none, or an old one, is told nothing.
func TestAWebhookPostsWithASignatureAndWithoutAKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	added := does[webhooks.View](r, 201, ada, "POST", "/v1/rooms/hall/webhooks", `{"name":"ci","sender":"stranger"}`)
	require.NotEmpty(t, added.Secret)
	listed := does[psyche.Page[webhooks.View]](r, 200, ada, "GET", "/v1/rooms/hall/webhooks", "")
	require.Len(t, listed.Data, 1)
	require.Empty(t, listed.Data[0].Secret)
	const path, body = "/v1/rooms/hall/webhooks/ci/posts", `{"id":"build-1","body":"The build is broken."}`
	signed := func(secret, body string, at time.Time) []string {
		header := http.Header{}
		governor.Sign(header, []byte(secret), []byte(body), at)
		return []string{
			"Authorization", "", governor.TimestampHeader, header.Get(governor.TimestampHeader),
			governor.SignatureHeader, header.Get(governor.SignatureHeader),
		}
	}
	for range 2 {
		done := does[roomhttp.Received](r, 201, "", "POST", path, body, signed(added.Secret, body, time.Now())...)
		require.True(t, strings.HasPrefix(done.Post, "hall/"))
		p := does[room.Post](r, 200, ada, "GET", "/v1/rooms/hall/posts/"+strings.TrimPrefix(done.Post, "hall/"), "")
		require.Equal(t, "ci", p.Name)
		require.Equal(t, room.PersonID("webhook/ci"), p.Author)
	}
	other := strings.Replace(body, "broken", "fine", 1)
	r.refused(409, "conflict", "", "another content", "", "POST", path, other, signed(added.Secret, other, time.Now())...)
	r.refused(401, "invalid_signature", "", "does not fit", "", "POST", path, other, signed(added.Secret, body, time.Now())...)
	r.refused(401, "invalid_signature", "", "away from now", "", "POST", path, body,
		signed(added.Secret, body, time.Now().Add(-time.Hour))...)
	r.refused(401, "invalid_signature", "", "does not fit", "", "POST", "/v1/rooms/hall/webhooks/none/posts", body,
		signed(added.Secret, body, time.Now())...)
	r.refused(401, "invalid_signature", "", "seconds since 1970", "", "POST", path, body)
	wrong := `{"id":"x","text":"y"}`
	r.refused(400, "invalid_value", "text", "unknown", "", "POST", path, wrong, signed(added.Secret, wrong, time.Now())...)
	require.Equal(t, 204, r.ask(ada, "DELETE", "/v1/rooms/hall/webhooks/ci", "").status)
	r.refused(404, "not_found", "webhook", "ci", ada, "DELETE", "/v1/rooms/hall/webhooks/ci", "")
}
