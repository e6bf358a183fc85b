package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
)

var small = memorytest.Size{
	Agents:   2,
	Items:    12,
	Events:   6,
	Attempts: 20,
	Dim:      3,
}

// tiny still has every kind of record.
var tiny = memorytest.Size{
	Agents:   1,
	Items:    4,
	Events:   2,
	Attempts: 5,
	Dim:      2,
}

func write(t testing.TB, records []memory.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := archive.Write(&b, memorytest.Fill(records))
	require.NoError(t, err)
	return b.Bytes()
}

func read(r io.Reader) (records []memory.Record, err error) {
	for record, bad := range archive.Read(r) {
		if bad != nil {
			return records, bad
		}
		records = append(records, record)
	}
	return records, nil
}

func TestAnArchiveIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		made := memorytest.Deployment(seed, small)
		file := write(t, made)
		got, err := read(iotest.HalfReader(bytes.NewReader(file)))
		require.NoError(t, err)
		require.Len(t, got, len(made))
		require.Equal(t, string(file), string(write(t, got)))
	}
	got, err := read(bytes.NewReader(write(t, nil)))
	require.NoError(t, err)
	require.Empty(t, got)
}

// A column of the ledger that the generator forgets would be tested by no store.
func TestADeploymentHasAValueForEveryFieldOfAnAttempt(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[memory.KeptAttempt]()
	filled := map[string]bool{}
	for _, r := range memorytest.Deployment(1, small) {
		for i := 0; r.Attempt != nil && i < fields.NumField(); i++ {
			if !reflect.ValueOf(*r.Attempt).Field(i).IsZero() {
				filled[fields.Field(i).Name] = true
			}
		}
	}
	for i := range fields.NumField() {
		require.True(t, filled[fields.Field(i).Name], fields.Field(i).Name)
	}
}

func TestAnArchiveIsCounted(t *testing.T) {
	t.Parallel()
	made := memorytest.Deployment(1, small)
	tally, err := archive.Count(memorytest.Fill(made))
	require.NoError(t, err)
	require.Equal(t, len(made), tally.Records())
	require.Equal(t, 24, tally.Items)
	require.Equal(t, 12, tally.Events)
	require.Equal(t, 20, tally.Attempts)
	require.Greater(t, tally.Revisions, tally.Items)
	var b bytes.Buffer
	same, err := archive.Write(&b, memorytest.Fill(made))
	require.NoError(t, err)
	require.Equal(t, tally, same)
	require.Contains(t, b.String(), tally.SHA256)
}

// An archive that is cut anywhere is refused, also between two lines.
func TestAnArchiveThatIsCutOffIsRefused(t *testing.T) {
	t.Parallel()
	file := write(t, memorytest.Deployment(2, tiny))
	for at := range file {
		if at > 200 && at < len(file)-400 && at%211 > 0 && file[at] != '\n' {
			continue // test every byte of the beginning and the end, and the end of every line
		}
		_, err := read(bytes.NewReader(file[:at]))
		require.Error(t, err, "cut after %d bytes of %d", at, len(file))
	}
}

func TestAnArchiveThatIsAlteredIsRefused(t *testing.T) {
	t.Parallel()
	file := write(t, memorytest.Deployment(3, tiny))
	for at := 0; at < len(file); at += 19 {
		for _, flip := range []byte{1, 0x80} {
			altered := bytes.Clone(file)
			altered[at] ^= flip
			_, err := read(bytes.NewReader(altered))
			require.Error(t, err, "byte %d ^ %x", at, flip)
		}
	}
	for name, altered := range map[string]string{
		"something follows":     string(file) + "\n",
		"it is there twice":     string(file) + string(file),
		"a line is gone":        cutLine(string(file), 5),
		"a line is there twice": twiceLine(string(file), 5),
		"spaces":                strings.Replace(string(file), `{"life":`, `{ "life":`, 1),
	} {
		_, err := read(strings.NewReader(altered))
		require.ErrorIs(t, err, archive.ErrChanged, name)
	}
}

func cutLine(file string, n int) string {
	lines := strings.SplitAfter(file, "\n")
	return strings.Join(append(lines[:n:n], lines[n+1:]...), "")
}

func twiceLine(file string, n int) string {
	lines := strings.SplitAfter(file, "\n")
	return strings.Join(append(lines[:n+1:n+1], lines[n:]...), "")
}

func TestAFileThatIsNoArchiveIsDistinguishedFromANewerArchive(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":                    archive.ErrNone,
		"SQLite format 3\x00": archive.ErrNone,
		"SQLite format 3\n":   archive.ErrNone,
		`{"oneiros":"archive","version":5} ` + "\n":                                 archive.ErrNone,
		`{"oneiros":"archive","version":0}` + "\n":                                  archive.ErrNone,
		fmt.Sprintf(`{"oneiros":"archive","version":%d}`, archive.Version+1) + "\n": archive.ErrNewer,
		fmt.Sprintf(`{"oneiros":"archive","version":%d}`, archive.Version) + "\n":   archive.ErrCutOff,
		`{"oneiros":"archive","version":3}` + "\n":                                  archive.ErrCutOff,
		`{"oneiros":"archive","version":2}` + "\n":                                  archive.ErrCutOff,
		`{"oneiros":"archive","version":1}` + "\n":                                  archive.ErrCutOff,
	} {
		_, err := read(strings.NewReader(text))
		require.ErrorIs(t, err, want, "%q", text)
	}
}

