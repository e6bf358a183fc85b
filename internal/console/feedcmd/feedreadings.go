package feedcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/workflows"
)

// ruleStates lists the rules with their state in the probe: whether a rule is armed, or has never seen a reading it
// could judge.
func ruleStates(app *cli.App, l feedLine) []string {
	texts := l.rules()
	if l.State == nil {
		return texts
	}
	for i, r := range l.Rules {
		var up []string
		for _, key := range l.State.Watch.Up {
			if name, metric, each := strings.Cut(key, "/"); name == r.Name {
				since := "since " + view.Stamp(app, l.State.Watch.Rose[key])
				if each {
					since = metric + " " + since
				}
				up = append(up, since)
			}
		}
		switch _, ever := l.State.Watch.LastJudged[r.Name]; {
		case len(up) > 0:
			texts[i] += " (up " + strings.Join(up, ", ") + ")"
		case !ever:
			texts[i] += " (no reading yet)"
		}
	}
	return texts
}

// values are the last readings of each metric that a rule uses.
func values(app *cli.App, s *workflows.FeedState) string {
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
		texts[i] = fmt.Sprintf("%s at %s", readingText(newest[metric]), view.Stamp(app, newest[metric].At))
	}
	return strings.Join(texts, "; ")
}

// readingText is one reading as a person would write it.
func readingText(r dream.Reading) string {
	value := r.State
	if r.Number != nil {
		value = strconv.FormatFloat(*r.Number, 'g', -1, 64)
	}
	return strings.TrimSpace(r.Metric + " " + value)
}

// untakenText describes the readings that no rule used.
func untakenText(app *cli.App, u alarm.UnusedReadings) string {
	var texts []string
	rest := u.Readings
	for _, s := range u.Metrics {
		texts = append(texts,
			fmt.Sprintf("%s at %s (%s)", readingText(s.Reading), view.Stamp(app, s.At),
				cli.Count(s.Times, "reading")))
		rest -= s.Times
	}
	if rest > 0 {
		texts = append(texts, cli.Count(rest, "more reading"))
	}
	return strings.Join(texts, "; ")
}

// warning warns that no rule can use what the feed sends. A pulled document holds much that no rule is meant to use,
// so that of a pulled feed only a rule without any reading is reported.
func (l feedLine) warning() string {
	if l.State == nil || len(l.State.Unused.Metrics) == 0 || l.Host != "" && !l.refuseListeners() {
		return ""
	}
	unused := make([]dream.Reading, len(l.State.Unused.Metrics))
	for i, s := range l.State.Unused.Metrics {
		unused[i] = s.Reading
	}
	return alarm.DescribeUnused(l.Rules, unused)
}

func (l feedLine) refuseListeners() bool {
	return slices.ContainsFunc(l.Rules,
		func(r dream.Rule) bool { _, ever := l.State.Watch.LastJudged[r.Name]; return !ever })
}

func refused(app *cli.App, s *workflows.FeedState) string {
	if s.Refused == 0 {
		return ""
	}
	return fmt.Sprintf("%s, the last at %s: %s", cli.Count(s.Refused, "reading"),
		view.Stamp(app, s.RefusedAt), cmp.Or(s.Refusal, "it said nothing, or too much"))
}
