//go:build linux

package tools

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// use is an honest call: what it needs, what it returns, and what a file has afterwards.
type use struct {
	name    string
	files   map[string]string
	tool    string // empty: run
	args    map[string]any
	command string
	want    string // in the result
	file    string // empty: none is looked at
	text    string
	needs   string // a program, without which the use is left out
}

type files = map[string]string

type values = map[string]any

func numbered(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString("line " + strconv.Itoa(i+1) + "\n")
	}
	return text.String()
}

var tree = files{
	"README.md": "# Read me\n", "main.go": "package main\n\nfunc main() {}\n", "docs/a.md": "alpha\n", "docs/b/c.md": "gamma\n",
	".gitignore": "build/\n*.log\n!keep.log\n", "build/out": "alpha\n", "a.log": "alpha\n", "keep.log": "alpha\n",
	"docs/.gitignore": "secret.md\n", "docs/secret.md": "alpha\n", ".git/HEAD": "alpha\n",
}

func readUses() []use {
	one := func(name, file, text string, args values, want string) use {
		args["path"] = file
		return use{
			name:  "read " + name,
			files: files{file: text},
			tool:  "read_file",
			args:  args,
			want:  want,
		}
	}
	return []use{
		one("a file", "a.md", "text\n", values{}, "text\n"),
		one("a file below folders", "a/b/c.md", "text\n", values{}, "text\n"),
		one("no line end", "a.md", "text", values{}, "text"),
		one("an empty file", "a.md", "", values{}, "[the file is empty]"),
		one("some lines", "a.md", numbered(5), values{"offset": 2, "limit": 2},
			"line 2\nline 3\n[lines 2 to 3 of 5; 2 are left, go on with offset 4]"),
		one("the last lines", "a.md", numbered(5), values{"offset": 5}, "line 5\n"),
		one("more lines than there are", "a.md", numbered(2), values{"limit": 100}, "line 1\nline 2\n"),
		one("a long file", "a.md", numbered(20_000), values{}, "are left, go on with offset"),
		one("a long line", "a.md", strings.Repeat("x", 200_000)+"\nend\n", values{}, "line 1 is cut, it is too long"),
		one("after a long line", "a.md", strings.Repeat("x", 200_000)+"\nend\n", values{"offset": 2}, "end\n"),
		one("lines of Windows", "a.md", "one\r\ntwo\r\n", values{}, "one\ntwo\n[lines end with CRLF, which edit_file keeps]"),
		one("mixed lines", "a.md", "one\r\ntwo\n", values{}, "some lines end with CRLF"),
		one("bytes that are no text", "a.md", "caf\xe9\n", values{}, "caf\ufffd\n[some bytes are no UTF-8"),
		one("other writing", "日本 😀.md", "こんにちは\n", values{}, "こんにちは\n"),
		one("a name with a space", "a b.md", "text\n", values{}, "text\n"),
		one("a name that begins with dots", "..a", "text\n", values{}, "text\n"),
		one("a hidden file", ".hidden", "text\n", values{}, "text\n"),
		one("no limit given as null", "a.md", "text\n", values{"limit": nil}, "text\n"),
		{
			name: "read by an absolute path", files: files{"a.md": "text\n"}, tool: "read_file",
			args: values{"path": "WS/a.md"}, want: "text\n",
		},
		{
			name: "read over parents inside", files: files{"a.md": "text\n", "b/c": ""}, tool: "read_file",
			args: values{"path": "b/../a.md"}, want: "text\n",
		},
		{
			name: "read what git keeps", files: tree, tool: "read_file",
			args: values{"path": ".git/HEAD"}, want: "alpha\n",
		},
	}
}

