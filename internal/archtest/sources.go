package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// source is what a package's files say of it, read from the text: without a build, with all build tags.
type source struct {
	dir     string
	name    string
	module  string // the folder of the module it belongs to, "." for ours
	ships   bool   // has files other than tests
	caption bool
	// Of the files that ship only:
	imports []string
	dots    []string
	uses    []use
}

// use is a name of an imported package, such as time.Now.
type use struct{ from, name string }

// read parses every Go file of the tree into its package. Folders that Go leaves out are left out.
func read(tree fs.FS) (map[string]*source, error) {
	found := map[string]*source{}
	modules := map[string]bool{}
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if base := path.Base(file); file != "." &&
				(base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") ||
					strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		case entry.Name() == "go.mod":
			modules[path.Dir(file)] = true
			return nil
		case path.Ext(file) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		dir := path.Dir(file)
		if found[dir] == nil {
			found[dir] = &source{dir: dir}
		}
		return found[dir].add(file, text)
	})
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	for dir, s := range found {
		s.module = "."
		for at := dir; at != "."; at = path.Dir(at) {
			if modules[at] {
				s.module = at
				break
			}
		}
	}
	return found, nil
}

func (s *source) add(file string, text []byte) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	test := strings.HasSuffix(file, "_test.go")
	name := strings.TrimSuffix(parsed.Name.Name, "_test")
	caption := parsed.Doc.Text()
	s.caption = s.caption || strings.HasPrefix(caption, "Package "+name+" ") ||
		(name == "main" && strings.HasPrefix(caption, "Command "))
	if test {
		return nil
	}
	s.name, s.ships = name, true
	local := map[string]string{}
	for _, spec := range parsed.Imports {
		from, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if !slices.Contains(s.imports, from) {
			s.imports = append(s.imports, from)
		}
		as := path.Base(from)
		if as == "v2" {
			as = path.Base(path.Dir(from))
		}
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if as == "." {
			s.dots = append(s.dots, from)
		}
		local[as] = from
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if left, ok := selector.X.(*ast.Ident); ok && local[left.Name] != "" {
				s.uses = append(s.uses, use{local[left.Name], selector.Sel.Name})
			}
		}
		return true
	})
	return nil
}
