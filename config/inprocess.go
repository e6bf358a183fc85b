package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Engine configures a model that this process runs itself.
type Engine struct {
	Model    string            `json:"model_file,omitempty"`
	Lib      string            `json:"lib_dir,omitempty"`
	Vectors  map[string]string `json:"vectors,omitempty"` // control vectors by name
	Threads  int               `json:"threads,omitempty"`
	Parallel int               `json:"parallel,omitempty"`
}

var engineKeys = []string{"model_file", "lib_dir", "vectors", "threads", "parallel"}

// engine reads the settings of an in-process provider, and reports settings that only other providers have.
func (r *reader) engine(profile string) Engine {
	e := Engine{Model: r.text("model_file"), Lib: r.text("lib_dir"), Vectors: r.vectors()}
	for key, into := range map[string]*int{"threads": &e.Threads, "parallel": &e.Parallel} {
		if n := pick[int64](r, key, Whole); n != nil {
			*into = int(*n)
		}
	}
	if profile != InProcess {
		for _, key := range engineKeys {
			if _, ok := r.fields[key]; ok {
				r.fault("%s.%s is for the profile %s, whose model runs in this process; %s is a server", r.at, key,
					InProcess, profile)
			}
		}
		return e
	}
	if e.Model == "" {
		r.fault("%s.model_file is missing; it is the model's GGUF file", r.at)
	}
	if e.Lib == "" {
		r.fault("%s.lib_dir is missing; it is the folder of llama.cpp's shared libraries", r.at)
	}
	if e.Threads < 0 || e.Threads > 64 {
		r.fault("%s.threads is %d; it must lie between 0 and 64, and 0 leaves one core to others", r.at, e.Threads)
	}
	if e.Parallel < 0 || e.Parallel > 16 {
		r.fault("%s.parallel is %d; it must lie between 0 and 16, and 0 is 1", r.at, e.Parallel)
	}
	for _, key := range []string{"base_url", "api_key_env", "api_key_file"} {
		if _, ok := r.fields[key]; ok {
			r.fault("%s.%s: a model in this process has no address and wants no key; leave it out", r.at, key)
		}
	}
	return e
}

func (r *reader) vectors() map[string]string {
	raw, ok := r.fields["vectors"]
	if !ok || raw == nil {
		return nil
	}
	named, ok := raw.(map[string]any)
	if !ok {
		r.fault("%s.vectors must be a section of names, each with the path of a vector's GGUF file", r.at)
		return nil
	}
	vectors := map[string]string{}
	for _, name := range sortedKeys(named) {
		path, ok := named[name].(string)
		if !ok || path == "" {
			r.fault("%s.vectors.%s is %s; it must be the path of a vector's GGUF file", r.at, name, quoted(named[name]))
			continue
		}
		vectors[name] = path
	}
	return vectors
}

// settings lists the engine for Redacted.
func (e Engine) settings() []Setting {
	list := []Setting{
		{Key: "model_file", Value: e.Model},
		{Key: "lib_dir", Value: e.Lib},
		{Key: "threads", Value: strconv.Itoa(e.Threads), Default: "0"},
		{Key: "parallel", Value: strconv.Itoa(e.Parallel), Default: "0"},
	}
	for _, name := range slices.Sorted(maps.Keys(e.Vectors)) {
		list = append(list, Setting{Key: "vectors." + name, Value: e.Vectors[name]})
	}
	return list
}

// Home returns an engine with ~ in its paths replaced by the home folder.
func (c Config) Home(e Engine) Engine {
	e.Model, e.Lib = c.home(e.Model), c.home(e.Lib)
	vectors := map[string]string{}
	for name, path := range e.Vectors {
		vectors[name] = c.home(path)
	}
	e.Vectors = vectors
	return e
}

// InProcess lists the providers whose models this process runs, in order; empty when there are none.
func (c Config) InProcess() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		if c.Providers[name].Profile == InProcess {
			names = append(names, "providers."+name)
		}
	}
	return strings.Join(names, ", ")
}
