package psyche

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/ratelimit"
)

// CodeRate is the code of the fault of a key that asks too often, or for too much.
const CodeRate = "rate_limit_exceeded"

// tokensLeft says what is left of a key's tokens a minute, and refuses a call while none is. What a call reads and
// writes is known at its end: until then it counts for nothing, and what it took too much is made up for afterwards.
func (b *core) tokensLeft(k *access.Key) (left ratelimit.State, err error) {
	if k.Tokens <= 0 || b.Tokens == nil {
		return left, nil
	}
	left = b.Tokens.Left(k.SpeaksAs(), k.Tokens)
	if left.Wait > 0 {
		err = Refuse(http.StatusTooManyRequests, CodeRate, "",
			"the key may use %d tokens a minute, and has used them", k.Tokens).After(left.Wait)
	}
	return left, err
}

// relay passes a request on, and counts the tokens of its answer for the caller when that is closed. Where the provider
// reports none, the prompt counts for a token each four bytes, and the answer for one each piece.
func (b *core) relay(
	ctx context.Context, c *Caller, charge spend.Charge, r inference.RelayRequest, worst spend.Worst,
) (*inference.RelayResponse, error) {
	prompt := len(r.Body)
	res, err := b.Guard.Relay(ctx, charge, b.Relay, r, worst)
	if err != nil || c.Key.Tokens <= 0 || b.Tokens == nil || res.Status/100 != 2 {
		return res, err
	}
	who, limit, seen := c.Key.SpeaksAs(), c.Key.Tokens, res.Seen
	res.Body = &limitedAnswer{ReadCloser: res.Body, over: func() {
		used := seen()
		n := max(0, used.Tokens.In) + max(0, used.Tokens.Out)
		if used.UsageFrom != inference.ByProvider {
			n = int64(prompt+3)/4 + used.Pieces
		}
		b.Tokens.Use(who, limit, int(n))
	}}
	return res, nil
}

// limitedAnswer is an answer whose tokens are counted when it is closed.
type limitedAnswer struct {
	io.ReadCloser
	over func()
	once sync.Once
}

func (l *limitedAnswer) Close() error {
	err := l.ReadCloser.Close()
	l.once.Do(l.over)
	return err
}
