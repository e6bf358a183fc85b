package view_test

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/hermes/view"
)

var (
	evening = time.Date(2026, 11, 27, 23, 1, 0, 0, time.UTC)
	morning = time.Date(2026, 11, 28, 7, 30, 0, 0, time.UTC)
)

func sheet(width int) view.Sheet { return view.Sheet{Width: width, Now: morning} }

func seconds(at time.Time) *int64 {
	s := at.Unix()
	return &s
}

// log numbers events of a dream.
type log struct {
	dream string
	seq   int64
	at    time.Time
}

func (l *log) next(p event.Payload, text string) api.Event {
	l.seq++
	l.at = l.at.Add(3 * time.Second)
	e := event.New("id", "agent-7", l.dream, l.at, p)
	e.Seq = l.seq
	return api.Event{Event: e, Text: text}
}

// onsetEvents are those of a dream until the peak of its onset.
func onsetEvents(l *log) []api.Event {
	return []api.Event{
		l.next(event.DreamStarted{Tier: dream.Hardened, Seed: 7, Budget: budget.Dollar / 2}, ""),
		l.next(event.OnsetStarted{
			Depth:    dream.Shallow,
			Budget:   50_000,
			Bias:     mood.Broad,
			Selected: 412,
			Shown:    118,
		}, ""),
		l.next(event.Spent{Tally: dream.Tally{
			Phase: dream.Onset,

			State: "running",

			Calls: 9,

			Spent: 8_400,

			Cap: 50_000,

			In:     20_000,
			Cached: 13_000,
			Cycles: 1,
			Kept:   1,
		}}, ""),
		l.next(event.DepthChanged{From: dream.Shallow, To: dream.Transitional, Temperature: 1.2}, ""),
		l.next(event.DepthChanged{From: dream.Transitional, To: dream.Peak, Temperature: 1.45}, ""),
		l.next(event.DaliInterrupt{Cycle: 1, Captured: 2, Partials: 4, Temperature: 1.45}, ""),
		l.next(event.FragmentCaptured{Fragment: "fr_1", Novelty: .62, Distance: .7, Composite: .73},
			"The harbour lights go out one by one, the way liquidity leaves a pool."),
		l.next(event.FragmentDiscarded{Fragment: "fr_2", Reason: "an echo of what it was shown", Composite: .04}, ""),
	}
}

func restEvents(l *log) []api.Event {
	var all []api.Event
	all = append(all, l.next(event.OnsetCompleted{Fragments: 5, Spent: 21_400, Seconds: 41, Cycles: 3}, ""))
	for _, t := range tallies() {
		all = append(all, l.next(event.Spent{Tally: t}, ""))
	}
	return append(all,
		l.next(event.PhaseCompleted{
			Phase: dream.NREM,
			Made:  9,
			Kept:  3,
			Calls: 12,
			Spent: 83_200,
			State: "ran",
		}, ""),
		l.next(event.ScenarioImagined{Scenario: "sc_1", Score: .71, Kept: true}, "Mina never closes the shop."),
		l.next(event.HypnopompicCompleted{Insights: 2, Delta: .12, Transitioned: true}, ""),
		l.next(event.DreamEnded{Outcome: dream.Completed, Spent: 266_651, Kept: 11}, ""))
}

func tallies() []dream.Tally {
	plan := budget.Split(budget.Dollar/2, budget.DefaultShares)
	phase := func(p dream.Phase, calls int, spent, limit budget.Micros, in, cached int64, kept, cycles int) dream.Tally {
		return dream.Tally{
			Phase:  p,
			State:  "ran",
			Calls:  calls,
			Spent:  spent,
			Cap:    limit,
			In:     in,
			Cached: cached,
			Kept:   kept,
			Cycles: cycles,
		}
	}
	return []dream.Tally{
		phase(dream.Onset, 26, 21_400, plan.Onset, 52_000, 33_280, 5, 3),
		phase(dream.NREM, 12, 83_200, plan.NREM, 30_000, 18_900, 3, 0),
		phase(dream.REM, 8, 110_050, plan.REM, 21_000, 0, 2, 0),
		phase(dream.Integration, 1, 40_000, plan.Integration, 6_000, 0, 1, 0),
		phase(dream.Return, 1, 12_001, plan.Return, 2_500, 0, 2, 0),
	}
}

