package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// writeTar writes files in their order. What it writes depends on them and the time alone.
func writeTar(w io.Writer, list []file, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range list {
		head := &tar.Header{
			Name:    f.path,
			Mode:    int64(f.mode.Perm()),
			Uid:     f.owner,
			Gid:     f.owner,
			ModTime: at,
			Format:  tar.FormatPAX,
		}
		if f.dir {
			head.Typeflag, head.Name = tar.TypeDir, f.path+"/"
			if f.sticky {
				head.Mode |= 0o1000
			}
		}
		var body []byte
		if !f.dir {
			var err error
			body, err = f.read()
			if err != nil {
				return err
			}
			head.Size = int64(len(body))
		}
		if err := t.WriteHeader(head); err != nil {
			return err
		}
		if _, err := t.Write(body); err != nil {
			return err
		}
	}
	return t.Close()
}

// create writes a file of the release.
func (r release) create(name string, write func(io.Writer) error) error {
	w, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	return errors.Join(write(w), w.Close())
}

// archive packs the programs with the documents into a folder that runs wherever it is unpacked.
func (r release) archive(p platform, programs []program, docs []file) ([]string, error) {
	top := "oneiros_" + r.version + "_" + p.file()
	name := top + ".tar.gz"
	list := under(top, slices.Concat(programFiles(programs, "oneiros", "hermes", "temporald"), docs))
	return []string{name}, r.create(name, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		return errors.Join(writeTar(z, list, r.time), z.Close())
	})
}

// sumsFile lists the sums of the other files, in the form of sha256sum.
const sumsFile = "SHA256SUMS"

func writeSums(dir string, names []string) error {
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		sum, err := sumOf(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(text.String()), 0o644)
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
