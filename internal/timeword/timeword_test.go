package timeword_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/timeword"
)

// now is a Wednesday.
var now = time.Date(2026, 11, 18, 15, 30, 0, 0, time.FixedZone("", 3600))

func TestTheTimeThatAQuestionSpeaksOf(t *testing.T) {
	t.Parallel()
	for question, want := range map[string][2]string{
		"What did I do yesterday?":                    {"2026-11-17", "2026-11-18"},
		"Was habe ich gestern gemacht?":               {"2026-11-17", "2026-11-18"},
		"Qu'ai-je dit hier soir ?":                    {"2026-11-17", "2026-11-18"},
		"Qu'est-ce que nous avons mangé hier ?":       {"2026-11-17", "2026-11-18"},
		"Что я делал вчера?":                          {"2026-11-17", "2026-11-18"},
		"昨日は何をした?":                                    {"2026-11-17", "2026-11-18"},
		"我昨天说了什么?":                                    {"2026-11-17", "2026-11-18"},
		"And the day before yesterday?":               {"2026-11-16", "2026-11-17"},
		"Tell me about today, please":                 {"2026-11-18", "2026-11-19"},
		"What happened last week?":                    {"2026-11-09", "2026-11-16"},
		"this week's plans":                           {"2026-11-16", "2026-11-23"},
		"letzten Monat":                               {"2026-10-01", "2026-11-01"},
		"el año pasado":                               {"2025-01-01", "2026-01-01"},
		"Who called three days ago?":                  {"2026-11-15", "2026-11-16"},
		"vor 10 Tagen":                                {"2026-11-07", "2026-11-10"},
		"il y a deux semaines":                        {"2026-11-01", "2026-11-08"},
		"3 недели назад":                              {"2026-10-25", "2026-11-01"},
		"two months ago":                              {"2026-09-03", "2026-10-04"},
		"2年前":                                         {"2024-07-18", "2025-03-19"},
		"What did Anna say on Monday?":                {"2026-11-16", "2026-11-17"},
		"last Wednesday":                              {"2026-11-11", "2026-11-12"},
		"am Sonntag":                                  {"2026-11-15", "2026-11-16"},
		"am Samstag":                                  {"2026-11-14", "2026-11-15"},
		"am Sonnabend":                                {"2026-11-14", "2026-11-15"},
		"le dimanche":                                 {"2026-11-15", "2026-11-16"},
		"el lunes":                                    {"2026-11-16", "2026-11-17"},
		"the party on 5 March":                        {"2026-03-05", "2026-03-06"},
		"am 24. Dezember":                             {"2025-12-24", "2025-12-25"},
		"December 3rd, 2024":                          {"2024-12-03", "2024-12-04"},
		"In March we sailed":                          {"2026-03-01", "2026-04-01"},
		"in December":                                 {"2025-12-01", "2026-01-01"},
		"What was decided on 2026-02-28?":             {"2026-02-28", "2026-03-01"},
		"am 1.2.2026":                                 {"2026-02-01", "2026-02-02"},
		"Where did I live in 2019?":                   {"2019-01-01", "2020-01-01"},
		"Was it yesterday or last week that we met?":  {"2026-11-17", "2026-11-18"},
		"2 days ago, not on Monday, the boat was red": {"2026-11-16", "2026-11-17"},
	} {
		got, ok := timeword.Find(question, now)
		require.True(t, ok, question)
		require.Equal(t, want[0], got.From.Format(time.DateOnly), question)
		require.Equal(t, want[1], got.Until.Format(time.DateOnly), question)
		require.Equal(t, now.Location(), got.From.Location())
	}
}

func TestANightCrossesMidnight(t *testing.T) {
	t.Parallel()
	got, ok := timeword.Find("What did you dream last night?", now)
	require.True(t, ok)
	require.True(t, got.Holds(time.Date(2026, 11, 17, 23, 0, 0, 0, now.Location())))
	require.True(t, got.Holds(time.Date(2026, 11, 18, 2, 0, 0, 0, now.Location())))
	require.False(t, got.Holds(time.Date(2026, 11, 18, 7, 0, 0, 0, now.Location())))
}

func TestMostQuestionsSpeakOfNoTime(t *testing.T) {
	t.Parallel()
	for _, question := range []string{
		"", "What is my dog called?", "May I march on?", "Wer wohnt hier?", "Tomorrow, perhaps",
		"Where is the second of my boats?",
		"yesterdays", "port 5433", "It costs 2019 dollars", "on 31 February", "In 2031", "version 1.2.3",
		"the Sunday paper of Monday Inc",
	} {
		got, ok := timeword.Find(question, now)
		require.False(t, ok, "%q: %v", question, got)
	}
}

func FuzzFind(f *testing.F) {
	for _, question := range []string{
		"yesterday", "vor 9999 Jahren", "0 days ago", "\xff昨日", "on 99 march 0000",
		"in 1900",
	} {
		f.Add(question, int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, question string, unix int64) {
		at := time.Unix(unix%(1<<40), 0).UTC()
		if s, ok := timeword.Find(question, at); ok {
			require.True(t, s.From.Before(s.Until))
			require.False(t, s.From.After(at))
		}
	})
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		timeword.Find(
			"What did we say about the bees in the garden behind the old lighthouse of Skagen, and who paid for the paint?",
			now)
	}
}
