package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

// claim locks file for this process until the returned lock is closed. Two servers on one file would each believe
// they own its only history shard. The lock ends with the process, however it ends.
func claim(file string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of %s: %w", file, err)
	}
	lock, err := os.OpenFile(file+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", file, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(lock, 32))
		_ = lock.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		return nil, fmt.Errorf("another temporald already keeps %s (pid %s): stop it, or give --db another file",
			file, bytes.TrimSpace(holder))
	}
	if err := errors.Join(lock.Truncate(0), writeAt(lock, fmt.Sprintln(os.Getpid()))); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("write the lock of %s: %w", file, err)
	}
	return lock, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// prepare makes file hold the schema of this server: written in one transaction when the file is new, compared when
// it is not. The server itself checks no SQLite schema, so a file of another version would fail much later and
// unclearly.
func prepare(file string) error {
	created, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	if err := created.Close(); err != nil {
		return fmt.Errorf("close %s: %w", file, err)
	}
	found, err := schemaOf("file:"+file+"?_pragma=busy_timeout=5000&_txlock=immediate", false)
	if err != nil {
		return fmt.Errorf("read the schema of %s: %w", file, err)
	}
	if len(found) == 0 {
		if _, err := schemaOf("file:"+file+"?_pragma=busy_timeout=5000&_txlock=immediate", true); err != nil {
			return fmt.Errorf("write the schema into %s: %w", file, err)
		}
		return nil
	}
	wanted, err := schemaOf("file::memory:", true)
	if err != nil {
		return fmt.Errorf("build the schema of server %s: %w", headers.ServerVersion, err)
	}
	if faults := differences(found, wanted); len(faults) > 0 {
		return fmt.Errorf(
			"%s was written by another version of the Temporal server than %s (%s): open it with the temporald "+
				"that wrote it, or move it away to begin anew; memories and the ledger lie in another file and stay",
			file, headers.ServerVersion, strings.Join(faults, ", "))
	}
	return nil
}

// schemaOf returns the database's definitions by name, after writing the server's own schema if write is set.
func schemaOf(dsn string, write bool) (map[string]string, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	if write {
		if err := sqliteschema.SetupSchemaOnDB(schemaWriter{tx: tx}); err != nil {
			return nil, err
		}
	}
	rows, err := tx.Query(
		`SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'schema_%' AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	definitions := map[string]string{}
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return nil, err
		}
		definitions[name] = strings.Join(strings.Fields(definition), " ")
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return definitions, tx.Commit()
}

func differences(found, wanted map[string]string) []string {
	var faults []string
	for name, definition := range wanted {
		switch text, ok := found[name]; {
		case !ok:
			faults = append(faults, "lacks "+name)
		case text != definition:
			faults = append(faults, name+" differs")
		}
	}
	for name := range found {
		if _, ok := wanted[name]; !ok {
			faults = append(faults, "has an unknown "+name)
		}
	}
	slices.Sort(faults)
	return faults
}

// schemaWriter runs the server's schema in one transaction: a crash halfway leaves no half-made file.
type schemaWriter struct {
	sqlplugin.AdminDB
	tx *sql.Tx
}

func (w schemaWriter) Exec(statement string, args ...any) error {
	_, err := w.tx.Exec(statement, args...)
	return err
}
