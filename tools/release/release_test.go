package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

const checkout = "../.."

// small builds a program without libraries in place of ours, which take minutes, for the platforms that a test names.
// What is packed does not depend on what the programs do.
func small(t *testing.T, platforms ...platform) (dir string) {
	t.Helper()
	dir = t.TempDir()
	source := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o600))
	built := filepath.Join(dir, "built")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", built, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	body, err := os.ReadFile(built)
	require.NoError(t, err)
	for _, p := range platforms {
		require.NoError(t, os.Mkdir(filepath.Join(dir, p.file()), 0o700))
		for _, s := range sources {
			require.NoError(t, os.WriteFile(filepath.Join(dir, p.file(), s.name), body, 0o700))
		}
	}
	return dir
}

var (
	here  = platform{"linux", runtime.GOARCH}
	there = map[string]platform{"amd64": {"linux", "arm64"}, "arm64": {"linux", "amd64"}}[runtime.GOARCH]
)

// made makes a release of small programs in a folder.
func made(t *testing.T, dir, out string, platforms ...platform) release {
	t.Helper()
	r := release{
		source:  checkout,
		version: "v0.1.0-3-g1a2b3c4",
		time:    time.Unix(1700000000, 0).UTC(),
		out:     out,
		built:   dir,
		work:    t.TempDir(),
		names:   io.Discard,
	}
	require.NoError(t, r.make(t.Context(), platforms))
	return r
}

func TestTheSameInputMakesTheSameFiles(t *testing.T) {
	t.Parallel()
	dir := small(t, here, there)
	var sums []string
	var names []string
	for range 2 {
		out := t.TempDir()
		made(t, dir, out, here, there)
		body, err := os.ReadFile(filepath.Join(out, sumsFile))
		require.NoError(t, err)
		sums = append(sums, string(body))
		names = nil
		for line := range strings.Lines(string(body)) {
			sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			names = append(names, name)
			again, err := sumOf(filepath.Join(out, name))
			require.NoError(t, err)
			require.Equal(t, again, sum, name)
		}
		listed, err := os.ReadDir(out)
		require.NoError(t, err)
		require.Len(t, listed, len(names)+1, "every file has a sum")
	}
	require.Equal(t, sums[0], sums[1])
	const v = "v0.1.0-3-g1a2b3c4"
	var want []string
	for _, arch := range []string{"amd64", "arm64"} {
		want = append(want, "oneiros_"+v+"_linux_"+arch+".tar.gz", "oneiros_0.1.0+3.g1a2b3c4-1_"+arch+".deb")
		for _, s := range sources {
			want = append(want, s.name+"_"+v+"_linux_"+arch+".cdx.json")
		}
	}
	want = append(want, "oneiros-0.1.0+3.g1a2b3c4-1.x86_64.rpm", "oneiros-0.1.0+3.g1a2b3c4-1.aarch64.rpm",
		"oneiros_"+v+"_image.tar")
	require.ElementsMatch(t, want, names)
}

func TestTheArchiveHoldsWhatTheDocumentsSay(t *testing.T) {
	t.Parallel()
	r := made(t, small(t, here), t.TempDir(), here)
	top := "oneiros_" + r.version + "_" + here.file()
	f, err := os.Open(filepath.Join(r.out, top+".tar.gz"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var names []string
	for _, head := range headers(t, z) {
		require.Equal(t, r.time, head.ModTime.UTC(), head.Name)
		require.Zero(t, head.Uid+head.Gid, head.Name)
		names = append(names, strings.TrimPrefix(head.Name, top+"/"))
	}
	require.Equal(t, []string{
		"oneiros", "hermes", "temporald", "LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "SECURITY.md",
	}, names)
	page, err := os.ReadFile(filepath.Join(checkout, "docs", "install.md"))
	require.NoError(t, err)
	for _, name := range []string{
		"`oneiros`", "`hermes`", "`temporald`", sumsFile, "_image.tar", ".cdx.json", ".deb",
		".rpm",
	} {
		require.Contains(t, string(page), name)
	}
}

func headers(t *testing.T, from io.Reader) (list []*tar.Header) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		list = append(list, head)
	}
}

// unpackTar writes the files of a tar into a folder, with their modes and, where this process may, their owners.
func unpackTar(t *testing.T, from io.Reader, dir string) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		require.True(t, filepath.IsLocal(head.Name), head.Name)
		to := filepath.Join(dir, head.Name)
		if head.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(to, 0o755))
		} else {
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
			w, err := os.Create(to)
			require.NoError(t, err)
			_, err = io.Copy(w, r)
			require.NoError(t, errors.Join(err, w.Close()))
		}
		if os.Geteuid() == 0 {
			require.NoError(t, os.Chown(to, head.Uid, head.Gid))
		}
		require.NoError(t, os.Chmod(to, head.FileInfo().Mode()))
	}
}