func pastDream() api.Dream {
	return api.Dream{
		ID:      "dream_iris_0042",
		Dream:   "dream/iris/0042",
		Agent:   "iris",
		Status:  "completed",
		Outcome: "completed",

		Created:  evening.Unix(),
		Ended:    seconds(evening.Add(134 * time.Second)),
		Resumes:  1,
		Insights: 2,

		Record: &api.Record{
			Theme: "the harbour in November, and what is owed to the ferry",
			Tier:  "hardened",

			Budget: budget.Dollar / 2,
			Spent:  266_651,
			Paid:   true,
			Phases: tallies(),

			Counters: api.Counters{Calls: 48, Made: 26, Kept: 11},

			Summary: &api.Summary{
				Learned:  "Where storm comes up, leak comes up too.",
				Changed:  "5 fragments, 2 scenarios and 3 predictions added; the mood moved by .06.",
				Archived: "Nothing.", Next: "Say what came true of 3 open predictions: oneiros predictions list -a iris",
			},
		},
	}
}

func live() view.Night {
	d := pastDream()
	d.Status, d.Outcome, d.Ended = "running", "", nil
	d.Insights, d.Resumes = 0, 0
	d.Record.Summary, d.Record.Phases, d.Record.Spent = nil, nil, 0
	n := view.NightOf(d)
	for _, e := range onsetEvents(&log{dream: d.Dream, at: evening}) {
		n = view.Follow(n, e)
	}
	return n
}

func past() view.Night {
	n := view.NightOf(pastDream())
	l := &log{dream: "dream/iris/0042", at: evening}
	for _, e := range append(onsetEvents(l), restEvents(l)...) {
		n = view.Follow(n, e)
	}
	n.Fragments = []api.Fragment{
		{ID: "fr_2", Content: "潮水退去以后，市场像一条没有人的街；我听见她在问价格是不是也会做梦，而没有人回答，只有雨落在交易所的玻璃屋顶上。", Status: "raw", Verdict: api.Verdict{Novelty: .44, Relevance: .91, Coherence: 1, Composite: .645}},
		{
			ID:      "fr_1",
			Content: "The harbour lights go out one by one, the way liquidity leaves a pool before anybody says so.",
			Status:  "developed",
			Reason:  "promote: can be tested",
			Verdict: api.Verdict{Novelty: .62, Relevance: .8, Coherence: .95, Composite: .7289},
		},
		{ID: "fr_3", Content: "yes yes yes", Status: "discarded", Reason: "below the floor"},
		{ID: "fr_4", Content: "the pool the pool", Status: "discarded", Reason: "below the floor"},
		{ID: "fr_5", Content: "I moved half the stake", Status: "discarded", Reason: "an echo of what it was shown"},
	}
	n.Scenarios = []api.Scenario{
		{
			ID:             "sc_1",
			Content:        "Mina never closes the shop. The bridge is repaired first, and the crowd that came for the fair stays.",
			Premise:        "what if two decisions were turned round",
			Score:          .71,
			Kept:           true,
			Counterfactual: true,
		},
		{ID: "sc_2", Content: "x", Score: .2, Reason: "an open prediction says it already"},
	}
	n.Insights = []api.Insight{
		{
			ID:           "j_1",
			Kind:         "journal",
			Content:      "Loud pools follow quiet ones.",
			Label:        "dream, unverified",
			Significance: .7,
		},
		{
			ID:           "p_1",
			Kind:         "playbook",
			Content:      "Where storm comes up, leak comes up too.",
			Promoted:     true,
			Significance: .9,
		},
	}
	return n
}

// limited is what role client sees.
func limited() view.Night {
	d := pastDream()
	d.Status, d.Outcome = "running", ""
	d.Record, d.Ended = nil, nil
	n := view.NightOf(d)
	l := &log{dream: d.Dream, at: evening}
	for _, e := range []api.Event{
		l.next(event.DreamStarted{}, ""), l.next(event.OnsetStarted{}, ""), l.next(event.OnsetCompleted{}, ""),
		l.next(event.PhaseStarted{Phase: dream.NREM}, ""),
	} {
		n = view.Follow(n, e)
	}
	n.Denied = api.RoleError{Need: "operator", Has: "client"}
	return n
}

