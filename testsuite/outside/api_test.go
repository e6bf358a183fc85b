package main

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

const module = "github.com/seed-56a03226/oneiros/"

// libraries are the packages that a program of another module builds a deployment with.
var libraries = []string{"activities/...", "workflows/...", "workers/...", "starter/..."}

// ownServer are what the starter offers to the server of its own module alone.
var ownServer = []string{
	"starter.Starter.ForDreams", "starter.Starter.ForPsyche",
}

// Every type that a program of another module can reach through the exported parts of the libraries has a name that it
// may import: that of the type itself, or of an alias.
func TestEveryTypeOfTheLibrariesHasAnImportableName(t *testing.T) {
	t.Parallel()
	var patterns []string
	for _, name := range libraries {
		patterns = append(patterns, module+name)
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes}, patterns...)
	require.NoError(t, err)
	w := walk{nameable: map[types.Object]bool{}, missing: map[string]string{}, seen: map[types.Type]bool{}}
	for _, p := range loaded {
		require.Empty(t, p.Errors, p.PkgPath)
		if inside(p) {
			continue
		}
		for _, o := range exported(p.Types) {
			if named, ok := types.Unalias(o.Type()).(*types.Named); ok {
				if _, isType := o.(*types.TypeName); isType {
					w.nameable[named.Obj()] = true
				}
			}
		}
	}
	reached := 0
	for _, p := range loaded {
		if inside(p) {
			continue
		}
		for _, o := range exported(p.Types) {
			w.visit(o.Type(), strings.TrimPrefix(p.PkgPath, module)+"."+o.Name())
			reached++
		}
	}
	require.Greater(t, reached, 500, "the libraries were read")
	require.Greater(t, len(w.seen), 500)
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(w.missing)) {
		missing = append(missing, fmt.Sprintf("%s, reached by %s", name, w.missing[name]))
	}
	require.Empty(t, missing, "types without an importable name; add an alias to the port package where they belong")
}

// inside says that other modules cannot import a package.
func inside(p *packages.Package) bool { return strings.Contains(p.PkgPath, "/internal/") }

func exported(p *types.Package) []types.Object {
	var all []types.Object
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			all = append(all, o)
		}
	}
	return all
}

type walk struct {
	nameable map[types.Object]bool
	missing  map[string]string // where it was reached, by type
	seen     map[types.Type]bool
}

// visit follows every exported part of a type; from is how it was reached.
func (w walk) visit(t types.Type, from string) {
	t = types.Unalias(t)
	if w.seen[t] || slices.Contains(ownServer, from) {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		w.named(t, from)
	case *types.Pointer:
		w.visit(t.Elem(), from)
	case *types.Slice:
		w.visit(t.Elem(), from)
	case *types.Array:
		w.visit(t.Elem(), from)
	case *types.Chan:
		w.visit(t.Elem(), from)
	case *types.Map:
		w.visit(t.Key(), from)
		w.visit(t.Elem(), from)
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.visit(f.Type(), from+"."+f.Name())
			}
		}
	case *types.Signature:
		w.visit(t.Params(), from)
		w.visit(t.Results(), from)
	case *types.Tuple:
		for v := range t.Variables() {
			w.visit(v.Type(), from)
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.visit(m.Type(), from+"."+m.Name())
			}
		}
	}
}

func (w walk) named(t *types.Named, from string) {
	o := t.Obj()
	if o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), module) {
		return
	}
	name := strings.TrimPrefix(o.Pkg().Path(), module) + "." + o.Name()
	if !w.nameable[t.Origin().Obj()] && o.Exported() {
		w.missing[name] = from
	}
	for m := range t.Methods() {
		if m.Exported() {
			w.visit(m.Type(), name+"."+m.Name())
		}
	}
	for arg := range t.TypeArgs().Types() {
		w.visit(arg, from)
	}
	w.visit(t.Underlying(), name)
}
