package foretelling_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sentence"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/recalling"
)

// audited is how many predictions of a dialogue are judged, half of them by a judge that invents its quotations.
const audited = 50

// TestNoInventedQuotationCountsOnRealTalk lets a scripted judge compare predictions with the last sessions of each
// dialogue. Half of its quotations are whole sentences of them; the others were cut, elided, changed or dreamt. It
// prints ids and verdicts.
func TestNoInventedQuotationCountsOnRealTalk(t *testing.T) {
	files := os.Getenv("LOCOMO")
	if files == "" {
		t.Skip("make bench-foretelling LOCOMO=locomo10.json judges predictions by what was really said")
	}
	for path := range strings.SplitSeq(files, ",") {
		dialogues, err := recalling.Read(path)
		require.NoError(t, err)
		for _, d := range dialogues {
			audit(t, d)
		}
	}
}

func audit(t *testing.T, d recalling.Dialogue) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "memory.db")
	lived, agent := importDialogue(t, t.Context(), file, d, nil)
	store, err := sqlitestore.Open(t.Context(), file)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	last := lived[len(lived)-1].At
	cut := lived[len(lived)*7/10].At
	w := memory.Write{Agent: agent.ID, Cause: "audit"}
	judge := &quoter{spoken: map[string]string{}}
	for _, e := range lived {
		if len(w.Add) == 2*audited || !e.At.After(cut) {
			continue
		}
		for _, s := range sentence.Split(e.Content) {
			_, spoken, named := strings.Cut(s, ": ")
			if !named {
				spoken = s
			}
			if words := len(strings.Fields(spoken)); words < 7 || words > 30 || judge.spoken[spoken] != "" {
				continue
			}
			n := len(judge.spoken)
			judge.spoken[spoken] = fmt.Sprintf("pr_%03d", n)
			w.Add = append(w.Add, &dream.Prediction{
				Head: dream.Head{
					ID:    judge.spoken[spoken],
					Agent: agent.ID,
					Kind:  dream.KindPrediction,
					At:    cut,
					State: dream.Live,
					Taint: dream.FromHuman,
				},
				Source:     dream.Analytical,
				Claim:      spoken,
				Criterion:  "It is said.",
				Horizon:    last.Add(time.Hour),
				Confidence: .3,
				Session:    dream.ByPerson,
				Status:     dream.PredictionOpen,
			}, &dream.Episode{
				Head: dream.Head{
					ID:    fmt.Sprintf("ep_dreamt_%03d", n),
					Agent: agent.ID,
					Kind:  dream.KindEpisode,
					At:    e.At,
					State: dream.Live,
					Taint: dream.FromDream,
					Dream: "dream/audit/0001",
				},
				Content: dreamtOf(spoken),
			})
			break
		}
	}
	require.Len(t, w.Add, 2*audited, d.Name)
	_, err = store.Commit(t.Context(), w)
	require.NoError(t, err)
	now := func() time.Time { return last.Add(2 * time.Hour) }
	rules := dream.PredictionRules{JudgeDaily: budget.Dollar}
	const model = "house/quoter"
	catalog := inference.Table{model: {
		Name:    model,
		Price:   &budget.Price{},
		Context: 32_000,
		JSON:    inference.JSONSchema,
		Judges:  true,
	}}
	done, err := review.Judge{
		Resolver: review.Resolver{Memory: store, Now: now, Rules: rules},
		Guard:    &spend.Guard{Ledger: store.Ledger(), Model: judge, Catalog: catalog, Now: now},
		Model:    model,
		Holder:   "audit",
	}.Once(t.Context(), agent, true)
	require.NoError(t, err)
	counted := map[bool]int{}
	for _, p := range done.Decided {
		counted[isInvented(p.ID)]++
		fmt.Printf("%s %s: %s\n", d.Name, p.ID, p.Status)
	}
	for _, v := range done.Ignored {
		fmt.Printf("%s %s: ignored, %s\n", d.Name, v.Prediction, v.Reason)
	}
	fmt.Printf("%s: %d compared in %d calls; %d of %d honest quotations counted, %d of %d invented ones\n", d.Name,
		done.Compared, done.Calls, counted[false], judge.given[0], counted[true], judge.given[1])
	require.Zero(t, counted[true], "invented quotations that counted")
	require.Greater(t, 10*counted[false], 8*judge.given[0], "whole sentences that counted")
	require.Positive(t, judge.given[1])
}

// isInvented says whether the judge invents its quotation for a prediction: for every second.
func isInvented(id string) bool { return strings.ContainsAny(id[len(id)-1:], "13579") }

func dreamtOf(spoken string) string { return "In the dream: " + spoken }

// quoter is a judge that says of everything that it is correct, with quotations that are honest or invented.
type quoter struct {
	spoken map[string]string // ids of predictions, by claim
	given  [2]int            // honest and invented quotations
}

var openClaim = regexp.MustCompile(`(?m)^- \[(p\d+)\] made \S+, due \S+: (.+) What would show it: .* Compare it with (.+)\.$`)

func (q *quoter) Generate(_ context.Context, r inference.Request, _ func(string) bool) (inference.Answer, error) {
	text := r.Messages[1].Content
	type outcome struct {
		Ref       string `json:"ref"`
		Verdict   string `json:"verdict"`
		Memory    string `json:"memory"`
		Quotation string `json:"quotation"`
	}
	var all []outcome
	for _, m := range openClaim.FindAllStringSubmatch(text, -1) {
		spoken, id, memory := m[2], "", ""
		for claim, ofClaim := range q.spoken {
			if strings.Join(strings.Fields(claim), " ") == spoken {
				id = ofClaim
			}
		}
		for _, ref := range strings.Split(m[3], ", ") {
			_, line, _ := strings.Cut(text, "["+ref+"] ")
			line, _, _ = strings.Cut(line, "\n")
			if strings.Contains(line, spoken) {
				memory = ref
			}
		}
		if memory == "" { // the search did not find it
			continue
		}
		o := outcome{m[1], "correct", memory, spoken}
		if isInvented(id) {
			o.Quotation = invent(spoken, q.given[1])
			q.given[1]++
		} else {
			q.given[0]++
		}
		if os.Getenv("SHOW") != "" {
			fmt.Printf("    %s says %q; quoted: %q\n", id, spoken, o.Quotation)
		}
		all = append(all, o)
	}
	body, err := json.Marshal(map[string]any{"outcomes": all})
	return inference.Answer{Text: string(body), Finish: inference.Stopped, UsageFrom: inference.ByProvider}, err
}

func (q *quoter) Embed(context.Context, string, []string, string) (inference.Vectors, error) {
	return inference.Vectors{}, errors.New("it does not embed")
}

// invent changes a sentence in one of six ways.
func invent(spoken string, n int) string {
	words := strings.Fields(spoken)
	half := len(words) / 2
	switch n % 6 {
	case 0: // cut at the end
		return strings.Join(words[:len(words)-2], " ")
	case 1: // cut at the beginning
		return strings.Join(words[2:], " ")
	case 2: // elided
		return strings.Join(words[:half-1], " ") + " … " + strings.Join(words[half+1:], " ")
	case 3: // false
		words[half] = "never"
		return strings.Join(words, " ")
	case 4: // of a dream
		return dreamtOf(spoken)
	}
	return strings.Join(words[:half], " ") + "..." // cut, and marked as cut
}
