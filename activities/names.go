package activities

// The names of the activities. They are recorded in histories, label metrics (activity_type) and show in Temporal's
// tools. A name may only change together with workflows.Contract.
const (
	// DreamBegin takes the agent's dreaming slot, reserves the day's allowance and writes the dream's record. It is the
	// first activity of every stretch.
	DreamBegin = "Dream.Begin"
	// DreamFinish closes the record of a dream with its outcome, whatever ended it, and frees the slot.
	DreamFinish = "Dream.Finish"
	// DreamInterrupt ends a stretch that a wake has stopped: what interrupted calls had said is judged and kept.
	DreamInterrupt = "Dream.Interrupt"
	// DreamReusePhases lists what a dream takes over from the earlier phases of another one.
	DreamReusePhases = "Dream.ReusePhases"
	// DreamRecordProgress announces the beginning, the end or a cycle of a phase, with figures from the spend ledger.
	DreamRecordProgress = "Dream.RecordProgress"

	// AgentPlan decides whether an agent that is due dreams now, and freezes the spec of that dream.
	AgentPlan = "Agent.Plan"
	// AgentCheckTriggers computes the next times of an agent's schedules, and whether it needs to dream early.
	AgentCheckTriggers = "Agent.CheckTriggers"
	// AgentCheckClients reads from the store which client holds an agent awake, and until when.
	AgentCheckClients = "Agent.CheckClients"
	// AgentRaiseEpoch makes a wake durable that another Temporal client sent, and publishes its notice.
	AgentRaiseEpoch = "Agent.RaiseEpoch"
	// AgentAnnounceWake announces that an agent is awake, and records that its workflow knows of the wake.
	AgentAnnounceWake = "Agent.AnnounceWake"
	// AgentIsDreaming says whether the workflow of an agent's dream still runs.
	AgentIsDreaming = "Agent.IsDreaming"

	// OnsetGather selects the memories of a cycle and notes the pieces that prompts show of them.
	OnsetGather = "Onset.Gather"
	// OnsetEmbed buys vectors for gathered memories that have none.
	OnsetEmbed = "Onset.Embed"
	// OnsetInduce is the paid call of the induction.
	OnsetInduce = "Onset.Induce"
	// OnsetPartial is the paid call of one partial of a Dali cycle, or of all of them where the model lists ideas.
	OnsetPartial = "Onset.Partial"
	// OnsetPartials makes the partials of a Dali cycle side by side, each as OnsetPartial does, and then judges them
	// where they are judged in one call.
	OnsetPartials = "Onset.Partials"
	// OnsetJudge is the observer's judgement of one partial.
	OnsetJudge = "Onset.Judge"
	// OnsetJudgeTogether is the observer's judgement of all partials of a cycle in one call.
	OnsetJudgeTogether = "Onset.JudgeTogether"
	// OnsetCapture is the lucid capture: it rates the fragments and chooses those to develop.
	OnsetCapture = "Onset.Capture"
	// OnsetCheckPolicy applies the policy's rules in words to fragments that had no lucid capture.
	OnsetCheckPolicy = "Onset.CheckPolicy"

	// ReplayRun replays episodes, forward or backward, and keeps the patterns found.
	ReplayRun = "Replay.Run"
	// ReplayLastLook replaces episodes that are about to fade by their gist.
	ReplayLastLook = "Replay.LastLook"
	// ReplaySteps makes the steps of NREM one after the other, each as ReplayRun or ReplayLastLook does.
	ReplaySteps = "Replay.Steps"

	// ImaginationSurvey reads what a round of the search over scenarios may cost, and which fragments it may develop.
	ImaginationSurvey = "Imagination.Survey"
	// ImaginationBranch is the paid call of a new scenario.
	ImaginationBranch = "Imagination.Branch"
	// ImaginationRefine is the paid call that refines a scenario.
	ImaginationRefine = "Imagination.Refine"
	// ImaginationMerge is the paid call that merges two scenarios.
	ImaginationMerge = "Imagination.Merge"
	// ImaginationMoves makes the scenarios of a round side by side, each as ImaginationBranch, ImaginationRefine or
	// ImaginationMerge does, and then scores them.
	ImaginationMoves = "Imagination.Moves"
	// ImaginationScore is the paid call that scores scenarios.
	ImaginationScore = "Imagination.Score"
	// ImaginationKeep keeps the best scenarios of a search and discards the others.
	ImaginationKeep = "Imagination.Keep"

	// IntegrationConsolidate stages hypotheses for the playbook.
	IntegrationConsolidate = "Integration.Consolidate"

	// AwakeningSurface writes insights into the journal.
	AwakeningSurface = "Awakening.Surface"
	// AwakeningSettleMood shifts the waking mood by the mood of the dream.
	AwakeningSettleMood = "Awakening.SettleMood"

	// HooksEntry asks the entry hooks whether the onset may run.
	HooksEntry = "Hooks.Entry"
	// HooksCapture shows the capture hooks what a cycle kept, and holds what they object to.
	HooksCapture = "Hooks.Capture"
	// HooksExit reports an ended dream to the exit hooks.
	HooksExit = "Hooks.Exit"

	// RoomsAttend answers what waits for an agent in rooms, and ends the levels whose time is over.
	RoomsAttend = "Rooms.Attend"

	// FeedPoll reads a feed from its URL.
	FeedPoll = "Feed.Poll"
	// FeedDeliverAlarm wakes the agents that follow a feed, and resolves the predictions that wait for its rule.
	FeedDeliverAlarm = "Feed.DeliverAlarm"
	// FeedLoadSettings reads the interval and the rules of a feed from the store.
	FeedLoadSettings = "Feed.LoadSettings"
)
