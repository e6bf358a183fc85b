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

// maxSocketPath is the longest path of a Unix socket on every system: 108 bytes on Linux and 104 on others, including
// the terminating zero.
const maxSocketPath = 103

// socketName matches the names of sockets: process id and a random part.
var socketName = regexp.MustCompile(`^[0-9]{1,10}-[0-9a-f]{8}\.sock$`)

const maxSocketName = len("4294967295-00000000.sock")

func newSocketName() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // crypto/rand never fails
	return strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(random[:]) + ".sock"
}

// socketDir is the folder of the sockets of a deployment's processes. It is beside the file, or, where a socket's path
// would be too long, a folder for temporary files whose name is derived from the file's path.
func socketDir(file string) string {
	beside := resolved(file) + ".bell"
	sum := sha256.Sum256([]byte(beside))
	away := "oneiros-bell-" + hex.EncodeToString(sum[:8])
	for _, folder := range []string{beside, filepath.Join(os.TempDir(), away)} {
		if len(folder)+1+maxSocketName <= maxSocketPath {
			return folder
		}
	}
	return filepath.Join("/", "tmp", away) // exists on every Unix
}

// prepareSocketDir creates the folder. An existing one must not let other users create sockets in it.
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
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ownedByUser(info) {
		return fmt.Errorf("%s is %s; the sockets for wake notices need a folder of this user with mode drwx------",
			folder,
			info.Mode())
	}
	return nil
}
