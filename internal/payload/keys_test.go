package payload_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/payload"
)

func TestTheFirstLineSealsAndAllLinesOpen(t *testing.T) {
	t.Parallel()
	k, err := payload.Parse("# rotated in spring\n\n  " + line("spring") + "\r\n" + line("winter") + "\n")
	require.NoError(t, err)
	require.Equal(t, "spring", k.Newest())
	require.Equal(t, []string{"spring", "winter"}, k.IDs())
	require.False(t, k.Empty())
}

func TestEveryErrorInAKeysFileIsNamedWithoutShowingAKey(t *testing.T) {
	t.Parallel()
	secret := strings.Fields(line("x"))[1]
	cases := []struct{ name, text, want string }{
		{"nothing", "\n# nothing\n", "there is no key"},
		{"one word", secret, "line 1: it has 1 words; it must have two"},
		{"three words", "a b c", "line 1: it has 3 words; it must have two"},
		{"no id", "k/1 " + secret, "line 1: the first word is no key id"},
		{"swapped", secret + " one", "line 1: the first word is no key id"},
		{"no base64", "one " + secret[:10] + "!" + secret[11:], `line 1: key "one" is not base64`},
		{"too short", "one " + secret[:24], `key "one" is 18 bytes long and should be 32`},
		{"no secret", "one " + strings.Repeat("A", 43) + "=", `key "one" is one byte repeated`},
		{
			"an id twice", line("one") + "\n" + "one " + strings.Fields(line("two"))[1],
			`line 2: key id "one" occurs twice`,
		},
		{"a key twice", "one " + secret + "\ntwo " + secret, `line 2: key "two" is the same key as "one"`},
		{"two faults", "a\nb", "line 2: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k, err := payload.Parse(c.text)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), secret[:9])
			require.True(t, k.Empty())
		})
	}
}

func TestANewLineIsAValidLineOfAKeysFile(t *testing.T) {
	t.Parallel()
	one, err := payload.NewLine("2026-11-20", rand.Reader)
	require.NoError(t, err)
	two, err := payload.NewLine("2026-12-24", rand.Reader)
	require.NoError(t, err)
	k, err := payload.Parse(two + "\n" + one)
	require.NoError(t, err)
	require.Equal(t, "2026-12-24", k.Newest())

	_, err = payload.NewLine("two words", rand.Reader)
	require.ErrorContains(t, err, `key id "two words"`)
	_, err = payload.NewLine("id", iotest.ErrReader(errors.New("no chance left")))
	require.ErrorContains(t, err, "no chance left")
}

func TestNoWayOfPrintingShowsAKey(t *testing.T) {
	t.Parallel()
	k := keys(t, "one", "two")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		require.Equal(t, "sealing keys one, two", fmt.Sprintf(verb, k))
	}
	require.Equal(t, "no sealing keys", payload.Keys{}.String())
	require.False(t, bytes.Contains(fmt.Appendf(nil, "%x", k), []byte("61206b6579")))
}
