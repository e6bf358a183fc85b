package ablation

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Record is a file of one head and the nights, one a line, written as each ends, so that an interrupted run keeps
// what it had.
type Record struct {
	Head   Head
	Nights []Night
}

// Of returns the nights of an arm, in the order of their seeds.
func (r Record) Of(arm string) []Night {
	var all []Night
	for _, n := range r.Nights {
		if n.Arm == arm {
			all = append(all, n)
		}
	}
	return all
}

// Read reads a record. An incomplete last line is left out.
func Read(path string) (Record, error) {
	var r Record
	file, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer file.Close()
	lines := json.NewDecoder(bufio.NewReader(file))
	if err := lines.Decode(&r.Head); err != nil {
		return r, fmt.Errorf("read the head of %s: %w", path, err)
	}
	for {
		var n Night
		err := lines.Decode(&n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return r, nil
		}
		if err != nil {
			return r, fmt.Errorf("read night %d of %s: %w", len(r.Nights)+1, path, err)
		}
		r.Nights = append(r.Nights, n)
	}
}

// Append adds a line to a record: its head or a night.
func Append(path string, line any) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(file).Encode(line), file.Close())
}

// Write replaces the file with this record.
func (r Record) Write(path string) error {
	beside := path + ".new"
	if err := os.RemoveAll(beside); err != nil {
		return err
	}
	if err := Append(beside, r.Head); err != nil {
		return err
	}
	for _, n := range r.Nights {
		if err := Append(beside, n); err != nil {
			return err
		}
	}
	return os.Rename(beside, path)
}
