package main

import (
	"os"
	"slices"
	"strings"
)

// task is what tables are compared by: memories, and questions with the memories that answer each.
type task struct {
	Memories  []string `json:"memories"`
	Questions []struct {
		Text    string `json:"text"`
		Answers []int  `json:"answers"`
	} `json:"questions"`
}

// development makes a task of pairs "fact | question" among other sentences.
func development(file string, among []string) (task, error) {
	var t task
	data, err := os.ReadFile(file)
	if err != nil {
		return t, err
	}
	for line := range strings.Lines(string(data)) {
		fact, question, found := strings.Cut(strings.TrimSpace(line), " | ")
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		t.Questions = append(t.Questions, struct {
			Text    string `json:"text"`
			Answers []int  `json:"answers"`
		}{question, []int{len(t.Memories)}})
		t.Memories = append(t.Memories, fact)
	}
	t.Memories = append(t.Memories, among...)
	return t, nil
}

// score is the share of questions with an answer among the first k, for each k, and the mean of 1/rank.
func (t task) score(embed func(string) []float32, ks ...int) (hits []float64, reciprocal float64) {
	places := make([][]float32, len(t.Memories))
	parallel(len(places), func(i int) { places[i] = embed(t.Memories[i]) })
	ranks := make([]int, len(t.Questions))
	parallel(len(ranks), func(q int) {
		sought := embed(t.Questions[q].Text)
		cosines := make([]float64, len(places))
		best := -2.0
		for i, p := range places {
			for j, x := range sought {
				cosines[i] += float64(x) * float64(p[j])
			}
			if slices.Contains(t.Questions[q].Answers, i) {
				best = max(best, cosines[i])
			}
		}
		for _, c := range cosines {
			if c > best {
				ranks[q]++
			}
		}
	})
	hits = make([]float64, len(ks))
	for _, r := range ranks {
		reciprocal += 1 / float64(r+1) / float64(len(ranks))
		for i, k := range ks {
			if r < k {
				hits[i] += 1 / float64(len(ranks))
			}
		}
	}
	return hits, reciprocal
}
