package workers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/workers"
)

// registry collects the names under which activities are registered; a name given twice is in it twice.
type registry struct {
	worker.ActivityRegistry
	names []string
}

func (r *registry) RegisterActivityWithOptions(_ any, o activity.RegisterOptions) {
	r.names = append(r.names, o.Name)
}

// constants are the names in names.go by the names of their constants.
func constants(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../activities/names.go", nil, parser.ParseComments)
	require.NoError(t, err)
	found := map[string]string{}
	for _, decl := range file.Decls {
		for _, spec := range decl.(*ast.GenDecl).Specs {
			value := spec.(*ast.ValueSpec)
			require.Len(t, value.Names, 1)
			require.NotNil(t, value.Doc, "%s has no comment", value.Names[0])
			name, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			found[value.Names[0].Name] = name
		}
	}
	return found
}

// executed are the constants of this package that workflows name outside their tests, and the names of activities that
// they write as text.
func executed(t *testing.T, names map[string]string) (used map[string]bool, texts []string) {
	t.Helper()
	files, err := filepath.Glob("../workflows/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	used = map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "activities" && names[n.Sel.Name] != "" {
					used[n.Sel.Name] = true
				}
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if err == nil && slices.Contains(slices.Collect(maps.Values(names)), text) {
					texts = append(texts, name+": "+text)
				}
			}
			return true
		})
	}
	return used, texts
}

func TestEveryActivityIsRegisteredUnderItsConstantAndExecuted(t *testing.T) {
	t.Parallel()
	named := constants(t)
	var registered registry
	workers.RegisterActivities(&registered, activities.Ports{}, nil, nil)
	workers.RegisterFeeds(&registered, activities.Ports{}, nil, nil)
	require.ElementsMatch(t, slices.Collect(maps.Values(named)), registered.names)

	used, texts := executed(t, named)
	require.ElementsMatch(t, slices.Collect(maps.Keys(named)), slices.Collect(maps.Keys(used)))
	require.Empty(t, texts, "workflows call activities by constants")
}
