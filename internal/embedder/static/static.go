// Package static embeds texts by the meanings of their words: a table, distilled from all-MiniLM-L6-v2, gives each
// word piece a vector, and the vector of a text is the mean of its pieces'.
package static

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/embedder/wordpiece"
)

// Space names the table, its version and its dimension. Another table is another version: vectors of two tables are not
// compared.
const Space = "builtin-static/1/256"

// MostPieces is how many word pieces of a text are read. A longer text is a document; its beginning says what it is
// about.
const MostPieces = 4096

// The table and its vocabulary are made by tools/distill (README.md).
var (
	//go:embed table.bin
	tableData string
	//go:embed vocabulary.txt
	vocabularyData string
)

// Table is a vector for each piece of a vocabulary. It is safe for concurrent use.
type Table struct {
	vocabulary *wordpiece.Vocabulary
	width      int
	scales     string // a little-endian float32 for each piece
	rows       string // width signed bytes for each piece
}

// magic opens a table's file. The width and the number of pieces follow, as little-endian numbers of 32 bits.
const magic = "oneiros static embedder table 1\n"

// Read opens a table. Each row is a scale and bytes; a vector is the bytes times the scale.
func Read(table, vocabulary string) (*Table, error) {
	data, found := strings.CutPrefix(table, magic)
	if !found || len(data) < 8 {
		return nil, errors.New("static table: the file does not begin as one")
	}
	width, pieces := int(number(data)), int(number(data[4:]))
	data = data[8:]
	if width < 1 || width > 4096 || pieces < 1 || len(data) != pieces*(4+width) {
		return nil, fmt.Errorf("static table: %d pieces of width %d do not take %d bytes", pieces, width, len(data))
	}
	v, err := wordpiece.New(strings.Split(strings.TrimSuffix(vocabulary, "\n"), "\n"))
	if err != nil {
		return nil, fmt.Errorf("static table: %w", err)
	}
	if v.Size() != pieces {
		return nil, fmt.Errorf("static table: %d rows for a vocabulary of %d pieces", pieces, v.Size())
	}
	return &Table{vocabulary: v, width: width, scales: data[:4*pieces], rows: data[4*pieces:]}, nil
}

func number(data string) uint32 {
	return binary.LittleEndian.Uint32([]byte(data[:4]))
}

// Write is the reverse of Read for a table's file: rows of one width, each scaled to signed bytes.
func Write(rows [][]float32) ([]byte, error) {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil, errors.New("static table: no rows")
	}
	width := len(rows[0])
	out := append([]byte{}, magic...)
	out = binary.LittleEndian.AppendUint32(out, uint32(width))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(rows)))
	scales := make([]float32, len(rows))
	for i, row := range rows {
		if len(row) != width {
			return nil, fmt.Errorf("static table: row %d has %d numbers instead of %d", i, len(row), width)
		}
		top := 0.0
		for _, x := range row {
			top = max(top, math.Abs(float64(x)))
		}
		scales[i] = float32(top / 127)
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scales[i]))
	}
	for i, row := range rows {
		for _, x := range row {
			step := 0.0
			if scales[i] > 0 {
				step = math.RoundToEven(float64(x) / float64(scales[i]))
			}
			out = append(out, byte(int8(max(-127, min(127, step)))))
		}
	}
	return out, nil
}

// Default returns the embedded table.
var Default = sync.OnceValue(func() *Table {
	t, err := Read(tableData, vocabularyData)
	if err != nil { // a test reads it; a program that was built wrongly has no embedder
		panic(err)
	}
	return t
})

// Width is the number of dimensions.
func (t *Table) Width() int { return t.width }

// Vector embeds a text: the mean of its pieces' vectors, of length 1. A text without known pieces has a vector of its
// own, far from all others. pieces is how many word pieces were read.
func (t *Table) Vector(text string) (vector []float32, pieces int) {
	ids := t.vocabulary.Pieces(text, MostPieces)
	sums := make([]float32, t.width)
	for _, id := range ids {
		t.add(sums, int(id))
	}
	length := 0.0
	for _, x := range sums {
		length += float64(x) * float64(x)
	}
	if length < 1e-12 {
		clear(sums)
		sums[0] = 1
		return sums, len(ids)
	}
	by := float32(1 / math.Sqrt(length))
	for i := range sums {
		sums[i] *= by
	}
	return sums, len(ids)
}

// add adds the vector of a piece to sums. A row whose scale is 0 has no meaning, such as that of [UNK].
func (t *Table) add(sums []float32, id int) {
	scale := math.Float32frombits(number(t.scales[4*id:]))
	if scale == 0 {
		return
	}
	row := t.rows[id*t.width : (id+1)*t.width]
	for i := range sums {
		sums[i] += scale * float32(int8(row[i]))
	}
}