func woken() view.Night {
	n := live()
	l := &log{dream: "dream/iris/0042", seq: 8, at: evening.Add(time.Minute)}
	n = view.Follow(n, l.next(event.DreamInterrupted{
		Cause:    "operator",
		Phase:    dream.Onset,
		Until:    evening.Add(time.Hour),
		Receipt:  1,
		Stop:     2,
		Preserve: 3,
		Journal:  "j_1",
	}, ""))
	l.dream = ""
	return view.Follow(n, l.next(event.AgentAwake{Epoch: 3, Cause: "operator"}, ""))
}

func manyClaims() []api.Claim {
	return []api.Claim{
		{
			ID:     "cl_8b3b862100f3b353",
			Says:   "Where storm comes up, leak comes up too.",
			Status: "passed",

			From:   evening.AddDate(0, -8, 0),
			Hits:   7,
			Misses: 1,
			Chance: .04,
			Wealth: 3_221_000,
			Passed: evening,
		},
		{
			ID:     "cl_2",
			Says:   "Within 12 hours after Fog comes up, late comes up.",
			Status: "tried",
			From:   evening.AddDate(0, 0, -9),
			Hits:   2,
			Misses: 1,
			Chance: .31,
			Wealth: 4.42,
		},
		{
			ID:     "cl_3",
			Says:   "Each week the boat is named.",
			Status: "tried",
			From:   evening,
			Chance: 1,
			Wealth: 1,
		},
		{
			ID:     "cl_4",
			Says:   "Where the market closes, rain comes up too.",
			Status: "retired",
			From:   evening.AddDate(-1, -2, 0),
			Hits:   9,
			Misses: 6,
			Chance: .2,
			Wealth: .8,
			Ended:  evening,
			Reason: "its newest outcomes are likelier by chance",
		},
		{
			ID:     "cl_5",
			Says:   "Where tea is named, so is bread.",
			Status: "dropped",
			From:   evening.AddDate(0, -2, 0),
			Hits:   1,
			Misses: 9,
			Chance: .3,
			Wealth: .02,
			Ended:  evening,
			Reason: "it came true no more often than chance",
		},
		{ID: "cl_6", Says: "A status of a newer server.", Status: "paused", From: evening},
	}
}

func explanation() api.ClaimExplanation {
	c := manyClaims()[0]
	c.Playbook = "pb_8b3b862100f3b353"
	c.DecoyHits, c.DecoyMisses, c.Decoys = 2, 55, make([]api.Decoy, 16)
	for i, w := range []float64{13.1, 1.5, .04, 24.9, 221.4, 3_221_000} {
		c.Outcomes = append(c.Outcomes, api.ClaimOutcome{
			At: evening.AddDate(0, 0, i), Right: i != 2, Wealth: w, Evidence: []string{"ep_" + string(rune('a'+i))},
		})
	}
	return api.ClaimExplanation{
		Claim:  c,
		SaidBy: []api.SourceText{{ID: "pr_1", Text: "A storm brings a leak."}, {ID: "pr_2"}},
		Evidence: []api.SourceText{
			{ID: "ep_a", Text: "Storm number 1 came and there was a leak, first under the kitchen window and then along the whole of the northern wall."},
			{ID: "ep_b", Text: "Storm. A leak."},
		},
	}
}

func quality() *api.Quality {
	return &api.Quality{At: evening, Dream: "dream/iris/0042", DreamQuality: event.DreamQuality{
		Dreams: 6, Metrics: []event.QualityMetric{
			{Name: "fragment_yield", Value: 1, Of: 67, State: "alarm"},
			{Name: "novelty", Value: .49, Of: 67, State: "healthy"},
			{Name: "playbook_distance", State: "too few"},
			{Name: "seed_use", Value: .149, Of: 67, State: "outside"},
			{Name: "staging_rate", Value: .2, Of: 10, State: "outside"},
			{Name: "validation", Value: 0, Of: 3, State: "too few"},
			{Name: "cost_per_fragment", Value: .00428, Of: 15, State: "healthy"},
			{Name: "alarm_aborts", Value: 0, Of: 6, State: "healthy"},
		},
	}}
}

