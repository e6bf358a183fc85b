// Package llama runs models of GGUF files inside this process, through llama.cpp's shared libraries where a user has
// installed them.
//
// It is linked only into programs that ask for it: the libraries are loaded with dlopen, which needs the system's
// loader and libffi, and a fault in them ends the process.
package llama

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
	yl "github.com/hybridgroup/yzma/pkg/llama"
	"github.com/hybridgroup/yzma/pkg/loader"
)

// TestedVersion is the version that the tests ran with; others are tried, and refused when they lack a function.
const TestedVersion = "llama.cpp v0.5.0 (npm @node-llama-cpp/linux-x64@3.22.1)"

// parts are the libraries that must be there, by the names that yzma gives them.
var parts = []string{"llama", "ggml", "ggml-base"}

// library is what this process loaded: llama.cpp can be loaded only once.
var library struct {
	sync.Mutex
	dir  string
	node nodes
}

// nodes read the values inside a computation; llama.cpp's own interface has no function for them.
type nodes struct {
	name  func(tensor uintptr) string
	bytes func(tensor uintptr) uint64
	read  func(tensor uintptr, into *float32, offset, size uint64)
}

// load prepares the llama.cpp of a folder, once in a process.
func load(dir string) (nodes, error) {
	library.Lock()
	defer library.Unlock()
	if dir == "" {
		return nodes{}, unnamed()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nodes{}, fmt.Errorf("folder of llama.cpp's libraries: %w", err)
	}
	if library.dir == dir {
		return library.node, nil
	}
	if err := present(dir); err != nil {
		return nodes{}, err
	}
	if library.dir != "" {
		return nodes{},
			fmt.Errorf(
				"llama.cpp is loaded from %s already; a process can hold it once, so %s needs a process of its own",
				library.dir, dir)
	}
	if err := yl.Load(dir); err != nil {
		return nodes{},
			fmt.Errorf("llama.cpp's libraries in %s cannot be used: %w; take those of %s", dir, short(err),
				TestedVersion)
	}
	if err := sane(dir); err != nil {
		return nodes{}, err
	}
	node, err := lookInside(dir)
	if err != nil {
		return nodes{}, err
	}
	yl.LogSet(purego.NewCallback(logTail.hear))
	yl.BackendInit()
	if err := yl.GGMLBackendLoadAllFromPath(dir); err != nil {
		return nodes{}, fmt.Errorf("load the processors' code from %s: %w", dir, err)
	}
	if yl.GGMLBackendDeviceCount() == 0 {
		return nodes{},
			fmt.Errorf("%s holds no code for this machine's processor: libggml-cpu-*%s are missing there", dir,
				filepath.Ext(loader.GetLibraryFilename("", "ggml")))
	}
	library.dir, library.node = dir, node
	return node, nil
}

func unnamed() error {
	return fmt.Errorf("no folder of llama.cpp's libraries is named; it must hold %s, such as those of %s", names(),
		TestedVersion)
}

func names() string {
	var out []string
	for _, part := range parts {
		out = append(out, loader.GetLibraryFilename("", part))
	}
	return strings.Join(out, ", ")
}

// present checks that the folder has the libraries, and otherwise says what it has.
func present(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no folder that can be read; it must hold %s, such as those of %s", dir, names(),
			TestedVersion)
	}
	for _, part := range parts {
		path := loader.GetLibraryFilename(dir, part)
		f, err := os.Open(path)
		if err == nil {
			_ = f.Close()
			continue
		}
		if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("open llama.cpp's library: %w", err)
		}
		base := filepath.Base(path)
		stem := strings.TrimSuffix(base, filepath.Ext(base))
		if beside, _ := filepath.Glob(filepath.Join(dir, stem+".*")); len(beside) > 0 {
			return fmt.Errorf("%s is missing; %s stands beside it: make the link, ln -s %s %s", path,
				filepath.Base(beside[0]), filepath.Base(beside[0]), path)
		}
		return fmt.Errorf("%s is missing; the folder must hold %s, such as those of %s", path, names(), TestedVersion)
	}
	return nil
}

// sane checks the defaults that the libraries return: another version may have the same functions and other orders of
// parameters, so that values would be read from the wrong place.
func sane(dir string) error {
	c, m := yl.ContextDefaultParams(), yl.ModelDefaultParams()
	if c.NCtx != 512 || c.NBatch < 256 || c.NBatch > 1<<16 || c.NSeqMax != 1 || c.RopeScalingType != -1 ||
		c.CbEval != 0 || c.AbortCallback != 0 ||
		c.Embeddings != 0 || m.VocabOnly != 0 || m.Devices != 0 || m.TensorSplit != nil {
		return fmt.Errorf(
			"llama.cpp's libraries in %s order their parameters in a way that is not known here; take those of %s",
			dir, TestedVersion)
	}
	return nil
}

func lookInside(dir string) (nodes, error) {
	var n nodes
	handle, err := purego.Dlopen(loader.GetLibraryFilename(dir, "ggml-base"), purego.RTLD_LAZY)
	if err != nil {
		return n, fmt.Errorf("open ggml-base in %s: %w", dir, short(err))
	}
	for name, into := range map[string]any{
		"ggml_get_name": &n.name, "ggml_nbytes": &n.bytes,
		"ggml_backend_tensor_get": &n.read,
	} {
		at, err := purego.Dlsym(handle, name)
		if err != nil {
			return n,
				fmt.Errorf("llama.cpp's libraries in %s have no %s: %w; take those of %s", dir, name, short(err),
					TestedVersion)
		}
		purego.RegisterFunc(into, at)
	}
	return n, nil
}

// short keeps a loader's message on one line.
func short(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
