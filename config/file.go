package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/viper"
)

// maxFile is the maximum size of a configuration file.
const maxFile = 1 << 20

// find returns the file to read; "" when there is none in the usual places. A file that was named must exist.
func find(o Options, env map[string]string) (string, error) {
	question := o.File
	if question == "" && o.Flags != nil {
		if f := o.Flags.Lookup(flagConfig); f != nil {
			question = f.Value.String()
		}
	}
	if question == "" {
		question = env["ONEIROS_CONFIG"]
	}
	if question != "" {
		if _, err := os.Stat(question); err != nil {
			return "", fmt.Errorf("read configuration: %w", err)
		}
		return question, nil
	}
	for _, path := range usualPlaces(o.Dir, env) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", nil
}

func usualPlaces(dir string, env map[string]string) []string {
	home := env["XDG_CONFIG_HOME"]
	if home == "" && env["HOME"] != "" {
		home = filepath.Join(env["HOME"], ".config")
	}
	dirs := []string{dir}
	if home != "" {
		dirs = append(dirs, filepath.Join(home, "oneiros"))
	}
	var places []string
	for _, d := range dirs {
		for _, ending := range []string{"yaml", "yml", "toml"} {
			places = append(places, filepath.Join(d, "oneiros."+ending))
		}
	}
	return places
}

func readFile(path string) (map[string]any, error) {
	if path == "" {
		return map[string]any{}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	if len(body) > maxFile {
		return nil, fmt.Errorf("read configuration %s: it is larger than 1 MiB", path)
	}
	values, err := parse(strings.TrimPrefix(filepath.Ext(path), "."), body)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	return values, nil
}

// parse parses YAML or TOML into nested maps with lower-case keys.
func parse(format string, body []byte) (values map[string]any, err error) {
	switch format {
	case "yaml", "yml", "toml":
	default:
		return nil, fmt.Errorf("a configuration ends in .yaml, .yml or .toml, not in %q", format)
	}
	defer func() { // the parsers are external code, and the file may be anything
		if r := recover(); r != nil {
			values, err = nil, fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	v := viper.New()
	v.SetConfigType(format)
	if err := v.ReadConfig(bytes.NewReader(body)); err != nil {
		return nil, errors.New(oneLine(err))
	}
	return v.AllSettings(), nil
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "While parsing config: ")), " ")
}

// unknownKeys returns an error for each key of a file that is no setting, with the nearest one that is.
func unknownKeys(path string, file map[string]any) error {
	existing := map[string]bool{"providers": true, "hooks": true}
	for _, section := range policySections {
		existing["policy."+section] = true
	}
	sections := map[string]bool{}
	for _, k := range table() {
		existing[k.Key] = true
		parts := strings.Split(k.Key, ".")
		for i := 1; i < len(parts); i++ {
			sections[strings.Join(parts[:i], ".")] = true
		}
	}
	var faults faultList
	var walk func(prefix string, in map[string]any)
	walk = func(prefix string, in map[string]any) {
		for _, name := range sortedKeys(in) {
			key := strings.TrimPrefix(prefix+"."+name, ".")
			inner, isMap := in[name].(map[string]any)
			switch {
			case existing[key]:
			case sections[key] && isMap:
				walk(key, inner)
			case sections[key]:
				if in[name] != nil {
					faults.add("%s: %s is %s; it must be a section", path, key, quoted(in[name]))
				}
			case key == "temporal.api_key":
				faults.add("%s: %s: a key does not belong in a file; name it by api_key_env or api_key_file",
					path, key)
			default:
				faults.add("%s: %s is no setting%s", path, key, nearestHint(key, knownKeys()))
			}
		}
	}
	walk("", file)
	return errors.Join(faults...)
}

func knownKeys() []string {
	keys := []string{"providers", "hooks"}
	for _, k := range table() {
		keys = append(keys, k.Key)
	}
	return keys
}
