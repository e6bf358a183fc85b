// Command plain counts what makes the sources hard to read for a newcomer: private words, codes that point at papers
// outside the repository, lines that are too long or do too much. It prints a table and fails where a bound is exceeded:
//
//	go -C tools run ./plain ..
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
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: plain [-list MEASURE] [FOLDER]")
		flag.PrintDefaults()
	}
	flag.Parse()
	root := flag.Arg(0)
	if root == "" {
		root = "."
	}
	report, err := examine(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(2)
	}
	if *list != "" {
		report.places(os.Stdout, *list)
		return
	}
	if !report.print(os.Stdout) {
		os.Exit(1)
	}
}

// examine reads every file of the repository in folder root that git knows or would add.
func examine(root string) (*report, error) {
	names, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files in %s: %w", root, err)
	}
	r := newReport()
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSuffix(name, "\n")
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

func (r *report) print(w io.Writer) bool {
	good := true
	for _, m := range r.measures() {
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

func (r *report) places(w io.Writer, name string) {
	for _, m := range r.measures() {
		if m.name == name {
			for _, p := range m.places {
				fmt.Fprintln(w, p)
			}
			return
		}
	}
	fmt.Fprintf(w, "no measure %q\n", name)
}
