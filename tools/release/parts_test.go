package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// schemaOf compiles the schema of CycloneDX, which lies in the library that writes it.
func schemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/CycloneDX/cyclonedx-go").Output()
	require.NoError(t, err)
	dir := filepath.Join(strings.TrimSpace(string(out)), "schema")
	c := jsonschema.NewCompiler()
	for _, name := range []string{"bom-1.6.schema.json", "spdx.schema.json", "jsf-0.82.schemax.json"} {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		body, err := jsonschema.UnmarshalJSON(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		// The schema names the third by its usual ending.
		url := "http://cyclonedx.org/schema/" + strings.Replace(name, ".schemax.", ".schema.", 1)
		require.NoError(t, c.AddResource(url, body))
	}
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	require.NoError(t, err)
	return schema
}

// The program of this test has libraries, as those of a release have.
func TestAListOfPartsIsValidAndNamesEveryModule(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	out := t.TempDir()
	r := release{version: "v0.1.0", time: time.Unix(1700000000, 0).UTC(), out: out}
	names, err := r.partLists(here, []program{{"release", self}}, nil)
	require.NoError(t, err)
	require.Len(t, names, 1)
	validParts(t, filepath.Join(out, names[0]), self, r.version)
}

// validParts holds a list of parts against the schema and against the program.
func validParts(t *testing.T, list, program, version string) {
	t.Helper()
	body, err := os.ReadFile(list)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
	require.NoError(t, err)
	require.NoError(t, schemaOf(t).Validate(value))
	var bom struct {
		Metadata struct {
			Component struct{ Version string }
		}
		Components []struct{ Name, Version, Purl string }
	}
	require.NoError(t, json.Unmarshal(body, &bom))
	require.Equal(t, version, bom.Metadata.Component.Version)
	listed := map[string]string{}
	for _, c := range bom.Components {
		listed[c.Name] = c.Version
	}
	info, err := buildinfo.ReadFile(program)
	require.NoError(t, err)
	require.NotEmpty(t, info.Deps)
	for _, m := range info.Deps {
		require.Equal(t, m.Version, listed[m.Path], m.Path)
	}
	require.Contains(t, listed, "std")
}
