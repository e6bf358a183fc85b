package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

// authority signs certificates of servers and clients.
type authority struct {
	*testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{T: t, dir: t.TempDir()}
	a.cert, a.key = a.sign(name, "")
	return a
}

// file is the path of a part of a certificate, such as "client.crt".
func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// sign makes a certificate and writes it to files; the authority's own when it has none yet.
func (a *authority) sign(name, file string) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a, err)
	now := time.Now()
	made := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{name}, BasicConstraintsValid: true,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		made.IsCA, made.KeyUsage = true, x509.KeyUsageCertSign
		parent, signer, file = made, key, "ca"
	}
	der, err := x509.CreateCertificate(rand.Reader, made, parent, &key.PublicKey, signer)
	require.NoError(a, err)
	made, err = x509.ParseCertificate(der)
	require.NoError(a, err)
	body, err := x509.MarshalECPrivateKey(key)
	require.NoError(a, err)
	for suffix, block := range map[string]*pem.Block{
		".crt": {Type: "CERTIFICATE", Bytes: der},
		".key": {Type: "EC PRIVATE KEY", Bytes: body},
	} {
		require.NoError(a, os.WriteFile(a.file(file+suffix), pem.EncodeToMemory(block), 0o600))
	}
	return made, key
}

// guard listens with mutual TLS in front of a server without it, and accepts clients with a certificate of the
// authority.
func (a *authority) guard(address string) string {
	a.Helper()
	a.sign("temporal.example", "server")
	pair, err := tls.LoadX509KeyPair(a.file("server.crt"), a.file("server.key"))
	require.NoError(a, err)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{pair},
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		NextProtos:   []string{"h2"},
	})
	require.NoError(a, err)
	var open sync.WaitGroup
	a.Cleanup(func() { _ = l.Close(); open.Wait() })
	open.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { pass(in, address) })
		}
	})
	return l.Addr().String()
}

// pass copies bytes in both directions until both sides have ended.
func pass(in net.Conn, address string) {
	defer in.Close()
	if in.(*tls.Conn).Handshake() != nil {
		return
	}
	out, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer out.Close()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
			done <- struct{}{}
		}()
	}
	<-done
	<-done
}

// profile writes the standard Temporal client environment's file.
func (h *home) profile(lines string) {
	h.Helper()
	path := filepath.Join(h.dir, "temporal.toml")
	require.NoError(h, os.WriteFile(path, []byte(lines), 0o600))
	h.env = append(h.env, "TEMPORAL_CONFIG_FILE="+path)
}

// flat joins the lines of an output.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestAClusterBehindMutualTLSIsReachedByProfile(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	server := temporal.Start(t, temporal.WithNamespaces("nights"))
	ours, strange := newAuthority(t, "our authority"), newAuthority(t, "another authority")
	address := ours.guard(server.Address)
	ours.sign("oneiros", "client")
	strange.sign("oneiros", "client")
	section := func(name string, a *authority, ca string) string {
		return fmt.Sprintf(
			"[profile.%s]\naddress = %q\nnamespace = \"nights\"\n[profile.%s.tls]\nserver_ca_cert_path = %q\nclient_cert_path = %q\nclient_key_path = %q\nserver_name = \"temporal.example\"\n\n",
			name, address, name, ca, a.file("client.crt"), a.file("client.key"))
	}
	h.profile(
		section("night", ours, ours.file("ca.crt")) + section("stranger", strange, ours.file("ca.crt")) +
			section("duped", ours, strange.file("ca.crt")))

	found := flat(h.must("doctor", "--profile", "night"))
	require.Contains(t, found,
		"! temporal "+address+", namespace nights (from the standard Temporal client environment)")
	require.Contains(t, found, "worker commands on, search attributes there; no worker polls the task queue oneiros")
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	h.env = append(h.env, "TEMPORAL_PROFILE=night")
	h.up()
	require.Contains(t, h.must("dream", "--watch"), "echo dreamt", "a whole night over mutual TLS")

	for name, says := range map[string]string{
		// Our certificate is of none of its authorities, so Go's client sends none.
		"stranger": "its TLS says: remote error: tls: certificate required",
		"duped":    "certificate signed by unknown authority",
	} {
		_, beside, code := h.run("worker", "--profile", name)
		require.Equal(t, exit.Unreachable, code, beside)
		require.Contains(t, flat(beside), "reach Temporal at "+address+", namespace nights", name)
		require.Contains(t, flat(beside), says, name)
		out, _, code := h.run("doctor", "--profile", name)
		require.Equal(t, exit.Failure, code)
		require.Contains(t, flat(out), "Check the address, the network and the credentials", name)
	}
}

func TestOurOwnTLSKnobsReachTheSameCluster(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	server := temporal.Start(t)
	ours := newAuthority(t, "our authority")
	ours.sign("oneiros", "client")
	h.env = append(h.env, "ONEIROS_TEMPORAL_ADDRESS="+ours.guard(server.Address),
		"ONEIROS_TEMPORAL_TLS_CA_FILE="+ours.file("ca.crt"),
		"ONEIROS_TEMPORAL_TLS_CERT_FILE="+ours.file("client.crt"),
		"ONEIROS_TEMPORAL_TLS_KEY_FILE="+ours.file("client.key"),
		"ONEIROS_TEMPORAL_TLS_SERVER_NAME=temporal.example")
	require.Contains(t, flat(h.must("doctor")), "namespace default (from temporal.address)")
}

