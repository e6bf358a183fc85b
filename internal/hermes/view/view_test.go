package view_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/hermes/view"
)

var update = flag.Bool("update", false, "write the golden files")

var colours = regexp.MustCompile("\x1b\\[[0-9;]+m")

// widths of the golden files.
var widths = []int{60, 80, 120, 200}

func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run with -update to accept %s", path)
}

// requireFits checks what every drawing has to be: no line is wider than the sheet, and without its colours none holds a
// control character or a letter beyond the Basic Multilingual Plane that was not in what was drawn.
func requireFits(t require.TestingT, s view.Sheet, lines []string) {
	for _, line := range lines {
		bare := line
		if s.Colour {
			bare = colours.ReplaceAllString(line, "")
		}
		require.LessOrEqual(t, uniseg.StringWidth(bare), max(s.Width, 40), "%q", bare)
		require.False(t, strings.ContainsFunc(bare, steers), "%q", bare)
		require.False(t, strings.HasSuffix(bare, " "), "%q", bare)
	}
}

// steers reports whether a character may do more than to be seen.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

func TestEveryViewAtFourWidths(t *testing.T) {
	t.Parallel()
	for name, drawn := range views() {
		for _, width := range widths {
			s := sheet(width)
			lines := drawn(s)
			requireFits(t, s, lines)
			golden(t, fmt.Sprintf("%s-%d.txt", name, width), lines)
			for _, line := range lines {
				for _, r := range line {
					require.LessOrEqual(t, r, rune(0xFFFF))
					require.False(t, r >= 0x2800 && r <= 0x28FF, "braille in %q", line)
				}
			}

			s.Colour = true
			coloured := drawn(s)
			requireFits(t, s, coloured)
			require.Equal(t, lines, strings.Split(colours.ReplaceAllString(strings.Join(coloured, "\n"), ""), "\n"),
				"%s at %d: colour only repeats", name, width)
			if width == 80 {
				golden(t, name+"-80-colour.txt", coloured)
			}
		}
	}
}

func TestEmptyViewsSayWhatToDo(t *testing.T) {
	t.Parallel()
	s := sheet(80)
	for name, lines := range map[string][]string{
		"dreams":      view.Dreams(nil, s),
		"journal":     view.Journal(nil, s),
		"claims":      view.Claims(nil, s),
		"morning":     view.Morning(api.Morning{Agent: "iris"}, s),
		"metrics":     view.Metrics(nil, s),
		"rooms":       view.Rooms(nil, s),
		"room":        view.Room(api.Room{ID: "hall"}, nil, s),
		"memories":    view.Memories("boats", nil, s),
		"predictions": view.Predictions(nil, s),
	} {
		text := strings.Join(lines, " ")
		require.Regexp(t, "/dream|/remember|oneiros rooms create|oneiros say", text, name)
	}
	require.Contains(t, strings.Join(view.Metrics(nil, s), " "), "Nothing is measured yet: ")
}

func TestAMissingRoleIsNamed(t *testing.T) {
	t.Parallel()
	s := sheet(80)
	require.Equal(t, []string{
		"The journal cannot be shown: this needs a key of the role operator, and yours",
		"has the role client.",
		"A key is made on the server's machine with: oneiros keys add NAME --role",
		"operator",
	}, view.Trouble("journal", api.RoleRefusal("this needs a key of role operator; this one has role client"), s))
	require.Equal(t, []string{"The journal cannot be shown: this server is no Oneiros: it has no journal."},
		view.Trouble("journal", api.MissingError{What: "journal"}, s))
	require.Contains(t, strings.Join(view.Trouble("dream", &api.Error{Status: 404, Message: "no dream 9"}, s), " "),
		"There is nothing of that name. no dream 9.")
	require.Contains(t, strings.Join(view.Trouble("dream", fmt.Errorf("\x1b[2Jbroken"), s), " "), "/doctor")
	require.NotContains(t, strings.Join(view.Trouble("dream", fmt.Errorf("\x1b[2Jbroken"), s), " "), "\x1b")
}
