package event

import _ "embed" // the schema lies beside this file

// schema is generated from the types above by go generate; a test keeps it true.
//
//go:generate go test -run TheSchemaIsThatOfTheTypes . -update
//go:embed schema.json
var schema []byte

// SchemaID names the schema; its last part is Schema.
const SchemaID = "urn:oneiros:events:1"

// JSONSchema is the schema of an event as JSON Schema 2020-12: the envelope, and for each type of the catalogue its
// data. It lets pass what later versions add, fields and types.
func JSONSchema() []byte { return append([]byte(nil), schema...) }
