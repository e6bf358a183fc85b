package sqlitestore

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// addressMost is the longest path of a Unix socket that every system takes: 108 bytes on Linux, 104 on others, one of
// which ends it.
const addressMost = 103

// socketName is the form of the names of sockets: process id and a random part.
var socketName = regexp.MustCompile(`^[0-9]{1,10}-[0-9a-f]{8}\.sock$`)

const socketNameMost = len("4294967295-00000000.sock")

func newSocketName() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(random[:]) + ".sock"
}

// socketDir is the folder of the sockets of a deployment's processes: beside its file, or, where a socket's path would
// be too long for the system, in a folder for temporary files under a name that follows from the file's.
func socketDir(file string) string {
	beside := resolved(file) + ".bell"
	sum := sha256.Sum256([]byte(beside))
	away := "oneiros-bell-" + hex.EncodeToString(sum[:8])
	for _, folder := range []string{beside, filepath.Join(os.TempDir(), away)} {
		if len(folder)+1+socketNameMost <= addressMost {
			return folder
		}
	}
	return filepath.Join("/", "tmp", away) // every Unix has it
}

// prepareSocketDir makes the folder. What is there already must be a folder that no other user can put sockets into.
func prepareSocketDir(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return checkSocketDir(folder)
}

func checkSocketDir(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ours(info) {
		return fmt.Errorf("%s is %s; the sockets of the bell need a folder of this user with mode drwx------", folder,
			info.Mode())
	}
	return nil
}
