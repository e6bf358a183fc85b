package main

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// platformImage is the image of one platform.
type platformImage struct {
	platform platform
	image    v1.Image
}

// imageFiles lists the files of an image: the two programs of the server, a user, and folders to mount over.
func imageFiles(programs []program, docs []file) []file {
	system := []file{
		{path: "etc", dir: true, mode: 0o755},
		{path: "etc/group", mode: 0o644, body: fmt.Appendf(nil, "root:x:0:\noneiros:x:%d:\n", imageUser)},
		{
			path: "etc/passwd",
			mode: 0o644,
			body: fmt.Appendf(nil,
				"root:x:0:0:root:/:/sbin/nologin\noneiros:x:%d:%d:oneiros:/var/lib/oneiros:/sbin/nologin\n",
				imageUser, imageUser),
		},
		{path: "etc/oneiros", dir: true, mode: 0o755},
		{path: "tmp", dir: true, mode: 0o777, sticky: true},
		{path: "var", dir: true, mode: 0o755},
		{path: "var/lib", dir: true, mode: 0o755},
		{path: "var/lib/oneiros", dir: true, mode: 0o700, owner: imageUser},
		{path: "usr", dir: true, mode: 0o755},
		{path: "usr/bin", dir: true, mode: 0o755},
		{path: "usr/share", dir: true, mode: 0o755},
		{path: "usr/share/doc", dir: true, mode: 0o755},
		{path: documentation, dir: true, mode: 0o755},
	}
	return slices.Concat(system, under(documentation, docs), under("usr/bin", programFiles(programs, "temporald")),
		under("usr/bin", programFiles(programs, "oneiros")))
}

// layers divides the files of an image: what changes seldom comes first, and a program is a layer of its own.
func layers(list []file) [][]file {
	var parts [][]file
	begin := 0
	for i, f := range list {
		if f.mode&0o111 != 0 && !f.dir {
			if i > begin {
				parts = append(parts, list[begin:i])
			}
			parts, begin = append(parts, list[i:i+1]), i+1
		}
	}
	return parts
}

//go:embed Dockerfile
var dockerfile []byte

// image builds the image of a platform. Its configuration is that of the last stage of the Dockerfile.
func (r release) image(p platform, list []file) (v1.Image, error) {
	last, err := lastStage(dockerfile, map[string]string{"VERSION": r.version})
	if err != nil {
		return nil, fmt.Errorf("read the Dockerfile: %w", err)
	}
	base := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	base = mutate.ConfigMediaType(base, types.OCIConfigJSON)
	config, err := base.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = p.os, p.arch
	config.Created = v1.Time{Time: r.time}
	config.Config = last.config
	img, err := mutate.ConfigFile(base, config)
	if err != nil {
		return nil, err
	}
	for _, part := range layers(list) {
		var body bytes.Buffer
		if err := writeTar(&body, part, r.time); err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(
			func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body.Bytes())), nil },
			tarball.WithMediaType(types.OCILayer),
		)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "COPY /" + part[len(part)-1].path},
		})
		if err != nil {
			return nil, err
		}
	}
	return img, nil
}

// imageArchive writes the images as one OCI layout in a tar, with an index that names every platform.
func (r release) imageArchive(images []platformImage) (string, error) {
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        i.image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: i.platform.os, Architecture: i.platform.arch}},
		})
	}
	dir := filepath.Join(r.work, "layout")
	at, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return "", err
	}
	err = at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          "docker.io/library/oneiros:" + r.version,
	}))
	if err != nil {
		return "", err
	}
	name := "oneiros_" + r.version + "_image.tar"
	return name, r.create(name, func(w io.Writer) error { return tarFolder(w, dir, r.time) })
}

// tarFolder writes a folder, sorted by name.
func tarFolder(w io.Writer, dir string, at time.Time) error {
	t := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: at})
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		err = t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), ModTime: at})
		if err != nil {
			return err
		}
		_, err = io.Copy(t, f)
		return err
	})
	return errors.Join(err, t.Close())
}
