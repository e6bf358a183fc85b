package week

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite" // reads the database files directly
)

// Run is one run of a workflow.
type Run struct {
	ID        string
	Events    int
	Bytes     int
	Continued bool // it ended by continuing as new

	// Late is by how much the server fired a timer too late at most, or had not fired one when it was cancelled.
	// Where a busy server does a skip twice, the second skip passes a timer that the first one was to fire.
	Late time.Duration
}

// Runs reads the histories of a workflow from its first run to its last.
func Runs(ctx context.Context, c client.Client, workflow, first string) ([]Run, error) {
	var runs []Run
	for id := first; id != ""; {
		run, next, due := Run{ID: id}, "", map[int64]time.Time{}
		for events := c.GetWorkflowHistory(ctx, workflow, id, false,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
			e, err := events.Next()
			if err != nil {
				return runs, fmt.Errorf("read the history of %s: %w", workflow, err)
			}
			run.Events++
			run.Bytes += proto.Size(e)
			at := e.GetEventTime().AsTime()
			switch {
			case e.GetTimerStartedEventAttributes() != nil:
				due[e.GetEventId()] = at.Add(e.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
			case e.GetTimerFiredEventAttributes() != nil:
				run.Late = max(run.Late, at.Sub(due[e.GetTimerFiredEventAttributes().GetStartedEventId()]))
			case e.GetTimerCanceledEventAttributes() != nil:
				run.Late = max(run.Late, at.Sub(due[e.GetTimerCanceledEventAttributes().GetStartedEventId()]))
			}
			if went := e.GetWorkflowExecutionContinuedAsNewEventAttributes(); went != nil {
				run.Continued, next = true, went.GetNewExecutionRunId()
			}
		}
		runs, id = append(runs, run), next
	}
	return runs, nil
}

// First is the first run of a workflow.
func First(ctx context.Context, c client.Client, workflow string) (string, error) {
	d, err := c.DescribeWorkflowExecution(ctx, workflow, "")
	if err != nil {
		return "", fmt.Errorf("describe %s: %w", workflow, err)
	}
	return d.GetWorkflowExecutionInfo().GetFirstRunId(), nil
}

// Size is what a SQLite file holds.
type Size struct {
	Bytes int64 // with its write-ahead log
	Pages int64 // bytes in use
	Rows  map[string]int64
}

// Measure reads how large a SQLite file is, and how many rows each table has.
func Measure(ctx context.Context, file string) (Size, error) {
	size := Size{Rows: map[string]int64{}}
	parts, err := filepath.Glob(file + "*")
	if err != nil {
		return size, err
	}
	for _, part := range parts {
		info, err := os.Stat(part)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return size, err
		}
		if err == nil {
			size.Bytes += info.Size()
		}
	}
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return size, err
	}
	defer func() { _ = db.Close() }()
	row := db.QueryRowContext(
		ctx,
		"SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
	)
	if err := row.Scan(&size.Pages); err != nil {
		return size, fmt.Errorf("measure %s: %w", file, err)
	}
	names, err := tables(ctx, db)
	if err != nil {
		return size, err
	}
	for _, name := range names {
		var n int64
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`).Scan(&n); err != nil {
			return size, fmt.Errorf("count %s: %w", name, err)
		}
		size.Rows[name] = n
	}
	return size, nil
}

func tables(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx,
		"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Growth lists by how many rows a night each table has grown, the fastest first.
func (s Size) Growth(before Size, nights int) []string {
	names := make([]string, 0, len(s.Rows))
	for name, n := range s.Rows {
		if n != before.Rows[name] {
			names = append(names, name)
		}
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := s.Rows[names[i]]-before.Rows[names[i]], s.Rows[names[j]]-before.Rows[names[j]]
		return a > b || a == b && names[i] < names[j]
	})
	lines := make([]string, len(names))
	for i, name := range names {
		lines[i] = fmt.Sprintf("%s %+.2f", name, float64(s.Rows[name]-before.Rows[name])/float64(max(1, nights)))
	}
	return lines
}