func room() api.Room {
	agent := func(name string) api.Member {
		return api.Member{Who: api.Who{Kind: "agent", ID: name}, Name: name, Role: "writer", Subscribed: true}
	}
	awake, dreaming := agent("iris"), agent("nyx")
	quiet, people, sleeper := agent("hypatia"), agent("momus"), agent("endymion")
	awake.Online, dreaming.Dreaming, quiet.Online = true, true, true
	quiet.Dormancy = &api.Dormancy{Level: "mention-only", Reason: "too loud"}
	people.Dormancy = &api.Dormancy{Level: "human-only"}
	sleeper.Dormancy = &api.Dormancy{Level: "sleep", Reason: "I am tired of the argument about the ferry and its chimney book", Until: morning.Add(2 * time.Hour)}
	return api.Room{
		ID:      "academy",
		Title:   "The academy",
		By:      api.Who{Kind: "person", ID: "local"},
		Created: evening,
		Posts:   3,

		Members: []api.Member{
			awake, dreaming, quiet, people, sleeper,
			{Who: api.Who{Kind: "person", ID: "local"}, Name: "local", Role: "owner"},
			{Who: api.Who{Kind: "person", ID: "ada"}, Name: "Ада Лавлейс", Role: "writer", Trust: "stranger"},
		},
	}
}

func posts() []api.Post {
	return []api.Post{
		{
			ID:      "academy/1",
			Author:  api.Who{Kind: "person", ID: "local"},
			Name:    "local",
			Body:    "@iris good morning\n\nWhat did you make of the storm?",
			Created: evening,
			Form:    "message",
			State:   "live",
		},
		{
			ID:      "academy/2",
			Author:  api.Who{Kind: "agent", ID: "a"},
			Name:    "iris",
			Body:    "I brought the jar of plum jam, and كتاب قديم.",
			Created: morning,
			ReplyTo: "academy/1",
			State:   "live",
			Edited:  morning,
		},
		{
			ID:      "academy/3",
			Name:    "ada",
			Body:    "x",
			Created: morning,
			Form:    "notice",
			State:   "deleted",
			Trust:   "stranger",
		},
	}
}

// views are all views with something to show.
func views() map[string]func(view.Sheet) []string {
	return map[string]func(view.Sheet) []string{
		"dream-live":    func(s view.Sheet) []string { s.Now = evening.Add(30 * time.Second); return view.Dream(live(), s) },
		"dream-past":    func(s view.Sheet) []string { return view.Dream(past(), s) },
		"dream-limited": func(s view.Sheet) []string { return view.Dream(limited(), s) },
		"dream-woken":   func(s view.Sheet) []string { s.Now = evening.Add(time.Minute); return view.Dream(woken(), s) },
		"dream-pending": func(s view.Sheet) []string {
			return view.Dream(view.NightOf(api.Dream{Dream: "dream/iris/0043", Agent: "iris", Status: "pending", Record: &api.Record{Budget: 250_000}}), s)
		},
		"dreams": func(s view.Sheet) []string {
			client := pastDream()
			client.Dream, client.Record = "dream/iris/0041", nil
			failed := pastDream()
			failed.Dream, failed.Status, failed.Outcome = "dream/iris/0040", "failed", "aborted"
			free := pastDream()
			free.Dream, free.Outcome, free.Record = "dream/iris/0039", "empty", &api.Record{}
			return view.Dreams([]api.Dream{live().Dream, pastDream(), client, failed, free}, s)
		},
		"dreams-limited": func(s view.Sheet) []string {
			d := pastDream()
			d.Record = nil
			return view.Dreams([]api.Dream{d}, s)
		},
		"journal": func(s view.Sheet) []string {
			return view.Journal([]api.JournalEntry{
				{
					At:           evening,
					Dream:        "dream/iris/0042",
					Content:      "I walked along the quay and nobody had lit the lamps. The ferry was late by an hour, with the chimney book on it, signed.\n\nThe lamps were in the book.",
					Topics:       []string{"quay", "ferry"},
					Significance: .62,
				},
				{At: evening.AddDate(-1, 0, 0), Content: "", Interrupted: true},
			}, s)
		},
		"claims":  func(s view.Sheet) []string { return view.Claims(manyClaims(), s) },
		"claim":   func(s view.Sheet) []string { return view.ClaimExplanation(explanation(), s) },
		"metrics": func(s view.Sheet) []string { return view.Metrics(quality(), s) },
		"rooms": func(s view.Sheet) []string {
			return view.Rooms([]api.Room{room(), {ID: "hall", Created: evening, By: api.Who{ID: "local"}}}, s)
		},
		"room":        func(s view.Sheet) []string { return view.Room(room(), posts(), s) },
		"memories":    func(s view.Sheet) []string { return view.Memories("boat", memories(), s) },
		"predictions": func(s view.Sheet) []string { return view.Predictions(predictions(), s) },
		"status":      func(s view.Sheet) []string { return view.Status(status(), s) },
		"morning":     func(s view.Sheet) []string { return view.Morning(news(), s) },
		"doctor": func(s view.Sheet) []string {
			return view.Doctor([]api.Line{
				{Name: "server", Level: api.OK, Says: "http://127.0.0.1:7680/v1 is Oneiros"},
				{Name: "role", Level: api.Note, Says: "the key has the role client: journal, claims, fragments and morning need the role operator"},
				{Name: "clock", Level: api.Warning, Says: "the server's clock is 3 minutes behind ours", Fix: "Set both clocks by the network (NTP), or times in Hermes mislead."},
				{Name: "agent", Level: api.Failure, Says: `there is no "irs"; there is iris, nyx`, Fix: "Name one of these."},
			}, s)
		},
	}
}

