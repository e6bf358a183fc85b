package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

// DefaultNamespace is the Temporal namespace when none is configured.
const DefaultNamespace = "default"

// Cluster says how to reach Temporal. Known is false when neither the configuration nor Temporal's standard client
// environment names an address; then a child server may be started.
type Cluster struct {
	Options    client.Options
	Configured bool
	Source     string // "temporal.address", or the standard environment
}

// Cluster resolves the Temporal section. It reads certificates and keys; errors never show their content.
func (c Config) Cluster() (Cluster, error) {
	if c.Temporal.Address != "" {
		o, err := c.ownCluster()
		return Cluster{Options: o, Configured: true, Source: "temporal.address"}, err
	}
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{
		ConfigFilePath:    c.standardFile(),
		ConfigFileProfile: c.Temporal.Profile,
		EnvLookup:         lookup(c.env),
	})
	if err != nil {
		return Cluster{}, fmt.Errorf("read the standard Temporal client environment: %w", err)
	}
	if c.Temporal.Namespace != "" {
		profile.Namespace = c.Temporal.Namespace
	}
	o, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return Cluster{}, fmt.Errorf("read the standard Temporal client environment: %w", err)
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	return Cluster{
		Options:    o,
		Configured: profile.Address != "",
		Source:     "the standard Temporal client environment",
	}, nil
}

// standardFile limits the lookup to the environment that Load was given; a missing file is not an error.
func (c Config) standardFile() string {
	switch {
	case c.env["TEMPORAL_CONFIG_FILE"] != "":
		return c.env["TEMPORAL_CONFIG_FILE"]
	case c.env["XDG_CONFIG_HOME"] != "":
		return c.env["XDG_CONFIG_HOME"] + "/temporalio/temporal.toml"
	case c.env["HOME"] != "":
		if path := envconfig.DefaultConfigFilePath(); path != "" && os.Getenv("HOME") == c.env["HOME"] {
			return path
		}
		return c.env["HOME"] + "/.config/temporalio/temporal.toml"
	}
	return os.DevNull
}

// resolved are the addresses of gRPC that say how they are resolved, as in dns:///host:port.
var resolved = regexp.MustCompile(`^((dns|passthrough):(//[^/]*/)?|unix:(//)?|unix-abstract:)[!-~]*[!-.0-~]$`)

// validAddress checks temporal.address: a host and a port, or an address of gRPC, which is a URL.
func validAddress(address string) error {
	if address == "" {
		return nil
	}
	_, err := url.Parse(address)
	if resolved.MatchString(address) && err == nil {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	n, wrong := strconv.ParseUint(port, 10, 16)
	if err == nil && wrong == nil && n > 0 && hostName.MatchString(host) {
		return nil
	}
	return fmt.Errorf("temporal.address is %s; it must be the host and the port of a frontend, "+
		"such as temporal.example:7233, or an address of gRPC, such as dns:///temporal.example:7233", quoted(address))
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9._:-]*$`)

func (c Config) ownCluster() (client.Options, error) {
	t := c.Temporal
	o := client.Options{HostPort: t.Address, Namespace: t.Namespace}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	key, err := c.secret("temporal", t.KeyEnv, t.KeyFile)
	if err != nil {
		return o, err
	}
	if key != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(key)
	}
	if t.TLS == (TLS{}) && key == "" {
		return o, nil
	}
	o.ConnectionOptions.TLS, err = tlsConfig(c, "temporal.tls", t.TLS)
	return o, err
}

// tlsConfig reads the certificates of a section.
func tlsConfig(c Config, at string, t TLS) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	var faults faultList
	if t.CAFile != "" {
		body, err := os.ReadFile(c.home(t.CAFile))
		pool := x509.NewCertPool()
		switch {
		case err != nil:
			faults.add("%s.ca_file: %w", at, err)
		case !pool.AppendCertsFromPEM(body):
			faults.add("%s.ca_file %s holds no certificate in PEM form", at, t.CAFile)
		default:
			conf.RootCAs = pool
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.home(t.CertFile), c.home(t.KeyFile))
		if err != nil {
			faults.add("%s.cert_file and key_file: %w", at, err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, errors.Join(faults...)
}

// lookup implements the SDK's environment lookup on the environment that Load was given.
type lookup map[string]string

// Environ lists all variables.
func (l lookup) Environ() []string {
	lines := make([]string, 0, len(l))
	for _, name := range sortedKeys(l) {
		lines = append(lines, name+"="+l[name])
	}
	return lines
}

// LookupEnv returns one variable.
func (l lookup) LookupEnv(name string) (string, bool) {
	value, ok := l[name]
	return value, ok
}
