package formats

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

type locomoDialogue struct {
	Sample       json.RawMessage            `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
}

type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// The file has the time at which a session began; its exchanges are set a minute apart from there.
const locomoPace = 30 * time.Second

var locomoSession = regexp.MustCompile(`^session_(\d{1,6})$`)

// readLoCoMo reads the conversations only. Questions, answers, summaries and observations in the file belong to the
// benchmark and are no memories.
func readLoCoMo(src *Source, to *Sink) error {
	in := elements{in: src.In}
	var names []string
	found := false
	err := in.each(to, func(raw []byte, line int) error {
		var d locomoDialogue
		err := json.Unmarshal(raw, &d)
		sample := scalar(d.Sample)
		number := len(names) + 1
		names = append(names, sample)
		if src.Dialogue != "" && src.Dialogue != sample && src.Dialogue != strconv.Itoa(number) {
			return nil
		}
		found = true
		switch {
		case err != nil:
			to.Bad(line, notJSON(err))
			return nil
		case len(d.Conversation) == 0:
			to.Bad(line, "conversation is missing or empty; a LoCoMo dialogue has one")
			return nil
		}
		if sample == "" {
			sample = "dialogue-" + strconv.Itoa(number)
		}
		return src.locomoTalk(&d, sample, to, line)
	})
	if err == nil && !found && src.Dialogue != "" {
		err = fmt.Errorf("dialogue %q is not in the file; it has %s, also by number 1 to %d", src.Dialogue,
			strings.Join(names, ", "), len(names))
	}
	return err
}

func (s *Source) locomoTalk(d *locomoDialogue, sample string, to *Sink, line int) error {
	x := &exchanger{
		src: s, to: to,
		participants: []string{scalar(d.Conversation["speaker_a"]), scalar(d.Conversation["speaker_b"])},
	}
	if x.participants[0] == "" || x.participants[1] == "" {
		x.participants = nil
	}
	for _, n := range d.sessions() {
		key := "session_" + strconv.Itoa(n)
		var turns []json.RawMessage
		if err := json.Unmarshal(d.Conversation[key], &turns); err != nil {
			to.Bad(line, key+" must be a list of turns")
			continue
		}
		start, dated, err := locomoTime(scalar(d.Conversation[key+"_date_time"]), s.Zone)
		if err != nil {
			to.Bad(line, key+"_date_time: "+err.Error())
		}
		for i, raw := range turns {
			var in locomoTurn
			if err := json.Unmarshal(raw, &in); err != nil {
				to.Bad(line, fmt.Sprintf("%s turn %d: %s", key, i+1, notJSON(err)))
				continue
			}
			if strings.TrimSpace(in.Speaker) == "" {
				to.Bad(line, fmt.Sprintf("%s turn %d: speaker is missing", key, i+1))
				continue
			}
			t := message{
				line:    line,
				Turn:    derive.Turn{Speaker: in.Speaker, Taint: dream.FromHuman, Text: in.words()},
				session: sample + "/" + key,
				undated: !dated,
			}
			if id := oneLine(in.ID); id != "" {
				t.name = sample + "/" + id
			}
			if dated {
				t.when = wallClock(start.Add(time.Duration(i) * locomoPace))
			}
			if err := x.take(t); err != nil {
				return err
			}
		}
		if err := x.end(); err != nil {
			return err
		}
	}
	return nil
}

// sessions are the numbers of the sessions, in order.
func (d *locomoDialogue) sessions() []int {
	var out []int
	for key := range d.Conversation {
		if m := locomoSession.FindStringSubmatch(key); m != nil {
			n, _ := strconv.Atoi(m[1])
			if "session_"+strconv.Itoa(n) == key {
				out = append(out, n)
			}
		}
	}
	sort.Ints(out)
	return out
}

// words of a turn, with the photo that was shown along with them.
func (t locomoTurn) words() string {
	text, caption := oneLine(t.Text), strings.TrimRight(oneLine(t.Caption), ".")
	if caption == "" {
		return text
	}
	for _, opening := range []string{
		"a photo of ", "a photography of ", "a picture of ", "an image of ",
		"a close up of ",
	} {
		caption = strings.TrimPrefix(caption, opening)
	}
	return strings.TrimSpace(text + derive.ShownPhoto + caption + ".)")
}

// locomoTime reads a time such as "1:56 pm on 8 May, 2023" as wall clock of the agent's zone.
func locomoTime(s string, zone *time.Location) (time.Time, bool, error) {
	if s == "" {
		return time.Time{}, false, nil
	}
	plain := strings.ToLower(strings.ReplaceAll(s, ",", ""))
	for _, layout := range []string{
		"3:04 pm on 2 January 2006", "15:04 on 2 January 2006",
		"3:04 pm on January 2 2006", "2 January 2006", "2006-01-02 15:04", "2006-01-02",
	} {
		if at, err := time.ParseInLocation(layout, plain, zone); err == nil {
			return at, true, nil
		}
	}
	return time.Time{}, false, fmt.Errorf("%q is not readable; use the form 1:56 pm on 8 May, 2023", derive.Clip(s, 60))
}