func memories() []api.Memory {
	return []api.Memory{
		{
			Kind:    "episode",
			At:      evening,
			Content: "My boat is called Zephyrine, she is blue.",
			Taint:   "human",
			Speaker: "local",
			Score:   .91,
		},
		{
			Kind:    "gist",
			At:      evening,
			Content: "Boats are named after winds.",
			Taint:   "dream",
			Dreamt:  true,
			Label:   "dream, unverified",
			Score:   .5,
		},
	}
}

func predictions() []api.Prediction {
	return []api.Prediction{
		{
			Claim:      "When the quiet pools drain for two evenings running, the loud one follows within a week.",
			Criterion:  "depth of the three pools",
			Confidence: .32,
			Horizon:    morning.AddDate(0, 0, 5),
			Status:     "open",
		},
		{
			Claim:      "The ferry is late on Friday.",
			Confidence: .6,
			Status:     "correct",
			Evidence:   "it came at nine",
			Resolved:   morning,
		},
		{Confidence: .2, Status: "incorrect", Resolved: morning},
	}
}

func status() api.Status {
	return api.Status{
		Agent:  "iris",
		State:  "awake",
		Leases: 2,
		Until:  morning.Add(time.Minute),
		Dream:  "dream/iris/0042",

		Outcome:  "completed",
		Dreams:   42,
		Memories: map[string]int{"episode": 1204, "semantic": 33, "gist": 0, "dream_record": 42},

		Own: api.Kept{Memories: 320, Limit: 20000},

		Emotion: api.Emotion{
			Word:     "curious",
			Pleasure: .3,
			Arousal:  -.1,
			Cause:    "success",
			Since:    evening,
		},

		Recall: &api.RecallCounts{Recalled: 12, Skipped: map[string]int{"nothing": 3, "off": 1}},

		Digest: []api.Memory{{Content: "Loud pools follow quiet ones.", Label: "dream, unverified"}},
	}
}

func news() api.Morning {
	return api.Morning{
		Agent:   "iris",
		Since:   evening.AddDate(0, 0, -1),
		Dreams:  2,
		Ever:    42,
		Tried:   8,
		Dropped: 2,
		Open:    5,
		Due:     1,

		Learned: []api.Finding{{
			Says:   "Within 12 hours after Fog comes up, late comes up.",
			Status: "passed",
			At:     evening,

			Because: "held 6 of 9 times; the same of other things held 2 of 41 times",

			Sighted: []api.Sighting{{At: evening, Says: "Fog, and through it somebody's radio from a boat. The ferry late by an hour."}, {At: evening}},
		}},

		Stopped: []api.Finding{{Says: "Where the market closes, rain comes up too.", Status: "retired", At: evening, Because: "it stopped holding"}},

		Waiting: []api.Finding{{Says: "The ferry is late on Friday.", Status: "open", At: morning.AddDate(0, 0, 3)}},

		Nearest: &api.Finding{Says: "Each week the boat is named.", Status: "tried", At: evening, Because: "held 4 of 4 times"},
	}
}
