// Command story is the model of the session that docs/hermes.svg shows: it follows a script, and the rest of the picture
// is real. It prints its address and answers until it is interrupted.
//
// The picture is made in a terminal of 80 columns, with serve.model set to this model (see testsuite/docs/picture).
package main

import (
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/seed-56a03226/oneiros/testsuite/hermes"
)

func main() {
	call := func(tool string, arguments map[string]any) hermes.Call {
		return hermes.Call{Tool: tool, Arguments: arguments}
	}
	w, err := hermes.Work(map[string][]hermes.Step{
		"the lens": {
			{Say: "I look at the lens first.", Calls: []hermes.Call{call("search_files", map[string]any{"pattern": "Turn"})}, Pause: 30 * time.Millisecond},
			{Say: "It turns **3 degrees** a minute. I double that and run the test.", Calls: []hermes.Call{
				call("edit_file", map[string]any{"path": "lens.go", "old": "return 3", "new": "return 6"}),
				call("run", map[string]any{"command": "go vet . && grep -n return lens.go"}),
			}, Pause: 30 * time.Millisecond},
			{Say: "Done:\n\n| what | before | now |\n|---|---|---|\n| `Turn()` | 3 | 6 |\n\nThe log of *12 March* says that you wanted this before the storm season.", Pause: 30 * time.Millisecond},
		},
		"a long walk": {{Say: walk(), Pause: 40 * time.Millisecond}},
		"wait":        {{Say: "I wait.", Calls: []hermes.Call{call("run", map[string]any{"command": "echo begun; sleep 60"})}}, {Say: "Waited."}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(w.URL)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
	w.Close()
}

func walk() string {
	text := "# A walk\n\n"
	for i := range 40 {
		text += fmt.Sprintf("%d. Past the **harbour**, where the boats lie by `number %d`.\n", i+1, i+1)
	}
	return text
}
