package serve

import (
	"fmt"
	"net/http"
	"strings"
)

// names are the model and, for each vector, the model steered by it.
func (s *Server) names() []string {
	names := []string{s.options.Name}
	for _, vector := range s.options.Engine.Vectors() {
		names = append(names, s.options.Name+aliasMark+vector)
	}
	return names
}

func (s *Server) about(name string) map[string]any {
	shape := s.options.Engine.Shape()
	return map[string]any{
		"id": name, "object": "model", "created": 0, "owned_by": "local",
		"context_length": shape.Context, "layers": shape.Layers,
		"description": strings.TrimSpace(shape.Name + " (" + shape.About + ")"),
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	list := []any{}
	for _, name := range s.names() {
		list = append(list, s.about(name))
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	if name := r.PathValue("id"); s.serves(name) {
		reply(w, http.StatusOK, s.about(name))
		return
	}
	refuse(w, s.unknown(r.PathValue("id")))
}

func (s *Server) unknown(name string) *fault {
	return &fault{http.StatusNotFound, "invalid_request_error", "model", "model_not_found", fmt.Sprintf(
		"model %q is not served here; there is %s", name, strings.Join(s.names(), ", "))}
}
