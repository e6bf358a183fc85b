package exchange

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// writing is a connection that counts what is written to it.
type writing struct {
	net.Conn
	writes *atomic.Int64
}

// Write writes one packet.
func (w writing) Write(p []byte) (int, error) {
	w.writes.Add(1)
	return w.Conn.Write(p)
}

func TestAShortRequestIsOnePacket(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	var writes atomic.Int64
	transport := newTransport(nil, false)
	t.Cleanup(transport.CloseIdleConnections)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return writing{c, &writes}, err
	}
	c := &Client{name: "p", base: server.URL, transport: transport}
	res, err := c.Send(t.Context(), inference.RelayRequest{Method: http.MethodPost, Path: "/", Body: []byte("Hello.")})
	require.NoError(t, err)
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "Hello.", string(answer))
	require.EqualValues(t, 1, writes.Load())
}
