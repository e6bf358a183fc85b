package main

import (
	"strings"
	"testing"
)

func TestTheShapeCountsWhatIsTooBig(t *testing.T) {
	t.Parallel()
	ifs := func(n int) string { return strings.Repeat("\tif x {\n\t}\n", n) }
	methods := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("func (t *T[P]) m" + strings.Repeat("x", i) + "() {}\n")
		}
		return b.String()
	}
	cases := []struct {
		name, body string
		want       map[string]int
	}{
		{"short", "func f(x bool) {\n" + ifs(14) + "}", nil},
		{
			"above fifteen", "func f(x bool) {\n" + ifs(15) + "}",
			map[string]int{"functions above cyclomatic 15": 1},
		},
		{
			"the default case is no way of its own", "func f(x int) {\n" + ifs(13) +
				"\tswitch {\n\tcase x > 1:\n\tdefault:\n\t}\n}", nil,
		},
		{
			"each && is", "func f(x bool) {\n" + ifs(14) + "\t_ = x && x\n}",
			map[string]int{"functions above cyclomatic 15": 1},
		},
		{
			"above 25", "func f(x bool) {\n" + ifs(25) + "}",
			map[string]int{"functions above cyclomatic 15": 1, "functions above cyclomatic 25": 1},
		},
		{"60 lines", "func f() {\n" + strings.Repeat("\n", 58) + "}", nil},
		{"61 lines", "func f() {\n" + strings.Repeat("\n", 59) + "}", map[string]int{"functions over 60 lines": 1}},
		{"40 methods", methods(40), nil},
		{"41 methods", methods(41), map[string]int{"types over 40 methods": 1}},
	}
	for _, c := range cases {
		s := newShape("example.org/m")
		if err := s.add("x/x.go", []byte("package x\n\n"+c.body+"\n")); err != nil {
			t.Fatal(c.name, err)
		}
		for _, m := range s.measures() {
			if m.name == "longest import chain" {
				continue
			}
			if len(m.places) != c.want[m.name] {
				t.Errorf("%s: %s found %v, want %d", c.name, m.name, m.places, c.want[m.name])
			}
		}
	}
}

func TestTheLongestImportChain(t *testing.T) {
	t.Parallel()
	s := newShape("example.org/m")
	for name, imports := range map[string]string{
		"a": `"example.org/m/b"; "example.org/m/d"; "fmt"`,
		"b": `"example.org/m/c"; "example.org/other/x"`,
		"c": `"strings"`,
		"d": `"example.org/m/b"`,
	} {
		if err := s.add(name+"/x.go", []byte("package x\n\nimport ("+imports+")\n")); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(s.chain(), " "); got != "a d b c" {
		t.Errorf("the longest chain is %q, want \"a d b c\"", got)
	}
}

func TestTokensAreCountedWithoutCommentsAndInsertedSemicolons(t *testing.T) {
	t.Parallel()
	if got := tokensOf([]byte("package x // a comment\n\nvar y = \"two words\"\n")); got != 6 {
		t.Errorf("%d tokens, want 6", got)
	}
}

func TestOnlyProductCodeIsMeasured(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"cmd/oneiros/main.go":                             true,
		"internal/psyche/turn.go":                         true,
		"internal/psyche/turn_test.go":                    false,
		"testsuite/provider/provider.go":                  false,
		"tools/plain/main.go":                             false,
		"internal/archtest/layers.go":                     false,
		"activities/port/memory/memorytest/memorytest.go": false,
		"activities/port/memory/memory.go":                true,
		"README.md":                                       false,
	} {
		if product(name) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
}
