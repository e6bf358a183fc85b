package event_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// rows are the catalogue as docs/events.md shows it.
func rows() string {
	var b strings.Builder
	for _, e := range event.Catalogue() {
		var names []string
		t := reflect.TypeOf(e.Payload)
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			names = append(names, "`"+name+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Type(), e.Announces, e.When, strings.Join(names, ", "))
	}
	return b.String()
}

func TestTheDocumentationShowsTheCatalogue(t *testing.T) {
	t.Parallel()
	const page, head = "../../../docs/events.md", "| type | announces | when | data |\n|---|---|---|---|\n"
	body, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(body), head)
	require.True(t, found)
	shown, after := "", rest
	for strings.HasPrefix(after, "|") {
		row, more, _ := strings.Cut(after, "\n")
		shown, after = shown+row+"\n", more
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+head+rows()+after), 0o644))
		return
	}
	require.Equal(t, rows(), shown, "go test ./activities/port/event -update rewrites it")
}
