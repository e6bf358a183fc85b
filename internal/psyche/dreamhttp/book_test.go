package dreamhttp_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/morning"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/dreamhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// object is a part of the description, with its keys in order.
type object = map[string]any

// book collects the schemas of types under their names.
type book struct {
	t       *testing.T
	reflect *jsonschema.Reflector
	schemas object
	made    map[string]reflect.Type
}

const home = "github.com/seed-56a03226/oneiros/internal"

// callings are names for types whose own would be unclear.
var callings = map[reflect.Type]string{
	reflect.TypeFor[journal.Public]():      "JournalEntry",
	reflect.TypeFor[journal.Times]():       "WakePhases",
	reflect.TypeFor[morning.Report]():      "Morning",
	reflect.TypeFor[psyche.VisibleEvent](): "Event",
	reflect.TypeFor[refusal]():             "Error",
	reflect.TypeFor[psyche.AddRequest]():   "Add",
	reflect.TypeFor[dreamhttp.Begin]():     "BeginRequest",
	reflect.TypeFor[dreamhttp.Redream]():   "RedreamRequest",

	reflect.TypeFor[room.Event]():               "RoomEvent",
	reflect.TypeFor[psyche.Page[room.Event]]():  "RoomEventList",
	reflect.TypeFor[room.Item]():                "InboxItem",
	reflect.TypeFor[psyche.Page[room.Item]]():   "Inbox",
	reflect.TypeFor[room.Text]():                "DirectMessage",
	reflect.TypeFor[room.Wake]():                "CallRecord",
	reflect.TypeFor[psyche.Page[room.Wake]]():   "CallRecordList",
	reflect.TypeFor[room.Action]():              "HeldAction",
	reflect.TypeFor[psyche.Page[room.Action]](): "HeldActionList",
	reflect.TypeFor[dormancy.State]():           "DormancyState",
	reflect.TypeFor[rooms.View]():               "RoomView",
	reflect.TypeFor[rooms.CreateRequest]():      "CreateRoomRequest",
	reflect.TypeFor[rooms.Author]():             "CallAuthor",
}

// choices are the values that a type may have.
var choices = map[reflect.Type][]any{
	reflect.TypeFor[dream.Status](): words(dream.Statuses),
	reflect.TypeFor[dream.Tier]():   words([]dream.Tier{dream.Core, dream.Hardened}),
	reflect.TypeFor[dream.Outcome](): words(
		[]dream.Outcome{
			dream.Dreaming, dream.Completed, dream.Empty, dream.Exhausted, dream.Aborted, dream.Canceled,
			dream.Interrupted, dream.Undone,
		}),
	reflect.TypeFor[dream.Taint](): words(
		[]dream.Taint{dream.FromHuman, dream.FromAgent, dream.FromTool, dream.FromWeb, dream.FromDream}),
	reflect.TypeFor[dream.State](): words(dream.States),
	reflect.TypeFor[dream.Kind]():  words(dream.KindNames()),

	reflect.TypeFor[dormancy.Level](): words(dormancy.Levels),
	reflect.TypeFor[dormancy.Kind]():  words([]dormancy.Kind{dormancy.Person, dormancy.Agent}),
	reflect.TypeFor[dormancy.Trust](): words(dormancy.Trusts),
	reflect.TypeFor[room.Role]():      words([]room.Role{room.Reader, room.Writer, room.Owner}),
	reflect.TypeFor[room.Form]():      words([]room.Form{room.Message, room.Notice, room.Announcement}),
	reflect.TypeFor[room.PostState](): words([]room.PostState{room.Live, room.Emptied}),
	reflect.TypeFor[room.Trigger]():   words([]room.Trigger{room.OnMention, room.OnDirect, room.OnScheduled}),
	reflect.TypeFor[room.Outcome](): words(
		[]room.Outcome{room.Queued, room.Replied, room.Silent, room.Failed, room.Skipped}),
	reflect.TypeFor[room.ItemState](): words(
		[]room.ItemState{room.Waiting, room.Taken, room.Answered, room.Declined, room.Expired, room.Dropped}),
	reflect.TypeFor[room.ActionState](): words([]room.ActionState{room.Held, room.Done, room.Abandoned}),
	reflect.TypeFor[room.EventType](): words(
		[]room.EventType{
			room.Created, room.Joined, room.Changed, room.Left, room.Added, room.Edited, room.Deleted, room.Reset,
			room.Resolved,
		}),
}

func words[S ~string](all []S) []any {
	list := make([]any, len(all))
	for i, w := range all {
		list[i] = string(w)
	}
	return list
}

func newBook(t *testing.T) *book {
	t.Helper()
	b := &book{t: t, schemas: object{}, made: map[string]reflect.Type{}}
	b.reflect = &jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true, Namer: calling,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if all := choices[t]; all != nil {
				return &jsonschema.Schema{Type: "string", Enum: all}
			}
			return nil
		},
	}
	const port = "../activities/port/"
	packages := []string{
		"psyche", "psyche/dreamhttp", "journal", "morning", port + "dream", port + "event", port + "budget", port + "mood",
		port + "room", port + "dormancy", "psyche/rooms", "psyche/roomhttp",
	}
	for _, folder := range packages {
		from := filepath.Join("..", "..", folder)
		require.NoError(t, b.reflect.AddGoComments(home+"/psyche/dreamhttp", from, jsonschema.WithFullComment()))
	}
	return b
}

// calling is the name of a type's schema: a page of dreams is a DreamList.
func calling(t reflect.Type) string {
	if name := callings[t]; name != "" {
		return name
	}
	_, inner, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return t.Name()
	}
	inner = strings.TrimSuffix(inner, "]")
	if strings.HasSuffix(inner, "journal.Public") {
		return "JournalEntryList"
	}
	return inner[strings.LastIndexAny(inner, "./*")+1:] + "List"
}

// of returns a reference to the schema of a value's type.
func (b *book) of(v any) object {
	b.t.Helper()
	kind := reflect.TypeOf(v)
	for name, definition := range b.reflect.ReflectFromType(kind).Definitions {
		body, err := json.Marshal(definition)
		require.NoError(b.t, err)
		var schema object
		require.NoError(b.t,
			json.Unmarshal(bytes.ReplaceAll(body, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`)), &schema))
		if b.schemas[name] == nil {
			b.schemas[name] = schema
		}
	}
	b.absent(kind)
	return object{"$ref": "#/components/schemas/" + calling(kind)}
}

// absent removes the fields that are omitted when zero from those that a schema requires.
func (b *book) absent(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() == "time" || b.made[calling(t)] == t {
		return
	}
	require.Nil(b.t, b.made[calling(t)], "two types are called %s", calling(t))
	b.made[calling(t)] = t
	schema, found := b.schemas[calling(t)].(object)
	required := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "-" {
			if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
				required[name] = true
			}
			b.absent(f.Type)
		}
	}
	if !found {
		return
	}
	schema["required"] = slices.Sorted(maps.Keys(required))
	if len(required) == 0 {
		delete(schema, "required")
	}
}

// prune drops the schemas that nothing refers to.
func (b *book) prune(all ...object) {
	b.t.Helper()
	for name := range maps.Clone(b.schemas) {
		text, err := json.Marshal([]any{all, b.schemas})
		require.NoError(b.t, err)
		if !bytes.Contains(text, []byte(`"#/components/schemas/`+name+`"`)) {
			delete(b.schemas, name)
		}
	}
}
