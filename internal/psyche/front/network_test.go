package front_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

func TestWithoutKeysOnlyLoopbackIsListenedOn(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:0", "nonsense"} {
		h := newServer(t, routesOfEachKind())
		_, err := h.Listen(t.Context(), address)
		require.Error(t, err, address)
		require.ErrorContains(t, h.Serve(), "Listen comes first")
	}
	h := newServer(t, routesOfEachKind(), func(o *front.Options) { o.Keyless = false })
	at, err := h.Listen(t.Context(), "0.0.0.0:0")
	require.NoError(t, err)
	require.NotZero(t, at.(*net.TCPAddr).Port)
	_, err = h.Listen(t.Context(), "127.0.0.1:0")
	require.ErrorContains(t, err, "listens on")
	require.NoError(t, h.Shutdown(t.Context()))
	require.NoError(t, h.Serve())
}

// streaming is a route that writes tokens until it is asked to end, or its client hangs up.
func streaming(end <-chan struct{}, left chan<- error) front.Route {
	return front.Route{
		Method: "GET",
		Path:   "/stream",
		Role:   access.Client,
		Stream: true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "begun\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-end:
				_, _ = io.WriteString(w, "ended\n")
				left <- nil
			case <-r.Context().Done():
				left <- context.Cause(r.Context())
				front.Refuse(w, r, r.Context().Err())
			}
		},
	}
}

// begin opens a stream and returns once it has begun.
func begin(t *testing.T, at string) (*bufio.Reader, io.Closer) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+at+"/stream", nil)
	require.NoError(t, err)
	r, err := (&http.Transport{}).RoundTrip(q)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Body.Close() })
	b := bufio.NewReader(r.Body)
	line, err := b.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "begun\n", line)
	return b, r.Body
}

func TestAStreamUnderWayIsFinishedWhenTheServerEnds(t *testing.T) {
	t.Parallel()
	end, left := make(chan struct{}), make(chan error, 1)
	h := newServer(t, append(routesOfEachKind(), streaming(end, left)))
	at := h.on()
	b, _ := begin(t, at)
	over := make(chan error, 1)
	go func() { over <- h.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	}, 5*time.Second, time.Millisecond, "nobody new is let in")
	close(end)
	line, err := b.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ended\n", line)
	require.NoError(t, <-left)
	require.NoError(t, <-over)
}

func TestAStreamThatDoesNotEndIsCutAfterItsGrace(t *testing.T) {
	t.Parallel()
	left := make(chan error, 1)
	h := newServer(t, []front.Route{streaming(nil, left)})
	b, _ := begin(t, h.on())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, h.Shutdown(ctx), context.DeadlineExceeded)
	require.ErrorContains(t, <-left, "shutting down")
	_, err := b.ReadString('\n')
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "nobody takes a part for the whole")
	require.Equal(t, "shutting_down", h.logged().Code)
}

func TestEndlessStreamsLearnThatTheServerStops(t *testing.T) {
	t.Parallel()
	h := newServer(t, []front.Route{{
		Method: "GET",
		Path:   "/stream",
		Role:   access.Client,
		Stream: true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "begun\n")
			_ = http.NewResponseController(w).Flush()
			<-front.Leaving(r.Context())
			_, _ = io.WriteString(w, "goodbye\n")
		},
	}})
	b, _ := begin(t, h.on())
	require.NoError(t, h.Shutdown(context.Background()))
	line, err := b.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "goodbye\n", line)
	require.Nil(t, front.Leaving(t.Context()))
	require.Empty(t, front.RequestID(t.Context()))
}

// 200 clients drop their streams: each is noticed within the time that a connection takes to close, and nothing is
// left of them.
func TestNothingIsLeftOfStreamsThatClientsDropped(t *testing.T) {
	const many = 200
	left := make(chan error, many)
	h := newServer(t, append(routesOfEachKind(), streaming(nil, left)), func(o *front.Options) { o.Limits.Streams = many })
	at := h.on()
	resting := runtime.NumGoroutine()
	conns := make([]net.Conn, many)
	for i := range conns {
		c, err := net.Dial("tcp", at)
		require.NoError(t, err)
		_, err = io.WriteString(c, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		conns[i] = c
	}
	for _, c := range conns {
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.Equal(t, 200, r.StatusCode)
	}
	for _, c := range conns {
		require.NoError(t, c.Close())
	}
	for range conns {
		require.ErrorIs(t, <-left, context.Canceled)
	}
	r, err := http.Get("http://" + at + "/v1/models")
	require.NoError(t, err)
	require.Equal(t, 200, r.StatusCode)
	_ = r.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	const looking = 1 // the counting goroutine
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= resting+looking }, 10*time.Second,
		5*time.Millisecond)
}

