package answers

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// What the header says.
const (
	format  = "oneiros-answers"
	version = 1
)

// Bounds of a line. An answer has at most some 16 MiB and JSON may write one byte of it as six.
const (
	longestHeader = 1 << 10
	longestLine   = 256 << 20
)

// header is the first line.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	ID      string `json:"id"` // random: no two files send the same idempotency keys
}

// headerBegins is how every header begins, so that a torn one is told from another file.
var headerBegins = fmt.Sprintf(`{"format":%q,"version":%d,"id":"`, format, version)

// line is every other line; one of its fields is set.
type line struct {
	Reserve *reservation `json:"reserve,omitempty"`
	Answer  *answer      `json:"answer,omitempty"`
	Vector  *vector      `json:"vector,omitempty"`
	End     *end         `json:"end,omitempty"`
}

// reservation is written before a call. Calls are numbered from 1.
type reservation struct {
	Call   int64         `json:"call"`
	Model  string        `json:"model"`
	Amount budget.Micros `json:"amount"`
}

// answer ends a call that generated.
type answer struct {
	Call   int64            `json:"call"`
	Cost   budget.Micros    `json:"cost"`
	Key    hash             `json:"key"`
	Nth    int              `json:"nth"`    // of the identical requests of one arm, from 0
	Answer inference.Answer `json:"answer"` // without its text, which the pieces make
	Pieces []string         `json:"pieces,omitempty"`
	Raw    [][]byte         `json:"raw,omitempty"` // the pieces, where one is not valid UTF-8
}

// vector is a text that a call embedded. The end of the call follows.
type vector struct {
	Call      int64               `json:"call"`
	Key       hash                `json:"key"`
	Space     string              `json:"space"`
	Tokens    int64               `json:"tokens"` // its share of the tokens of the call
	UsageFrom inference.UsageFrom `json:"usage_from"`
	Numbers   []byte              `json:"numbers"` // float32, little-endian
}

// end ends every other call.
type end struct {
	Call  int64         `json:"call"`
	Cost  budget.Micros `json:"cost"`
	State spend.State   `json:"state"`
	Why   string        `json:"why,omitempty"`
}

func newAnswer(call int64, cost budget.Micros, p place, a inference.Answer, pieces []string) *answer {
	a.Text = ""
	line := &answer{
		Call:   call,
		Cost:   cost,
		Key:    p.key,
		Nth:    p.nth,
		Answer: a,
		Pieces: pieces,
	}
	if utf8.ValidString(strings.Join(pieces, "\n")) {
		return line
	}
	line.Pieces = nil
	for _, piece := range pieces {
		line.Raw = append(line.Raw, []byte(piece))
	}
	return line
}

// pieces are the pieces as they were streamed.
func (a *answer) pieces() []string {
	if a.Raw == nil {
		return a.Pieces
	}
	pieces := make([]string, len(a.Raw))
	for i, raw := range a.Raw {
		pieces[i] = string(raw)
	}
	return pieces
}

func packNumbers(v []float32) []byte {
	packed := make([]byte, 0, 4*len(v))
	for _, x := range v {
		packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(x))
	}
	return packed
}

func unpackNumbers(packed []byte) []float32 {
	v := make([]float32, len(packed)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:]))
	}
	return v
}