// images reads the images of a release as an engine does: from the index of the layout in the tar.
func images(t *testing.T, r release) map[string]v1.Image {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(filepath.Join(r.out, "oneiros_"+r.version+"_image.tar"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	unpackTar(t, f, dir)
	top, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	list, err := top.IndexManifest()
	require.NoError(t, err)
	require.Len(t, list.Manifests, 1)
	require.Equal(t, r.version, list.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
	index, err := top.ImageIndex(list.Manifests[0].Digest)
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	list, err = index.IndexManifest()
	require.NoError(t, err)
	found := map[string]v1.Image{}
	for _, m := range list.Manifests {
		found[m.Platform.String()], err = index.Image(m.Digest)
		require.NoError(t, err)
	}
	return found
}

func TestTheImagesAreThoseOfTheDockerfile(t *testing.T) {
	t.Parallel()
	r := made(t, small(t, here, there), t.TempDir(), here, there)
	found := images(t, r)
	require.Len(t, found, 2)
	last, err := lastStage(dockerfile, map[string]string{"VERSION": r.version})
	require.NoError(t, err)
	for name, img := range found {
		config, err := img.ConfigFile()
		require.NoError(t, err)
		require.Equal(t, name, config.OS+"/"+config.Architecture)
		require.Equal(t, last.config, config.Config)
		require.Equal(t, r.version, config.Config.Labels["org.opencontainers.image.version"])
		require.Equal(t, "65532:65532", config.Config.User)
		require.Equal(t, []string{"/usr/bin/oneiros"}, config.Config.Entrypoint)
		require.Equal(t, []string{"CMD", "/usr/bin/oneiros", "ready"}, config.Config.Healthcheck.Test)
		require.Contains(t, config.Config.Env, "ONEIROS_SERVE_KEYS=required")
		require.Equal(t, map[string]struct{}{"/tmp": {}, "/var/lib/oneiros": {}}, config.Config.Volumes)
	}
	// The layers hold what the Dockerfile copies, and nothing else.
	var copied []string
	for _, c := range last.copies {
		require.Equal(t, []string{"/image" + c.DestPath}, c.SourcePaths)
		copied = append(copied, c.DestPath)
	}
	owned := map[string]int{}
	layers, err := found[here.String()].Layers()
	require.NoError(t, err)
	require.Len(t, layers, 3, "the system, temporald, oneiros")
	for _, layer := range layers {
		body, err := layer.Uncompressed()
		require.NoError(t, err)
		for _, head := range headers(t, body) {
			at := "/" + strings.TrimSuffix(head.Name, "/")
			require.True(t, slices.ContainsFunc(copied, func(dest string) bool {
				return at == dest || strings.HasPrefix(at, dest+"/") || strings.HasPrefix(dest, at+"/")
			}), "%s is in the image and not copied by the Dockerfile", at)
			owned[at] = head.Uid
			require.Equal(t, head.Uid, head.Gid, at)
		}
	}
	for _, dest := range copied {
		require.Contains(t, owned, dest, "the Dockerfile copies it")
	}
	require.Equal(t, imageUser, owned["/var/lib/oneiros"])
	require.Zero(t, owned["/usr/bin/oneiros"])
}

func TestALastStageThatCannotBeBuiltWithoutAnEngineIsRefused(t *testing.T) {
	t.Parallel()
	_, err := lastStage([]byte("FROM scratch\nRUN touch /here\n"), nil)
	require.ErrorContains(t, err, "the last stage has RUN")
}

func TestTheDockerfileBuildsWithTheGoOfTheModules(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile(filepath.Join(checkout, "cmd", "temporald", "go.mod"))
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(mod)
	require.NotNil(t, version)
	require.Contains(t, string(dockerfile), " golang:"+string(version[1])+"-")
	for _, ignored := range []string{".git", "bin", "dist"} {
		body, err := os.ReadFile("Dockerfile.dockerignore")
		require.NoError(t, err)
		require.Contains(t, strings.Split(string(body), "\n"), ignored)
	}
}

// What a Dockerfile copies is what the images have.
func TestATreeForADockerfileHasTheFilesOfTheImage(t *testing.T) {
	t.Parallel()
	r := release{
		source:  checkout,
		version: "v1.0.0",
		time:    time.Unix(0, 0),
		built:   small(t, here),
		work:    t.TempDir(),
	}
	dir := t.TempDir()
	require.NoError(t, r.writeTree(t.Context(), here, dir))
	docs, err := r.documents()
	require.NoError(t, err)
	programs, err := r.programs(t.Context(), here)
	require.NoError(t, err)
	for _, f := range imageFiles(programs, docs) {
		info, err := os.Stat(filepath.Join(dir, f.path))
		require.NoError(t, err)
		require.Equal(t, f.dir, info.IsDir(), f.path)
		if !f.dir {
			require.Equal(t, f.mode.Perm(), info.Mode().Perm(), f.path)
		}
	}
}

func TestVersionsOfPackagesAreSortedAsTheyFollowEachOther(t *testing.T) {
	t.Parallel()
	inOrder := []struct{ version, pkg string }{
		{"dev", "0~dev"},
		{"v0.0.0-dist", "0.0.0~dist"},
		{"v0.1.0-rc1", "0.1.0~rc1"},
		{"v0.1.0-rc1-2-gabcdef0", "0.1.0~rc1+2.gabcdef0"},
		{"v0.1.0", "0.1.0"},
		{"v0.1.0-3-g1a2b3c4", "0.1.0+3.g1a2b3c4"},
		{"v0.1.0-3-g1a2b3c4-dirty", "0.1.0+3.g1a2b3c4.dirty"},
		{"v0.1.0-g1a2b3c4", "0.1.0+g1a2b3c4"},
		{"v0.1.1", "0.1.1"},
	}
	dpkg, err := exec.LookPath("dpkg")
	for i, v := range inOrder {
		require.Equal(t, v.pkg, packageVersion(v.version))
		if i > 0 && err == nil {
			compare := exec.CommandContext(t.Context(), dpkg, "--compare-versions", inOrder[i-1].pkg, "lt", v.pkg)
			require.NoError(t, compare.Run(), "%s before %s", inOrder[i-1].pkg, v.pkg)
		}
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for text, args := range map[string][]string{
		"-version is empty":        {},
		`-platforms names "linux"`: {"-version", "v1.0.0", "-platforms", "linux"},
	} {
		require.ErrorContains(t, run(t.Context(), args), text)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	require.ErrorContains(t, run(t.Context(), []string{"-version", "v1.0.0"}), `SOURCE_DATE_EPOCH is "yesterday"`)
}

// needs skips a test where a program of the system is missing, and says how to get it.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is missing: make packaging-tools installs it where it may")
		}
	}
}

// ran runs a program of the system and answers what it wrote.
func ran(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return string(out)
}

func TestTheDebianPackageIsSound(t *testing.T) {
	t.Parallel()
	needs(t, "dpkg-deb")
	r := made(t, small(t, here), t.TempDir(), here)
	pkg := filepath.Join(r.out, "oneiros_0.1.0+3.g1a2b3c4-1_"+here.arch+".deb")
	require.Equal(t, "0.1.0+3.g1a2b3c4-1\n", ran(t, "dpkg-deb", "-f", pkg, "Version"))
	listed := ran(t, "dpkg-deb", "-c", pkg)
	for _, line := range []string{
		`-rwxr-xr-x root/root .* \./usr/bin/oneiros`, `-rwxr-xr-x root/root .* \./usr/bin/temporald`,
		`-rw------- root/root .* \./etc/oneiros/oneiros\.env`, `\./usr/lib/systemd/system/oneiros-up\.service`,
		`\./usr/share/doc/oneiros/NOTICE`,
	} {
		require.Regexp(t, line, listed)
	}
	control := t.TempDir()
	ran(t, "dpkg-deb", "-e", pkg, control)
	settings, err := os.ReadFile(filepath.Join(control, "conffiles"))
	require.NoError(t, err)
	require.Equal(t, "/etc/oneiros/oneiros.env\n/etc/oneiros/oneiros.yaml\n", string(settings))
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		ran(t, "sh", "-n", filepath.Join(control, script))
	}
	if _, err := exec.LookPath("lintian"); err == nil {
		ran(t, "lintian", "--fail-on", "error", "--allow-root", pkg)
	}
}

func TestTheRPMPackageIsSound(t *testing.T) {
	t.Parallel()
	needs(t, "rpm")
	r := made(t, small(t, here), t.TempDir(), here)
	found, err := filepath.Glob(filepath.Join(r.out, "*.rpm"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "oneiros 0.1.0+3.g1a2b3c4-1 Apache-2.0\n",
		ran(t, "rpm", "-qp", "--nosignature", "--qf", "%{name} %{version}-%{release} %{license}\n", found[0]))
	require.Contains(t, ran(t, "rpm", "-qpl", "--nosignature", found[0]),
		"/usr/lib/systemd/system/oneiros-worker.service\n")
	require.Equal(t, "/etc/oneiros/oneiros.env\n/etc/oneiros/oneiros.yaml\n",
		ran(t, "rpm", "-qpc", "--nosignature", found[0]))
	ran(t, "rpm", "-K", "--nosignature", found[0])
}

// highest is the worst exposure that systemd may find in a unit, in tenths.
const highest = "25"

func TestTheUnitsAreSoundAndHardened(t *testing.T) {
	t.Parallel()
	needs(t, "systemd-analyze")
	if _, err := os.Stat("/usr/lib/systemd/system/sysinit.target"); err != nil {
		t.Skip("needs the units of systemd itself, which are not installed here")
	}
	root := t.TempDir()
	units := filepath.Join(root, "usr/lib/systemd/system")
	require.NoError(t, os.CopyFS(units, os.DirFS("/usr/lib/systemd/system")))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "usr/bin/oneiros"), nil, 0o755))
	for _, command := range []string{"up", "serve", "worker"} {
		name := "oneiros-" + command + ".service"
		source := path.Join("packaged/root/usr/lib/systemd/system", name)
		body, err := shipped.ReadFile(source)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(units, name), body, 0o644))
		require.Contains(t, string(body), "\nExecStart=/usr/bin/oneiros "+command+"\n")
		require.Empty(t, ran(t, "systemd-analyze", "verify", "--root="+root, filepath.Join(units, name)), name)
		ran(t, "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+highest, source)
	}
}
