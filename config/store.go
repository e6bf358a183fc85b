package config

import (
	"errors"
	"net/url"
	"path/filepath"
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
}

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

// validate never repeats the value of store.url in an error: it may contain a password by mistake.
func (s Store) validate() error {
	var faults faultList
	if s.PasswordEnv != "" && s.PasswordFile != "" {
		faults.add("store names its password twice, by password_env and by password_file; keep one")
	}
	if s.URL == "" {
		if s.PasswordEnv != "" || s.PasswordFile != "" || s.TrustServer {
			faults.add(
				"store.url is empty, yet a password or trust is set for it; set the address, such as redis://127.0.0.1:6379/0")
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
	return errors.Join(faults...)
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