func findUses() []use {
	list := func(name string, args values, want string) use {
		return use{
			name:  "list " + name,
			files: tree,
			tool:  "list_files",
			args:  args,
			want:  want,
		}
	}
	search := func(name string, args values, want string) use {
		return use{
			name:  "search " + name,
			files: tree,
			tool:  "search_files",
			args:  args,
			want:  want,
		}
	}
	return []use{
		list("all", values{},
			".gitignore\nREADME.md\ndocs/\ndocs/.gitignore\ndocs/a.md\ndocs/b/\ndocs/b/c.md\nkeep.log\nmain.go\n"),
		list("a folder", values{"path": "docs/b"}, "docs/b/c.md\n"),
		list("one level", values{"depth": 1}, ".gitignore\nREADME.md\ndocs/\nkeep.log\nmain.go\n"),
		list("by an ending", values{"glob": "*.md"}, "README.md\ndocs/a.md\ndocs/b/c.md\n"),
		list("by folders", values{"glob": "docs/**/*.md"}, "docs/a.md\ndocs/b/c.md\n"),
		list("what is ignored", values{"ignored": true}, "build/\nbuild/out\n"),
		list("an ignored folder by name", values{"path": "build"}, "build/out\n"),
		list("nothing", values{"glob": "*.rs"}, "[nothing found]"),
		list("an absolute folder", values{"path": "WS/docs/b"}, "docs/b/c.md\n"),
		search("for a word", values{"pattern": "alpha"}, "docs/a.md:1: alpha\nkeep.log:1: alpha\n"),
		search("for an expression", values{"pattern": `^func \w+\(`}, "main.go:3: func main() {}\n"),
		search("in any case", values{"pattern": "(?i)READ"}, "README.md:1: # Read me\n"),
		search("in a folder", values{"pattern": "a", "path": "docs/b"}, "docs/b/c.md:1: gamma\n"),
		search("in a file", values{"pattern": "a", "path": "docs/a.md"}, "docs/a.md:1: alpha\n"),
		search("by an ending", values{"pattern": "main", "glob": "*.go"}, "main.go:1: package main\n"),
		search("what is ignored", values{"pattern": "alpha", "ignored": true}, "build/out:1: alpha\n"),
		search("some lines", values{"pattern": "alpha", "limit": 1}, "docs/a.md:1: alpha\n[there is more"),
		search("for nothing", values{"pattern": "omega"}, "[nothing found]"),
		{
			name: "search past a binary file", files: files{"a": "x\x00alpha\n", "b": "alpha\n"}, tool: "search_files",
			args: values{"pattern": "alpha"}, want: "b:1: alpha\n",
		},
		{
			name: "search past a large file", files: files{"a": strings.Repeat("alpha\n", 2<<20), "b": "alpha\n"},
			tool: "search_files", args: values{"pattern": "alpha"}, want: "b:1: alpha\n[not searched, above 8388608 bytes: a]",
		},
	}
}

func writeUses() []use {
	edit := func(name, text string, args values, after string) use {
		args["path"] = "a.md"
		return use{
			name:  "edit " + name,
			files: files{"a.md": text},
			tool:  "edit_file",
			args:  args,
			want:  "wrote a.md",
			file:  "a.md",
			text:  after,
		}
	}
	write := func(name, file, text string, before files) use {
		return use{
			name:  "write " + name,
			files: before,
			tool:  "write_file",
			args:  values{"path": file, "content": text},
			want:  "wrote ",
			file:  strings.TrimPrefix(file, "WS/"),
			text:  text,
		}
	}
	return []use{
		write("a new file", "a.md", "text\n", nil),
		write("a new file in new folders", "a/b/c.md", "text\n", nil),
		write("over a file", "a.md", "new\n", files{"a.md": "old\n"}),
		write("an empty file", "a.md", "", files{"a.md": "old\n"}),
		write("by an absolute path", "WS/a.md", "text\n", nil),
		write("other writing", "日本.md", "こんにちは\n", nil),
		write("lines of Windows", "a.md", "one\r\n", nil),
		write("a large file", "a.md", numbered(200_000), nil),
		write("a name with spaces", "a b c.md", "text\n", nil),
		write("rules for git", ".gitignore", "build/\n", nil),
		write("a workflow", ".github/workflows/ci.yaml", "on: push\n", nil),
		edit("once", "one two\n", values{"old": "two", "new": "2"}, "one 2\n"),
		edit("all", "a b a\n", values{"old": "a", "new": "c", "all": true}, "c b c\n"),
		edit("away", "one two\n", values{"old": " two", "new": ""}, "one\n"),
		edit("several lines", "one\ntwo\nthree\n", values{"old": "two\nthree", "new": "2\n3"}, "one\n2\n3\n"),
		edit("lines of Windows", "one\r\ntwo\r\n", values{"old": "one\ntwo", "new": "1\n2"}, "1\r\n2\r\n"),
		edit("a new line into lines of Windows", "one\r\n", values{"old": "one", "new": "1\n2"}, "1\r\n2\r\n"),
		edit("mixed lines", "one\r\ntwo\n", values{"old": "two\n", "new": "2\n"}, "one\r\n2\n"),
		edit("no line end", "one", values{"old": "one", "new": "1"}, "1"),
		edit("what has a byte that is no text", "caf\xe9 one\n", values{"old": "one", "new": "1"}, "caf\xe9 1\n"),
		edit("what looks like an expression", "a.c abc\n", values{"old": "a.c", "new": "$1"}, "$1 abc\n"),
	}
}

