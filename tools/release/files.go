package main

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

// shipped are the files that only packages have: units of systemd, the user, settings and scripts.
//
//go:embed packaged
var shipped embed.FS

// Owner of the data in images. Packages have a user of the same name, whose number the system chooses.
const imageUser = 65532

// file is a file of a release, by the path that it gets.
type file struct {
	path   string // without a slash before it
	mode   fs.FileMode
	dir    bool
	sticky bool   // only its owner may remove a file of this folder
	owner  int    // and group
	source string // a file on the disk, or
	body   []byte
}

func (f file) read() ([]byte, error) {
	if f.source == "" {
		return f.body, nil
	}
	return os.ReadFile(f.source)
}

// documents are what the licences ask for and what a reader needs first, as files without a folder.
func (r release) documents() ([]file, error) {
	var list []file
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "SECURITY.md"} {
		path := filepath.Join(r.source, name)
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
		list = append(list, file{path: name, mode: 0o644, source: path})
	}
	return list, nil
}

// under puts files into a folder.
func under(dir string, list []file) []file {
	var moved []file
	for _, f := range list {
		f.path = dir + "/" + f.path
		moved = append(moved, f)
	}
	return moved
}

func programFiles(programs []program, names ...string) []file {
	var list []file
	for _, p := range programs {
		for _, name := range names {
			if p.name == name {
				list = append(list, file{path: name, mode: 0o755, source: p.path})
			}
		}
	}
	return list
}
