// Package described checks the server's answers against its own description, docs/openapi.json, and counts which
// described responses no answer has shown.
package described

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is a description of version 3.1 of OpenAPI.
type Document struct {
	mu       sync.Mutex // compilers are not safe for concurrent use
	compiler *jsonschema.Compiler
	routes   *http.ServeMux
	doc      document
	seen     map[string]bool
}

type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Responses map[string]response `json:"responses"`
	} `json:"components"`
}

type operation struct {
	Body *struct {
		Content map[string]json.RawMessage `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type response struct {
	Ref     string                     `json:"$ref"`
	Content map[string]json.RawMessage `json:"content"`
}

const source = "urn:oneiros:openapi"

// Read parses a description.
func Read(text []byte) (*Document, error) {
	d := &Document{routes: http.NewServeMux(), seen: map[string]bool{}, compiler: jsonschema.NewCompiler()}
	if err := json.Unmarshal(text, &d.doc); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource(source, whole); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	for path, operations := range d.doc.Paths {
		for method := range operations {
			d.routes.HandleFunc(strings.ToUpper(method)+" "+path, func(http.ResponseWriter, *http.Request) {})
		}
	}
	return d, nil
}

// Answer is the answer to a request.
type Answer struct {
	Method string
	Path   string // as it was sent, without the query
	Status int
	Header http.Header
	Body   []byte
}

// Holds returns what of an answer differs from the description; nil when nothing does. The answer to a path or method
// that is not described must be an Error.
func (d *Document) Holds(a Answer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, route := d.operationOf(a.Method, a.Path)
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	kind = strings.TrimSpace(kind)
	if name == "" {
		if a.Status < http.StatusBadRequest {
			return fmt.Errorf("%s %s is answered %d, and is not described", a.Method, a.Path, a.Status)
		}
		return d.fits("#/components/schemas/Error", a.Body)
	}
	key := strconv.Itoa(a.Status)
	answer, ok := d.doc.Paths[route][strings.ToLower(a.Method)].Responses[key]
	at := "#/paths/" + escaped(route) + "/" + strings.ToLower(a.Method) + "/responses/" + key
	if !ok {
		if a.Status < http.StatusBadRequest {
			return fmt.Errorf("%s is answered %d, which is not described", name, a.Status)
		}
		key = "default"
		answer = d.doc.Paths[route][strings.ToLower(a.Method)].Responses[key]
		at = strings.TrimSuffix(at, strconv.Itoa(a.Status)) + key
	}
	if answer.Ref != "" {
		at, answer = answer.Ref, d.doc.Components.Responses[answer.Ref[strings.LastIndexByte(answer.Ref, '/')+1:]]
	}
	if len(answer.Content) == 0 {
		if len(a.Body) > 0 {
			return fmt.Errorf("%s %s: there is a body, %q, where none is described", name, key, clipped(a.Body))
		}
		d.seen[keyOf(name, key, "")] = true
		return nil
	}
	if _, ok := answer.Content[kind]; !ok {
		return fmt.Errorf("%s %s: content type %q is not described", name, key, kind)
	}
	if a.Method == http.MethodHead {
		return nil
	}
	if err := d.body(at+"/content/"+escaped(kind), kind, a); err != nil {
		return fmt.Errorf("%s %s %s: %w: %s", name, key, kind, err, clipped(a.Body))
	}
	d.seen[keyOf(name, key, kind)] = true
	return nil
}

// body checks the body of an answer against its media type.
func (d *Document) body(at, kind string, a Answer) error {
	switch kind {
	case "application/json":
		if a.Status >= http.StatusBadRequest && a.Header.Get("X-Request-Id") != "" && ours(a.Body) {
			if err := d.fits("#/components/schemas/Error", a.Body); err != nil {
				return err
			}
		}
		return d.fits(at+"/schema", a.Body)
	case "text/event-stream":
		return d.events(at+"/x-event-data", a.Body)
	}
	return nil
}

// ours says whether an error names the request, as only this server's own errors do, and has OpenAI's form: one in
// Anthropic's has a type beside it.
func ours(body []byte) bool {
	var values map[string]json.RawMessage
	return json.Unmarshal(body, &values) == nil && values["request_id"] != nil && values["type"] == nil
}

// events checks each event of a stream against the schema of its data. Of a stream that was cut within an event, the
// complete events are checked.
func (d *Document) events(at string, body []byte) error {
	for block := range strings.SplitSeq(string(body[:max(0, bytes.LastIndex(body, []byte("\n\n")))]), "\n\n") {
		var data []string
		for line := range strings.SplitSeq(block, "\n") {
			field, value, named := strings.Cut(line, ":")
			switch {
			case field == "" || line == "": // a comment
			case !named || !slices.Contains([]string{"data", "event", "id", "retry"}, field):
				return fmt.Errorf("%q is no line of an event", line)
			case field == "data":
				data = append(data, strings.TrimPrefix(value, " "))
			}
		}
		text := strings.Join(data, "\n")
		if data == nil || text == "[DONE]" || text == "" {
			continue
		}
		if err := d.fits(at, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// Takes returns what of an accepted request body differs from the description.
func (d *Document) Takes(method, path string, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, route := d.operationOf(method, path)
	answer := d.doc.Paths[route][strings.ToLower(method)].Body
	if name == "" || len(body) == 0 {
		return nil
	}
	if answer == nil {
		return fmt.Errorf("%s has taken a body, and none is described", name)
	}
	if err := d.fits(
		"#/paths/"+escaped(route)+"/"+strings.ToLower(method)+"/requestBody/content/"+escaped("application/json")+
			"/schema", body); err != nil {
		return fmt.Errorf("%s has taken %s: %w", name, clipped(body), err)
	}
	return nil
}

// Left are the described responses that no answer has shown, such as "GET /v1/dreams 200 application/json".
func (d *Document) Left() (left []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, operations := range d.doc.Paths {
		for method, o := range operations {
			for status, r := range o.Responses {
				if r.Ref != "" {
					r = d.doc.Components.Responses[r.Ref[strings.LastIndexByte(r.Ref, '/')+1:]]
				}
				name := strings.ToUpper(method) + " " + path
				if len(r.Content) == 0 && !d.seen[keyOf(name, status, "")] {
					left = append(left, keyOf(name, status, ""))
				}
				for kind := range r.Content {
					if !d.seen[keyOf(name, status, kind)] {
						left = append(left, keyOf(name, status, kind))
					}
				}
			}
		}
	}
	slices.Sort(left)
	return left
}

func keyOf(name, status, kind string) string {
	return strings.TrimSpace(name + " " + status + " " + kind)
}

// operationOf is the operation of a request, and its path as described; empty when there is none.
func (d *Document) operationOf(method, path string) (name, route string) {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return "", ""
	}
	_, pattern := d.routes.Handler(&http.Request{Method: method, URL: &url.URL{Path: plain, RawPath: path}})
	_, route, _ = strings.Cut(pattern, " ")
	return pattern, route
}

// fits checks JSON against the schema at a place of the document.
func (d *Document) fits(at string, text []byte) error {
	schema, err := d.compiler.Compile(source + at)
	if err != nil {
		return fmt.Errorf("read the schema at %s: %w", at, err)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return schema.Validate(body)
}

// escaped is a path as a part of a JSON pointer in an address.
func escaped(path string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path)
}

const mostShown = 600

func clipped(body []byte) string {
	return strings.ToValidUTF8(string(body[:min(len(body), mostShown)]), "?")
}
