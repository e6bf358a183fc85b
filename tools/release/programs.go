package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// program is a built program.
type program struct {
	name string
	path string
}

// sources says where each program is built: in the folder of its module, by its package, and by which profile.
var sources = []struct{ name, module, pkg, profile string }{
	{name: "oneiros", module: ".", pkg: "./cmd/oneiros", profile: "cmd/oneiros/oneiros.pgo"},
	{name: "hermes", module: ".", pkg: "./cmd/hermes", profile: "off"},
	{name: "temporald", module: "cmd/temporald", pkg: ".", profile: "off"},
}

// programs builds the programs for a platform, and answers them in the order of sources.
func (r release) programs(ctx context.Context, p platform) ([]program, error) {
	var list []program
	for _, s := range sources {
		built := filepath.Join(r.built, p.file(), s.name)
		file, err := filepath.EvalSymlinks(built) // a package would hold the link and not the program
		if r.built != "" && err == nil {
			list = append(list, program{s.name, file})
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		path, err := filepath.Abs(filepath.Join(r.work, p.file(), s.name))
		if err != nil {
			return nil, err
		}
		// -trimpath and no stamp of the version control, so that the folder does not change the bytes.
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-pgo="+s.profile,
			"-ldflags", "-s -w -X main.version="+r.version, "-o", path, s.pkg)
		build.Dir = filepath.Join(r.source, s.module)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOWORK=off", "GOFLAGS=")
		build.Stderr = os.Stderr
		fmt.Fprintf(os.Stderr, "building %s for %s\n", s.name, p)
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("build %s for %s: %w", s.name, p, err)
		}
		list = append(list, program{s.name, path})
	}
	return list, nil
}
