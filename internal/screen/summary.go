package screen

import (
	"fmt"
	"path"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Summary is what a report begins with: what the agent learned and stopped believing since the dream before, what
// changed in it, what was archived, and what to do next. The figures and commands in the sentences stand beside them.
type Summary struct {
	Learned  string `json:"learned,omitempty"` // what the agent knows since the dream before; empty when nothing came
	Stopped  string `json:"stopped,omitempty"` // what it no longer believes since then; empty when nothing went
	Changed  string `json:"changed"`
	Archived string `json:"archived"`
	Next     string `json:"next"`

	Restore string  `json:"restore_command,omitempty"` // brings back what was archived; empty when nothing was
	Command string  `json:"next_command,omitempty"`    // empty when there is nothing to do
	Counts  Changes `json:"counts"`
}

// Changes counts what a dream changed in its agent and still holds: what was undone, rejected or archived since is left
// out.
type Changes struct {
	Fragments    int     `json:"fragments"`
	Scenarios    int     `json:"scenarios"`
	Hypotheses   int     `json:"hypotheses"`
	Gists        int     `json:"gists"`
	Journal      int     `json:"journal_entries"`
	Playbook     int     `json:"playbook_entries"`
	Predictions  int     `json:"predictions"`      // patterns found in replay are among them
	Open         int     `json:"open_predictions"` // of them, those that nothing has resolved yet
	Strengthened int     `json:"strengthened"`     // memories whose fading was put off
	Replaced     int     `json:"replaced"`         // archived memories in whose place a newer one stands
	Archived     int     `json:"archived"`
	Waiting      int     `json:"waiting"`    // changes that count once a person accepts them
	Mood         float64 `json:"mood_moved"` // the distance between the mood before and after
}

// leastMove is the smallest change of mood that is worth a word: less rounds to nothing.
const leastMove = .005

// Summarize makes the first lines of a report, which every interface that shows a dream shows.
func Summarize(r DreamReport) Summary {
	c := countChanges(r)
	s := Summary{
		Learned:  sentences(r.Learned),
		Stopped:  sentences(r.Stopped),
		Changed:  changedText(r, c),
		Archived: "Nothing.",
		Counts:   c,
	}
	if c.Archived > 0 {
		s.Restore = fmt.Sprintf("oneiros memory restore -a %s --dream %s%s", r.Agent, path.Base(r.Record.ID), r.Option)
		put := count(c.Archived, "memory")
		if c.Replaced > 0 {
			put += fmt.Sprintf(", %d of which left a gist in its place", c.Replaced)
		}
		s.Archived = fmt.Sprintf("%s (oneiros dreams show %s%s lists what); to bring it back: %s", put, r.Record.ID,
			r.Option, s.Restore)
	}
	why, command := nextStep(r, c)
	s.Next = why
	if command != "" {
		s.Command = command + r.Option
		s.Next += ": " + s.Command
	}
	return s
}

// sentences are texts as sentences, one after the other.
func sentences(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(Clean(text) + ". ")
	}
	return strings.TrimSpace(b.String())
}

// countChanges counts what of a dream holds now.
func countChanges(r DreamReport) Changes {
	c := Changes{
		Archived:     len(r.Archived),
		Strengthened: r.Strengthened,
		Waiting:      r.Waiting,
	}
	for _, f := range r.Fragments {
		if f.State != dream.Archived && f.Status != dream.FragmentDiscarded {
			c.Fragments++
		}
	}
	for _, s := range r.Scenarios {
		if s.State != dream.Archived && s.Kept {
			c.Scenarios++
		}
	}
	c.Hypotheses = countLive(r.Hypotheses)
	c.Gists = countLive(r.Gists)
	c.Journal = countLive(r.Journal)
	c.Playbook = countLive(r.Playbook)
	c.Predictions = countLive(r.Predictions)
	for _, p := range r.Predictions {
		if counts(p) && p.Status == dream.PredictionOpen {
			c.Open++
		}
	}
	for _, a := range r.Archived {
		if a.Newer != "" {
			c.Replaced++
		}
	}
	if r.undone() {
		c.Strengthened = 0
	} else if r.Record.Outcome != dream.Dreaming && r.Record.Review != dream.ReviewAsk {
		c.Mood = r.Record.Before.Distance(r.Record.After)
	}
	return c
}

func countLive[T dream.Item](items []T) int {
	n := 0
	for _, item := range items {
		if counts(item) {
			n++
		}
	}
	return n
}

// counts says whether an item counts for the agent: it is neither archived nor still waiting for a person.
func counts(item dream.Item) bool {
	state := item.Header().State
	return state != dream.Archived && state != dream.Proposed
}

// undone says whether the dream was taken back, by itself or by a person.
func (r DreamReport) undone() bool {
	return r.Record.Outcome == dream.Undone || r.Record.State == dream.Archived
}

