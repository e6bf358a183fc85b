package dream

import (
	"encoding/json"
	"slices"
)

// Kind is the kind of an item in memory. Its value is what stores write: string(k) is for rows and keys, k.String() for
// everything that a person or a program reads.
type Kind string

// The kinds.
const (
	KindEpisode    Kind = "episode"
	KindSemantic   Kind = "semantic"
	KindFragment   Kind = "fragment"
	KindScenario   Kind = "scenario"
	KindHypothesis Kind = "hypothesis"
	KindGist       Kind = "gist"
	KindPlaybook   Kind = "playbook"
	KindPrediction Kind = "prediction"
	KindJournal    Kind = "journal"
	KindRecord     Kind = "night" // read and written as dream_record everywhere but in stores
	KindMarker     Kind = "marker"
	KindProposal   Kind = "proposal"
	KindClaim      Kind = "claim"
)

// Kinds in a fixed order: lived ones first, then those made from them.
var Kinds = []Kind{
	KindEpisode, KindSemantic, KindFragment, KindScenario, KindHypothesis,
	KindGist, KindPlaybook, KindPrediction, KindJournal, KindRecord, KindMarker, KindProposal, KindClaim,
}

// recordName is the public name of KindRecord, whose stored value is the word of earlier builds: rows, index keys and
// archives of both stores contain it.
const recordName = "dream_record"

// String is the kind's public name.
func (k Kind) String() string {
	if k == KindRecord {
		return recordName
	}
	return string(k)
}

// MarshalText writes the public name. encoding/json does not use it for the keys of a map; see KindCounts.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the public name, and the stored one, which earlier builds wrote to JSON. It accepts any text;
// ParseKind accepts known kinds only.
func (k *Kind) UnmarshalText(text []byte) error {
	*k = Kind(text)
	if string(text) == recordName {
		*k = KindRecord
	}
	return nil
}

// ParseKind reads a kind as people name it; false for a name that is no kind. The name that earlier builds gave to
// dream records is read, too.
func ParseKind(name string) (Kind, bool) {
	var k Kind
	_ = k.UnmarshalText([]byte(name))
	return k, slices.Contains(Kinds, k)
}

// KindNames are the public names of all kinds, in the order of Kinds.
func KindNames() []string {
	names := make([]string, len(Kinds))
	for i, k := range Kinds {
		names[i] = k.String()
	}
	return names
}

// KindCounts are numbers of items by kind.
type KindCounts map[Kind]int

// MarshalJSON writes an object whose keys are the kinds' public names.
func (c KindCounts) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("null"), nil
	}
	named := make(map[string]int, len(c))
	for kind, n := range c {
		named[kind.String()] = n
	}
	return json.Marshal(named)
}