// An archive of version 1 is still read: it has no keys, and its checksum begins with its own first line.
func TestAnArchiveOfVersion1IsRead(t *testing.T) {
	t.Parallel()
	older := func(records []memory.Record, version string) string {
		lines := strings.SplitAfter(string(write(t, records)), "\n")
		lines[0] = strings.Replace(lines[0], strconv.Itoa(archive.Version), version, 1)
		before := strings.Join(lines[:len(lines)-2], "")
		var last struct{ Seal memory.Tally }
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-2]), &last))
		sum := sha256.Sum256([]byte(before))
		return before + strings.Replace(lines[len(lines)-2], last.Seal.SHA256, hex.EncodeToString(sum[:]), 1)
	}
	made := older5(memorytest.Deployment(5, tiny))
	for _, r := range made {
		if r.Item != nil { // version 1 numbers revisions without gaps
			for n := range r.Item.Revisions {
				r.Item.Revisions[n].Number = 0
			}
		}
	}
	room := memory.Record{Room: &memory.KeptRoomRecord{Name: "g/a", Body: memory.Raw("{}")}}
	_, err := read(strings.NewReader(older([]memory.Record{room}, "4")))
	require.ErrorContains(t, err, "version 4 has no rooms")
	_, err = read(strings.NewReader(older(memorytest.Deployment(5, tiny), "5")))
	require.ErrorContains(t, err, "version 5 has no sums and no shortened history")
	_, err = read(strings.NewReader(older(made, "1")))
	require.ErrorContains(t, err, "version 1 has no keys")
	_, err = read(strings.NewReader(older(made, "2")))
	require.NoError(t, err)
	reopened := slices.Clone(made)
	after := slices.IndexFunc(made, func(r memory.Record) bool { return r.Counters != nil })
	reopened = slices.Insert(reopened, after, memory.Record{Access: &memory.KeptAccess{}})
	_, err = read(strings.NewReader(older(reopened, "2")))
	require.ErrorContains(t, err, "version 2 does not say whether keys are required")
	_, err = read(bytes.NewReader(write(t, reopened)))
	require.NoError(t, err)
	keyless := slices.DeleteFunc(made, func(r memory.Record) bool { return r.Key != nil })
	file := older(keyless, "1")
	require.NotContains(t, file, `"keys"`)
	got, err := read(strings.NewReader(file))
	require.NoError(t, err)
	require.Equal(t, string(write(t, keyless)), string(write(t, got)))
}

// older5 returns records without those that version 5 and older do not have.
func older5(made []memory.Record) []memory.Record {
	spent := map[string]budget.Micros{}
	return slices.DeleteFunc(made, func(r memory.Record) bool {
		switch {
		case r.Counters != nil:
			r.Counters.Aged = memory.Aged{}
		case r.Sum != nil:
			for _, scope := range r.Sum.Scopes {
				spent[scope] += r.Sum.Counted
			}
		case r.Account != nil:
			r.Account.Spent -= spent[r.Account.Scope]
		}
		none := r.Account != nil && spent[r.Account.Scope] > 0 && r.Account.Spent == 0 && r.Account.Reserved == 0
		return r.Access != nil || r.Room != nil || r.Sum != nil || none
	})
}

func TestRevisionNumbersAreWrittenOnlyAfterAGap(t *testing.T) {
	t.Parallel()
	body := memory.Raw(`{"id":"a","agent":"x","kind":"episode","content":"a"}`)
	item := func(numbers ...int) []memory.Record {
		k := memory.KeptItem{Agent: "x", ID: "a", Kind: string(dream.KindEpisode)}
		for _, n := range numbers {
			k.Revisions = append(k.Revisions,
				memory.KeptRevision{Number: n, Cause: "import", At: time.Unix(1, 0).UTC(), Body: body})
		}
		return []memory.Record{{Item: &k}}
	}
	for _, c := range []struct{ listed, are []int }{
		{[]int{0}, []int{1}},
		{[]int{0, 0, 0}, []int{1, 2, 3}},
		{[]int{3, 0}, []int{3, 4}},
		{[]int{0, 3, 0, 7}, []int{1, 3, 4, 7}},
	} {
		records := item(c.listed...)
		require.Equal(t, c.are, records[0].Item.Numbers())
		again := item(make([]int, len(c.listed))...)[0].Item
		again.SetNumbers(c.are)
		require.Equal(t, records[0].Item, again)
		got, err := read(bytes.NewReader(write(t, records)))
		require.NoError(t, err)
		require.Equal(t, records, got)
	}
	for _, result := range [][]int{{1}, {-1}, {0, 2}, {0, 1}, {3, 4}, {5, 3}} {
		_, err := archive.Count(memorytest.Fill(item(result...)))
		require.ErrorContains(t, err, "is numbered", result)
	}
	file := strings.Replace(string(write(t, item(0, 3))), `"version":6`, `"version":3`, 1)
	_, err := read(strings.NewReader(file))
	require.ErrorContains(t, err, "version 3 does not number revisions")
}

