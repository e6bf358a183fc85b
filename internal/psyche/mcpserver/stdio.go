package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// ServeStream speaks the protocol over a pair of streams, one message a line, as one caller, until in or ctx ends.
// Calls made until then are answered, within Options.Drain; what is still running when both have ended is cut. An
// invalid line gets an error and ends nothing. Only messages are written to out.
func (f *Handler) ServeStream(ctx context.Context, c psyche.Caller, in io.Reader, out io.Writer) error {
	s := f.build(c.Key.Role, &c)
	err := s.Run(context.WithoutCancel(ctx), newLines(in, out, int(f.options.Body), f.options.Drain, ctx.Done()))
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("speak the protocol over standard input and output: %w", err)
}

var _ mcp.Transport = (*lines)(nil)
