package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	longest     = 120 // columns of a line
	widest      = 4   // keyed fields of a literal on one line
	mostAtOnce  = 3   // values assigned at once
	tabColumns  = 4
	longPercent = 0.5 // of all lines
)

// What there still is of each; these bounds only ever fall. The goal is 40 private words in all, and none of the rest.
const (
	namesBound = 40
	proseBound = 40
	codesBound = 0
	manyBound  = 0
	bareBound  = 0
	staleBound = 0
)

type measure struct {
	name   string
	bound  int // -1: none
	places []string
}

type report struct {
	named, written, coded, long, wide, heads, many, bare, stale []string

	lines int
}

func newReport() *report { return &report{} }

func (r *report) measures() []measure {
	return []measure{
		{"private words in names", namesBound, r.named},
		{"private words in prose", proseBound, r.written},
		{"codes", codesBound, r.coded},
		{"long lines", int(float64(r.lines) * longPercent / 100), r.long},
		{"wide literals", 0, r.wide},
		{"side effects in if heads", 0, r.heads},
		{"many values assigned at once", manyBound, r.many},
		{"exported without doc", bareBound, r.bare},
		{"comments of another name", staleBound, r.stale},
	}
}

var link = regexp.MustCompile(`\]\([^)]*\)|https?://\S+`)

func (r *report) add(name string, text []byte) error {
	number := 0
	table := false
	for line := range bytes.Lines(text) {
		number++
		r.lines++
		line = bytes.TrimRight(line, "\r\n")
		table = bytes.HasPrefix(line, []byte("|"))
		columns := utf8.RuneCount(line) + bytes.Count(line, []byte("\t"))*(tabColumns-1)
		if columns > longest && !table && !link.Match(line) {
			r.long = append(r.long, fmt.Sprintf("%s:%d: %d columns", name, number, columns))
		}
	}
	if strings.HasSuffix(name, ".md") {
		r.prose(name, 1, string(text))
		return nil
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			r.prose(name, set.Position(comment.Pos()).Line, comment.Text)
		}
	}
	r.inspect(set, file)
	return nil
}

// quotesFormer leaves out what must quote former names: the readers of what earlier builds wrote, and the page about
// it.
func quotesFormer(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "former") || base == "upgrading.md" || base == "upgrade_test.go" ||
		base == "CHANGELOG.md" || base == "cause_test.go"
}

// prose looks for private words and codes in a text whose first line has this number.
func (r *report) prose(name string, first int, text string) {
	onDepth := strings.Contains(name, "depth") || strings.Contains(name, "gauge")
	for i, line := range strings.Split(text, "\n") {
		for _, word := range privateProse.FindAllString(line, -1) {
			if quotesFormer(name) {
				break
			}
			r.written = append(r.written, fmt.Sprintf("%s:%d: %s", name, first+i, word))
		}
		line = stages.ReplaceAllString(line, "")
		if onDepth {
			line = hori.ReplaceAllString(line, "")
		}
		for _, code := range codes.FindAllString(line, -1) {
			r.coded = append(r.coded, fmt.Sprintf("%s:%d: %s", name, first+i, code))
		}
	}
}

func (r *report) inspect(set *token.FileSet, file *ast.File) {
	at := func(pos token.Pos) string {
		p := set.Position(pos)
		return fmt.Sprintf("%s:%d", p.Filename, p.Line)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if word, better := privateName(n.Name); word != "" {
				r.named = append(r.named, fmt.Sprintf("%s: %s: %s", at(n.Pos()), n.Name, better))
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				r.prose(set.Position(n.Pos()).Filename, set.Position(n.Pos()).Line, n.Value)
			}
		case *ast.CompositeLit:
			if wide(set, n) {
				r.wide = append(r.wide, at(n.Pos()))
			}
		case *ast.IfStmt:
			if effect(n.Init) {
				r.heads = append(r.heads, at(n.Pos()))
			}
		case *ast.AssignStmt:
			if len(n.Lhs) > mostAtOnce && len(n.Lhs) == len(n.Rhs) {
				r.many = append(r.many, at(n.Pos()))
			}
		}
		return true
	})
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			r.misnamed(at, d.Doc, d.Name.Name)
		case *ast.GenDecl:
			if len(d.Specs) == 1 && !d.Lparen.IsValid() {
				r.misnamed(at, d.Doc, declared(d.Specs[0])...)
			}
		}
	}
	if !strings.HasSuffix(set.Position(file.Pos()).Filename, "_test.go") {
		r.undocumented(at, file)
	}
}

// declared are the names of a declaration.
func declared(s ast.Spec) []string {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return []string{s.Name.Name}
	case *ast.ValueSpec:
		var names []string
		for _, n := range s.Names {
			names = append(names, n.Name)
		}
		return names
	}
	return nil
}

// wide says whether more than four keyed fields of a literal stand on one line.
func wide(set *token.FileSet, n *ast.CompositeLit) bool {
	perLine := map[int]int{}
	for _, e := range n.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if _, field := pair.Key.(*ast.Ident); field {
				perLine[set.Position(pair.Pos()).Line]++
			}
		}
	}
	for _, n := range perLine {
		if n > widest {
			return true
		}
	}
	return false
}

// effect says whether the first part of an if changes what stands outside of it. A variable that is declared there is
// the language's own idiom.
func effect(init ast.Stmt) bool {
	switch s := init.(type) {
	case nil:
		return false
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	default:
		return true
	}
}

// inherited are methods whose interface says what they do: those of error and fmt.Stringer, and of event.Payload.
var inherited = map[string]bool{"Error": true, "Unwrap": true, "String": true, "EventType": true}

// misnamed finds comments that begin with another name than that which they stand above: a name begins with a small
// letter, or has a capital after a small one.
func (r *report) misnamed(at func(token.Pos) string, doc *ast.CommentGroup, names ...string) {
	if doc == nil {
		return
	}
	text := doc.Text()
	first := text[:len(text)-len(strings.TrimLeftFunc(text, isWord))]
	if first == "" || slices.Contains(names, first) {
		return
	}
	rest := first[1:]
	if unicode.IsLower(rune(first[0])) || strings.ToLower(rest) != rest && strings.ToUpper(rest) != rest {
		r.stale = append(r.stale, fmt.Sprintf("%s: %s above %s", at(doc.Pos()), first, strings.Join(names, ", ")))
	}
}

func isWord(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

func (r *report) undocumented(at func(token.Pos) string, file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && inherited[d.Name.Name] {
				continue
			}
			if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || exportedReceiver(d.Recv)) {
				r.bare = append(r.bare, at(d.Pos())+": "+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() && d.Doc == nil && t.Doc == nil && t.Comment == nil {
					r.bare = append(r.bare, at(t.Pos())+": "+t.Name.Name)
				}
			}
		}
	}
}

func exportedReceiver(list *ast.FieldList) bool {
	t := list.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	name, ok := t.(*ast.Ident)
	return ok && name.IsExported()
}
