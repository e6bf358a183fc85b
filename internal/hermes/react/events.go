package react

import "github.com/seed-56a03226/oneiros/internal/hermes/message"

// Event is something that happens in a turn: Iteration, Piece, Replied, Asking, Begun, Done, Dequeued, NoTools or Ended.
type Event interface{ event() }

// Iteration tells that the model is asked for the Nth time of at most Max in this turn.
type Iteration struct{ N, Max int }

// Piece is text of an answer as it comes.
type Piece struct{ Text string }

// Replied has an answer when it has come in full, or as far as it came before it was interrupted.
type Replied struct {
	Reply       message.Reply
	Interrupted bool
}

// Asking tells that a call waits for the person.
type Asking struct{ Ask Ask }

// Begun tells that a tool runs.
type Begun struct{ Call message.Call }

// Done has the result of a call, also when the call was refused or never begun.
type Done struct {
	Call   message.Call
	Result message.Result
}

// Dequeued tells that queued text is now part of the conversation.
type Dequeued struct{ Text string }

// NoTools tells that the model takes no tools, and is asked without them from now on.
type NoTools struct{}

// Ended tells that the turn is over.
type Ended struct {
	Outcome Outcome
	Err     error
}

func (Iteration) event() {}
func (Piece) event()     {}
func (Replied) event()   {}
func (Asking) event()    {}
func (Begun) event()     {}
func (Done) event()      {}
func (Dequeued) event()  {}
func (NoTools) event()   {}
func (Ended) event()     {}
