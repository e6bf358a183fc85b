package redisstore

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// An item is stored as a row "<revision> <places><kind><marks>\n<body>". The body is JSON, or, when a dream made it,
// packed relative to the marks (store/packed). The places are the sort keys of memory.Query's orders, as bytes that
// compare like the values:
//
//	12  At, latest first         8  Score, highest first
//	12  At, earliest first      12  Due, earliest first; zeros for never
//	 8  Salience, highest first 32  the beginning of the text, padded with zeros
//
// A member of a sorted set is such a key, the beginning of the text, and the id.
const (
	whenBytes  = 12
	gradeBytes = 8
	textBytes  = 32
	placeBytes = 3*whenBytes + 2*gradeBytes + textBytes
)

// marks are the fields that scripts read. Times are seconds since 1970 and nanoseconds apart, both exact in Lua.
type marks struct {
	State    dream.State `json:"s"`
	Cause    string      `json:"c"`
	Changed  string      `json:"t"`
	At       int64       `json:"a"`
	AtNano   int         `json:"an,omitempty"`
	Due      *int64      `json:"d,omitempty"`
	DueNano  int         `json:"dn,omitempty"`
	Salience float64     `json:"sa,omitempty"`
	Score    float64     `json:"sc,omitempty"`
	Status   string      `json:"st,omitempty"`
	Session  string      `json:"se,omitempty"`
	Dream    string      `json:"dr,omitempty"`
	Owner    *string     `json:"o,omitempty"` // nil: written before owners were marked
	Text     string      `json:"x"`           // a hash of the text, to detect changes
	Body     string      `json:"b,omitempty"` // for a packed body: a hash of its JSON, to detect changes
	Refers   []string    `json:"rf,omitempty"`
}

// bodyHash is how many digits of the SHA-1 identify a body; scripts compute the same.
const bodyHash = 24

// row is a stored item; number is 0 until the store assigns one.
type row struct {
	id     string
	read   int // the revision the item was read at; 0 for none
	number int
	places string
	kind   dream.Kind
	marks  marks
	body   string
}

// encodeItem makes the row of a revision by a cause at that time.
func encodeItem(agent string, item dream.Item, cause string, now time.Time) (row, error) {
	if err := memory.ValidateItem(agent, item); err != nil {
		return row{}, err
	}
	h, m, text := item.Header(), item.Marks(), item.Text()
	body, err := json.Marshal(item)
	if err != nil {
		return row{}, fmt.Errorf("%s: %w", h.ID, err)
	}
	refers, err := past.Named(body)
	if err != nil {
		return row{}, fmt.Errorf("%s: %w", h.ID, err)
	}
	r := row{
		id:     h.ID,
		read:   h.Revision,
		kind:   h.Kind,
		body:   string(body),
		places: places(h.At, m, text),
		marks: marks{
			State:    h.State,
			Cause:    cause,
			Changed:  date(now),
			At:       h.At.Unix(),
			AtNano:   h.At.Nanosecond(),
			Salience: m.Salience,
			Score:    m.Score,
			Status:   m.Status,
			Session:  m.Session,
			Dream:    h.Dream,
			Owner:    &m.Owner,
			Text:     textHash(text),
			Refers:   refers,
		},
	}
	if !m.Due.IsZero() {
		due := m.Due.Unix()
		r.marks.Due, r.marks.DueNano = &due, m.Due.Nanosecond()
	}
	return r, nil
}

// textHash identifies a text.
func textHash(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:16])
}

// packed is the row without its number, which the store assigns.
func (r row) packed() (string, error) {
	r.marks.Body = ""
	if r.marks.Dream != "" {
		sum := sha1.Sum([]byte(r.body))
		r.marks.Body = hex.EncodeToString(sum[:])[:bodyHash]
	}
	m, err := json.Marshal(r.marks)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.id, err)
	}
	body := r.body
	if r.marks.Body != "" {
		body = string(packed.Pack([]byte(body), string(m)))
	}
	return r.places + string(r.kind) + string(m) + "\n" + body, nil
}

// parseRow parses a row; its marks only when marked is set.
func parseRow(id, kept string, marked bool) (row, error) {
	r := row{id: id}
	number, rest, ok := strings.Cut(kept, " ")
	fault := func(what string) (row, error) { return row{}, fmt.Errorf("the row of %s has no %s", id, what) }
	if !ok || len(rest) < placeBytes {
		return fault("places")
	}
	var err error
	r.number, err = strconv.Atoi(number)
	if err != nil {
		return fault("revision")
	}
	r.places = rest[:placeBytes]
	head, body, ok := strings.Cut(rest[placeBytes:], "\n")
	from := strings.IndexByte(head, '{')
	if !ok || from < 0 {
		return fault("marks")
	}
	r.kind, r.body = dream.Kind(head[:from]), body
	if body != "" && body[0] != '{' {
		plain, err := packed.Unpack([]byte(body), head[from:])
		if err != nil {
			return row{}, fmt.Errorf("the body of %s: %w", id, err)
		}
		r.body = string(plain)
	}
	if marked {
		if err := json.Unmarshal([]byte(head[from:]), &r.marks); err != nil {
			return row{}, fmt.Errorf("the marks of %s: %w", id, err)
		}
	}
	return r, nil
}

// item decodes the row's item.
func (r row) item() (dream.Item, error) {
	item, err := dream.Decode(r.kind, []byte(r.body))
	if err != nil {
		return nil, err
	}
	item.Header().Revision = r.number
	return item, nil
}

func places(at time.Time, m dream.Marks, text string) string {
	b := make([]byte, 0, placeBytes)
	b = append(b, inverted(timeKey(at))...)
	b = append(b, timeKey(at)...)
	b = append(b, inverted(numberKey(m.Salience))...)
	b = append(b, inverted(numberKey(m.Score))...)
	if m.Due.IsZero() {
		b = append(b, make([]byte, whenBytes)...)
	} else {
		b = append(b, timeKey(m.Due)...)
	}
	b = append(b, text[:min(len(text), textBytes)]...)
	return string(append(b, make([]byte, placeBytes-len(b))...))
}

// timeKey encodes a time as bytes that compare like times.
func timeKey(t time.Time) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.Unix())^1<<63)
	return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond()))
}

// numberKey encodes a number as bytes that compare like numbers.
func numberKey(x float64) []byte {
	bits := math.Float64bits(x + 0) // turns -0 into 0
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(nil, bits)
}

func inverted(b []byte) []byte {
	for i := range b {
		b[i] = ^b[i]
	}
	return b
}
