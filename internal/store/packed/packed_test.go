package packed_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// prediction is an example of the items that stores keep most of.
const prediction = `{"id":"dream/iris/0007/onset/1.2/p","agent":"ag_7","kind":"prediction","at":"2026-10-28T22:00:00Z","state":"live",` +
	`"taint":"dream","dream":"dream/iris/0007","phase":"onset","sources":["ep_40da1c0435a7c624","ep_a0aa7457bf01f169"],` +
	`"source":"creative","claim":"","criterion":"Within 14 days something happens that this describes; a person or a rule says so. ` +
	`Otherwise it was wrong.","horizon":"2026-11-11T22:00:00Z","confidence":0.15,"session":"dream/iris/0007",` +
	`"episodes":["ep_40da1c0435a7c624","ep_a0aa7457bf01f169"],"fragment":"dream/iris/0007/onset/1.2","trace":"rank 3 of 14 by ` +
	`composite","status":"open"}`

func TestUnpackReturnsWhatWasPacked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		plain string
		near  []string
	}{
		{"", nil},
		{"{}", nil},
		{prediction, nil},
		{prediction, []string{"dream/iris/0007/onset/1.2/p"}},
		{prediction, []string{"", "two", "texts"}},
		{"\x00\xff no JSON", []string{"\xff"}},
		{strings.Repeat("a long text ", 9000), []string{strings.Repeat("a text longer than the window ", 4000)}},
	} {
		got, err := packed.Unpack(packed.Pack([]byte(c.plain), c.near...), c.near...)
		require.NoError(t, err)
		require.Equal(t, c.plain, string(got))
	}
}

func TestItemsOfDreamsGetShort(t *testing.T) {
	t.Parallel()
	require.Less(t, len(packed.Pack([]byte(prediction))), len(prediction)/4)
	require.Less(t, len(packed.Pack([]byte(prediction), "dream/iris/0007/onset/1.2/p")), len(prediction)/4-8)
	text := "Somebody wrote this down beside it, and it is said again."
	require.Less(t, len(packed.Pack([]byte(`{"content":"`+text+`"}`), text)), 20)
}

// Files of all versions contain data that was packed with this dictionary.
func TestTheFirstDictionaryIsUnchanged(t *testing.T) {
	t.Parallel()
	dictionary, err := os.ReadFile("dictionary1.txt")
	require.NoError(t, err)
	sum := sha256.Sum256(dictionary)
	require.Equal(t, "3106476edeb49b63f96a05f468ecf17832e0699d895bc735d6d5a0a22ce598b7", hex.EncodeToString(sum[:]),
		"do not change dictionary1.txt; add a dictionary2.txt with another form")
	before, err := hex.DecodeString(
		"014219ccc4aa02693833313dde9ca8393a0bf20734e16e2038a06962909268986c60626c9a689e6c66049d734f34484c343731354f4a33304c3334b31c52f376868624cedb218716dabc1df1c183319787251da0cfe51913359707080000ffff")
	require.NoError(t, err)
	plain, err := packed.Unpack(before, "dream/iris/0007/onset/1.2/p")
	require.NoError(t, err)
	require.Equal(t, prediction, string(plain))
}

func TestUnpackRefusesOtherBytes(t *testing.T) {
	t.Parallel()
	whole := packed.Pack([]byte(prediction))
	for name, bad := range map[string][]byte{
		"nothing": nil, "no form": {}, "another form": append([]byte{2}, whole[1:]...), "JSON": []byte(prediction),
		"cut off":    whole[:len(whole)-3],
		"no DEFLATE": {1, 0xff, 0xff, 0xff},
	} {
		_, err := packed.Unpack(bad)
		require.ErrorIs(t, err, packed.ErrForm, name)
	}
}

func TestUnpackLimitsItsOutput(t *testing.T) {
	t.Parallel()
	_, err := packed.Unpack(packed.Pack(bytes.Repeat([]byte{'a'}, 65<<20)))
	require.ErrorContains(t, err, "larger than")
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{}, "")
	f.Add(packed.Pack([]byte(prediction), "near"), "near")
	f.Add([]byte{1, 3, 0}, "x")
	f.Fuzz(func(t *testing.T, given []byte, near string) {
		plain, err := packed.Unpack(given, near)
		if err != nil {
			require.ErrorIs(t, err, packed.ErrForm)
			return
		}
		again, err := packed.Unpack(packed.Pack(plain, near), near)
		require.NoError(t, err)
		require.Equal(t, plain, append([]byte{}, again...))
	})
}

func BenchmarkPack(b *testing.B) {
	for b.Loop() {
		packed.Pack([]byte(prediction), "dream/iris/0007/onset/1.2/p")
	}
}

func BenchmarkUnpack(b *testing.B) {
	short := packed.Pack([]byte(prediction), "dream/iris/0007/onset/1.2/p")
	for b.Loop() {
		if _, err := packed.Unpack(short, "dream/iris/0007/onset/1.2/p"); err != nil {
			b.Fatal(err)
		}
	}
}
