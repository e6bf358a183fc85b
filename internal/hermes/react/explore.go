package react

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// Bounds limit what the agent does by itself while the person is away.
type Bounds struct {
	Calls int           // calls of the model
	Time  time.Duration // from the first call on
	// Dollars bounds what the calls may cost at Price, the answer under way included at its longest. It counts only where
	// the price is known.
	Dollars float64
	Price   message.Price
	Priced  bool // whether Price is known
	// AnswerTokens bounds each answer; 0: 1024.
	AnswerTokens int
}

// DefaultBounds are what idle exploration may do when nothing else is set.
var DefaultBounds = Bounds{Calls: 8, Time: 3 * time.Minute, Dollars: 0.05, AnswerTokens: 1024}

// Exploration is what came of an idle exploration.
type Exploration struct {
	Found   string // in the model's words; empty when it found nothing
	Calls   int
	Tools   int
	Usage   message.Usage
	Dollars float64 // 0 where the price is not known
	Why     string  // why it ended
}

// exploreRequest is what the model is asked while the person is away.
const exploreRequest = `The person is away, and nobody has said this. Look around their workspace with the tools that you have,
which only read, for what would help them when they are back: something broken, unfinished or forgotten, or an
answer to what was left open in the conversation. Do not address the person. When you have seen enough, answer in
at most five sentences with what you found and in which files, or with the single word NOTHING.`

// Explore lets the model look around with tools that only read, within bounds, until ctx is canceled or the person is
// back. Nothing of it is stored by the server, and it is no part of the conversation.
func (l *Loop) Explore(ctx context.Context, b Bounds) (Exploration, error) {
	if b.AnswerTokens <= 0 {
		b.AnswerTokens = DefaultBounds.AnswerTokens
	}
	ctx, cancel := context.WithTimeout(ctx, b.Time)
	defer cancel()
	talk := l.request().Messages
	talk = append(talk, message.Message{Role: message.User, Content: exploreRequest})
	var read []message.Tool
	for _, t := range l.settings.Tools.Tools() {
		if t.Effect == message.Reads {
			read = append(read, t)
		}
	}
	var e Exploration
	for {
		if why := b.reached(e); why != "" {
			e.Why = why
			return e, nil
		}
		reply, err := l.settings.Model.Chat(ctx, message.Request{
			Messages:  talk,
			Tools:     read,
			Quiet:     true,
			MaxTokens: b.AnswerTokens,
		}, func(string) {})
		e.count(reply, b)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			e.Why = fmt.Sprintf("%s were over", b.Time)
			return e, nil
		case ctx.Err() != nil:
			e.Why = "the person was back"
			return e, nil
		case err != nil:
			e.Why = "the model failed"
			return e, err
		}
		reply.Message.Role = message.Assistant
		talk = append(talk, reply.Message)
		if len(reply.Message.Calls) == 0 {
			e.Found, e.Why = found(reply.Message.Content), "it had seen enough"
			return e, nil
		}
		for _, call := range reply.Message.Calls {
			result := l.look(ctx, read, call)
			e.Tools++
			talk = append(talk, message.Message{Role: message.FromTool, CallID: call.ID, Content: result.Text})
		}
	}
}

// look runs a call if its tool only reads.
func (l *Loop) look(ctx context.Context, read []message.Tool, call message.Call) message.Result {
	if _, ok := find(read, call.Name); !ok {
		return failure("%q is not allowed while the person is away; the tools are %s", call.Name, names(read))
	}
	return l.settings.Tools.Run(ctx, ctx.Done(), call)
}

func (e *Exploration) count(reply message.Reply, b Bounds) {
	e.Calls++
	e.Usage.Input += reply.Usage.Input
	e.Usage.Output += reply.Usage.Output
	e.Usage.Cached += reply.Usage.Cached
	if b.Priced {
		e.Dollars = e.Usage.Cost(b.Price)
	}
}

// reached says why no further call may be made; empty while one may. A call is counted in advance at the longest answer
// and a prompt half as long again as the ones before it were on average.
func (b Bounds) reached(e Exploration) string {
	if e.Calls >= b.Calls {
		return fmt.Sprintf("%d calls were made", e.Calls)
	}
	if !b.Priced || b.Price == (message.Price{}) {
		return ""
	}
	next := message.Usage{Output: b.AnswerTokens}
	if e.Calls > 0 {
		next.Input = e.Usage.Input * 3 / (2 * e.Calls)
	}
	if e.Dollars+next.Cost(b.Price) > b.Dollars {
		return fmt.Sprintf("$%.4f of $%.4f were spent", e.Dollars, b.Dollars)
	}
	return ""
}

func found(text string) string {
	text = strings.TrimSpace(text)
	if strings.EqualFold(strings.Trim(text, ".! "), "nothing") {
		return ""
	}
	return text
}
