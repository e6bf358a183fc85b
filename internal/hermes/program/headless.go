package program

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/react"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Forms of what hermes -p prints.
const (
	asText   = "text"   // the answer as it comes; tools go to standard error
	asJSON   = "json"   // one object at the end
	asEvents = "events" // a line of JSON for each event
)

// report is what hermes -p --json prints.
type report struct {
	Session    string        `json:"session"`
	Agent      string        `json:"agent"`
	Outcome    react.Outcome `json:"outcome"`
	Answer     string        `json:"answer"`
	Error      string        `json:"error,omitempty"`
	Iterations int           `json:"iterations"`
	Calls      []callReport  `json:"calls"`
	Usage      message.Usage `json:"usage"`
	// Dollars is left out where the server does not say what the model costs.
	Dollars  *float64 `json:"dollars,omitempty"`
	Recalled int      `json:"recalled"`
	Woke     bool     `json:"woke"`
}

type callReport struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	State     string `json:"state"` // done, failed or interrupted
	Result    string `json:"result"`
}

// headless says one thing and prints what comes of it. Nobody can approve anything.
func (h *hermes) headless(ctx context.Context, interrupts <-chan struct{}, resume, prompt, form string) error {
	r := report{Agent: h.Agent, Calls: []callReport{}}
	p := &printer{h: h, form: form, r: &r}
	h.wire = nil
	talk, err := h.talkWith(resume, p.event, func(context.Context, react.Ask) react.Decision {
		return react.Decision{Reason: "nobody is there to approve it; Hermes was started with --approval " + h.Approval}
	})
	if err != nil {
		return err
	}
	r.Session = talk.ID
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-interrupts:
				talk.Loop.Interrupt()
			case <-ended:
				return
			}
		}
	}()
	outcome, failure := talk.Loop.Turn(ctx, prompt)
	close(ended)
	r.Outcome = outcome
	r.Usage, _ = talk.Loop.Usage()
	if h.priced {
		dollars := r.Usage.Cost(h.price)
		r.Dollars = &dollars
	}
	if failure != nil {
		r.Error = failure.Error()
	}
	if err := p.end(); err != nil {
		return err
	}
	switch outcome {
	case react.Answered:
		return nil
	case react.Failed:
		return exit.Errorf(exit.Failure, "%w", failure)
	}
	return exit.Errorf(exit.Unfinished, "the turn is %s; go on with: %s --resume %s", outcome, h.Again, talk.ID)
}

// printer prints events of a turn in one of the forms.
type printer struct {
	h    *hermes
	form string
	r    *report
	fail error
	open bool // whether the last line has no end yet
}

func (p *printer) event(e react.Event) {
	switch e := e.(type) {
	case react.Iteration:
		p.r.Iterations = e.N
		p.line("iteration", map[string]any{"n": e.N, "max": e.Max})
	case react.Piece:
		p.piece(e.Text)
	case react.Replied:
		if len(e.Reply.Message.Calls) == 0 {
			p.r.Answer = e.Reply.Message.Content
		}
		p.r.Recalled += e.Reply.Notes.Recalled
		p.r.Woke = p.r.Woke || e.Reply.Notes.Woke
		p.line("reply", e.Reply.Message)
		p.breakLine()
	case react.NoTools:
		p.tell("this model takes no tools")
	case react.Begun:
		p.tell("runs " + e.Call.Name + " " + e.Call.Arguments)
		p.line("call", e.Call)
	case react.Done:
		c := callReport{Name: e.Call.Name, Arguments: e.Call.Arguments, State: "done", Result: e.Result.Text}
		switch {
		case e.Result.Interrupted:
			c.State = "interrupted"
		case e.Result.Failed:
			c.State = "failed"
		}
		p.r.Calls = append(p.r.Calls, c)
		p.tell(c.State + " " + e.Call.Name)
		p.line("result", c)
	}
}

func (p *printer) piece(text string) {
	switch p.form {
	case asText:
		p.open = !strings.HasSuffix(text, "\n")
		p.print(screen.Printable(text))
	case asEvents:
		p.line("piece", text)
	}
}

// breakLine ends an answer in text.
func (p *printer) breakLine() {
	if p.open {
		p.print("\n")
		p.open = false
	}
}

// tell prints what tools do beside the answer.
func (p *printer) tell(text string) {
	if p.form == asText {
		fmt.Fprintln(p.h.Err, screen.Clean(text))
	}
}

func (p *printer) line(kind string, value any) {
	if p.form != asEvents {
		return
	}
	text, err := json.Marshal(map[string]any{"type": kind, kind: value})
	if err != nil {
		p.fail = err
		return
	}
	p.print(string(text) + "\n")
}

func (p *printer) print(text string) {
	if _, err := io.WriteString(p.h.Out, text); err != nil && p.fail == nil {
		p.fail = fmt.Errorf("write the answer: %w", err)
	}
}

func (p *printer) end() error {
	switch p.form {
	case asJSON:
		text, err := json.MarshalIndent(p.r, "", "  ")
		if err != nil {
			return err
		}
		p.print(string(text) + "\n")
	case asEvents:
		p.line("end", p.r)
	}
	return p.fail
}
