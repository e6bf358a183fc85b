package deploy

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/seed-56a03226/oneiros/config"
)

// renewBefore is how long before its end a certificate is reported. Certificates that renew themselves do so 30 days
// before; one with two weeks left has missed that.
const renewBefore = 14 * 24 * time.Hour

// checkServe reports who can reach serve.listen, and why the server would not start.
func (d doctor) checkServe(ctx context.Context) Finding {
	if d.cfg.Serve.Listen == "" {
		return passed("clients are not answered (serve.listen is empty)")
	}
	return d.onStore(ctx, lookAtServer)
}

func lookAtServer(ctx context.Context, h *Deployment) Finding {
	c := h.config
	required, err := h.Keys.KeysRequired(ctx)
	if err != nil {
		return failed("Fix the store and the data folder first.", "whether keys are required cannot be read: %v", err)
	}
	keys, err := h.store.Keys(ctx)
	if err != nil {
		return failed("Fix the store first.", "the keys cannot be read: %v", err)
	}
	live, now := 0, time.Now()
	for _, k := range keys {
		if k.Live(now) {
			live++
		}
	}
	at, near := c.Serve.Listen, c.Serve.Loopback()
	if wrong := certified(c.Serve, now); wrong.State != "" {
		return wrong
	}
	switch {
	case len(keys) == 0 && required:
		return failed(
			"Restore the store from a copy, or make a key with oneiros keys add NAME; oneiros keys open lets this machine in without one again.",
			"%s answers nobody: this deployment needs a key for every request, and its store has none", at)
	case len(keys) == 0 && c.Serve.Keys == config.KeysRequired:
		return warned("Make a key with oneiros keys add NAME.",
			"%s answers nobody: serve.keys is required, and there is no key yet", at)
	case !required && len(keys) > 0 && live == 0 && c.Serve.Keyless():
		return passed("%s, for this machine alone: no key is live, and none is required", at)
	case len(keys) == 0 && near:
		return passed("%s, for this machine alone: there are no keys", at)
	case len(keys) == 0:
		return failed("Make a key with oneiros keys add NAME, set serve.keys to required, or set serve.listen to 127.0.0.1:7680.",
			"%s can be reached by other machines, and there is no key: the server does not start", at)
	case live == 0:
		return warned("Make one with oneiros keys add NAME.", "%s answers nobody: of %d keys none is live", at,
			len(keys))
	case !near && c.Serve.TLSCert == "":
		return warned("Set serve.tls_cert and serve.tls_key, or see that a proxy before it speaks TLS.",
			"%s, keys %d: keys and conversations cross the network as plain text", at, live)
	}
	return passed("%s, keys %d", at, live)
}

// certified returns what is wrong with the certificate; nothing when it is well, or when there is none.
func certified(s config.Serve, now time.Time) Finding {
	if s.TLSCert == "" {
		return Finding{}
	}
	pair, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		return failed("Correct serve.tls_cert and serve.tls_key.", "the certificate %s with the key %s: %v", s.TLSCert,
			s.TLSKey, err)
	}
	until := pair.Leaf.NotAfter
	switch {
	case now.After(until):
		return failed("Renew it; a server that runs takes the new one by itself.", "the certificate %s ended on %s",
			s.TLSCert, until.UTC().Format(time.DateOnly))
	case now.Add(renewBefore).After(until):
		return warned("Renew it; a server that runs takes the new one by itself.", "the certificate %s ends on %s",
			s.TLSCert, until.UTC().Format(time.DateOnly))
	}
	return Finding{}
}
