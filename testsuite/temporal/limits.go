package temporal

import "strconv"

// WithContinueAfter makes the server suggest continue-as-new to workflows after so many events of a run, not 4096.
func WithContinueAfter(events int) Option {
	return func(p *plan) { p.extra = append(p.extra, "--suggest-continue-after", strconv.Itoa(events)) }
}
