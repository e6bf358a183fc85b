package deploy

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/seed-56a03226/oneiros/internal/exit"
)

// ProbeAnswer is what a server for clients says of itself at /readyz.
type ProbeAnswer struct {
	Status string            `json:"status"` // ready, or not ready
	Parts  map[string]string `json:"parts"`
}

// probeWithin is longer than the server itself takes to answer (readyWithin).
const probeWithin = readyWithin + 2*time.Second

// ProbeServer asks the server for clients of this machine whether it is ready. It opens no store. A server that is not
// ready, and one that does not answer, are errors with the code exit.Unreachable; what the first one said is returned.
func ProbeServer(ctx context.Context, c Configuration) (ProbeAnswer, error) {
	address, err := c.ServerAddress()
	if err != nil {
		return ProbeAnswer{}, err
	}
	address += "/readyz"
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return ProbeAnswer{}, exit.Usagef("serve.listen: %w", err)
	}
	// The certificate names the host as clients know it, and not as this machine reaches itself.
	probe := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := probe.Do(q)
	if err != nil {
		return ProbeAnswer{}, exit.Errorf(exit.Unreachable, "no server for clients answers here: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer ProbeAnswer
	err = json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&answer)
	switch {
	case err != nil || answer.Status == "":
		return answer, exit.Errorf(exit.Unreachable, "%s answers %s, but not as a server of oneiros does", address,
			response.Status)
	case response.StatusCode != http.StatusOK:
		return answer, exit.Errorf(exit.Unreachable, "the server at %s is %s", address, answer.Status)
	}
	return answer, nil
}

// ServerAddress is where a program of this machine reaches the server for clients, such as http://127.0.0.1:7680.
func (c Configuration) ServerAddress() (string, error) {
	values := map[string]string{}
	for _, s := range c.Settings {
		values[s.Key] = s.Value
	}
	listen := values["serve.listen"]
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return "", exit.Usagef("serve.listen is %q, which names no port to ask; set it to an address such as 127.0.0.1:7680",
			listen)
	}
	ip := net.ParseIP(host)
	switch {
	case host == "" || (ip.IsUnspecified() && ip.To4() != nil):
		host = "127.0.0.1"
	case ip.IsUnspecified():
		host = "::1"
	}
	scheme := "http"
	if values["serve.tls_cert"] != "" {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(host, port)), nil
}