func commandUses() []use {
	run := func(name, command, want string) use {
		return use{name: "run " + name, files: tree, command: command, want: want}
	}
	with := func(program, name, command, want string) use {
		u := run(name, command, want)
		u.needs = program
		return u
	}
	return []use{
		run("echo", "echo text", "text\n"),
		run("nothing", "true", "[no output; exit status 0]"),
		run("in the workspace", "pwd", "/workspace\n"),
		run("a pipe", "printf 'b\\na\\n' | sort", "a\nb\n"),
		run("several lines", "a=1\nb=2\necho $((a+b))", "3\n"),
		run("errors into the output", "echo text >&2", "text\n"),
		run("with empty input", "wc -c", "0\n"),
		run("a file", "cat docs/a.md", "alpha\n"),
		run("a new file", "echo text >new && cat new", "text\n"),
		run("a temporary file", "f=$(mktemp) && echo text >$f && cat $f", "text\n"),
		run("a here document", "cat <<END\ntext\nEND", "text\n"),
		run("a program of its own", "printf '#!/bin/sh\\necho text\\n' >p && chmod 755 p && ./p", "text\n"),
		run("a link inside", "ln -s docs/a.md link && cat link", "alpha\n"),
		run("a second name inside", "ln main.go docs/twin && cat docs/twin", "package main"),
		run("a move between folders", "mv docs/a.md build/ && cat build/a.md", "alpha\n"),
		run("a folder away", "rm -r docs && ls", "build\nkeep.log\n"),
		run("a FIFO inside", "mkfifo pipe && (echo text >pipe &) && cat pipe", "text\n"),
		run("the null device", "echo text >/dev/null && echo done </dev/null", "done\n"),
		run("random numbers", "head -c 4 /dev/urandom | wc -c", "4\n"),
		run("the number of processors", "nproc", "\n"),
		run("the time", "date +%Y", "20"),
		run("its own programs", "sleep 1000 & kill $! && wait $!; echo $?", "143\n"),
		run("a search", "grep -rn gamma docs", "docs/b/c.md:1:gamma\n"),
		run("an archive", "tar -czf a.tgz docs && tar -tzf a.tgz | head -1", "docs/\n"),
		run("a long output", "seq 100000", "bytes are left out here]\n"),
		run("bytes that are no text", "printf 'caf\\351\\n'", "caf\ufffd\n"),
		run("a change", "sed -i s/alpha/beta/ docs/a.md && cat docs/a.md", "beta\n"),
		with("git", "a repository", "rm -rf .git && git init -q && git add -A && git -c user.name=a -c user.email=a@b "+
			"commit -qm first && git log --format=%s", "first\n"),
		with("python3", "Python", `python3 -c 'print(6*7)'`, "42\n"),
		with("python3", "Python with a child", `python3 -c 'import subprocess as s; print(s.check_output(["echo", "text"]))'`,
			"text"),
		with("perl", "Perl", `perl -e 'print 6*7'`, "42"),
		with("node", "Node", `node -e 'console.log(6*7)'`, "42\n"),
		with("awk", "awk", `awk 'BEGIN { print 6*7 }'`, "42\n"),
		with("bash", "bash with a substitution", `bash -c 'cat <(echo text)'`, "text\n"),
		with("make", "make", "printf 'all:\\n\\t@echo text\\n' >Makefile && make", "text\n"),
		with("gcc", "a compiler", "echo 'int main(){return 0;}' >m.c && gcc m.c -o m && ./m && echo text", "text\n"),
		with("go", "Go", "go version", "go version go"),
		with("diff", "a comparison", "diff docs/a.md build/out && echo same", "same\n"),
	}
}

func TestHonestUsesAreServed(t *testing.T) {
	t.Parallel()
	var list []use
	for _, u := range [][]use{readUses(), findUses(), writeUses(), commandUses()} {
		list = append(list, u...)
	}
	require.GreaterOrEqual(t, len(list), 80)
	for _, u := range list {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			attempt{needs: u.needs}.skip(t)
			p := newPlace(t)
			for name, text := range u.files {
				p.file(t, name, text)
			}
			r := p.try(t, attempt{tool: u.tool, args: u.args, command: u.command})
			require.False(t, r.Failed, r.Text)
			require.Contains(t, r.Text, u.want)
			require.LessOrEqual(t, len(r.Text), maxOutput+1000)
			if u.file != "" {
				require.Equal(t, u.text, p.text(t, u.file))
				require.Equal(t, []string{filepath.ToSlash(u.file)}, r.Changed)
			}
		})
	}
}

func TestAnEmptyFolderIsSearchedAndListed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.NoError(t, os.Mkdir(filepath.Join(p.workspace, "inner"), 0o755))
	for _, c := range []message.Call{
		{Name: "search_files", Arguments: `{"pattern":"lamp"}`},
		{Name: "search_files", Arguments: `{"pattern":"lamp","path":"inner"}`},
		{Name: "list_files", Arguments: `{"path":"inner"}`},
	} {
		r := p.Run(t.Context(), nil, c)
		require.False(t, r.Failed, "%s: %s", c.Arguments, r.Text)
	}
}
