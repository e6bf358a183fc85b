package main

import (
	"strings"
	"testing"
)

// Each text holds one fault of its measure; the plain one holds none.
func TestEachMeasureFindsItsFault(t *testing.T) {
	t.Parallel()
	long := "// " + strings.Repeat("word ", 30)
	cases := []struct {
		measure, body string
	}{
		{"private words in names", "func knockAll() {}"},
		{"private words in names", "var told int"},
		{"private words in prose", "// a deed of the dream"},
		{"codes", "// Ratings of capture (H13)."},
		{"long lines", long},
		{"wide literals", "var x = t{A: 1, B: 2, C: 3, D: 4, E: 5}"},
		{"side effects in if heads", "func f() (err error) {\n\tif err = g(); err != nil {\n\t}\n\treturn\n}"},
		{"many values assigned at once", "func f() {\n\ta, b, c, d := 1, 2, 3, 4\n}"},
		{"exported without doc", "func F() {}"},
		{"comments of another name", "// oldName does it.\nfunc newName() {}"},
	}
	for _, c := range cases {
		r := newReport()
		if err := r.add("x/x.go", []byte("package x\n\n"+c.body+"\n")); err != nil {
			t.Fatal(c.measure, err)
		}
		for _, m := range r.measures() {
			want := 0
			if m.name == c.measure {
				want = 1
			}
			if len(m.places) != want {
				t.Errorf("%q: %s found %v, want %d", c.body, m.name, m.places, want)
			}
		}
	}
}

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newReport()
	text := "package x\n\n// Stage H3 of Hori is shallow; knockout is a word.\nfunc knockout() {}\n"
	if err := r.add("x/x.go", []byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.measures() {
		if len(m.places) != 0 {
			t.Errorf("%s found %v", m.name, m.places)
		}
	}
}
