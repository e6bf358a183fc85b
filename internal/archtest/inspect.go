package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Fault is one violation of a rule.
type Fault struct {
	// Rule is its name, one of Walls.
	Rule string
	// Package is the folder of the package at fault.
	Package string
	// Says is what is there and what would be right.
	Says string
}

// String is the rule, the package and the explanation.
func (f Fault) String() string { return fmt.Sprintf("%s: %s: %s", f.Rule, f.Package, f.Says) }

// Rules are the names of all rules that Inspect checks.
func Rules() []string {
	named := []string{"caption", "a layer for every package", "layers", "test-only", "plain imports", "own module"}
	for _, r := range rules {
		named = append(named, r.name)
	}
	return named
}

// Inspect reads the tree, whose root is the module's, and returns every fault in the order of the packages, and how
// many packages it read.
func Inspect(tree fs.FS) (faults []Fault, packages int, err error) {
	found, err := read(tree)
	if err != nil {
		return nil, 0, err
	}
	h := module{found}
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		faults = append(faults, h.faults(found[dir])...)
	}
	return faults, len(found), nil
}

type module struct{ sources map[string]*source }

func (h module) faults(s *source) (faults []Fault) {
	report := func(rule, format string, args ...any) {
		faults = append(faults, Fault{rule, s.dir, fmt.Sprintf(format, args...)})
	}
	if !s.caption {
		report("caption", "has no package comment; say in one sentence what it owns")
	}
	if s.module != "." {
		for _, from := range s.imports {
			if under(from, Module) && !under(from, Module+"/"+s.module) && !mayShareCode[s.module] {
				report("own module", "imports %s; the module in %s shares no code with this one", from, s.module)
			}
		}
		return faults
	}
	if under(s.dir, testOnly...) || !s.ships {
		return faults
	}
	at, ok := positionOf(s.dir)
	if !ok {
		report("a layer for every package",
			"is in no layer; add it to internal/archtest/layers.go and docs/ARCHITECTURE.md")
		return faults
	}
	for _, from := range s.dots {
		report("plain imports", "imports . %q; a dot import hides what is called", from)
	}
	for _, from := range s.imports {
		if under(from, Module) {
			if rule, why := h.mayImport(at, s.dir, strings.TrimPrefix(from, Module+"/")); rule != "" {
				report(rule, "%s", why)
			}
		}
	}
	for _, b := range rules {
		if slices.ContainsFunc(b.packages, func(p string) bool { return under(s.dir, p) }) && !suite(s.dir) {
			for _, why := range h.violations(b, s, nil, map[string]bool{}) {
				report(b.name, "%s", why)
			}
		}
	}
	return faults
}

// mayImport returns the broken rule and the reason when a package may not import the package in folder.
func (h module) mayImport(at position, from, folder string) (rule, why string) {
	if under(folder, testOnly...) || suite(folder) && !suite(from) {
		return "test-only", fmt.Sprintf("imports %s, which only tests may", folder)
	}
	to, ok := positionOf(folder)
	switch {
	case !ok:
		return "layers", fmt.Sprintf("imports %s, which is in no layer", folder)
	case to.pkg == at.pkg, to.layer < at.layer:
		return "", ""
	case to.layer == at.layer && Layers[at.layer].Leftward && to.column < at.column,
		slices.Contains(neighbours[at.pkg], to.pkg):
		return "", ""
	}
	return "layers",
		fmt.Sprintf("imports %s; %s (%s) may import only what is below it%s, not %s (%s)", folder, at.pkg,
			Layers[at.layer].Name,
			map[bool]string{true: " or before it in its layer"}[Layers[at.layer].Leftward], to.pkg, Layers[to.layer].Name)
}

// violations lists what a rule forbids in s, or in our packages that s imports where the rule says so; path is the
// chain of imports to it.
func (h module) violations(b rule, s *source, path []string, seen map[string]bool) (whys []string) {
	if seen[s.dir] {
		return nil
	}
	seen[s.dir] = true
	way := ""
	if len(path) > 0 {
		way = "through " + strings.Join(append(path[1:], s.dir), " -> ") + " "
	}
	for _, from := range s.imports {
		if b.imports != nil && b.imports(from) && !under(from, allowedLibraries[s.dir]...) {
			whys = append(whys, fmt.Sprintf("%simports %s", way, from))
		}
		if b.through && under(from, Module) {
			if next := h.sources[strings.TrimPrefix(from, Module+"/")]; next != nil {
				whys = append(whys, h.violations(b, next, append(path[:len(path):len(path)], s.dir), seen)...)
			}
		}
	}
	for _, u := range s.uses {
		if banned, ok := b.calls[u.from]; ok && banned.forbids(u.name) {
			whys = append(whys, fmt.Sprintf("%suses %s.%s", way, u.from, u.name))
		}
	}
	return whys
}