func TestAClusterThatNobodyPreparedIsExplainedAndDreamsAllTheSame(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	server := temporal.Start(t, temporal.WithoutSearchAttributes(), temporal.WithoutWorkerCommands())
	h.env = append(h.env, "ONEIROS_TEMPORAL_ADDRESS="+server.Address)
	found := flat(h.must("doctor"))
	require.Contains(t, found, "! temporal")
	require.Contains(t, found, "no worker commands")
	require.Contains(t, found,
		"Set frontend.WorkerCommandsEnabled and system.enableCancelActivityWorkerCommand on the cluster")
	require.Contains(t, found, "it lacks the search attributes OneirosAgent, OneirosPhase")
	require.Contains(t, found, "temporal operator search-attribute create --name OneirosAgent --type Keyword")

	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	h.up()
	require.Contains(t, h.must("dream", "--watch"), "echo dreamt")
}

func TestAClusterWithoutWorkerDeploymentsIsRefusedWhenTheyAreSet(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	server := temporal.Start(t, temporal.WithoutWorkerDeployments())
	h.env = append(h.env, "ONEIROS_TEMPORAL_ADDRESS="+server.Address)
	versioned := []string{"--set", "worker.deployment=oneiros", "--set", "worker.build_id=b1"}
	for _, command := range []string{"worker", "up"} {
		_, beside, code := h.run(append([]string{command}, versioned...)...)
		require.Equal(t, exit.Unreachable, code, "%s: %s", command, beside)
		require.Contains(t, flat(beside), `worker.deployment is "oneiros", and the cluster offers no Worker Deployments (`)
		require.Contains(t, flat(beside), "set system.enableDeploymentVersions on the cluster, or leave worker.deployment")
	}
	found := flat(h.must(append([]string{"doctor"}, versioned...)...))
	require.Contains(t, found, "! temporal")
	require.Contains(t, found, "no worker starts")

	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	h.up()
	require.Contains(t, h.must("dream", "--watch"), "echo dreamt", "without the setting the cluster serves")
}

func TestTheDoctorMissesACurrentBuild(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	server := temporal.Start(t)
	h.env = append(h.env, "ONEIROS_TEMPORAL_ADDRESS="+server.Address, "ONEIROS_WORKER_DEPLOYMENT=oneiros",
		"ONEIROS_WORKER_BUILD_ID=b1")
	command := "temporal worker deployment set-current-version --deployment-name oneiros --build-id b1"
	found := flat(h.must("doctor"))
	require.Contains(t, found, "no build of the Worker Deployment oneiros is its current version")
	require.Contains(t, found, command)

	h.must("agents", "add", "echo", "--persona", "A companion.")
	up := h.up()
	c := server.Dial(t)
	handle := c.WorkerDeploymentClient().GetHandle("oneiros")
	require.Eventually(t, func() bool {
		_, err := handle.SetCurrentVersion(t.Context(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: "b1"})
		return err == nil
	}, time.Minute, 50*time.Millisecond, "a worker of the build has polled")
	require.NotContains(t, flat(h.must("doctor")), "Worker Deployment")
	h.must("wake", "--agent", "echo", "--wait")
	require.Contains(t, h.must("doctor"), "+ temporal")

	require.NoError(t, up.Process.Signal(os.Interrupt))
	require.NoError(t, up.Wait(), "%s", up.output)
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "ONEIROS_WORKER_") })
	h.up()
	found = flat(h.must("doctor"))
	require.Contains(t, found, "! temporal")
	require.Contains(t, found, "new work is for build b1 of the Worker Deployment oneiros, and no worker of it polls")
}

func TestAWorkerThatWasKilledIsMissedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	server := temporal.Start(t)
	h.env = append(h.env, "ONEIROS_TEMPORAL_ADDRESS="+server.Address)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	up := h.up()
	h.must("wake", "--agent", "echo", "--wait")
	require.Contains(t, h.must("doctor"), "+ temporal")

	require.NoError(t, up.Process.Kill())
	_ = up.Wait()
	found := flat(h.must("doctor"))
	require.Contains(t, found, "! temporal")
	require.Contains(t, found, "no worker answers for echo within 1.5s, so that nothing dreams")

	h.must("sleep", "--agent", "echo")
	_, beside, code := h.run("wake", "--agent", "echo")
	require.Equal(t, exit.OK, code, beside)
	require.Contains(t, flat(beside), "No worker has answered yet: the wake is recorded by the next one that runs.")
	require.Contains(t, flat(h.must("agents", "show", "echo")), "no worker answers")
	server.Kill()
	require.Contains(t, flat(h.must("agents", "show", "echo")), "Temporal does not answer")
}

func TestADreamThatALostClusterHoldsIsNamedWithWhatEndsIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	server := temporal.Start(t)
	h.env = append(h.env, "ONEIROS_TEMPORAL_ADDRESS="+server.Address)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	h.opened(func(d *deploy.Deployment, _ *starter.Starter) {
		agents, err := d.Store.Agents(t.Context())
		require.NoError(t, err)
		held := memory.Slot{
			Fence:   memory.Fence{Dream: "dream/echo/0009", Run: "r"},
			Cluster: "default/lost",
			Since:   time.Now(),
		}
		_, err = d.Store.TakeSlot(t.Context(), agents[0].ID, held, memory.Fence{})
		require.NoError(t, err)
	})
	const command = "end the dream with oneiros dreams cancel dream/echo/0009 --abandon"
	found := flat(h.must("doctor"))
	require.Contains(t, found, "dream/echo/0009 holds its agent on another Temporal cluster, default/lost")
	require.Contains(t, found, "If that cluster is gone for good, "+command+".")
	_, beside, code := h.run("dream")
	require.Equal(t, exit.Refused, code, beside)
	require.Contains(t, flat(beside), command)
}