// changedText says what changed, or why nothing did.
func changedText(r DreamReport, c Changes) string {
	n := r.Record
	because := ""
	if why := Clean(n.Reason); why != "" {
		because = " (" + why + ")"
	}
	changes := strings.Join(changesText(r, c), "; ")
	lead, none := "", "Nothing."
	switch {
	case n.Outcome == dream.Dreaming:
		lead, none = "So far: ", "Nothing yet: the dream goes on."
	case n.Outcome == dream.Undone:
		lead = fmt.Sprintf("The dream was undone%s, and this stayed: ", because)
		none = fmt.Sprintf("Nothing: the dream was undone%s, and the agent is as it was before.", because)
	case n.State == dream.Archived:
		lead = "The dream was undone, and this stayed: "
		none = "Nothing: the dream was undone, and the agent is as it was before."
	case n.Outcome == dream.Empty:
		lead = fmt.Sprintf("The dream kept no thought%s; all the same: ", because)
		none = fmt.Sprintf("Nothing: the dream kept nothing%s.", because)
	case n.Outcome == dream.Aborted:
		lead = fmt.Sprintf("The dream failed%s; until then: ", because)
		none = fmt.Sprintf("Nothing: the dream failed%s.", because)
	case n.Outcome == dream.Canceled:
		lead = "The dream was cancelled; until then: "
		none = "Nothing: the dream was cancelled before it kept anything."
	case n.Outcome == dream.Interrupted && r.MayGoOn:
		lead = "The dream was interrupted and may go on; so far: "
		none = "Nothing yet: the dream was interrupted and may go on."
	case n.Outcome == dream.Interrupted:
		lead = "The dream was interrupted for good; until then: "
		none = "Nothing: the dream was interrupted before it kept anything."
	case n.Outcome == dream.Exhausted:
		lead = "The money ran out; until then: "
		none = fmt.Sprintf("Nothing: the money ran out%s before the dream kept anything.", because)
	case c.Waiting > 0:
		none = "Nothing yet: all of it waits for your review."
	}
	if changes == "" {
		return none
	}
	return lead + changes + "."
}

// changesText lists what changed, a clause each.
func changesText(r DreamReport, c Changes) []string {
	var added, clauses []string
	for _, part := range []struct {
		n     int
		thing string
	}{
		{c.Fragments, "fragment"},
		{c.Scenarios, "scenario"},
		{c.Hypotheses, "hypothesis"},
		{c.Gists, "gist"},
		{c.Predictions, "prediction"},
		{c.Journal, "journal entry"},
		{c.Playbook, "playbook entry"},
	} {
		if part.n > 0 {
			added = append(added, count(part.n, part.thing))
		}
	}
	if len(added) > 0 {
		clauses = append(clauses, listed(added)+" added")
	}
	if c.Strengthened > 0 {
		clauses = append(clauses, count(c.Strengthened, "memory")+" strengthened by use")
	}
	if c.Mood >= leastMove {
		from, to := r.Record.Before, r.Record.After
		clauses = append(clauses, fmt.Sprintf("the mood moved by %s (pleasure %s, arousal %s, dominance %s)",
			score(c.Mood), signed(to.Pleasure-from.Pleasure), signed(to.Arousal-from.Arousal),
			signed(to.Dominance-from.Dominance)))
	}
	return clauses
}

// listed joins words as a sentence does: "a, b and c".
func listed(parts []string) string {
	last := len(parts) - 1
	if last < 1 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// nextStep says what to do about the dream and with which command; the command is empty when there is nothing to do.
func nextStep(r DreamReport, c Changes) (why, command string) {
	n, agent := r.Record, " -a "+r.Agent
	of := agent + " --dream " + path.Base(n.ID)
	switch {
	case n.Outcome == dream.Dreaming:
		return "Follow it", "oneiros watch " + n.ID
	case r.MayGoOn:
		return "It goes on by itself when nobody needs the agent, or at once", "oneiros dreams resume " + n.ID
	case n.Outcome == dream.Aborted:
		return "Find out what is wrong", "oneiros doctor"
	case c.Waiting > 0:
		return "Accept or reject " + waits(c.Waiting), "oneiros review list" + of
	case r.undone():
		return "Let the agent dream again when you like", "oneiros dream" + agent
	case n.Outcome == dream.Exhausted:
		return "See what the money went to", "oneiros spend" + of + " --by phase"
	case c.Open > 0:
		return "Say what came true of " + count(c.Open, "open prediction"), "oneiros predictions list" + of
	case n.Outcome == dream.Empty && len(r.Fragments) > 0:
		return "See why each fragment was discarded", "oneiros fragments list" + of
	case n.Outcome == dream.Empty:
		return "Give the agent more to dream about", "oneiros memory import" + agent + " FILE"
	}
	return "Nothing to do.", ""
}

func waits(n int) string {
	if n == 1 {
		return "the change that waits for you"
	}
	return fmt.Sprintf("the %d changes that wait for you", n)
}

// summarized draws what was learned and stopped, where there is any, and the three lines of every report.
func summarized(p *page, s Summary) {
	if s.Learned != "" {
		p.lead("Learned   ", s.Learned, "")
	}
	if s.Stopped != "" {
		p.lead("Stopped   ", s.Stopped, "")
	}
	p.lead("Changed   ", s.Changed, "")
	p.lead("Archived  ", s.Archived, s.Restore)
	p.lead("Next      ", s.Next, s.Command)
	p.blank()
}
