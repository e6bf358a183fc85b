package formats

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// lineEpisode is an episode as our own JSONL writes it. Everything but at and content may be missing.
type lineEpisode struct {
	dream.Episode
	At       json.RawMessage `json:"at"`
	Salience *float64        `json:"salience"`
	Surprise *float64        `json:"surprise"`
	Affect   *mood.PAD       `json:"affect"`
}

func readJSONL(src *Source, to *Sink) error {
	in := lines{in: src.In}
	return in.each(to, func(line []byte) error {
		var head struct {
			Kind dream.Kind `json:"kind"`
		}
		if line[0] != '{' {
			to.Bad(in.number, "a line must be a JSON object")
			return nil
		}
		if err := json.Unmarshal(line, &head); err != nil {
			to.Bad(in.number, notJSON(err))
			return nil
		}
		if head.Kind == "" || head.Kind == dream.KindEpisode {
			d, err := src.episodeLine(line, in.number)
			if err != nil {
				to.Bad(in.number, err.Error())
				return nil
			}
			to.Read(1)
			return to.Draft(d)
		}
		item, err := src.itemLine(head.Kind, line)
		if err != nil {
			to.Bad(in.number, err.Error())
			return nil
		}
		to.Read(1)
		return to.Item(item, in.number)
	})
}

func notJSON(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		field := strings.TrimPrefix(strings.TrimPrefix(kind.Field, "Episode."), "Head.") // embedded structs
		if number, ok := strings.CutPrefix(kind.Value, "number "); ok {
			return fmt.Sprintf("%s is %s, which is out of range", field, derive.Clip(number, 60))
		}
		return fmt.Sprintf("%s is %s; it must be %s", field, derive.Clip(kind.Value, 60), plainType(kind.Type.String()))
	}
	return "not valid JSON: " + strings.TrimPrefix(err.Error(), "json: ")
}

func plainType(goType string) string {
	switch {
	case strings.Contains(goType, "float"), strings.Contains(goType, "int"):
		return "a number"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.Contains(goType, "PAD"), strings.Contains(goType, "struct"):
		return "an object"
	case goType == "bool":
		return "true or false"
	}
	return "a string"
}

// episodeLine reads one episode. A line with id, agent and state is an export and is kept exactly as it is.
func (s *Source) episodeLine(raw []byte, number int) (*derive.Draft, error) {
	var in lineEpisode
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, errors.New(notJSON(err))
	}
	d := &derive.Draft{Line: number, Exact: in.ID != "" && in.Agent != "" && in.State != "", Dated: true}
	when, err := s.happened(in.At)
	if err != nil {
		return nil, err
	}
	d.Stamp = when.stamp
	d.Episode = in.Episode
	e := &d.Episode
	e.Agent, e.Kind, e.At = s.Agent, dream.KindEpisode, when.at
	wash := derive.Cleaner(d.Exact)
	for _, text := range []*string{
		&e.Context, &e.Action, &e.Outcome, &e.Content, &e.Session, &e.Origin, &e.Speaker,
	} {
		*text = wash(*text)
	}
	for i := range e.Replaces {
		r := &e.Replaces[i]
		r.Content, r.Until = wash(r.Content), r.Until.UTC()
	}
	e.Salience, d.Salient, err = portion("salience", in.Salience)
	if err != nil {
		return nil, err
	}
	e.Surprise, d.Surprise, err = portion("surprise", in.Surprise)
	if err != nil {
		return nil, err
	}
	if in.Affect != nil {
		if err := in.Affect.Validate(); err != nil {
			return nil, err
		}
		e.Affect, d.Felt = *in.Affect, true
	}
	if strings.TrimSpace(e.Content) == "" {
		return nil, errors.New("content is empty")
	}
	assumeTaint(&e.Head)
	if e.Origin == "" && !d.Exact {
		e.Origin = s.origin(number)
	}
	return d, checkHead(&e.Head)
}

// assumeTaint fills in the taint that a line leaves out.
func assumeTaint(h *dream.Head) {
	switch {
	case h.Taint != "":
	case h.Dream != "":
		h.Taint = dream.FromDream
	default:
		h.Taint = dream.FromHuman
	}
}

// happened reads the time of a line, which it must have.
func (s *Source) happened(at json.RawMessage) (moment, error) {
	when, reported, err := firstTime(s.Zone, at)
	switch {
	case err != nil:
		return moment{}, fmt.Errorf("at: %w", err)
	case !reported:
		return moment{}, errors.New("at is missing; use RFC 3339 such as 2026-03-05T14:30:00Z")
	}
	return when, nil
}

func portion(field string, v *float64) (float64, bool, error) {
	if v == nil {
		return 0, false, nil
	}
	if math.IsNaN(*v) || *v < 0 || *v > 1 {
		return 0, false, fmt.Errorf("%s is %v; it must lie between 0 and 1", field, *v)
	}
	return *v, true, nil
}

// checkHead refuses values that the rest of the program would not understand.
func checkHead(h *dream.Head) error {
	if h.ID != "" &&
		(len(h.ID) > 128 ||
			strings.ContainsFunc(h.ID, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\ufffd' })) {
		return fmt.Errorf("id %q must be 1 to 128 bytes without blanks", derive.Clip(h.ID, 60))
	}
	if !h.Taint.Valid() {
		return fmt.Errorf("taint is %q; it must be human, agent, tool, web or dream", derive.Clip(string(h.Taint), 60))
	}
	switch h.State {
	case "", dream.Live, dream.Superseded, dream.Archived, dream.Proposed:
	default:
		return fmt.Errorf("state is %q; it must be live, superseded, archived or proposed", derive.Clip(string(h.State), 60))
	}
	if h.At.Before(Earliest) {
		return fmt.Errorf("at is %s, which is before %s", h.At.UTC().Format(time.RFC3339),
			Earliest.Format(time.DateOnly))
	}
	return nil
}
