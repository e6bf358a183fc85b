package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Matrix configures the bridge to rooms of a Matrix homeserver.
type Matrix struct {
	Homeserver string `json:"homeserver"` // its address; empty: there is no bridge
	Accounts   string `json:"accounts"`   // handle=@user:server, separated by commas
	LoginEnv   string `json:"login_env"`  // how the names of the variables with secrets begin
	LoginDir   string `json:"login_dir"`  // folder of files with secrets
	People     string `json:"people"`     // user ids and servers
	Rooms      string `json:"rooms"`      // room=#alias:server or room=!id:server, separated by commas
	Subscribe  bool   `json:"subscribe"`
}

// MatrixAccount is the account of an agent, with one of the two secrets.
type MatrixAccount struct{ Handle, User, Token, Password string }

var (
	matrixUser = regexp.MustCompile(`^@[^:\s]+:[^\s]+$`)
	matrixRoom = regexp.MustCompile(`^[#!][^\s]+$`)
	variable   = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

// pairs splits "a=b, c=d" in the order in which they stand.
func pairs(text string) (all [][2]string) {
	for _, part := range SplitList(text) {
		name, value, _ := strings.Cut(part, "=")
		all = append(all, [2]string{name, value})
	}
	return all
}

func (m Matrix) validate() error {
	var faults faultList
	if m.Homeserver == "" {
		if m.Accounts != "" {
			faults.add("matrix.homeserver is empty, yet matrix.accounts names accounts; set it to an address such as https://matrix.example.org")
		}
		return errors.Join(faults...)
	}
	u, err := url.Parse(m.Homeserver)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		faults.add("matrix.homeserver is no address such as https://matrix.example.org")
	}
	if m.Accounts == "" {
		faults.add("matrix.accounts is empty; name the account of each agent, such as iris=@iris:example.org")
	}
	faults = append(faults, m.validAccounts(), m.validRooms())
	for _, who := range SplitList(m.People) {
		if strings.HasPrefix(who, "@") && !matrixUser.MatchString(who) || strings.ContainsAny(who, "/=*") {
			faults.add("matrix.people names %s; it lists user ids such as @ada:example.org and servers such as example.org",
				quoted(who))
		}
	}
	if m.LoginEnv != "" && !variable.MatchString(m.LoginEnv) {
		faults.add("matrix.login_env must be how the names of variables begin, such as MATRIX for MATRIX_IRIS_TOKEN, not a secret")
	}
	if m.LoginEnv == "" && m.LoginDir == "" {
		faults.add("matrix names no secrets; say where they lie by matrix.login_env or matrix.login_dir")
	}
	return errors.Join(faults...)
}

func (m Matrix) validAccounts() error {
	var faults faultList
	users := map[string]bool{}
	for _, p := range pairs(m.Accounts) {
		switch {
		case !dream.IsHandle(p[0]) || !matrixUser.MatchString(p[1]):
			faults.add("matrix.accounts names %s; each entry has the form iris=@iris:example.org", quoted(p[0]+"="+p[1]))
		case users[p[1]] || users[p[0]]:
			faults.add("matrix.accounts names %s twice; each agent has an account of its own", quoted(p[0]+"="+p[1]))
		}
		users[p[0]], users[p[1]] = true, true
	}
	return errors.Join(faults...)
}

func (m Matrix) validRooms() error {
	var faults faultList
	rooms := map[string]bool{}
	for _, p := range pairs(m.Rooms) {
		if p[0] == "" || !matrixRoom.MatchString(p[1]) || rooms[p[0]] || rooms[p[1]] {
			faults.add("matrix.rooms names %s; each entry has the form academy=#academy:example.org, and no room stands there twice",
				quoted(p[0]+"="+p[1]))
		}
		rooms[p[0]], rooms[p[1]] = true, true
	}
	return errors.Join(faults...)
}

// Listed returns the bridged rooms by native room.
func (m Matrix) Listed() map[string]string {
	rooms := map[string]string{}
	for _, p := range pairs(m.Rooms) {
		rooms[p[0]] = p[1]
	}
	return rooms
}

// MatrixAccounts reads the accounts with their secrets. Its errors name the place, never the content.
func (c Config) MatrixAccounts() ([]MatrixAccount, error) {
	var accounts []MatrixAccount
	var faults []error
	for _, p := range pairs(c.Matrix.Accounts) {
		a := MatrixAccount{Handle: p[0], User: p[1]}
		var err error
		a.Token, err = c.matrixSecret(a.Handle, "token")
		if err == nil && a.Token == "" {
			a.Password, err = c.matrixSecret(a.Handle, "password")
		}
		if err == nil && a.Token == "" && a.Password == "" {
			err = fmt.Errorf("the account %s has no secret; put its token or password into %s", a.User, c.Matrix.secretPlaces(a.Handle))
		}
		faults = append(faults, err)
		accounts = append(accounts, a)
	}
	return accounts, errors.Join(faults...)
}

func (m Matrix) variable(handle, kind string) string {
	return strings.ToUpper(m.LoginEnv + "_" + strings.ReplaceAll(handle, "-", "_") + "_" + kind)
}

func (m Matrix) secretPlaces(handle string) string {
	var places []string
	if m.LoginEnv != "" {
		places = append(places, m.variable(handle, "token"), m.variable(handle, "password"))
	}
	if m.LoginDir != "" {
		places = append(places, filepath.Join(m.LoginDir, handle+".token"),
			filepath.Join(m.LoginDir, handle+".password"))
	}
	return strings.Join(places, " or ")
}

// matrixSecret reads one secret of an account; "" when there is none.
func (c Config) matrixSecret(handle, kind string) (string, error) {
	if c.Matrix.LoginEnv != "" {
		if secret := strings.TrimSpace(c.env[c.Matrix.variable(handle, kind)]); secret != "" {
			return secret, nil
		}
	}
	if c.Matrix.LoginDir == "" {
		return "", nil
	}
	secret, err := c.readSecret("matrix.login", kind, "", filepath.Join(c.Matrix.LoginDir, handle+"."+kind))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return secret, err
}
