package event

import _ "embed" // the schema lies beside this file

// schema is generated from the types by go generate; a test compares them.
//
//go:generate go test -run TheSchemaIsThatOfTheTypes . -update
//go:embed schema.json
var schema []byte

// SchemaID identifies the schema; its last part is Schema.
const SchemaID = "urn:oneiros:events:1"

// JSONSchema is the schema of an event as JSON Schema 2020-12: the envelope, and the data of each type. It accepts
// fields and types of later versions.
func JSONSchema() []byte { return append([]byte(nil), schema...) }