func TestTwoKeysOfOneHashAreRefused(t *testing.T) {
	t.Parallel()
	body := func(id string) memory.Record {
		return memory.Record{
			Key: &memory.KeptKey{ID: id, Hash: "h", Body: memory.Raw(`{"id":"` + id + `","hash":"h"}`)},
		}
	}
	_, err := archive.Count(memorytest.Fill([]memory.Record{body("a"), body("b")}))
	require.ErrorContains(t, err, "two keys")
	wrong := body("a")
	wrong.Key.Hash = "other"
	_, err = archive.Count(memorytest.Fill([]memory.Record{wrong}))
	require.ErrorContains(t, err, "has another id or hash")
}

func TestKeysRequiredIsWrittenOnlyWhereTheKeysDoNotImplyIt(t *testing.T) {
	t.Parallel()
	key := memory.Record{Key: &memory.KeptKey{ID: "a", Hash: "h", Body: memory.Raw(`{"id":"a","hash":"h"}`)}}
	says := func(required bool) memory.Record {
		return memory.Record{Access: &memory.KeptAccess{KeysRequired: required}}
	}
	for _, right := range [][]memory.Record{{says(true)}, {key, says(false)}} {
		_, err := archive.Count(memorytest.Fill(right))
		require.NoError(t, err)
	}
	for _, wrong := range [][]memory.Record{
		{says(false)},
		{key, says(true)},
		{says(true), says(true)},
		{says(true), key},
	} {
		_, err := archive.Count(memorytest.Fill(wrong))
		require.Error(t, err)
	}
}

func TestADiskErrorIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is full")
	_, err := archive.Write(failing{broken}, memorytest.Fill(memorytest.Deployment(1, small)))
	require.ErrorIs(t, err, broken)
	_, err = read(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	var b bytes.Buffer
	_, err = archive.Write(&b, memorytest.CutAfter(7, memorytest.Deployment(1, small)))
	require.ErrorIs(t, err, memorytest.ErrCut)
	_, err = read(&b)
	require.Error(t, err, "it has no seal")
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestRecordsInTheWrongOrderAreRefused(t *testing.T) {
	t.Parallel()
	made := memorytest.Deployment(4, small)
	for i := 1; i < len(made); i++ {
		if made[i].Attempt != nil && made[i-1].Attempt != nil {
			continue // these may come in any order
		}
		swapped := append(append(append([]memory.Record{}, made[:i-1]...), made[i], made[i-1]), made[i+1:]...)
		_, err := archive.Count(memorytest.Fill(swapped))
		require.Error(t, err, "records %d and %d", i-1, i)
	}
	for _, none := range []memory.Record{{}, {Feed: made[0].Feed, Answer: &memory.KeptAnswer{Step: "s"}}} {
		_, err := archive.Count(memorytest.Fill([]memory.Record{none}))
		require.Error(t, err)
	}
}

func TestATextThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	for _, r := range []memory.Record{
		{Feed: &memory.KeptFeed{Name: "a\xff", Body: memory.Raw("{}")}},
		{Note: &memory.KeptNote{Agent: "a\xff", Dream: "d", Key: "k", Value: []byte{}}},
		{Attempt: &memory.KeptAttempt{Step: "s", Attempt: 1, Model: "m\xff"}},
	} {
		_, err := archive.Count(memorytest.Fill([]memory.Record{r}))
		require.ErrorContains(t, err, "UTF-8")
	}
}

// FuzzRead: no input makes the reader panic, and an accepted input is exactly what the writer would write.
func FuzzRead(f *testing.F) {
	for seed := range uint64(3) {
		file := write(f, memorytest.Deployment(seed, tiny))
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	f.Add(write(f, nil))
	f.Add([]byte(`{"oneiros":"archive","version":1}` + "\n" + `{"seal":null}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		records, err := read(bytes.NewReader(text))
		if err == nil {
			require.Equal(t, string(text), string(write(t, records)))
		}
	})
}

// FuzzRecord seals any line, so that the checks behind the checksum are reached too.
func FuzzRecord(f *testing.F) {
	for _, r := range memorytest.Deployment(1, tiny) {
		line, err := json.Marshal(r)
		require.NoError(f, err)
		f.Add(append(line, '\n'))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsRune(line, '\n') && bytes.IndexByte(line, '\n') < len(line)-1 {
			return
		}
		var seen []memory.Record
		for r, err := range archive.Read(
			bytes.NewReader(append([]byte(`{"oneiros":"archive","version":1}`+"\n"), line...))) {
			if err == nil {
				seen = append(seen, r)
			}
		}
		if len(seen) == 1 {
			again, err := json.Marshal(seen[0])
			require.NoError(t, err)
			require.Equal(t, string(line), string(again)+"\n")
		}
	})
}
