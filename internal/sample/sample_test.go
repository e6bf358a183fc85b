package sample_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/sample"
)

// line is every field that a sample memory may have. Pointers tell a missing number from zero.
type line struct {
	Kind       dream.Kind  `json:"kind"`
	At         time.Time   `json:"at"`
	Session    string      `json:"session"`
	Speaker    string      `json:"speaker"`
	Context    string      `json:"context"`
	Action     string      `json:"action"`
	Outcome    string      `json:"outcome"`
	Content    string      `json:"content"`
	Salience   *float64    `json:"salience"`
	Surprise   *float64    `json:"surprise"`
	Strength   *float64    `json:"strength"`
	Confidence *float64    `json:"confidence"`
	Affect     *mood.PAD   `json:"affect"`
	Taint      dream.Taint `json:"taint"`
}

func (l line) texts() []string {
	if l.Kind == dream.KindEpisode {
		return []string{l.Context, l.Action, l.Outcome, l.Content}
	}
	return []string{l.Content}
}

func read(t *testing.T, diary sample.Diary) []line {
	t.Helper()
	var all []line
	for _, raw := range bytes.Split(bytes.TrimSuffix(diary.Memories, []byte("\n")), []byte("\n")) {
		var l line
		strict := json.NewDecoder(bytes.NewReader(raw))
		strict.DisallowUnknownFields()
		require.NoError(t, strict.Decode(&l), "%s", raw)
		_, err := dream.Decode(l.Kind, raw)
		require.NoError(t, err, "%s", raw)
		all = append(all, l)
	}
	return all
}

func of(kind dream.Kind, all []line) []line {
	var some []line
	for _, l := range all {
		if l.Kind == kind {
			some = append(some, l)
		}
	}
	return some
}

func TestBothAgentsAreValidAndNobodyElseIsShipped(t *testing.T) {
	t.Parallel()
	agentStates := sample.Diaries()
	require.Len(t, agentStates, 2)
	require.Equal(t, "sample-echo", agentStates[0].Agent.ID)
	require.Equal(t, "sample-tally", agentStates[1].Agent.ID)
	for _, diary := range agentStates {
		require.NoError(t, diary.Agent.Validate())
		require.Equal(t, dream.Hardened, diary.Agent.Tier)
		require.Equal(t, dream.DefaultCaps, diary.Agent.Caps)
		require.False(t, diary.Agent.Auto)
		require.NotEmpty(t, diary.Agent.Persona)
		require.NotEmpty(t, diary.Agent.Interests)
		require.False(t, diary.Agent.Created.After(read(t, diary)[0].At))
	}
}

func TestChangingADiaryLeavesTheNextOneWhole(t *testing.T) {
	t.Parallel()
	first := sample.Diaries()
	first[0].Memories[0] = 'x'
	first[0].Agent.Interests[0] = "nothing"
	require.NotEqual(t, first[0].Memories[0], sample.Diaries()[0].Memories[0])
	require.NotEqual(t, first[0].Agent.Interests[0], sample.Diaries()[0].Agent.Interests[0])
}

func TestEachDiaryHasEnoughOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, diary := range sample.Diaries() {
		all := read(t, diary)
		episodes := of(dream.KindEpisode, all)
		semantics := of(dream.KindSemantic, all)
		playbook := of(dream.KindPlaybook, all)
		require.GreaterOrEqual(t, len(episodes), 150)
		require.GreaterOrEqual(t, len(semantics), 24)
		require.GreaterOrEqual(t, len(playbook), 4)
		require.LessOrEqual(t, len(playbook), 6)
		require.Len(t, all, len(episodes)+len(semantics)+len(playbook), "no other kinds")

		salient, startling := 0, 0
		for _, l := range episodes {
			if *l.Salience >= .7 {
				salient++
			}
			if *l.Surprise > .7 {
				startling++
			}
		}
		require.GreaterOrEqual(t, salient, 25)
		require.InDelta(t, .10, float64(startling)/float64(len(episodes)), .03)
	}
}

