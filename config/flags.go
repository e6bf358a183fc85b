package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

const (
	flagConfig = "config"
	flagSet    = "set"
)

// Flags declares the flags of every command: the file, the knobs that have a flag of their own, and --set for all
// others.
func Flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("configuration", pflag.ContinueOnError)
	fs.String(flagConfig, "", "configuration `file` (YAML or TOML)")
	fs.StringArray(flagSet, nil, "set any knob, as in --set dream.cycles=2 (`key=value`, may be repeated)")
	for _, k := range table() {
		if k.Flag != "" {
			fs.String(k.Flag, "", flagHelp(k))
		}
	}
	return fs
}

// flagHelp returns the first sentence of the knob's reason, and its key.
func flagHelp(k Knob) string {
	unit := k.Unit
	if k.Sort == Choice {
		unit = strings.Join(k.Choices, "|")
	}
	first, _, _ := strings.Cut(k.Reason, ". ")
	return fmt.Sprintf("`%s`: %s (%s)", unit, strings.TrimSuffix(first, "."), k.Key)
}

// bind applies the flags over all other sources, and returns the keys that --set has set.
func bind(v *viper.Viper, flags *pflag.FlagSet, renamed *renames) (map[string]bool, error) {
	sets := map[string]bool{}
	if flags == nil {
		return sets, nil
	}
	var faults faultList
	for _, k := range table() {
		if f := flags.Lookup(k.Flag); k.Flag != "" && f != nil && f.Changed {
			faults = append(faults, v.BindPFlag(k.Key, f))
		}
	}
	if flags.Lookup(flagSet) == nil {
		return sets, errors.Join(faults...)
	}
	lines, err := flags.GetStringArray(flagSet)
	faults = append(faults, err)
	given := map[string]any{}
	for _, line := range lines {
		key, value, ok := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		switch {
		case !ok:
			faults.add("--set %s must be key=value, such as dream.cycles=2", quoted(line))
		case sectionOf(key) != "":
			faults.add("--set: %s belongs to the section %s, which stands in a file", key, sectionOf(key))
		case formerly(key):
			given[key] = value
		case !slices.Contains(knownKeys()[1:], key):
			faults.add("--set: %s is no setting%s", key, nearestHint(key, knownKeys()))
		default:
			given[key] = value
		}
	}
	for _, k := range table() {
		renamed.knob(k, given, "--set ", asInFiles)
		if value, ok := given[k.Key]; ok {
			v.Set(k.Key, value)
			sets[k.Key] = true
		}
	}
	return sets, errors.Join(faults...)
}

// sectionOf returns the section of a key that has no row in the table; empty for every other key.
func sectionOf(key string) string {
	names := []string{"providers", "hooks"}
	for _, part := range policySections {
		names = append(names, "policy."+part)
	}
	for _, name := range names {
		if key == name || strings.HasPrefix(key, name+".") {
			return name
		}
	}
	return ""
}

const fromDefault = "default"

// origin knows the source of each value.
type origin struct {
	path  string
	file  map[string]any
	env   envValues
	flags *pflag.FlagSet
	sets  map[string]bool
}

func (o origin) of(k Knob) string {
	if o.sets[k.Key] {
		return "flag --set"
	}
	if o.flags != nil && k.Flag != "" {
		if f := o.flags.Lookup(k.Flag); f != nil && f.Changed {
			return "flag --" + k.Flag
		}
	}
	if name, ok := o.env.names[k.Key]; ok {
		return "environment " + name
	}
	if saysKey(o.file, strings.Split(k.Key, ".")) {
		return "file " + o.path
	}
	return fromDefault
}

func saysKey(in map[string]any, path []string) bool {
	value, ok := in[path[0]]
	if !ok || len(path) == 1 {
		return ok && value != nil
	}
	inner, isMap := value.(map[string]any)
	return isMap && saysKey(inner, path[1:])
}
