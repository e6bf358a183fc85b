package utterance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCorrects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		earlier, later string
		sameTalk, want bool
	}{
		{"My port is 5432.", "My port is 5433.", false, true},
		{"My port is 5432.", "My port is 5432.", false, false},
		{"My port is 5432.", "Hi! My port is 5433. Thanks.", false, true},
		{"My port is 5432. Anna likes tea.", "My port is 5433.", false, false}, // the rest would go too
		{"My port is 5432.", "No, it's 5433.", true, true},
		{"My port is 5432.", "No, it's 5433.", false, false},
		{"I like tea.", "No, I hate it.", true, false},
		{"The meeting is on Tuesday.", "No, thanks.", true, false},
		{"The meeting is on Tuesday.", "Sorry, I meant Friday.", true, true},
		{"My favourite book is Dune.", "My favourite film is Alien.", false, false},
		{"My favourite book is Dune.", "My favourite film is now Alien.", false, false},
		{"My favourite book is Dune.", "My favourite book is now Emma.", false, true},
		{"The code for the gym is 4471.", "The code for the garage is 9023.", false, false},
		{"My phone number is 555 0141.", "My phone number at work is 555 0188.", false, false},
		{"Пароль от вайфая лето5.", "Пароль от почты зима7.", false, false},
		{"We are vegetarians.", "We are hungry now.", false, false},
		{"Anna is a nurse.", "Anna is in Paris now.", false, false},
		{"Anna is in Rome.", "Anna is in Paris now.", false, true},
		{"My mother is 70.", "My motor is 71.", false, false},
		{"My portrait is blue.", "My portrait is heavy.", false, false},
		{"I live in Berlin.", "I live in Rome in winter.", false, false},
		{"I live in Berlin.", "I moved from Rome to Paris.", false, false},
		{"I work in Berlin.", "I flew from Berlin to Paris.", false, false},
		{"I was born in Berlin.", "I moved from Berlin to Hamburg.", false, false},
		{"I have two cats.", "I have three cats now.", false, true},
		{"I have a cat.", "I have a dog now.", false, false},
		{"", "My port is 5433.", true, false},
		{"My port is 5432.", "", true, false},
	} {
		require.Equal(t, c.want, Corrects(c.earlier, c.later, c.sameTalk), "%q, %q", c.earlier, c.later)
	}
}

func TestSameAndRepeats(t *testing.T) {
	t.Parallel()
	require.True(t, Same("I live in York.", "Please remember that I live in York!"))
	require.False(t, Same("My port is 5432.", "My port is 5433."))
	require.False(t, Same("Anna likes Tom.", "Tom likes Anna."))
	require.False(t, Same("Anna is allergic to nuts.", "Anna is not allergic to nuts."))
	require.True(t, Same("娘が二人います。", "娘が二人います"))
	shown := "(human)\n> The keeper paints 12 lanterns red.\n> Anna lives in York."
	require.True(t, Repeats("Please remember: the keeper paints 12 lanterns red!", shown))
	require.False(t, Repeats("The keeper paints 13 lanterns red.", shown))
	require.False(t, Repeats("Anna lives in Leeds.", shown))
	require.False(t, Repeats("…", shown))
}

func FuzzCorrects(f *testing.F) {
	f.Add("My port is 5432.", "No, it's 5433 now.", true)
	f.Add("大阪に住んでいます。", "今は京都に住んでいます。", false)
	f.Fuzz(func(t *testing.T, earlier, later string, sameTalk bool) {
		if len(earlier)+len(later) > 2000 {
			return
		}
		Repeats(earlier, later)
		if Corrects(earlier, later, sameTalk) && Same(earlier, later) {
			t.Fatalf("%q corrects itself", earlier)
		}
	})
}
