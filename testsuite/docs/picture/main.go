// Command picture draws what a terminal of 80 columns showed as an SVG. It made docs/night.svg, docs/demo.svg and
// docs/hermes.svg:
//
//	tmux capture-pane -e -p -S -400 | go run ./testsuite/docs/picture -title 'bin/oneiros dream --demo' >docs/night.svg
//	tmux capture-pane -e -p -S -400 | go run ./testsuite/docs/picture -of life -title 'bin/oneiros demo' >docs/demo.svg
//	tmux capture-pane -e -p | go run ./testsuite/docs/picture -of screen -title 'bin/oneiros hermes' >docs/hermes.svg
//
// Of a report it keeps the three lines it begins with, the headline, the timeline, the first fragments, what was
// brought back and the cost. Of a life it keeps the days on which something was learned, the first lessons and the end.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	title := flag.String("title", "", "the command that is shown above the capture")
	of := flag.String("of", "report", "what was captured: a report, a life, or a screen, which is kept whole")
	fragments := flag.Int("fragments", 3, "how many fragments of a report, and lessons of a life, are kept")
	flag.Parse()
	body, err := io.ReadAll(os.Stdin)
	lines := read(string(body))
	switch *of {
	case "report":
		lines = crop(lines, *fragments)
	case "life":
		lines = cropLife(lines, *fragments)
	case "screen": // kept whole
	default:
		err = fmt.Errorf("-of is %q; it must be report, life or screen", *of)
	}
	if err == nil {
		_, err = io.WriteString(os.Stdout, draw(*title, lines))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}
