package jsonshape_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/jsonshape"
)

func TestASchemaIsReadInItsOrderWithWhatItPointsAt(t *testing.T) {
	t.Parallel()
	s, err := jsonshape.Read([]byte(`{"type":["null","object"],"required":["z"],
		"properties":{"z":{"$ref":"#/$defs/n"},"a":{"items":{"enum":["x",2]},"maxItems":3},"m":{"anyOf":[{"type":"boolean"},{}]}},
		"$defs":{"n":{"type":"integer","exclusiveMinimum":0,"maximum":9}}}`))
	require.NoError(t, err)
	require.Equal(t, "object", s.Kind)
	require.Len(t, s.Properties, 3)
	z, a, m := s.Properties[0], s.Properties[1], s.Properties[2]
	require.Equal(t, []string{"z", "a", "m"}, []string{z.Name, a.Name, m.Name})
	require.True(t, z.Required)
	require.False(t, a.Required)
	require.Equal(t, "integer", z.Shape.Kind)
	require.True(t, z.Shape.OpenLow)
	require.Zero(t, *z.Shape.Minimum)
	require.InDelta(t, 9, *z.Shape.Maximum, 0)
	require.Equal(t, "array", a.Shape.Kind)
	require.Equal(t, 3, a.Shape.MaxItems)
	require.Equal(t, -1, a.Shape.MaxLength)
	require.Equal(t, []json.RawMessage{[]byte(`"x"`), []byte("2")}, a.Shape.Item.Choices)
	require.Equal(t, "boolean", m.Shape.Kind)
}

func TestASchemaThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`[]`:                                "no JSON Schema",
		`{"properties":{"a":[]}}`:           `property "a": a part of it is no JSON Schema`,
		`{"$ref":"#/$defs/x"}`:              `$ref "#/$defs/x" points nowhere`,
		`{"type":"object","properties":[]}`: "must be an object",
		`{"$ref":"#/$defs/x","$defs":{"x":{"$ref":"#/$defs/x"}}}`: "deeper than 12 levels",
	} {
		_, err := jsonshape.Read([]byte(schema))
		require.ErrorContains(t, err, want, schema)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/x"}}},"$defs":{"x":{"const":1}}}`))
	f.Add([]byte(`{"oneOf":[{"type":["string","null"],"minLength":-1}]}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		s, err := jsonshape.Read(schema)
		if err == nil {
			require.Equal(t, s.Kind == "array", s.Item != nil)
		}
	})
}
