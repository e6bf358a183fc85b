package redis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates of one test.
type Authority struct {
	File string // its own certificate, in PEM

	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority that nobody else trusts.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir()}
	a.cert = &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "an authority of a test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	a.File, _ = a.issue("authority", a.cert)
	return a
}

// Issue makes a certificate for a name and 127.0.0.1, and returns the files of it and its key.
func (a *Authority) Issue(name string) (cert, key string) {
	a.t.Helper()
	return a.issue(name, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    a.cert.NotBefore,
		NotAfter:     a.cert.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:     []string{name},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	})
}

// Client is the side of a client with a certificate of its own.
func (a *Authority) Client() *tls.Config {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Issue("client"))
	if err != nil {
		a.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: []tls.Certificate{pair}}
}

// Secures is a server with a certificate of this authority, which wants one of its clients.
func (a *Authority) Secures() Option {
	a.t.Helper()
	cert, key := a.Issue("redis.internal")
	return Secured(cert, key, a.File, a.Client())
}

func (a *Authority) issue(name string, template *x509.Certificate) (cert, key string) {
	a.t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	signer := a.key
	if signer == nil { // its own
		signer, a.key = own, own
	}
	body, err := x509.CreateCertificate(rand.Reader, template, a.cert, &own.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if template == a.cert {
		a.cert, err = x509.ParseCertificate(body)
		if err != nil {
			a.t.Fatal(err)
		}
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.write(name+".crt", "CERTIFICATE", body), a.write(name+".key", "PRIVATE KEY", secret)
}

func (a *Authority) write(name, kind string, body []byte) string {
	a.t.Helper()
	file := filepath.Join(a.dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: body}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}
