package derive

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAHardWrapIsNoEndOfASentence(t *testing.T) {
	t.Parallel()
	wrapped := "First day at the weather station. The hut below it smells of pencil\nshavings and wet wool. Tomas showed me how to read the old barometer by\nDr. Hale: tap the glass once,\nand wait.\nRain again, and the evening boat and\nits people"
	require.Equal(t, []string{
		"First day at the weather station.",
		"The hut below it smells of pencil shavings and wet wool.",
		// a short line is one of its own
		"Tomas showed me how to read the old barometer by Dr. Hale: tap the glass once,",
		"and wait.",
		"Rain again, and the evening boat and its people", // a longer one may lead on
	}, Sentences(wrapped))
	for _, kept := range []string{
		"hey\nwhat's up",
		"Milk\nEggs\nBread",
		"Things to take along to the harbour when the wind is up\n- rope\n- the glass",
		"Things to take along to the harbour when wind is up:\nRope",
		strings.Repeat("one long line that nothing has wrapped ", 9) + "\nand another",
	} {
		require.Equal(t, kept, unwrapped(kept))
	}
}

func TestQuotationMarksAlwaysClose(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`Gina: “I used to compete in a few shows.`: `“Gina: ‘I used to compete in a few shows.’”`,
		`"I went home.`:                `“I went home.”`,
		`Then I slept."`:               `“Then I slept.”`,
		`"Brave" by Sara means a lot.`: `“'Brave' by Sara means a lot.”`,
		`“It blew.”`:                   `“It blew.”`,
		`It blew.”`:                    `“It blew.”`,
		`She said "stay" and left.`:    `“She said 'stay' and left.”`,
	} {
		require.Equal(t, want, Quoted(text), text)
	}
	require.Equal(t, "He said: “Tap the glass.”", passage("He said: “Tap the glass. Wait for the second look.”", 30))
	require.Equal(t, "And then the rain came.", standalone("and then the rain came."))
	require.Equal(t, "iPhones ring.", standalone("iPhones ring."))
	long := Quoted(gist(strings.Repeat("a gust after a gust ", 20), 60))
	require.True(t, strings.HasSuffix(long, "…”"), long)
}

func TestSubjectsAgreeWithTheirVerb(t *testing.T) {
	t.Parallel()
	for what, many := range map[string]bool{
		"gulls": true, "the children": true, "ferry office": false, "news": false,
		"glass": false, "bus": false, "rope ladders": true, "physics": false,
	} {
		require.Equal(t, many, inPlural(what), what)
	}
	k := NewKnowledge("a")
	at := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	tell := func(what string) string {
		return asSentence(k.reportTopic(&topic{first: at, trace: trace{last: at}, seen: 2, the: 2}, what, false))
	}
	require.Equal(t, "The gulls come up again and again.", tell("gulls"))
	require.Equal(t, "The boat comes up again and again.", tell("boat"))
	require.True(t, mentions("two signs of wind", "sign"))
	require.False(t, mentions("a lot of significance", "sign"))
}
