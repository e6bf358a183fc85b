package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Tally counts records.
type Tally = memory.Tally

func count(t *Tally, r memory.Record) {
	switch {
	case r.Feed != nil:
		t.Feeds++
	case r.Agent != nil:
		t.Agents++
	case r.Key != nil:
		t.Keys++
	case r.Access != nil:
		t.Access++
	case r.Counters != nil:
		t.Counters++
	case r.Lease != nil:
		t.Leases++
	case r.Slot != nil:
		t.Slots++
	case r.Affect != nil:
		t.Affects++
	case r.Item != nil:
		t.Items++
		t.Revisions += len(r.Item.Revisions)
		t.Vectors += len(r.Item.Vectors)
	case r.Event != nil:
		t.Events++
	case r.Note != nil:
		t.Notes++
	case r.Room != nil:
		t.Rooms++
	case r.Attempt != nil:
		t.Attempts++
	case r.Sum != nil:
		t.Sums++
	case r.Account != nil:
		t.Accounts++
	case r.Answer != nil:
		t.Answers++
	case r.Allowance != nil:
		t.Allowances++
	}
}

// Count reads and checks all records, and returns the tally that an archive of them would have.
func Count(records memory.Records) (Tally, error) {
	var t Tally
	for _, err := range Through(records, &t) {
		if err != nil {
			return Tally{}, err
		}
	}
	return t, nil
}

// Through passes records on and checks them. A record that breaks a rule ends the sequence with an error. At the end it
// sets the tally.
func Through(records memory.Records, t *Tally) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		s := newEncoder()
		for r, err := range records {
			if err == nil {
				_, err = s.add(r)
			}
			if err != nil {
				yield(memory.Record{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
		var err error
		*t, err = s.end()
		if err != nil {
			yield(memory.Record{}, err)
		}
	}
}

// encoder encodes records as lines and adds them to the checksum.
type encoder struct {
	hash  hash.Hash
	tally Tally
	rules rules
	line  bytes.Buffer
	enc   *json.Encoder
}

func newEncoder() *encoder {
	s := &encoder{hash: sha256.New(), rules: newRules()}
	s.enc = json.NewEncoder(&s.line)
	s.hash.Write([]byte(opening))
	return s
}

// reopen makes it an archive of an older version. Call it before the first record.
func (s *encoder) reopen(opening string) {
	s.hash.Reset()
	s.hash.Write([]byte(opening))
}

// add returns the record's line, which is valid until the next call.
func (s *encoder) add(r memory.Record) ([]byte, error) {
	if err := s.rules.check(r); err != nil {
		return nil, err
	}
	s.line.Reset()
	if err := s.enc.Encode(r); err != nil {
		return nil, err
	}
	s.hash.Write(s.line.Bytes())
	count(&s.tally, r)
	return s.line.Bytes(), nil
}

func (s *encoder) end() (Tally, error) {
	s.tally.SHA256 = hex.EncodeToString(s.hash.Sum(nil))
	return s.tally, s.rules.end()
}
