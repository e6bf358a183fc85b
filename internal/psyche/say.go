package psyche

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// longestMessage is how many bytes Say takes.
const longestMessage = 64 << 10

// Say is a turn of one message, which it puts into the turn's body. The earlier messages of the conversation are sent
// with it, as long as this process holds them.
func (s *Service) Say(ctx context.Context, t Turn, message string, token func(string)) (Completion, TurnReport, error) {
	a, err := s.reach(ctx, t.Caller, t.Agent, access.Client)
	if err != nil {
		return Completion{}, TurnReport{}, err
	}
	if message == "" || len(message) > longestMessage || !utf8.ValidString(message) {
		return Completion{}, TurnReport{},
			invalidRequest("out_of_range", "message", "The message must be text of 1 to %d bytes.", longestMessage)
	}
	t.Agent, t.Conversation = a.ID, cmp.Or(t.Conversation, "say")
	held := s.talks.of(t.Caller.Owner(), a.ID, t.Conversation, s.now())
	lines := append(held.lines(), spoken{"user", message})
	q := Question{Model: a.Handle, Messages: written(lines), Stream: token != nil}
	t.Body, err = q.Body()
	if err != nil {
		return Completion{}, TurnReport{}, err
	}
	t.Path, t.Header = "/chat/completions", http.Header{"Content-Type": {"application/json"}}
	answer, report, err := s.Complete(ctx, t, token)
	if err != nil {
		return Completion{}, report, err
	}
	held.say(spoken{"user", message}, spoken{"assistant", clipped(answer.Text, mostSaid)})
	return answer, report, nil
}

// Background returns what was put before the model last in a conversation with an agent, as it stood in the prompt;
// empty when nothing was. It may be called after Close.
func (s *Service) Background(ctx context.Context, c Caller, agent, conversation string) (string, error) {
	if s.Talks == nil {
		return "", nil
	}
	all, err := s.Talks.Backgrounds(ctx, agent, talkID(c.Owner(), conversation))
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[len(all)-1].Text, nil
}

// written are the messages of a body for Say.
func written(lines []spoken) []byte {
	var b bytes.Buffer
	for i, l := range lines {
		b.WriteByte("[,"[min(i, 1)])
		fmt.Fprintf(&b, `{"role":%s,"content":%s}`, jsonscan.Quoted(l.role), jsonscan.Quoted(l.text))
	}
	b.WriteByte(']')
	return b.Bytes()
}