// 1,000 sockets that never finish a request, without a key, with a wrong one and with one of their own, do not delay
// the clients of another key. The test asserts that all of those are served; the times are logged.
func TestSlowClientsHurtNobody(t *testing.T) {
	h := newServer(t, routesOfEachKind())
	mine, theirs := h.key(access.Client), h.key(access.Client)
	at := h.on()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	good := func() time.Duration {
		var mu sync.Mutex
		var took []time.Duration
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 100 {
					begun := time.Now()
					q, err := http.NewRequest("POST", "http://"+at+"/v1/chat/completions", strings.NewReader("hello"))
					if err != nil {
						t.Error(err)
						return
					}
					q.Header.Set("Authorization", "Bearer "+mine)
					r, err := client.Do(q)
					if err != nil {
						t.Error(err)
						return
					}
					body, _ := io.ReadAll(r.Body)
					_ = r.Body.Close()
					mu.Lock()
					took = append(took, time.Since(begun))
					mu.Unlock()
					if r.StatusCode != 200 || string(body) != "hello" {
						t.Errorf("%d %q", r.StatusCode, body)
					}
				}
			})
		}
		all.Wait()
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	good()
	before := good()
	for n := range 1000 {
		c, err := net.Dial("tcp", at)
		require.NoError(t, err)
		defer c.Close()
		const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
		_, err = io.WriteString(c, []string{
			"GET /v1/models HTTP/1.1\r\nHost: local", head + "\r\nslow",
			head + "Authorization: Bearer wrong\r\n\r\nslow",
			head + "Authorization: Bearer " + theirs + "\r\n\r\nslow",
		}[n%4])
		require.NoError(t, err)
	}
	t.Logf("p99 of good clients: %v before, %v beside 1,000 slow ones", before, good())
}

// certify writes a new certificate for localhost, and its key.
func certify(t *testing.T, files front.TLS, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	require.NoError(t, err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(crand.Reader, about, about, &key.PublicKey, key)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	require.NoError(t,
		os.WriteFile(files.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
	require.NoError(t,
		os.WriteFile(files.Key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
}

func TestACertificateIsReadAgainWhenItsFilesChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := front.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	end, left := make(chan struct{}), make(chan error, 2)
	h := newServer(t, append(routesOfEachKind(), streaming(end, left)),
		func(o *front.Options) { o.TLS, o.Limits.WriteTime = files, 50*time.Millisecond })
	_, err := h.Listen(t.Context(), "127.0.0.1:0")
	require.ErrorContains(t, err, "cert.pem")
	certify(t, files, 1)
	at := h.on()
	shown := func(most uint16) (serial int64, version uint16, err error) {
		c, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true, MaxVersion: most})
		if err != nil {
			return 0, 0, err
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), c.ConnectionState().Version, nil
	}
	serial, version, err := shown(0)
	require.NoError(t, err)
	require.EqualValues(t, 1, serial)
	require.EqualValues(t, tls.VersionTLS13, version)
	_, _, err = shown(tls.VersionTLS11)
	require.Error(t, err, "older than 1.2 is refused")

	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	q, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+at+"/stream", nil)
	require.NoError(t, err)
	r, err := transport.RoundTrip(q)
	require.NoError(t, err)
	require.Equal(t, 2, r.ProtoMajor)

	require.NoError(t, os.WriteFile(files.Cert, []byte("half a certificate"), 0o600))
	require.Eventually(t, func() bool {
		_, _, err := shown(0)
		h.mu.Lock()
		defer h.mu.Unlock()
		return err == nil && len(h.reports) > 0
	}, 10*time.Second, 20*time.Millisecond, "the old one is shown on")
	certify(t, files, 2)
	require.Eventually(t, func() bool {
		serial, _, err := shown(0)
		return err == nil && serial == 2
	}, 10*time.Second, 20*time.Millisecond)

	close(end) // the HTTP/2 stream was silent for longer than a write may take, and still works
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, "begun\nended\n", string(body))
}
