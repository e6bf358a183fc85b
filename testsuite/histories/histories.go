// Package histories keeps recorded workflow histories of every outcome and replays them against today's code.
package histories

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/internal/payload/readable"
)

// Save writes the history of a workflow run to a file of the folder, gzipped JSON as Temporal's own tools write it.
func Save(ctx context.Context, c client.Client, workflow, run, folder, name string) error {
	var history historypb.History
	events := c.GetWorkflowHistory(ctx, workflow, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return fmt.Errorf("read the history of %s: %w", workflow, err)
		}
		history.Events = append(history.Events, event)
	}
	body, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&history)
	if err != nil {
		return fmt.Errorf("write the history of %s: %w", workflow, err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".json.gz"), packed.Bytes(), 0o644)
}

// Load reads a recorded history.
func Load(file string) (*historypb.History, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return client.HistoryFromJSON(bytes.NewReader(body), client.HistoryJSONOptions{})
}

// Replay runs a recorded history against the workflows that register adds; an error says where code and history
// differ.
func Replay(file string, register func(worker.WorkflowRegistry)) error {
	history, err := Load(file)
	if err != nil {
		return err
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(
		worker.WorkflowReplayerOptions{DataConverter: readable.Converter()})
	if err != nil {
		return err
	}
	register(replayer)
	return replayer.ReplayWorkflowHistoryWithOptions(mute{}, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{RunID: resetRun(history)},
	})
}

// resetRun is the id of the run if a reset made it; empty otherwise. A workflow knows by it that it was reset.
func resetRun(history *historypb.History) (run string) {
	for _, e := range history.GetEvents() {
		failed := e.GetWorkflowTaskFailedEventAttributes()
		if failed.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW {
			run = failed.GetNewRunId()
		}
	}
	return run
}

// mute keeps the replayer's log, with its stacks, out of the output of a test: the error says the same.
type mute struct{}

func (mute) Debug(string, ...any) {}
func (mute) Info(string, ...any)  {}
func (mute) Warn(string, ...any)  {}
func (mute) Error(string, ...any) {}
