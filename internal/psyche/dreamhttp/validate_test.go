package dreamhttp_test

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// published is the description as it is served, read once.
var published = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	return c, c.AddResource("urn:oneiros:openapi", doc)
})

// Compilers are not made for many at once.
var compiling sync.Mutex

// validate holds an answer against what is published of its route and status. An answer to a path that no route names is none of
// the description's.
func validate(t *testing.T, routes []front.Route, method, path string, a said) {
	t.Helper()
	route := routeOf(routes, method, path)
	if route == "" {
		return
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if a.status == http.StatusNoContent || kind == "text/event-stream" {
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", url.PathEscape("{"), "}", url.PathEscape("}"))
	pointer := "urn:oneiros:openapi#/paths/" + escape.Replace(route) + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(a.status) + "/content/" + escape.Replace(kind) + "/schema"
	if a.status >= 400 { // what every operation refers to
		require.Equal(t, "application/json", kind)
		pointer = "urn:oneiros:openapi#/components/schemas/Error"
	}
	compiling.Lock()
	defer compiling.Unlock()
	c, err := published()
	require.NoError(t, err)
	schema, err := c.Compile(pointer)
	require.NoError(t, err, "%s %s answers %d, which is not described", method, route, a.status)
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	require.NoError(t, err, "%s", a.body)
	require.NoError(t, schema.Validate(body), "%s %s: %s", method, route, a.body)
}

func routeOf(routes []front.Route, method, path string) (found string) {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.Method+" "+r.Path, func(http.ResponseWriter, *http.Request) {})
	}
	_, pattern := mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: mustUnescape(path), RawPath: path}})
	_, found, _ = strings.Cut(pattern, " ")
	return found
}

func mustUnescape(path string) string {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return path
	}
	return plain
}
