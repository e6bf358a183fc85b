package ui

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"
)

// Terminal is where a screen is shown.
type Terminal struct {
	In     io.Reader
	Out    io.Writer
	Env    []string
	Inline bool // finished turns go to the terminal's own scrollback, and no other screen is taken
}

// Run shows the screen until the person leaves or ctx is canceled. What runs then is interrupted, and has ended when Run
// returns.
func Run(ctx context.Context, s Settings, t Terminal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, s, t.Inline)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Out), tea.WithEnvironment(t.Env))
	go s.Wire.attach(func(v any) { p.Send(v) })
	_, err := p.Run()
	if m.shell != nil {
		m.shell()
	}
	m.running.Wait()
	m.Talk.Loop.Interrupt()
	m.Talk.Loop.Wait()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}
