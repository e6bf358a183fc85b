// Package session keeps the conversations of the terminal agent in files: one file for each session, one JSON line for
// each thing that was added to it.
package session

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// Header is the first line of a session.
type Header struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Server    string    `json:"server"`
	Workspace string    `json:"workspace"`
	Begun     time.Time `json:"begun"`
}

// Session is a session that this process adds to.
type Session struct {
	Header
	file  *os.File
	empty bool // whether nothing was ever added
}

// Store has the sessions of one folder.
type Store struct{ dir string }

const ending = ".jsonl"

// Open makes the folder where there is none. Others cannot read it.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of sessions: %w", err)
	}
	return &Store{dir: dir}, nil
}

// Begin makes a session.
func (s *Store) Begin(h Header) (*Session, error) {
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	h.ID = h.Begun.UTC().Format("20060102-150405-") + hex.EncodeToString(random)
	file, err := os.OpenFile(s.path(h.ID), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin a session: %w", err)
	}
	made := &Session{Header: h, file: file, empty: true}
	if err := errors.Join(lock(file), made.line(h)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return made, nil
}

// ErrInUse is returned for a session that another process goes on with.
var ErrInUse = errors.New("another Hermes goes on with this session")

// Resume opens a session to go on with it, and returns what it has. A line that was cut short when a process died is
// cut off.
func (s *Store) Resume(id string) (*Session, []message.Entry, error) {
	if err := s.check(id); err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(s.path(id), os.O_RDWR|os.O_APPEND, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no session %q; hermes sessions lists them", id)
	}
	if err != nil {
		return nil, nil, err
	}
	if lock(file) != nil {
		return nil, nil, errors.Join(fmt.Errorf("session %s: %w", id, ErrInUse), file.Close())
	}
	header, entries, whole, err := read(file)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("session %s: %w", id, err), file.Close())
	}
	return &Session{Header: header, file: file}, entries, nil
}

// Read returns what a session has, also while another process adds to it.
func (s *Store) Read(id string) (Header, []message.Entry, error) {
	if err := s.check(id); err != nil {
		return Header{}, nil, err
	}
	file, err := os.Open(s.path(id))
	if errors.Is(err, os.ErrNotExist) {
		return Header{}, nil, fmt.Errorf("there is no session %q; hermes sessions lists them", id)
	}
	if err != nil {
		return Header{}, nil, err
	}
	defer file.Close()
	header, entries, _, err := read(file)
	if err != nil {
		return Header{}, nil, fmt.Errorf("session %s: %w", id, err)
	}
	return header, entries, nil
}

// Add appends an entry. It is on the disk when Add returns.
func (s *Session) Add(e message.Entry) error {
	if err := s.line(e); err != nil {
		return err
	}
	s.empty = false
	return s.file.Sync()
}

// lock keeps other processes from going on with a session until the file is closed or the process ends.
func lock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// Close lets other processes go on with the session. One to which nothing was ever added is removed.
func (s *Session) Close() error {
	if s.empty {
		return errors.Join(os.Remove(s.file.Name()), s.file.Close())
	}
	return s.file.Close()
}

func (s *Session) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.file.Write(append(text, '\n'))
	return err
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id+ending) }

// check refuses what is no id, so that no name leads out of the folder.
func (s *Store) check(id string) error {
	ok := id != ""
	for _, r := range id {
		ok = ok && (r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'f')
	}
	if !ok {
		return fmt.Errorf("%q is no id of a session; one looks like 20260102-150405-1a2b3c4d", id)
	}
	return nil
}

// read returns the lines that are whole, and how many bytes they have.
func read(from io.Reader) (Header, []message.Entry, int64, error) {
	var (
		header  Header
		entries []message.Entry
		whole   int64
	)
	lines := bufio.NewReader(from)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // what has no end was cut short
		}
		if err != nil {
			return Header{}, nil, 0, err
		}
		if n == 1 {
			err = json.Unmarshal(line, &header)
		} else {
			var e message.Entry
			err = json.Unmarshal(line, &e)
			entries = append(entries, e)
		}
		if err != nil {
			return Header{}, nil, 0, fmt.Errorf("line %d is damaged: %w", n, err)
		}
		whole += int64(len(line))
	}
	if header.ID == "" {
		return Header{}, nil, 0, errors.New("it has no first line")
	}
	return header, entries, whole, nil
}

// Summary is a session in a list.
type Summary struct {
	Header
	Last  time.Time // when something was added
	First string    // the person's first words
	Turns int       // how often the person said something
}

// List returns the sessions whose text contains words, the newest first; every session without words. Sessions that
// cannot be read, or in which nothing was said, are left out.
func (s *Store) List(words string) ([]Summary, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var all []Summary
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ending)
		if !ok {
			continue
		}
		header, entries, err := s.Read(id)
		if err != nil || len(entries) == 0 || !contains(entries, words) {
			continue
		}
		all = append(all, summary(header, entries))
	}
	slices.SortFunc(all, func(a, b Summary) int { return b.Last.Compare(a.Last) })
	return all, nil
}

func summary(h Header, entries []message.Entry) Summary {
	made := Summary{Header: h, Last: h.Begun}
	for _, e := range entries {
		if e.At.After(made.Last) {
			made.Last = e.At
		}
		if e.Message != nil && e.Message.Role == message.User {
			made.Turns++
			if made.First == "" {
				made.First = e.Message.Content
			}
		}
	}
	return made
}

func contains(entries []message.Entry, words string) bool {
	if words == "" {
		return true
	}
	words = strings.ToLower(words)
	for _, e := range entries {
		if e.Message != nil && strings.Contains(strings.ToLower(e.Message.Content), words) {
			return true
		}
	}
	return false
}

// Export writes a session as Markdown.
func Export(h Header, entries []message.Entry) string {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Talk with %s\n\nSession %s, begun %s, workspace `%s`.\n",
		h.Agent, h.ID, h.Begun.UTC().Format("2 January 2006 15:04 UTC"), h.Workspace)
	for _, e := range entries {
		switch {
		case e.Note != "":
			fmt.Fprintf(&out, "\n> %s\n", strings.ReplaceAll(e.Note, "\n", "\n> "))
		case e.Rewind != nil:
			fmt.Fprintf(&out, "\n> Rewound to message %d; what stood behind it no longer counts.\n", *e.Rewind)
		case e.Compact != nil:
			fmt.Fprint(&out, "\n> Compacted: a summary replaced what stands above.\n")
		case e.Message != nil:
			exportMessage(&out, h, *e.Message)
		}
	}
	return out.String()
}

func exportMessage(out *bytes.Buffer, h Header, m message.Message) {
	switch m.Role {
	case message.User:
		fmt.Fprintf(out, "\n## You\n\n%s\n", m.Content)
	case message.Assistant:
		if m.Content != "" {
			fmt.Fprintf(out, "\n## %s\n\n%s\n", h.Agent, m.Content)
		}
		for _, c := range m.Calls {
			fmt.Fprintf(out, "\nCalls `%s`:\n\n%s", c.Name, fenced(c.Arguments))
		}
	case message.FromTool:
		fmt.Fprintf(out, "\nResult:\n\n%s", fenced(m.Content))
	default:
		fmt.Fprintf(out, "\nNote:\n\n%s", fenced(m.Content))
	}
}

// fenced is text in a block of code whose fence is longer than any in the text.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}
