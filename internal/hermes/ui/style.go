// Package ui is what a person sees of Hermes: the full screen, the inline screen and the linear renderer, with the talk,
// approvals and the views of the agent's dreams, memory and rooms.
package ui

import (
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"
	"charm.land/lipgloss/v2"
)

// theme has the styles of one kind of background. Most are of the terminal's own sixteen colours, so that they fit the
// palette that the person chose; a terminal without colour leaves them out.
type theme struct {
	dark                                     bool
	plain, bold, faint, person, agent, tool  lipgloss.Style
	good, bad, amber, selected, input, added lipgloss.Style
}

func newTheme(dark bool) theme {
	base := lipgloss.NewStyle()
	return theme{
		dark:     dark,
		plain:    base,
		bold:     base.Bold(true),
		faint:    base.Faint(true),
		person:   base.Bold(true).Foreground(lipgloss.Cyan),
		agent:    base.Bold(true).Foreground(lipgloss.Magenta),
		tool:     base.Foreground(lipgloss.Blue),
		good:     base.Foreground(lipgloss.Green),
		bad:      base.Foreground(lipgloss.Red),
		amber:    base.Foreground(lipgloss.LightDark(dark)(lipgloss.Color("130"), lipgloss.Color("214"))),
		selected: base.Reverse(true),
		input:    base.Foreground(lipgloss.Cyan),
		added:    base.Foreground(lipgloss.Green),
	}
}

// markdown renders Markdown for one width.
type markdown struct {
	renderer *glamour.TermRenderer
	width    int
}

func newMarkdown(width int, dark bool) (*markdown, error) {
	style := styles.LightStyleConfig
	if dark {
		style = styles.DarkStyleConfig
	}
	none := uint(0)
	style.Document.Margin = &none
	style.Document.BlockPrefix, style.Document.BlockSuffix = "", ""
	style.Document.Color = nil // the terminal's own
	style.CodeBlock.Margin = &none
	style.Code.Prefix, style.Code.Suffix = "", ""
	style.Code.Color, style.Code.BackgroundColor = ptr("6"), nil // red would look like an error
	heading := ansi.StylePrimitive{Bold: ptr(true)}
	style.H1.StylePrimitive = heading
	style.H1.Prefix = "# "
	r, err := glamour.NewTermRenderer(glamour.WithStyles(style), glamour.WithWordWrap(width), glamour.WithPreservedNewLines())
	if err != nil {
		return nil, err
	}
	return &markdown{renderer: r, width: width}, nil
}

// lines renders text that is free of control characters. Text that cannot be rendered is shown as it is.
func (m *markdown) lines(text string) []string {
	drawn, err := m.renderer.Render(text)
	if err != nil {
		return wrapped(text, m.width)
	}
	all := strings.Split(strings.Trim(drawn, "\n"), "\n")
	for i, line := range all {
		all[i] = fit(line, m.width)
	}
	return all
}

func ptr[T any](v T) *T { return &v }
