package react

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// runAll runs calls one after another and adds a result for each. A call that was not begun before an interruption is
// skipped and recorded as interrupted.
func (l *Loop) runAll(ctx context.Context, stop *stop, calls []message.Call) error {
	for _, call := range calls {
		result := l.runOne(ctx, stop, call)
		l.notify(Done{Call: call, Result: result})
		if err := l.add(message.Message{Role: message.FromTool, CallID: call.ID, Content: result.Text}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (l *Loop) runOne(ctx context.Context, stop *stop, call message.Call) message.Result {
	if stop.requested() || ctx.Err() != nil {
		return message.Result{Text: message.Interrupted, Interrupted: true}
	}
	tool, ok := find(l.settings.Tools.Tools(), call.Name)
	if !ok {
		return failure("there is no tool %q; the tools are %s", call.Name, names(offered(l.settings.Tools.Tools(), l.Mode())))
	}
	if refused, ok := l.approve(ctx, stop, call, tool.Effect); !ok {
		return refused
	}
	l.notify(Begun{Call: call})
	return l.runWithGrace(ctx, stop, call)
}

// approve returns the result of a call that may not run.
func (l *Loop) approve(ctx context.Context, stop *stop, call message.Call, effect message.Effect) (message.Result, bool) {
	mode := l.Mode()
	need := needs(mode, effect, l.settings.Confined)
	if need == nothing {
		return message.Result{}, true
	}
	if need == refusal {
		return failure("%s is not allowed: the person lets you read only", call.Name), false
	}
	key := sameCall(call, effect)
	l.mu.Lock()
	allowed := l.allowed[key]
	l.mu.Unlock()
	if allowed {
		return message.Result{}, true
	}
	preview, err := l.settings.Tools.Preview(call)
	if err != nil {
		return failure("%s", err), false
	}
	ask := Ask{Call: call, Effect: effect, Preview: preview}
	l.notify(Asking{Ask: ask})
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stop.soft:
			cancel()
		case <-asking.Done():
		}
	}()
	decision := l.settings.Approve(asking, ask)
	switch {
	case stop.requested() || ctx.Err() != nil:
		return message.Result{Text: message.Interrupted, Interrupted: true}, false
	case !decision.Allow && decision.Reason != "":
		return failure("the person did not allow it and said: %s", decision.Reason), false
	case !decision.Allow:
		return failure("the person did not allow it"), false
	case decision.ForSession:
		l.mu.Lock()
		l.allowed[key] = true
		l.mu.Unlock()
	}
	return message.Result{}, true
}

// runWithGrace runs a tool. When the person interrupts it, it may come to an end by itself for as long as the grace
// lasts; then it is stopped. What it did is recorded in either case.
func (l *Loop) runWithGrace(ctx context.Context, stop *stop, call message.Call) message.Result {
	running, kill := context.WithCancel(ctx)
	defer kill()
	done := make(chan message.Result, 1)
	go func() { done <- l.settings.Tools.Run(running, stop.soft, call) }()
	select {
	case result := <-done:
		return result
	case <-stop.soft:
	}
	grace := time.NewTimer(l.settings.Grace)
	defer grace.Stop()
	select {
	case result := <-done:
		return result
	case <-grace.C:
		kill()
	}
	result := <-done
	result.Interrupted = true
	if !strings.HasPrefix(result.Text, Stopped) {
		result.Text = Stopped + "\n" + result.Text
	}
	return result
}

// Stopped begins the result of a tool that was interrupted and did not end within its grace.
const Stopped = `{"error":"interrupted","timeout":true}`

func find(all []message.Tool, name string) (message.Tool, bool) {
	for _, t := range all {
		if t.Name == name {
			return t, true
		}
	}
	return message.Tool{}, false
}

func names(all []message.Tool) string {
	list := make([]string, len(all))
	for i, t := range all {
		list[i] = t.Name
	}
	return strings.Join(list, ", ")
}

func failure(format string, args ...any) message.Result {
	return message.Result{Text: fmt.Sprintf(format, args...), Failed: true}
}
