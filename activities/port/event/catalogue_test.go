package event_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

const root = "../../.."

func TestEveryCatalogueEntryIsComplete(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, e := range event.Catalogue() {
		require.False(t, listed[e.Type()], "%s twice", e.Type())
		listed[e.Type()] = true
		require.Equal(t, reflect.TypeOf(e.Payload).Name(), e.Type(), "the name on the wire is that of the type")
		for _, text := range []string{e.Announces, e.When} {
			require.NotEmpty(t, text, e.Type())
			require.NotContains(t, text, "|", "it goes into a table")
		}
	}
	for _, p := range payloads {
		require.True(t, listed[p.EventType()], "%s is not in the catalogue", p.EventType())
	}
	require.Len(t, payloads, len(listed), "and every type of the catalogue is in the golden file")
	require.Equal(t, len(listed), len(event.Types()))
}

// The event types of the design, and the phases.
func TestTheCatalogueHasTheTypesOfTheDesign(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"OnsetStarted", "DepthChanged", "DaliInterrupt", "FragmentCaptured", "FragmentDiscarded", "OnsetCompleted",
		"AlarmAbort",
		"HypnopompicStarted", "HypnopompicCompleted", "DreamAborted", "SomaticMarkerFired", "PhaseStarted",
		"PhaseCompleted",
	} {
		require.Contains(t, event.Types(), name)
	}
}

// sources parses every Go file of the product; tests may announce what they like.
func sources(t *testing.T, each func(path string, file *ast.File)) {
	t.Helper()
	set := token.NewFileSet()
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() &&
			(d.Name() == "testsuite" || d.Name() == "testdata" || d.Name() == "bin" ||
				strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || strings.HasSuffix(d.Name(), "test")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		read++
		each(filepath.ToSlash(path), file)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, read, 300)
}

// Every call of event.New has a payload of the catalogue: no other type has an EventType, no other code fills an
// envelope, and each type is announced somewhere.
func TestOnlyTypesOfTheCatalogueAreAnnounced(t *testing.T) {
	t.Parallel()
	declared, announced := map[string]bool{}, map[string]bool{}
	// zero values that are only used for their name
	request := map[ast.Expr]bool{}
	stores := []string{"internal/sqlitestore/", "internal/redisstore/", "internal/store/"} // they read back what was announced
	sources(t, func(path string, file *ast.File) {
		at := strings.TrimPrefix(path, root+"/")
		ours := strings.HasPrefix(at, "activities/port/event/")
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.Name == "EventType" {
					require.True(t, ours, "%s declares a payload of its own; it belongs into the catalogue", at)
					declared[n.Recv.List[0].Type.(*ast.Ident).Name] = true
				}
			case *ast.SelectorExpr:
				request[ast.Unparen(n.X)] = n.Sel.Name == "EventType"
			case *ast.CompositeLit:
				of, ok := n.Type.(*ast.SelectorExpr)
				if !ok || request[n] {
					break
				}
				if from, ok := of.X.(*ast.Ident); ok && from.Name == "event" {
					require.False(t,
						of.Sel.Name == "Event" &&
							!slices.ContainsFunc(stores, func(s string) bool { return strings.HasPrefix(at, s) }),
						"%s fills an envelope itself; event.New does", at)
					announced[of.Sel.Name] = true
				}
			}
			return true
		})
	})
	var missing []string
	for _, name := range event.Types() {
		if !announced[name] {
			missing = append(missing, name)
		}
		delete(declared, name)
	}
	require.Empty(t, missing, "in the catalogue and never announced")
	require.Empty(t, declared, "payloads that are not in the catalogue")
}

// shape is every field of every type on one line: its name, its type, and whether it is always present.
func shape() []string {
	var lines []string
	add := func(name string, t reflect.Type) { lines = append(lines, fields(name, t)...) }
	add("event", reflect.TypeFor[event.Event]())
	for _, e := range event.Catalogue() {
		add(e.Type(), reflect.TypeOf(e.Payload))
	}
	return lines
}

func fields(of string, t reflect.Type) []string {
	var lines []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		there := "always"
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			there = "sometimes"
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		lines = append(lines, fmt.Sprintf("%s.%s %s %s", of, name, sort(inner), there))
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]() {
			lines = append(lines, fields(of+"."+name, inner)...)
		}
	}
	return lines
}

// sort is the JSON type of a Go type.
func sort(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "any"
	case t.Kind() == reflect.Slice:
		return "list of " + sort(t.Elem())
	case t.Kind() == reflect.Struct:
		return "object"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Bool, t.Kind() == reflect.String:
		return t.Kind().String()
	}
	return "integer"
}

// vanished are published fields that are missing now, have another type or are no longer always present.
func vanished(published, now []string) []string {
	return slices.DeleteFunc(slices.Clone(published), func(line string) bool { return slices.Contains(now, line) })
}

// Fields are only added. The golden file grows by -update; a vanished field fails the test even then.
func TestFieldsAreOnlyAdded(t *testing.T) {
	t.Parallel()
	const golden = "testdata/shape.txt"
	body, err := os.ReadFile(golden)
	require.NoError(t, err)
	published := strings.Split(strings.TrimSpace(string(body)), "\n")
	require.Empty(t, vanished(published, shape()),
		"these are published and may be in use; give a changed field a new name")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(strings.Join(shape(), "\n")+"\n"), 0o644))
		return
	}
	require.Empty(t, vanished(shape(), published), "new fields: run the test with -update to publish them")
}

func TestVanishedAndChangedFieldsAreFound(t *testing.T) {
	t.Parallel()
	published := []string{"A.x integer always", "A.y string always", "A.z number sometimes"}
	require.Empty(t, vanished(published, append(published, "A.new bool sometimes")))
	require.Equal(t, []string{"A.x integer always"}, vanished(published, published[1:]), "missing")
	require.Equal(t, []string{"A.y string always"},
		vanished(published, []string{published[0], "A.y integer always", published[2]}), "another type")
	require.Equal(t, []string{"A.x integer always"},
		vanished(published, []string{"A.x integer sometimes", published[1], published[2]}), "no longer always there")
}
