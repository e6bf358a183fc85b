package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/workflows"
)

// rulesHeard are the rules with what the probe knows of each: whether it is up, or has never heard what it could judge.
func (app *App) rulesHeard(l feedLine) []string {
	texts := l.rules()
	if l.State == nil {
		return texts
	}
	for i, r := range l.Rules {
		var up []string
		for _, key := range l.State.Watch.Up {
			if name, metric, each := strings.Cut(key, "/"); name == r.Name {
				since := "since " + app.stamp(l.State.Watch.Rose[key])
				if each {
					since = metric + " " + since
				}
				up = append(up, since)
			}
		}
		switch _, ever := l.State.Watch.Took[r.Name]; {
		case len(up) > 0:
			texts[i] += " (up " + strings.Join(up, ", ") + ")"
		case !ever:
			texts[i] += " (nothing heard yet)"
		}
	}
	return texts
}

// values are what the feed said last of each metric that a rule looks at.
func (app *App) values(s *workflows.FeedState) string {
	newest := map[string]dream.Reading{}
	var metrics []string
	for _, r := range s.Watch.Readings { // by time
		if _, found := newest[r.Metric]; !found {
			metrics = append(metrics, r.Metric)
		}
		newest[r.Metric] = r
	}
	slices.Sort(metrics)
	texts := make([]string, len(metrics))
	for i, metric := range metrics {
		texts[i] = fmt.Sprintf("%s at %s", saying(newest[metric]), app.stamp(newest[metric].At))
	}
	return strings.Join(texts, "; ")
}

// saying is one reading as a person would write it.
func saying(r dream.Reading) string {
	value := r.State
	if r.Number != nil {
		value = strconv.FormatFloat(*r.Number, 'g', -1, 64)
	}
	return strings.TrimSpace(r.Metric + " " + value)
}

// strays are what the feed said that no rule takes.
func (app *App) strays(u alarm.Untaken) string {
	var texts []string
	rest := u.Readings
	for _, s := range u.Metrics {
		texts = append(texts,
			fmt.Sprintf("%s at %s (%s)", saying(s.Reading), app.stamp(s.At), plural(s.Times, "reading", "readings")))
		rest -= s.Times
	}
	if rest > 0 {
		texts = append(texts, plural(rest, "more reading", "more readings"))
	}
	return strings.Join(texts, "; ")
}

// deaf is the warning that what a feed says means nothing to its rules. A pulled document holds much that no rule is
// meant to take: of that feed only a rule that has heard nothing is told.
func (l feedLine) deaf() string {
	if l.State == nil || len(l.State.Untaken.Metrics) == 0 || l.Host != "" && !l.unheard() {
		return ""
	}
	strays := make([]dream.Reading, len(l.State.Untaken.Metrics))
	for i, s := range l.State.Untaken.Metrics {
		strays[i] = s.Reading
	}
	return alarm.Unheard(l.Rules, strays)
}

func (l feedLine) unheard() bool {
	return slices.ContainsFunc(l.Rules, func(r dream.Rule) bool { _, ever := l.State.Watch.Took[r.Name]; return !ever })
}

func (app *App) refused(s *workflows.FeedState) string {
	if s.Refused == 0 {
		return ""
	}
	return fmt.Sprintf("%s, the last at %s: %s", plural(s.Refused, "reading", "readings"), app.stamp(s.Turned),
		cmp.Or(s.Refusal, "it said nothing, or too much"))
}
