// Package recalling measures how well an agent's recall finds the turns of a conversation that answer a question
// (LoCoMo's form).
package recalling

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Question is one of a dialogue's, with the turns that answer it.
type Question struct {
	Number   int // in the file, from 1
	Text     string
	Category int // 1 multi-hop, 2 temporal, 3 open, 4 single-hop, 5 about things never said
	Evidence []string
}

// Dialogue is one conversation of a file.
type Dialogue struct {
	Name      string
	File      string
	Questions []Question
}

var turnName = regexp.MustCompile(`D(\d+):(\d+)`)

// Read reads the questions of a file in LoCoMo's form. A question of the categories 1 to 4 without evidence is left
// out.
func Read(path string) ([]Dialogue, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the dialogues: %w", err)
	}
	var file []struct {
		Sample string `json:"sample_id"`
		QA     []struct {
			Question string   `json:"question"`
			Evidence []string `json:"evidence"`
			Category int      `json:"category"`
		} `json:"qa"`
	}
	if err := json.Unmarshal(body, &file); err != nil {
		return nil,
			fmt.Errorf("%s is not in LoCoMo's form, a list of dialogues with sample_id, conversation and qa: %w",
				path, err)
	}
	var out []Dialogue
	for _, in := range file {
		d := Dialogue{Name: in.Sample, File: path}
		for i, q := range in.QA {
			question := Question{Number: i + 1, Text: q.Question, Category: q.Category}
			for _, e := range q.Evidence {
				for _, m := range turnName.FindAllStringSubmatch(e, -1) {
					session, _ := strconv.Atoi(m[1])
					turn, _ := strconv.Atoi(m[2])
					question.Evidence = append(question.Evidence, fmt.Sprintf("D%d:%d", session, turn))
				}
			}
			if len(question.Evidence) > 0 || q.Category == NeverSaid {
				d.Questions = append(d.Questions, question)
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// NeverSaid is the category of questions about things that the dialogue does not say.
const NeverSaid = 5

// turnsOf are the turns that an episode's origin names.
func turnsOf(origin string) []string {
	_, names, _ := strings.Cut(origin, ":")
	var turns []string
	for name := range strings.SplitSeq(names, ",") {
		_, turn, ok := strings.Cut(name, "/")
		if ok {
			turns = append(turns, turn)
		}
	}
	return turns
}
