package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// Wire names of an agent's attendant.
const (
	AttendType = "Attend"

	SignalLook = "look" // on an attendant: something may be due
)

// AttendID is the workflow id of an agent's attendant: "attend/echo".
func AttendID(handle string) string { return "attend/" + handle }

// AttendRequest is the input of the workflow Attend.
type AttendRequest struct {
	Agent  string `json:"agent"` // id
	Handle string `json:"handle"`
}

// AttendMemo is the memo of an attendant.
func AttendMemo(handle string) map[string]any {
	return map[string]any{"agent": handle, MemoContract: Contract}
}

// Limits of attending. A call of an agent lasts as long as its model, and a worker that dies stops its heartbeats.
const (
	attendFor   = 10 * time.Minute
	attendBeat  = 15 * time.Second
	attendPause = 100 * time.Millisecond // the shortest wait between two looks
)

// Attend is the workflow that goes on with an agent in rooms: it answers what waits, ends levels whose time is over, and
// carries out what was held. It ends when nothing is due any more; whoever leaves something signals it anew.
func Attend(ctx workflow.Context, r AttendRequest) error {
	if r.Agent == "" {
		return temporal.NewNonRetryableApplicationError("agent is empty; it must be the id of an agent", InvalidRequest, nil)
	}
	looks := workflow.GetSignalChannel(ctx, SignalLook)
	for {
		for looks.ReceiveAsync(nil) { // several signals are one look
		}
		var done activities.AttendResult
		err := workflow.ExecuteActivity(attending(ctx, r.Handle), activities.RoomsAttend,
			activities.AttendRequest{Agent: r.Agent}).Get(ctx, &done)
		if err != nil {
			return err
		}
		switch {
		case looks.Len() > 0:
			continue
		case done.Next.IsZero():
			return nil
		}
		if err := awaitLook(ctx, looks, done.Next); err != nil {
			return err
		}
		if shouldContinue(ctx) {
			for looks.ReceiveAsync(nil) { // the next run looks at once
			}
			return continueAsNew(ctx, AttendType, r)
		}
	}
}

// awaitLook waits for a signal, or until something is due.
func awaitLook(ctx workflow.Context, looks workflow.ReceiveChannel, next time.Time) error {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, max(attendPause, next.Sub(workflow.Now(ctx))),
		workflow.TimerOptions{Summary: "something is due"})
	return workflow.Await(ctx, func() bool { return looks.Len() > 0 || timer.IsReady() })
}

// attending is the option set of the activity. It is tried again until the store answers.
func attending(ctx workflow.Context, handle string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: attendFor,
		HeartbeatTimeout:    attendBeat,
		Summary:             "attend " + handle,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
		},
	})
}
