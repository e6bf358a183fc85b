package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Fault is one place where a wall is broken.
type Fault struct {
	// Wall is its name, one of Walls.
	Wall string
	// Package is the folder of the package at fault.
	Package string
	// Says what is there and what would be right.
	Says string
}

func (f Fault) String() string { return fmt.Sprintf("%s: %s: %s", f.Wall, f.Package, f.Says) }

// Walls are the names of all walls Inspect looks at.
func Walls() []string {
	named := []string{"caption", "a floor for every room", "floors", "stage", "plain imports", "own module"}
	for _, b := range bans {
		named = append(named, b.wall)
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
	report := func(wall, format string, args ...any) {
		faults = append(faults, Fault{wall, s.dir, fmt.Sprintf(format, args...)})
	}
	if !s.caption {
		report("caption", "has no package comment; say in one sentence what it owns")
	}
	if s.module != "." {
		for _, from := range s.imports {
			if under(from, Module) && !under(from, Module+"/"+s.module) && !sharing[s.module] {
				report("own module", "imports %s; the module in %s shares no code with the house", from, s.module)
			}
		}
		return faults
	}
	if under(s.dir, beside...) || !s.ships {
		return faults
	}
	at, ok := placeOf(s.dir)
	if !ok {
		report("a floor for every room",
			"stands on no floor; give it one in internal/archtest/house.go and docs/ARCHITECTURE.md")
		return faults
	}
	for _, from := range s.dots {
		report("plain imports", "imports . %q; a dot hides what is called", from)
	}
	for _, from := range s.imports {
		if under(from, Module) {
			if wall, why := h.stands(at, s.dir, strings.TrimPrefix(from, Module+"/")); wall != "" {
				report(wall, "%s", why)
			}
		}
	}
	for _, b := range bans {
		if slices.ContainsFunc(b.rooms, func(room string) bool { return under(s.dir, room) }) && !suite(s.dir) {
			for _, why := range h.broken(b, s, nil, map[string]bool{}) {
				report(b.wall, "%s", why)
			}
		}
	}
	return faults
}

// stands asks whether a package in its place may import the package in folder.
func (h module) stands(at place, from, folder string) (wall, why string) {
	if under(folder, beside...) || suite(folder) && !suite(from) {
		return "stage", fmt.Sprintf("imports %s, which only tests may", folder)
	}
	to, ok := placeOf(folder)
	switch {
	case !ok:
		return "floors", fmt.Sprintf("imports %s, which stands on no floor", folder)
	case to.room == at.room, to.floor < at.floor:
		return "", ""
	case to.floor == at.floor && Floors[at.floor].Leftward && to.column < at.column:
		return "", ""
	}
	return "floors",
		fmt.Sprintf("imports %s; %s (%s) may import only what is below it%s, not %s (%s)", folder, at.room,
			Floors[at.floor].Name,
			map[bool]string{true: " or to its left"}[Floors[at.floor].Leftward], to.room, Floors[to.floor].Name)
}

// broken lists what in s, or in what s reaches of ours where the ban says so, the ban forbids; path is the way there.
func (h module) broken(b ban, s *source, path []string, seen map[string]bool) (whys []string) {
	if seen[s.dir] {
		return nil
	}
	seen[s.dir] = true
	way := ""
	if len(path) > 0 {
		way = "through " + strings.Join(append(path[1:], s.dir), " -> ") + " "
	}
	for _, from := range s.imports {
		if b.imports != nil && b.imports(from) && !under(from, lent[s.dir]...) {
			whys = append(whys, fmt.Sprintf("%simports %s", way, from))
		}
		if b.through && under(from, Module) {
			if next := h.sources[strings.TrimPrefix(from, Module+"/")]; next != nil {
				whys = append(whys, h.broken(b, next, append(path[:len(path):len(path)], s.dir), seen)...)
			}
		}
	}
	for _, u := range s.uses {
		if banned, ok := b.calls[u.from]; ok && banned.ban(u.name) {
			whys = append(whys, fmt.Sprintf("%suses %s.%s", way, u.from, u.name))
		}
	}
	return whys
}
