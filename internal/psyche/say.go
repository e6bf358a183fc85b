package psyche

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche/jsonscan"
)

// longestMessage is how many bytes Say takes.
const longestMessage = 64 << 10

// Say is a turn of one message. The earlier messages of the conversation are sent with it, as long as this process
// holds them.
func (s *Service) Say(ctx context.Context, c Caller, agent, conversation, message string,
	token func(string),
) (string, TurnReport, error) {
	a, err := s.reach(ctx, c, agent, access.Client)
	if err != nil {
		return "", TurnReport{}, err
	}
	if message == "" || len(message) > longestMessage || !utf8.ValidString(message) {
		return "", TurnReport{},
			invalidRequest("out_of_range", "message", "The message must be text of 1 to %d bytes.", longestMessage)
	}
	conversation = cmp.Or(conversation, "say")
	held := s.talks.of(c.Owner(), a.ID, conversation, s.now())
	lines := append(held.lines(), spoken{"user", message})
	t := Turn{
		Caller:       c,
		Agent:        a.ID,
		Conversation: conversation,
		Path:         "/chat/completions",
		Header:       http.Header{"Content-Type": {"application/json"}},
	}
	t.Body, err = ReadBody(written(a.Handle, lines, token != nil))
	if err != nil {
		return "", TurnReport{}, err
	}
	reply, err := s.chat(ctx, &turn{service: s, Turn: t, token: token})
	if err != nil {
		return "", TurnReport{}, err
	}
	defer reply.Body.Close()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		return "", reply.Report, relayFault(ctx, err)
	}
	if reply.Status/100 != 2 {
		return "", reply.Report, &Fault{
			Status: http.StatusBadGateway, Type: farFailure, Code: "refused",
			Message: fmt.Sprintf("The model's provider refused the request (HTTP %d).", reply.Status),
		}
	}
	l, ok := reply.Body.(*answerStream)
	if !ok {
		return "", reply.Report, storeFault("read the answer", fmt.Errorf("an answer of type %T", reply.Body))
	}
	answer := l.text()
	held.say(spoken{"user", message}, spoken{"assistant", answer})
	return answer, reply.Report, nil
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

func (l *answerStream) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ear.done().text
}

// written is a request body for Say.
func written(model string, lines []spoken, stream bool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":%s,"messages":[`, jsonscan.Quoted(model))
	for i, l := range lines {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":%s,"content":%s}`, jsonscan.Quoted(l.role), jsonscan.Quoted(l.text))
	}
	fmt.Fprintf(&b, `],"stream":%t}`, stream)
	return b.Bytes()
}
