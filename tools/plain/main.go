// Command plain counts what makes the sources hard to read for a newcomer: private words, codes that point at papers
// outside the repository, lines that are too long or do too much. It prints a table and fails where a bound is
// exceeded:
//
//	go -C tools run ./plain ..
//
// With -shape it measures the product's code instead: chains of imports, lengths, complexity, methods and tokens.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	list := flag.String("list", "", "print the places of this measure, by its name in the table")
	ofShape := flag.Bool("shape", false, "measure the size and form of the product's code instead of its language")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: plain [-shape] [-list MEASURE] [FOLDER]")
		flag.PrintDefaults()
	}
	flag.Parse()
	root := flag.Arg(0)
	if root == "" {
		root = "."
	}
	result, err := read(root, *ofShape)
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(2)
	}
	if *list != "" {
		if err := places(os.Stdout, result.measures(), *list); err != nil {
			fmt.Fprintln(os.Stderr, "plain:", err)
			os.Exit(2)
		}
		return
	}
	if !result.print(os.Stdout) {
		os.Exit(1)
	}
}

// measured is what was counted in a repository; print answers whether every bound holds.
type measured interface {
	measures() []measure
	print(w io.Writer) bool
}

func read(root string, ofShape bool) (measured, error) {
	if ofShape {
		return examineShape(root)
	}
	return examine(root)
}

// files names every file of the repository in folder root that git knows or would add.
func files(root string) ([]string, error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files in %s: %w", root, err)
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' }), nil
}

// examine reads the Go files and the pages of the repository in folder root.
func examine(root string) (*report, error) {
	names, err := files(root)
	if err != nil {
		return nil, err
	}
	r := newReport()
	for _, name := range names {
		if !examined(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not yet committed
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := r.add(name, text); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// examined leaves out this program, which names the words, and what programs wrote.
func examined(name string) bool {
	if strings.HasPrefix(name, "tools/plain/") || strings.Contains(name, "/testdata/") {
		return false
	}
	switch filepath.Ext(name) {
	case ".go":
		return true
	case ".md":
		return !strings.HasPrefix(name, "docs/measurements/")
	}
	return false
}

func (r *report) print(w io.Writer) bool { return printMeasures(w, r.measures()) }

// printMeasures writes a line for each measure and answers whether every bound holds.
func printMeasures(w io.Writer, all []measure) bool {
	good := true
	for _, m := range all {
		verdict := ""
		if m.bound >= 0 {
			verdict = fmt.Sprintf("at most %d", m.bound)
			if len(m.places) > m.bound {
				verdict += ", EXCEEDED"
				good = false
			}
		}
		fmt.Fprintf(w, "%-34s %7d  %s\n", m.name, len(m.places), verdict)
	}
	return good
}

// places writes the places of the measure with this name.
func places(w io.Writer, all []measure, name string) error {
	var names []string
	for _, m := range all {
		if m.name == name {
			for _, p := range m.places {
				fmt.Fprintln(w, p)
			}
			return nil
		}
		names = append(names, m.name)
	}
	return fmt.Errorf("no measure %q; there are: %s", name, strings.Join(names, ", "))
}
