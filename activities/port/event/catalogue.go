package event

import "slices"

// Entry is one event type of the catalogue.
type Entry struct {
	Payload   Payload // the zero value of its data
	Announces string  // what it announces
	When      string  // when, and how often
}

// Type is the entry's wire name.
func (e Entry) Type() string { return e.Payload.EventType() }

// Catalogue is every event type, in the order of a dream.
func Catalogue() []Entry {
	return slices.Concat(dreamEvents(), onsetEvents(), phaseEvents(), returnEvents(), outcomeEvents(), reviewEvents(),
		wakeEvents(), memoryEvents())
}

// Types are the wire names of the catalogue, in order.
func Types() []string {
	var names []string
	for _, e := range Catalogue() {
		names = append(names, e.Type())
	}
	return names
}

func dreamEvents() []Entry {
	return []Entry{
		{DreamStarted{}, "a dream begins", "first, once per dream"},
		{
			Spent{},
			"what a phase has done and spent so far",
			"when a phase opens, after each of its cycles, when it closes or is skipped",
		},
		{
			DreamAborted{},
			"a failure ended the dream; its allowance is given back", "before DreamEnded, at most once",
		},
		{
			DreamQuality{},
			"what the newest dreams of the agent yield, by eight metrics, and how each reads",
			"before DreamEnded, once per dream that ran to its end",
		},
		{DreamEnded{}, "how the dream ended, for good", "last, once per dream"},
		{
			DreamUndone{},
			"the dream made recall worse and was undone", "before DreamEnded, at most once",
		},
		{
			EmptyDreamsRepeated{},
			"a number of dreams in a row have kept nothing",
			"with an empty dream, from the configured number on",
		},
	}
}

func onsetEvents() []Entry {
	return []Entry{
		{
			OnsetStarted{},
			"the onset begins, with its budget and mood", "once per onset; never when it is skipped",
		},
		{OnsetSkipped{}, "the dream goes straight to NREM, and why", "instead of OnsetStarted"},
		{
			DepthChanged{},
			"a move between Hori stages", "at each move; into too deep and back around a DaliInterrupt",
		},
		{DaliInterrupt{}, "the partials of a cycle were cut off and judged", "once per cycle"},
		{FragmentCaptured{}, "a fragment was kept", "for each kept fragment, when it is judged"},
		{
			FragmentDiscarded{},
			"a fragment was discarded, and why", "for each discarded fragment, when it is judged",
		},
		{
			FragmentFlagged{},
			"the policy or a hook flagged a fragment",
			"for each rule or hook that flagged it, when it is judged",
		},
		{
			SomaticMarkerFired{},
			"a fragment matched a somatic marker, learned from strong affect with a known outcome",
			"with the fragment, at most once per fragment",
		},
		{
			HookTimedOut{},
			"a hook gave no answer in time, and the default that applied", "at the border where it was called",
		},
		{OnsetCompleted{}, "the onset is over", "once per onset, unless AlarmAbort or a wake replaced it"},
		{AlarmAbort{}, "an alarm ended the onset; its fragments are kept", "instead of OnsetCompleted"},
	}
}

func phaseEvents() []Entry {
	return []Entry{
		{PhaseStarted{}, "NREM, REM or integration begins", "once per phase; never when it is skipped"},
		{PhaseCompleted{}, "NREM, REM or integration is over", "once per phase that began or was skipped"},
		{PatternFound{}, "a pattern was consolidated as a prediction", "in NREM, for each"},
		{GistExtracted{}, "the gist of a fading memory was extracted", "in NREM, for each"},
		{
			MemoriesRenewed{},
			"the fading of knowledge used since the last dream was delayed",
			"in NREM, at most once for the same uses",
		},
		{
			ItemArchived{},
			"a dream archived an existing item, and what replaced it",
			"for each, in the write that does it",
		},
		{ScenarioImagined{}, "a scenario was made and weighed", "in REM, for each"},
		{
			ReasoningReviewed{},
			"a dream reviewed the reasoning behind a resolved prediction",
			"in NREM, for each of the largest residuals",
		},
		{HypothesisStaged{}, "a claim was staged for the playbook", "in integration, for each"},
		{
			OutputBarred{},
			"the policy bars what a phase wrote: it is archived, not kept",
			"in NREM, REM, integration and return, for each rule that it breaks",
		},
		{
			ObserverDrifted{},
			"the observer's outcomes are outside their limits",
			"when a dream begins, once per 50 outcomes",
		},
	}
}

func returnEvents() []Entry {
	return []Entry{
		{HypnopompicStarted{}, "the return begins", "once per dream that gets that far"},
		{
			HypnopompicCompleted{},
			"the return is over, and how far it shifted the mood",
			"once, after HypnopompicStarted",
		},
	}
}

func outcomeEvents() []Entry {
	return []Entry{
		{
			PredictionResolved{},
			"a prediction was resolved",
			"when a person, a tool, a rule or its horizon resolves it; again when that is revised",
		},
		{
			HypothesisChanged{},
			"the outcome of a prediction changed a hypothesis that rests on it, or it was promoted or ended",
			"with PredictionResolved, for each; when its claim passes or ends; when it lapses",
		},
		{
			ClaimTried{},
			"a claim came true once more, or did not",
			"for each outcome, when new episodes are compared with the claims",
		},
		{ClaimPassed{}, "a claim beat chance and entered the playbook", "once per claim"},
		{
			ClaimEnded{},
			"a claim stopped holding, never did, or nothing decides it any more",
			"once, unless a later prediction says a lapsed claim again",
		},
	}
}

func reviewEvents() []Entry {
	return []Entry{
		{
			ReviewRequested{},
			"an item made by a dream waits for a review",
			"for each item, when it is made, if the agent's dreams are reviewed",
		},
		{ItemRestored{}, "a person restored an item that a dream had archived", "for each"},
		{
			ReviewDecided{},
			"a person decided about proposed items",
			"once for all items of a dream decided together",
		},
	}
}

func wakeEvents() []Entry {
	return []Entry{
		{AgentAwake{}, "the agent is awake, and who woke it", "once per epoch"},
		{AgentAsleep{}, "nothing holds the agent awake any more", "once per epoch, after AgentAwake"},
		{AlarmRaised{}, "a rule of the agent's feed fired", "once per firing"},
		{
			DreamInterrupted{},
			"a dream was interrupted, how fast, and until when it may be resumed",
			"last of a stretch that was woken",
		},
		{DreamResumed{}, "an interrupted dream is resumed", "first of the new stretch"},
	}
}

func memoryEvents() []Entry {
	return []Entry{
		{
			MemoriesEmbedded{},
			"every memory of the agent has a vector",
			"after an import or a change of embedder, when the last one is embedded",
		},
		{
			WritesLost{},
			"the store went back to an earlier state, and of which time writes are lost",
			"once per agent and loss, within two minutes of its notice",
		},
	}
}
