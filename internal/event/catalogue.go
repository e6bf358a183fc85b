package event

import "slices"

// Entry is one type of the catalogue: what it announces, and when.
type Entry struct {
	Payload Payload // the zero value of its data
	Tells   string  // what it announces
	When    string  // when, and how often
}

// Type is the entry's name on the wire.
func (e Entry) Type() string { return e.Payload.EventType() }

// Catalogue is every type of event there is, in the order of a night.
func Catalogue() []Entry {
	return slices.Concat(ofTheNight(), ofTheOnset(), ofThePhases(), ofTheReturn(), ofOutcomes(), ofReview(),
		ofWaking(), ofMemory())
}

// Types are the names of the catalogue, in its order.
func Types() []string {
	var names []string
	for _, e := range Catalogue() {
		names = append(names, e.Type())
	}
	return names
}

func ofTheNight() []Entry {
	return []Entry{
		{DreamStarted{}, "a dream begins", "first, once a dream"},
		{
			Spent{},
			"what a phase has done and cost so far",
			"when a phase opens, after each of its cycles, when it closes or is skipped",
		},
		{
			DreamAborted{},
			"a failure ended the dream; its allowance is given back", "before DreamEnded, at most once",
		},
		{DreamEnded{}, "how the dream ended, for good", "last, once a dream"},
		{
			NightUndone{},
			"the night made recall worse and was undone", "before DreamEnded, at most once",
		},
		{
			NothingAgain{},
			"so many nights in a row have kept nothing",
			"with an empty night, from the configured number on",
		},
	}
}

func ofTheOnset() []Entry {
	return []Entry{
		{
			OnsetStarted{},
			"the descent begins, with its budget and mood", "once an onset; never when it is skipped",
		},
		{OnsetSkipped{}, "the dream goes straight to NREM, and why", "instead of OnsetStarted"},
		{
			DepthChanged{},
			"a move between Hori stages", "at each move; into too deep and back around a DaliInterrupt",
		},
		{DaliInterrupt{}, "the thoughts of a cycle were halted and judged", "once a cycle"},
		{FragmentCaptured{}, "a fragment was kept", "for each that is kept, when it is judged"},
		{
			FragmentDiscarded{},
			"a fragment was set aside, and why", "for each that is not kept, when it is judged",
		},
		{
			FragmentFlagged{},
			"the policy or a hook said something of a fragment",
			"for each rule or hook that spoke, when it is judged",
		},
		{
			SomaticMarkerFired{},
			"a fragment touched what strong feeling with a known outcome had taught",
			"with the fragment, at most once for each",
		},
		{
			HookSilent{},
			"a hook gave no answer in time, and what stood for it", "at the border where it was asked",
		},
		{OnsetCompleted{}, "the onset is over", "once an onset, unless AlarmAbort or a wake took its place"},
		{AlarmAbort{}, "an alarm ended the onset; what was caught is kept", "instead of OnsetCompleted"},
	}
}

func ofThePhases() []Entry {
	return []Entry{
		{PhaseStarted{}, "NREM, REM or integration begins", "once a phase; never when it is skipped"},
		{PhaseCompleted{}, "NREM, REM or integration is over", "once a phase that began or was skipped"},
		{PatternFound{}, "a pattern was consolidated as a prediction", "in NREM, for each"},
		{GistExtracted{}, "a fading memory left its gist behind", "in NREM, for each"},
		{
			MemoriesRenewed{},
			"knowledge that was used since the dream before fades later",
			"in NREM, at most once for the same uses",
		},
		{
			ItemArchived{},
			"a dream put something aside that counted before it, and what took its place",
			"for each, in the write that does it",
		},
		{ScenarioImagined{}, "a scenario was made and weighed", "in REM, for each"},
		{HypothesisStaged{}, "a claim was staged for the playbook", "in integration, for each"},
		{
			OutputBarred{},
			"the policy bars what a phase wrote: it is archived, not kept",
			"in NREM, REM, integration and return, for each rule that it breaks",
		},
		{
			ObserverDrifted{},
			"the observer's outcomes lie beyond their limits",
			"when a dream lies down, once for each 50 outcomes",
		},
	}
}

func ofTheReturn() []Entry {
	return []Entry{
		{HypnopompicStarted{}, "the return begins", "once a dream that comes that far"},
		{
			HypnopompicCompleted{},
			"the return is over, and how far it moved the mood",
			"once, after HypnopompicStarted",
		},
	}
}

func ofOutcomes() []Entry {
	return []Entry{
		{
			PredictionResolved{},
			"what became of a prediction",
			"when somebody, a rule or its horizon resolves it; again when that is revised",
		},
		{
			HypothesisMoved{},
			"the outcome of a prediction moved a hypothesis that rests on it",
			"with PredictionResolved, for each",
		},
	}
}

func ofReview() []Entry {
	return []Entry{
		{
			ReviewAsked{},
			"something a dream made waits for a person",
			"for each item, when it is made, where the agent's review asks for it",
		},
		{ItemRestored{}, "a person made something count again that a dream had archived", "for each"},
		{
			ReviewDecided{},
			"what a person decided about what waited",
			"once for all items of a dream that were decided together",
		},
	}
}

func ofWaking() []Entry {
	return []Entry{
		{AgentAwake{}, "the agent is awake, and who woke it", "once an epoch"},
		{AgentAsleep{}, "nobody holds the agent awake any more", "once an epoch, after AgentAwake"},
		{AlarmRaised{}, "a rule over the agent's feed fired", "once a firing"},
		{
			DreamInterrupted{},
			"a sitting was woken, how fast, and until when the dream may go on",
			"last of a sitting that was woken",
		},
		{DreamResumed{}, "a later sitting of an interrupted dream begins", "first of that sitting"},
	}
}

func ofMemory() []Entry {
	return []Entry{
		{
			MemoriesEmbedded{},
			"every memory of the agent has its vector",
			"after an import or a change of embedder, when the last one is embedded",
		},
	}
}