// The checksum is the last field of a line: ,"crc":"0123abcd"}
const (
	sumBegins = `,"crc":"`
	sumLength = len(sumBegins) + 8 + len(`"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode writes v as one line, its line feed included. sum is that of the line before; the line's own is returned.
func encode(v any, sum uint32) ([]byte, uint32, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, sum, err
	}
	if len(body)+sumLength > longestLine {
		return nil, sum, fmt.Errorf("a line of %d bytes is longer than %d", len(body), longestLine)
	}
	sum = crc32.Update(sum, castagnoli, body)
	return fmt.Appendf(body[:len(body)-1], "%s%08x\"}\n", sumBegins, sum), sum, nil
}

// errChecksum is a line that was changed, or that does not follow the line before it.
var errChecksum = errors.New("the line or one before it was changed, lost or exchanged: its checksum is wrong")

// decode reads a line without its line feed into v. It refuses fields that v does not have.
func decode(text []byte, sum uint32, v any) (uint32, error) {
	cut := len(text) - sumLength
	if cut < 1 || !bytes.HasPrefix(text[cut:], []byte(sumBegins)) {
		return sum, errors.New("the line does not end with a checksum")
	}
	body := append(bytes.Clone(text[:cut]), '}')
	sum = crc32.Update(sum, castagnoli, body)
	if string(text[cut:]) != fmt.Sprintf("%s%08x\"}", sumBegins, sum) {
		return sum, errChecksum
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return sum, err
	}
	if d.InputOffset() != int64(len(body)) {
		return sum, errors.New("more follows after the line's object")
	}
	return sum, nil
}

// place is where an answer belongs: a request, and the how manieth of identical ones it is. Embedded texts have one.
type place struct {
	key hash
	nth int
}

// span is where a line lies in the file, without its line feed.
type span struct {
	offset int64
	length int
}

// contents is what the lines of a file add up to.
type contents struct {
	id      string
	entries map[place]span // answers and vectors
	open    map[int64]budget.Micros
	last    int64         // number of the last call
	paid    budget.Micros // by calls that have ended
	sum     uint32        // checksum of the last line
	size    int64         // bytes of all whole lines
}

func newContents() *contents {
	return &contents{entries: map[place]span{}, open: map[int64]budget.Micros{}}
}

// counted is what counts against the cap.
func (c *contents) counted() budget.Micros { return spend.Add(c.paid, c.reserved()) }

func (c *contents) reserved() budget.Micros {
	var sum budget.Micros
	for _, amount := range c.open {
		sum = spend.Add(sum, amount)
	}
	return sum
}

// lineError is a fault of one line.
type lineError struct {
	number int
	err    error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.number, e.err) }

func (e *lineError) Unwrap() error { return e.err }

// read reads a whole file. What follows after the last line feed was torn by a kill and is left out of size; size 0
// means that not even the header was written. Errors are *lineError, or come from r.
func read(r io.Reader) (*contents, error) {
	c, in := newContents(), bufio.NewReaderSize(r, 64<<10)
	text, err := readLine(in, longestHeader)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && tornHeader(string(text)):
		return c, nil
	case errors.Is(err, io.EOF), errors.Is(err, errTooLong):
		return nil, &lineError{1, errNotOurs}
	default:
		return nil, err
	}
	if err := c.begin(text); err != nil {
		return nil, &lineError{1, err}
	}
	for number := 2; ; number++ {
		text, err := readLine(in, longestLine)
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if errors.Is(err, errTooLong) {
			return nil, &lineError{number, err}
		}
		if err != nil {
			return nil, err
		}
		if err := c.follow(text); err != nil {
			return nil, &lineError{number, err}
		}
	}
}

var (
	errTooLong = errors.New("the line is too long")
	errNotOurs = errors.New("it is no file of recorded answers; name another file, or one that does not exist yet")
)

// readLine returns a line without its line feed. At the end of r it returns io.EOF with what there was.
func readLine(in *bufio.Reader, longest int) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > longest {
			return nil, errTooLong
		}
		if err == nil {
			return text[:len(text)-1], nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// tornHeader says whether a text without a line feed is the beginning of a header.
func tornHeader(text string) bool {
	return strings.HasPrefix(headerBegins, text) || strings.HasPrefix(text, headerBegins)
}

// begin takes the header.
func (c *contents) begin(text []byte) error {
	var h header
	var other struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if json.Unmarshal(text, &other) != nil || other.Format != format {
		return errNotOurs
	}
	if other.Version != version {
		return fmt.Errorf("the file has version %d; this program reads version %d", other.Version, version)
	}
	sum, err := decode(text, 0, &h)
	if err != nil {
		return err
	}
	if h.ID == "" {
		return errors.New("the header has no id")
	}
	c.id, c.sum, c.size = h.ID, sum, int64(len(text))+1
	return nil
}

// follow takes any other line.
func (c *contents) follow(text []byte) error {
	var l line
	sum, err := decode(text, c.sum, &l)
	if err != nil {
		return err
	}
	if err := c.check(l); err != nil {
		return err
	}
	c.take(l, sum, len(text))
	return nil
}

// take adds a line that was checked: its checksum, and its length without the line feed.
func (c *contents) take(l line, sum uint32, length int) {
	at := span{c.size, length}
	c.sum, c.size = sum, c.size+int64(length)+1
	switch {
	case l.Reserve != nil:
		c.last, c.open[l.Reserve.Call] = l.Reserve.Call, l.Reserve.Amount
	case l.Answer != nil:
		c.entries[place{l.Answer.Key, l.Answer.Nth}] = at
		c.settle(l.Answer.Call, l.Answer.Cost)
	case l.Vector != nil:
		c.entries[place{key: l.Vector.Key}] = at
	case l.End != nil:
		c.settle(l.End.Call, l.End.Cost)
	}
}

func (c *contents) settle(call int64, cost budget.Micros) {
	delete(c.open, call)
	c.paid = spend.Add(c.paid, cost)
}

// check refuses a line that cannot follow the lines before it.
func (c *contents) check(l line) error {
	set := 0
	for _, is := range []bool{l.Reserve != nil, l.Answer != nil, l.Vector != nil, l.End != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("the line has %d of reserve, answer, vector and end; it must have one", set)
	case l.Reserve != nil:
		return c.checkReservation(l.Reserve)
	case l.Answer != nil:
		return c.checkAnswer(l.Answer)
	case l.Vector != nil:
		return c.checkVector(l.Vector)
	}
	return c.checkEnd(l.End.Call, l.End.Cost)
}

func (c *contents) checkReservation(r *reservation) error {
	if r.Call != c.last+1 {
		return fmt.Errorf("call %d follows call %d", r.Call, c.last)
	}
	if r.Amount < 0 {
		return fmt.Errorf("amount is %d micro-dollars; it must not be negative", r.Amount)
	}
	return nil
}

func (c *contents) checkAnswer(a *answer) error {
	if a.Nth < 0 {
		return fmt.Errorf("nth is %d; it must not be negative", a.Nth)
	}
	if err := c.checkNew(place{a.Key, a.Nth}); err != nil {
		return err
	}
	return c.checkEnd(a.Call, a.Cost)
}

func (c *contents) checkVector(v *vector) error {
	if len(v.Numbers) == 0 || len(v.Numbers)%4 != 0 {
		return fmt.Errorf("a vector has %d bytes; it must have four for each number", len(v.Numbers))
	}
	if err := c.checkNew(place{key: v.Key}); err != nil {
		return err
	}
	return c.checkEnd(v.Call, 0)
}

func (c *contents) checkNew(p place) error {
	if _, found := c.entries[p]; found {
		return fmt.Errorf("answer %d of %x stands there already", p.nth, p.key[:4])
	}
	return nil
}

func (c *contents) checkEnd(call int64, cost budget.Micros) error {
	if _, found := c.open[call]; !found {
		return fmt.Errorf("call %d has no open reservation", call)
	}
	if cost < 0 {
		return fmt.Errorf("cost is %d micro-dollars; it must not be negative", cost)
	}
	return nil
}