func TestEveryFieldIsThereAndInRange(t *testing.T) {
	t.Parallel()
	within := func(v *float64, low, high float64, where string) {
		require.NotNil(t, v, where)
		require.True(t, *v >= low && *v <= high, "%v is outside [%v, %v]: %s", *v, low, high, where)
	}
	for _, diary := range sample.Diaries() {
		for _, l := range read(t, diary) {
			switch l.Kind {
			case dream.KindEpisode:
				require.Equal(t, l.At.Format(time.DateOnly), l.Session)
				require.NotEmpty(t, l.Speaker, l.Content)
				within(l.Salience, 0, 1, l.Content)
				within(l.Surprise, 0, 1, l.Content)
				require.NotNil(t, l.Affect, l.Content)
				require.NoError(t, l.Affect.Validate())
				require.Contains(t, []dream.Taint{dream.FromHuman, dream.FromAgent, dream.FromTool}, l.Taint)
			case dream.KindSemantic:
				within(l.Strength, .2, .9, l.Content)
				require.NotNil(t, l.Affect, l.Content)
				require.NoError(t, l.Affect.Validate())
				require.Equal(t, dream.FromAgent, l.Taint)
			default:
				within(l.Confidence, 0, 1, l.Content)
				require.Equal(t, dream.FromHuman, l.Taint, "a person wrote the playbook")
			}
		}
	}
}

func TestMemoriesAscendFromMayToOctober(t *testing.T) {
	t.Parallel()
	from, until := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
	for _, diary := range sample.Diaries() {
		last := from
		for _, l := range read(t, diary) {
			require.Equal(t, time.UTC, l.At.Location())
			require.True(t, l.At.After(last), "%s does not come after %s", l.At, last)
			require.True(t, l.At.Before(until), "%s", l.At)
			last = l.At
		}
	}
}

var (
	sentenceEnd = regexp.MustCompile(`[.?!] `)
	plain       = regexp.MustCompile(`^[A-Z0-9][A-Za-z0-9 ,.;:?!'-]*[.?!]$`)
	number      = regexp.MustCompile(`[0-9]`)
)

func sentences(text string) []string {
	return sentenceEnd.Split(strings.ReplaceAll(text, "Mrs. ", "Mrs "), -1)
}

func TestProseIsPlainShortAndNeverSaidTwice(t *testing.T) {
	t.Parallel()
	values := map[string]bool{}
	for _, diary := range sample.Diaries() {
		for _, l := range read(t, diary) {
			for _, text := range l.texts() {
				require.Regexp(t, plain, text)
				require.NotContains(t, text, "  ")
				require.LessOrEqual(t, len(sentences(text)), 3, text)
				for _, s := range sentences(text) {
					key := strings.ToLower(strings.TrimRight(s, ".?!"))
					require.False(t, values[key], "said twice: %s", s)
					values[key] = true
				}
			}
		}
	}
}

func TestContentsAreLongEnoughToQuoteAndOpenInManyWays(t *testing.T) {
	t.Parallel()
	for _, diary := range sample.Diaries() {
		episodes := of(dream.KindEpisode, read(t, diary))
		words, openings := 0, map[string]int{}
		for _, l := range episodes {
			fields := strings.Fields(l.Content)
			require.GreaterOrEqual(t, len(fields), 15, l.Content)
			require.LessOrEqual(t, len(fields), 50, l.Content)
			words += len(fields)
			openings[fields[0]]++
		}
		average := float64(words) / float64(len(episodes))
		require.InDelta(t, 30, average, 5, "words of a content, on average")
		for word, times := range openings {
			require.LessOrEqual(t, times, len(episodes)/5, "too many contents open with %q", word)
		}
	}
}

func TestTallyThinksInNumbersAndSomeKnowledgeHasFiguresToLose(t *testing.T) {
	t.Parallel()
	agentStates := sample.Diaries()
	numbered := 0
	episodes := of(dream.KindEpisode, read(t, agentStates[1]))
	for _, l := range episodes {
		if number.MatchString(strings.Join(l.texts(), " ")) {
			numbered++
		}
	}
	require.Greater(t, numbered, len(episodes)/2)
	for _, diary := range agentStates {
		specific := 0
		for _, l := range of(dream.KindSemantic, read(t, diary)) {
			if number.MatchString(l.Content) {
				specific++
			}
		}
		require.GreaterOrEqual(t, specific, 10, diary.Agent.Handle)
	}
}
