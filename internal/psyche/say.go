package psyche

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/access"
)

// longestMessage is how many bytes Say takes.
const longestMessage = 64 << 10

// Say is a turn of one message. The earlier messages of the conversation are sent with it, as long as this process
// holds them.
func (b *Service) Say(ctx context.Context, c Caller, agent, conversation, message string,
	token func(string),
) (string, TurnReport, error) {
	a, err := b.reach(ctx, c, agent, access.Client)
	if err != nil {
		return "", TurnReport{}, err
	}
	if message == "" || len(message) > longestMessage || !utf8.ValidString(message) {
		return "", TurnReport{},
			invalidRequest("out_of_range", "message", "The message must be text of 1 to %d bytes.", longestMessage)
	}
	conversation = or(conversation, "say")
	held := b.talks.of(c.Owner(), a.ID, conversation, b.now())
	lines := append(held.lines(), spoken{"user", message})
	t := Turn{
		Caller:       c,
		Agent:        a.ID,
		Conversation: conversation,
		Path:         "/chat/completions",
		Header:       http.Header{"Content-Type": {"application/json"}},
	}
	t.Body = written(a.Handle, lines, token != nil)
	reply, err := b.chat(ctx, &turn{service: b, Turn: t, token: token})
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

func (l *answerStream) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ear.done().text
}

// written is a request body for Say.
func written(model string, lines []spoken, stream bool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":%s,"messages":[`, quoted(model))
	for i, l := range lines {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":%s,"content":%s}`, quoted(l.role), quoted(l.text))
	}
	fmt.Fprintf(&b, `],"stream":%t}`, stream)
	return b.Bytes()
}
