// Command release makes what a version is handed out as: archives, Debian and RPM packages, container images and lists
// of parts. It needs Go and no container engine. The same sources, version and time give the same bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// platform is an operating system and a processor, as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

func (p platform) file() string { return p.os + "_" + p.arch }

// release is what is made, and from what.
type release struct {
	source  string    // the checkout
	version string    // as `git describe` names it, such as v0.1.0 or v0.1.0-3-g1a2b3c4
	time    time.Time // of every file
	out     string    // the folder of what is made
	built   string    // folder of programs that are built already, by platform; those that are missing are built
	work    string    // folder for what is not handed out
	names   io.Writer // gets the name of each file that is made
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	r := release{names: os.Stdout}
	var platforms, tree string
	flags.StringVar(&r.source, "source", "..", "the checkout")
	flags.StringVar(&r.version, "version", "", "the version, as git describe names it")
	flags.StringVar(&r.out, "out", "../dist", "the folder to write to")
	flags.StringVar(&r.built, "built", "", "a folder with built programs, such as linux_amd64/oneiros")
	flags.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "with commas between")
	flags.StringVar(&tree, "tree", "", "only write the files of the image of the first platform into this folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.version == "" {
		return errors.New("-version is empty; it must be a version such as v0.1.0")
	}
	r.time, err = sourceTime(ctx, r.source)
	if err != nil {
		return err
	}
	list, err := parsePlatforms(platforms)
	if err != nil {
		return err
	}
	r.work, err = os.MkdirTemp("", "oneiros-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	if tree != "" {
		return r.writeTree(ctx, list[0], tree)
	}
	return r.make(ctx, list)
}

func parsePlatforms(text string) ([]platform, error) {
	var list []platform
	for name := range strings.SplitSeq(text, ",") {
		system, arch, ok := strings.Cut(name, "/")
		if !ok || system == "" || arch == "" {
			return nil, fmt.Errorf("-platforms names %q; a platform is a system and a processor, such as linux/amd64",
				name)
		}
		list = append(list, platform{system, arch})
	}
	return list, nil
}

// sourceTime is SOURCE_DATE_EPOCH (reproducible-builds.org), else the time of the newest commit.
func sourceTime(ctx context.Context, source string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "-C", source, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is not set, and git does not tell the time of a commit: %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q; it must be seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// make writes everything into the folder, one platform after the other, and the sums at last.
func (r release) make(ctx context.Context, list []platform) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	docs, err := r.documents()
	if err != nil {
		return err
	}
	var made []string
	var images []platformImage
	for _, p := range list {
		programs, err := r.programs(ctx, p)
		if err != nil {
			return err
		}
		for _, step := range []func(platform, []program, []file) ([]string, error){r.archive, r.partLists, r.packages} {
			names, err := step(p, programs, docs)
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			made = append(made, names...)
			r.report(names...)
		}
		if p.os == "linux" {
			img, err := r.image(p, imageFiles(programs, docs))
			if err != nil {
				return fmt.Errorf("%s: the image: %w", p, err)
			}
			images = append(images, platformImage{p, img})
		}
	}
	if len(images) > 0 {
		name, err := r.imageArchive(images)
		if err != nil {
			return fmt.Errorf("the images: %w", err)
		}
		made = append(made, name)
		r.report(name)
	}
	return writeSums(r.out, made)
}

func (r release) report(names ...string) {
	for _, name := range names {
		_, _ = fmt.Fprintln(r.names, name)
	}
}

// writeTree writes the files of an image into a folder, from which a Dockerfile copies them.
func (r release) writeTree(ctx context.Context, p platform, dir string) error {
	docs, err := r.documents()
	if err != nil {
		return err
	}
	programs, err := r.programs(ctx, p)
	if err != nil {
		return err
	}
	for _, f := range imageFiles(programs, docs) {
		to := filepath.Join(dir, f.path)
		if f.dir {
			if err := os.MkdirAll(to, 0o755); err != nil {
				return err
			}
			continue
		}
		body, err := f.read()
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, body, f.mode.Perm()); err != nil {
			return err
		}
	}
	return nil
}
