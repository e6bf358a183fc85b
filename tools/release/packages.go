package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

const (
	homepage   = "https://github.com/seed-56a03226/oneiros"
	maintainer = "Oneiros maintainers <maintainers@users.noreply.a-seed-56a03226.example>"
	summary    = "AI agents that dream over their own memory"
)

const description = summary + `
Oneiros gives AI agents a memory and lets them dream over it while nobody
uses them: each dream is a durable Temporal workflow under a hard cap of
money. Any client that speaks OpenAI's API or the Model Context Protocol
can talk to the agents.`

// documentation is the folder of documents in packages and images.
const documentation = "usr/share/doc/oneiros"

// afterRelease are the parts of a version that git describe appends to a tag: commits since, the commit, and dirty.
var afterRelease = regexp.MustCompile(`^([0-9]+|g[0-9a-f]{4,}|dirty)$`)

// packageVersion writes a version so that dpkg and rpm sort it: what comes before a release after a tilde, what was
// committed after it after a plus.
func packageVersion(version string) string {
	parts := strings.Split(strings.TrimPrefix(version, "v"), "-")
	text, sep := parts[0], "+"
	if text == "" || text[0] < '0' || text[0] > '9' {
		text = "0~" + text
	}
	for _, part := range parts[1:] {
		if afterRelease.MatchString(part) {
			text, sep = text+sep+part, "."
			continue
		}
		text += "~" + part
	}
	return text
}

// packages writes a Debian and an RPM package for Linux.
func (r release) packages(p platform, programs []program, docs []file) ([]string, error) {
	if p.os != "linux" {
		return nil, nil
	}
	var names []string
	for _, format := range []string{"deb", "rpm"} {
		list, err := r.packaged(format, programs, docs)
		if err != nil {
			return nil, err
		}
		info, err := r.packageInfo(p, filepath.Join(r.work, p.file(), format), list)
		if err != nil {
			return nil, err
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return nil, err
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return nil, err
		}
		name := packager.ConventionalFileName(info)
		err = r.create(name, func(w io.Writer) error { return packager.Package(info, w) })
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// packaged lists the files of a package. Those of the folder packaged/root stand where they are installed.
func (r release) packaged(format string, programs []program, docs []file) ([]file, error) {
	list := under("usr/bin", programFiles(programs, "oneiros", "hermes", "temporald"))
	err := fs.WalkDir(shipped, "packaged/root", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := shipped.ReadFile(path)
		to := strings.TrimPrefix(path, "packaged/root/")
		if strings.Contains(to, "lintian") && format != "deb" {
			return err
		}
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(to, ".env") {
			mode = 0o600 // for secrets; systemd reads it as root
		}
		list = append(list, file{path: to, mode: mode, body: body})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, f := range docs {
		switch {
		case format == "deb" && f.path == "CHANGELOG.md":
			body, err := f.read()
			if err != nil {
				return nil, err
			}
			list = append(list, file{path: documentation + "/changelog.gz", mode: 0o644, body: compressed(body)})
			continue
		case format == "deb" && f.path == "LICENSE":
			continue // Debian has the text, and asks for the file copyright
		}
		list = append(list, under(documentation, []file{f})...)
	}
	if format == "deb" {
		copyright, err := shipped.ReadFile("packaged/copyright")
		if err != nil {
			return nil, err
		}
		log := fmt.Sprintf("oneiros (%s-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n",
			packageVersion(r.version), maintainer, r.time.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
		list = append(list, file{path: documentation + "/copyright", mode: 0o644, body: copyright},
			file{path: documentation + "/changelog.Debian.gz", mode: 0o644, body: compressed([]byte(log))})
	}
	return list, nil
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // its only error is that of the level
	_, _ = z.Write(body)
	_ = z.Close()
	return out.Bytes()
}

// packageInfo describes a package to nfpm, which reads its files from a folder.
func (r release) packageInfo(p platform, dir string, list []file) (*nfpm.Info, error) {
	var contents files.Contents
	for _, f := range list {
		source := f.source
		if source == "" {
			source = filepath.Join(dir, f.path)
			if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(source, f.body, 0o600); err != nil {
				return nil, err
			}
		}
		kind := files.TypeFile
		if strings.HasPrefix(f.path, "etc/") {
			kind = files.TypeConfigNoReplace
		}
		contents = append(contents, &files.Content{
			Source:      source,
			Destination: "/" + f.path,
			Type:        kind,
			FileInfo:    &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.time},
		})
	}
	scripts := map[string]string{}
	for _, name := range []string{"postinstall", "preremove", "postremove"} {
		body, err := shipped.ReadFile("packaged/" + name + ".sh")
		if err != nil {
			return nil, err
		}
		scripts[name] = filepath.Join(dir, name+".sh")
		if err := os.WriteFile(scripts[name], body, 0o755); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(contents, func(a, b *files.Content) int { return strings.Compare(a.Destination, b.Destination) })
	return nfpm.WithDefaults(&nfpm.Info{
		Name:          "oneiros",
		Arch:          p.arch,
		Platform:      p.os,
		Version:       packageVersion(r.version),
		VersionSchema: "none",
		Release:       "1",
		Section:       "net",
		Priority:      "optional",
		Maintainer:    maintainer,
		Description:   description,
		Homepage:      homepage,
		License:       "Apache-2.0",
		MTime:         r.time,

		DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: scripts["postinstall"],
				PreRemove:   scripts["preremove"],
				PostRemove:  scripts["postremove"],
			},
			Deb: nfpm.Deb{Compression: "gzip"}, // which every dpkg reads
			RPM: nfpm.RPM{BuildHost: "localhost", Summary: summary, Packager: maintainer, Compression: "zstd"},
		},
	}), nil
}
