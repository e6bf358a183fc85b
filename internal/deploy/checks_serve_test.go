package deploy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
)

func TestTheDoctorReportsWhoCanReachTheServer(t *testing.T) {
	t.Parallel()
	found := func(d doctor, state State, says string) {
		t.Helper()
		f := d.checkServe(t.Context())
		require.Equal(t, state, f.State, f.Found)
		require.Contains(t, f.Found, says)
	}
	found(appOf(t, "serve:\n  listen: \"\"\n"), Well, "serve.listen is empty")
	found(appOf(t, ""), Well, "127.0.0.1:7680, for this machine alone: there are no keys")

	found(appOf(t, "serve:\n  keys: required\n"), Warning, "serve.keys is required, and there is no key yet")

	marked := appOf(t, "")
	require.NoError(t, note(marked.cfg.DataDir, keysRequiredFile, ""))
	empty, err := openFile(t.Context(), marked.cfg, marked.cfg.StorePath())
	require.NoError(t, err)
	require.NoError(t, empty.Close())
	d := appOf(t, "serve:\n  listen: 0.0.0.0:7680\n")
	found(d, Ill, "there is no key: the server does not start")
	h, err := build(t.Context(), d.cfg, d.cfg.StorePath())
	require.NoError(t, err)
	defer func() { require.NoError(t, h.store.Close()) }()
	key, _ := access.New("laptop", access.Client, nil, time.Now())
	key.Expires = time.Now().Add(time.Hour)
	require.NoError(t, h.store.PutKey(t.Context(), key))
	found(d, Warning, "0.0.0.0:7680, keys 1: keys and conversations cross the network as plain text")
	key.Revoked = time.Now()
	require.NoError(t, h.store.PutKey(t.Context(), key))
	found(d, Warning, "0.0.0.0:7680 answers nobody: of 1 keys none is live")
	require.NoError(t, h.Keys.AllowKeyless(t.Context(), time.Now()))
	found(d, Warning, "0.0.0.0:7680 answers nobody")
	d.cfg.Serve.Listen = "127.0.0.1:7680"
	found(d, Well, "no key is live, and none is required")
	require.NoError(t, os.WriteFile(filepath.Join(d.cfg.DataDir, keysRequiredFile), nil, 0o600))
	found(d, Warning, "answers nobody: of 1 keys none is live")
	found(marked, Ill, "needs a key for every request, and its store has none")
}

func TestTheDoctorReadsTheCertificate(t *testing.T) {
	t.Parallel()
	for until, want := range map[time.Duration]struct {
		state State
		says  string
	}{
		-time.Hour:           {Ill, "ended on "},
		24 * time.Hour:       {Warning, "ends on "},
		100 * 24 * time.Hour: {Well, "127.0.0.1:7680"},
	} {
		cert, key := certificate(t, until)
		f := appOf(t, "serve:\n  tls_cert: "+cert+"\n  tls_key: "+key+"\n").checkServe(t.Context())
		require.Equal(t, want.state, f.State, f.Found)
		require.Contains(t, f.Found, want.says)
		f = appOf(t, "serve:\n  tls_cert: "+key+"\n  tls_key: "+key+"\n").checkServe(t.Context())
		require.Equal(t, Ill, f.State, f.Found)
	}
}

// certificate writes a certificate that ends after the given time and returns the paths of it and its key.
func certificate(t *testing.T, until time.Duration) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter: time.Now().Add(until),
	}
	made, err := x509.CreateCertificate(rand.Reader, form, form, secret.Public(), secret)
	require.NoError(t, err)
	shut, err := x509.MarshalPKCS8PrivateKey(secret)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: shut}), 0o600))
	return cert, key
}
