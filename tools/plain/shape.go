package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	manyLines        = 60 // of a function
	highComplexity   = 15
	mostComplexity   = 25
	mostMethods      = 40
	packagesPrinted  = 15
	typesPrinted     = 12
	percentileOfFile = 90
)

// How many functions and types there still are beyond the two limits; these bounds only ever fall. The goal is none.
const (
	complexBound = 0
	crowdedBound = 0
)

// shape is the size and form of the product's code: neither tests and what serves them alone, nor tools.
type shape struct {
	module  string
	lines   map[string]int      // by file
	tokens  map[string]int      // by package folder, without the semicolons that the scanner inserts
	methods map[string]int      // by folder and type
	imports map[string][]string // by package folder: the folders of this module that it imports

	long, high, complex []string // places of functions
}

// examineShape reads the product's Go files in folder root.
func examineShape(root string) (*shape, error) {
	module, err := modulePath(root)
	if err != nil {
		return nil, err
	}
	names, err := files(root)
	if err != nil {
		return nil, err
	}
	s := newShape(module)
	for _, name := range names {
		if !product(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) { // removed and not yet committed
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := s.add(name, text); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newShape(module string) *shape {
	return &shape{
		module:  module,
		lines:   map[string]int{},
		tokens:  map[string]int{},
		methods: map[string]int{},
		imports: map[string][]string{},
	}
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+(\S+)`)

func modulePath(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	match := moduleLine.FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("%s: no module line", filepath.Join(root, "go.mod"))
	}
	return string(match[1]), nil
}

// product leaves out tests, the packages that only tests import, tools, and clients of others.
func product(name string) bool {
	if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
		return false
	}
	folders := strings.Split(path.Dir(name), "/")
	switch folders[0] {
	case "testsuite", "tools", "clients", "bin":
		return false
	}
	return !slices.ContainsFunc(folders[1:], func(f string) bool { return strings.HasSuffix(f, "test") || f == "testdata" })
}

func (s *shape) add(name string, text []byte) error {
	folder := path.Dir(name)
	s.lines[name] = strings.Count(string(text), "\n")
	s.tokens[folder] += tokensOf(text)
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, i := range file.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import %s: %w", name, i.Path.Value, err)
		}
		if below, ok := strings.CutPrefix(imported, s.module+"/"); ok && !slices.Contains(s.imports[folder], below) {
			s.imports[folder] = append(s.imports[folder], below)
		}
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			s.function(set, folder, f)
		}
	}
	return nil
}

// tokensOf counts the tokens of a file as the Go scanner sees them; comments and inserted semicolons are none.
func tokensOf(text []byte) int {
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile("", -1, len(text)), text, nil, 0)
	n := 0
	for {
		_, t, literal := s.Scan()
		if t == token.EOF {
			return n
		}
		if t != token.SEMICOLON || literal != "\n" {
			n++
		}
	}
}

func (s *shape) function(set *token.FileSet, folder string, f *ast.FuncDecl) {
	name := f.Name.Name
	if f.Recv != nil {
		if receiver := typeName(f.Recv.List[0].Type); receiver != "" {
			s.methods[folder+"."+receiver]++
			name = receiver + "." + name
		}
	}
	if f.Body == nil {
		return
	}
	begin, end := set.Position(f.Pos()), set.Position(f.End())
	place := fmt.Sprintf("%s:%d: %s", begin.Filename, begin.Line, name)
	if lines := end.Line - begin.Line + 1; lines > manyLines {
		s.long = append(s.long, fmt.Sprintf("%s: %d lines", place, lines))
	}
	complexity := cyclomatic(f)
	place = fmt.Sprintf("%s: %d", place, complexity)
	if complexity > highComplexity {
		s.high = append(s.high, place)
	}
	if complexity > mostComplexity {
		s.complex = append(s.complex, place)
	}
}

func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	}
	return ""
}

// cyclomatic counts the ways through a function and the function literals in it: one, and one more for each if, loop,
// case that is not the default, && and ||. The program gocyclo counts the same.
func cyclomatic(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// chain is the longest row of packages of which each imports the next.
func (s *shape) chain() []string {
	longest := map[string][]string{}
	var from func(folder string) []string
	from = func(folder string) []string {
		if c, known := longest[folder]; known {
			return c
		}
		longest[folder] = nil // files of different build tags could close a circle
		var rest []string
		for _, below := range slices.Sorted(slices.Values(s.imports[folder])) {
			if c := from(below); len(c) > len(rest) {
				rest = c
			}
		}
		longest[folder] = append([]string{folder}, rest...)
		return longest[folder]
	}
	var chain []string
	for _, folder := range slices.Sorted(maps.Keys(s.tokens)) {
		if c := from(folder); len(c) > len(chain) {
			chain = c
		}
	}
	return chain
}

// crowded are the types with more methods than a type should have.
func (s *shape) crowded() []string {
	var types []string
	for _, t := range sorted(s.methods) {
		if t.n > mostMethods {
			types = append(types, fmt.Sprintf("%s: %d", t.name, t.n))
		}
	}
	return types
}

// measures are what -list can print. Only two of them have a bound.
func (s *shape) measures() []measure {
	return []measure{
		{"longest import chain", -1, s.chain()},
		{"functions over 60 lines", -1, s.long},
		{"functions above cyclomatic 15", -1, s.high},
		{"functions above cyclomatic 25", complexBound, s.complex},
		{"types over 40 methods", crowdedBound, s.crowded()},
	}
}

// print writes the table and answers whether every bound holds.
func (s *shape) print(w io.Writer) bool {
	lines := slices.Sorted(maps.Values(s.lines))
	if len(lines) == 0 {
		fmt.Fprintln(w, "no Go file of the product")
		return true
	}
	total := 0
	for _, n := range s.tokens {
		total += n
	}
	longest := sorted(s.lines)[0]
	row := func(name string, value int, note string) { fmt.Fprintf(w, "%-34s %7d  %s\n", name, value, note) }
	row("Go tokens", total, "")
	row("files", len(lines), "")
	row("lines of a file, median", lines[len(lines)/2], "")
	row("lines of a file, p90", lines[len(lines)*percentileOfFile/100], "")
	row("lines of a file, longest", longest.n, longest.name)
	good := printMeasures(w, s.measures())
	fmt.Fprintln(w, "\nbiggest types by methods")
	top(w, s.methods, typesPrinted)
	fmt.Fprintln(w, "\nGo tokens by package")
	top(w, s.tokens, packagesPrinted)
	return good
}

type counted struct {
	name string
	n    int
}

// sorted has the biggest first, equals by name.
func sorted(counts map[string]int) []counted {
	var list []counted
	for name, n := range counts {
		list = append(list, counted{name, n})
	}
	slices.SortFunc(list, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.n, a.n), strings.Compare(a.name, b.name))
	})
	return list
}

func top(w io.Writer, counts map[string]int, n int) {
	list := sorted(counts)
	for _, c := range list[:min(n, len(list))] {
		fmt.Fprintf(w, "%7d  %s\n", c.n, c.name)
	}
}
