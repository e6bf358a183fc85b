package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// ServeStream speaks the protocol over a pair of streams, one message a line, as one caller, until in ends or ctx does. Nothing
// but messages is written to out.
func (f *Face) ServeStream(ctx context.Context, c psyche.Caller, in io.Reader, out io.Writer) error {
	s := f.build(c.Key.Role, &c)
	err := s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: unclosed{out}, MaxLineLength: int(f.options.Body)})
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("speak the protocol over standard input and output: %w", err)
}

// unclosed is a writer that its user does not close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
