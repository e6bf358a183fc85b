package react

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// Rewind forgets the conversation from the message at index on and returns the words that stood there, so that a person
// can say them anew. The index must be that of a person's message. What the server has remembered meanwhile stays
// remembered, and files stay as they are.
func (l *Loop) Rewind(index int) (string, error) {
	if _, err := l.begin(); err != nil {
		return "", err
	}
	defer l.end()
	all := l.Conversation()
	if index < 0 || index >= len(all) || all[index].Role != message.User {
		return "", fmt.Errorf("message %d is none of yours, so that the conversation cannot go back to it", index)
	}
	if err := l.keep(message.Entry{Rewind: &index}); err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conversation = l.conversation[:index:index]
	return all[index].Content, nil
}

// Tell adds something that nobody said, such as what a command of the person's own printed. The model sees it with the
// next request.
func (l *Loop) Tell(text string) error {
	if _, err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	return l.add(message.Message{Role: message.System, Content: text})
}

// compactRequest asks for a summary; its numbers of what to keep are what a reader needs to go on.
const compactRequest = `Summarise this conversation so that it can go on from your summary alone. Keep: what the person
wants, decisions and their reasons, names of files and what was changed in them, commands and results that matter, what
is still to be done. Leave out greetings and dead ends. Answer with the summary only.`

// summaryHead begins the message that replaces a conversation that was compacted.
const summaryHead = "[Summary of the conversation so far, written by you]\n"

// ErrNothing is returned where there is nothing to compact.
var ErrNothing = errors.New("there is nothing to compact yet")

// Compact replaces the conversation by a summary that the model writes, and the person's newest turn. Where the model
// fails or says nothing, the conversation stays as it is.
func (l *Loop) Compact(ctx context.Context) (before, after int, err error) {
	stop, err := l.begin()
	if err != nil {
		return 0, 0, err
	}
	defer l.end()
	all := l.Conversation()
	last := lastTurn(all)
	if last <= 0 {
		return 0, 0, ErrNothing
	}
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stop.soft:
			cancel()
		case <-calling.Done():
		}
	}()
	request := append(message.Complete(all[:last]), message.Message{Role: message.User, Content: compactRequest})
	reply, err := l.settings.Model.Chat(calling, message.Request{Messages: request, Quiet: true}, func(string) {})
	l.account(reply.Usage)
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("write a summary: %w", err)
	case reply.Message.Content == "":
		return 0, 0, errors.New("the model wrote no summary, so the conversation stays as it is")
	}
	short := append([]message.Message{{Role: message.System, Content: summaryHead + reply.Message.Content}}, all[last:]...)
	if err := l.keep(message.Entry{Compact: short}); err != nil {
		return 0, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conversation = short
	return len(all), len(short), nil
}

// lastTurn is the index of the person's newest message; -1 where there is none.
func lastTurn(all []message.Message) int {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == message.User {
			return i
		}
	}
	return -1
}
