package provider

import "strings"

// shape is the part of JSON Schema that is filled.
type shape struct {
	Type       any              `json:"type"` // a name or a list of names
	Properties map[string]shape `json:"properties"`
	Items      *shape           `json:"items"`
	MinItems   int              `json:"minItems"`
	MaxItems   *int             `json:"maxItems"`
	Enum       []any            `json:"enum"`
	Const      any              `json:"const"`
	Minimum    *float64         `json:"minimum"`
	Maximum    *float64         `json:"maximum"`
	MaxLength  *int             `json:"maxLength"`
	Pattern    string           `json:"pattern"`
	Format     string           `json:"format"`
	AnyOf      []shape          `json:"anyOf"`
	OneOf      []shape          `json:"oneOf"`
	Ref        string           `json:"$ref"`
	Defs       map[string]shape `json:"$defs"`
	Old        map[string]shape `json:"definitions"`
}

// resolve follows references and takes the first alternative that is not null.
func (f *filler) resolve(s shape) shape {
	for range deepest {
		switch alternatives := append(s.AnyOf, s.OneOf...); {
		case strings.HasPrefix(s.Ref, "#/$defs/"):
			s = f.root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		case strings.HasPrefix(s.Ref, "#/definitions/"):
			s = f.root.Old[strings.TrimPrefix(s.Ref, "#/definitions/")]
		case len(alternatives) > 0 && typeOf(alternatives[0]) == "null" && len(alternatives) > 1:
			s = alternatives[1]
		case len(alternatives) > 0:
			s = alternatives[0]
		default:
			return s
		}
	}
	return shape{}
}

func typeOf(s shape) string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
	}
	switch {
	case s.Properties != nil:
		return "object"
	case s.Items != nil:
		return "array"
	}
	return "string"
}
