package config

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Store configures where memory, events and the ledger are stored: on a Redis server when URL is set, otherwise in the
// SQLite file.
type Store struct {
	Path         string `json:"path"`
	URL          string `json:"url"` // without a password
	PasswordEnv  string `json:"password_env"`
	PasswordFile string `json:"password_file"`
	TrustServer  bool   `json:"trust_server"`
	Prefix       string `json:"prefix"` // without the colon that follows it; empty: DefaultPrefix

	TLS      StoreTLS `json:"tls"`
	Sentinel Sentinel `json:"sentinel"`
}

// StoreTLS configures the certificates of a rediss:// connection.
type StoreTLS struct {
	CAFile     string `json:"ca_file"`
	CertFile   string `json:"cert_file"`
	KeyFile    string `json:"key_file"`
	ServerName string `json:"server_name"`
}

// Sentinel is as whom the Sentinels of store.url are asked.
type Sentinel struct {
	User         string `json:"user"`
	PasswordEnv  string `json:"password_env"`
	PasswordFile string `json:"password_file"`
}

// DefaultPrefix is what keys on a Redis server begin with, before a colon, where no other prefix is configured.
const DefaultPrefix = "oneiros"

// KeyPrefix is what every key and channel on the Redis server begins with.
func (s Store) KeyPrefix() string { return cmp.Or(s.Prefix, DefaultPrefix) + ":" }

// StorePath is the store's file: store.path, or oneiros.db in data_dir.
func (c Config) StorePath() string {
	if c.Store.Path != "" {
		return c.Store.Path
	}
	return filepath.Join(c.DataDir, "oneiros.db")
}

// StorePassword reads the password for store.url from the configured place; "" when none is configured. Callers must
// pass it to the store only.
func (c Config) StorePassword() (string, error) {
	return c.readSecret("store.password", "password", c.Store.PasswordEnv, c.Store.PasswordFile)
}

// SentinelPassword reads the password for the Sentinels from the configured place; "" when none is configured.
func (c Config) SentinelPassword() (string, error) {
	s := c.Store.Sentinel
	return c.readSecret("store.sentinel.password", "password", s.PasswordEnv, s.PasswordFile)
}

// StoreTLS reads the certificates for store.url; nil when none are configured. Errors never show a key.
func (c Config) StoreTLS() (*tls.Config, error) {
	t := c.Store.TLS
	if t == (StoreTLS{}) {
		return nil, nil
	}
	return tlsConfig(c, "store.tls",
		TLS{CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile, ServerName: t.ServerName})
}

// prefixForm is the form of store.prefix. Without a colon in it no prefix begins with another one and its colon.
var prefixForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// validate never repeats the value of store.url in an error: it may contain a password by mistake.
func (s Store) validate() error {
	var faults faultList
	if s.PasswordEnv != "" && s.PasswordFile != "" {
		faults.add("store names its password twice, by password_env and by password_file; keep one")
	}
	if s.URL == "" {
		if s.PasswordEnv != "" || s.PasswordFile != "" || s.TrustServer || s.TLS != (StoreTLS{}) ||
			s.Sentinel != (Sentinel{}) {
			faults.add("store.url is empty, yet a password, certificates, Sentinels or trust are set for it; " +
				"set the address, such as redis://127.0.0.1:6379/0")
		}
		return errors.Join(faults...)
	}
	u, err := url.Parse(s.URL)
	if err != nil || !reachable(u) {
		faults.add(
			"store.url is no address of a Redis server; it must be like redis://127.0.0.1:6379/0, rediss://user@host:6379/0 or unix:///run/redis.sock")
		return errors.Join(faults...)
	}
	if _, holds := u.User.Password(); holds || u.Query().Has("password") {
		faults.add("store.url holds a password; leave it out and name it by store.password_env or store.password_file")
	}
	if s.Prefix != "" && !prefixForm.MatchString(s.Prefix) {
		faults.add("store.prefix is %q; it must be up to 64 letters, digits, dots, dashes and underscores, and begin with a "+
			"letter or a digit", s.Prefix)
	}
	s.validateTLS(u, &faults)
	s.validateSentinels(u, &faults)
	return errors.Join(faults...)
}

func (s Store) validateTLS(u *url.URL, faults *faultList) {
	if s.TLS != (StoreTLS{}) && u.Scheme != "rediss" {
		faults.add("store.tls is set, and store.url begins with %s://; write rediss://, which speaks TLS", u.Scheme)
	}
	if (s.TLS.CertFile == "") != (s.TLS.KeyFile == "") {
		faults.add("store.tls has only one of cert_file and key_file; a client's certificate needs both")
	}
}

func (s Store) validateSentinels(u *url.URL, faults *faultList) {
	master, others := u.Query().Get("master_name"), u.Query()["addr"]
	if s.Sentinel.PasswordEnv != "" && s.Sentinel.PasswordFile != "" {
		faults.add("store.sentinel names its password twice, by password_env and by password_file; keep one")
	}
	switch {
	case master == "" && len(others) > 0:
		faults.add("store.url has addr, and no master_name; add master_name=NAME, the name by which the Sentinels know " +
			"the server")
	case master == "" && s.Sentinel != (Sentinel{}):
		faults.add("store.sentinel is set, and store.url names no Sentinels; add ?master_name=NAME, the name by which they " +
			"know the server")
	case master != "" && u.Scheme == "unix":
		faults.add("store.url has master_name, and names a socket; name a Sentinel: redis://host:26379/0?master_name=%s",
			master)
	}
	for _, at := range others {
		if host, port, err := net.SplitHostPort(at); err != nil || host == "" || port == "" {
			faults.add("store.url has addr=%s; it must be the host and port of a Sentinel, such as addr=sentinel2:26379", at)
		}
	}
}

// reachable reports whether an address names a server: a host and the number of a database, or a socket.
func reachable(u *url.URL) bool {
	switch u.Scheme {
	case "unix":
		return u.Host == "" && u.Path != ""
	case "redis", "rediss":
		number := strings.TrimPrefix(u.Path, "/")
		_, err := strconv.ParseUint(number, 10, 16)
		return u.Hostname() != "" && (number == "" || err == nil)
	}
	return false
}
