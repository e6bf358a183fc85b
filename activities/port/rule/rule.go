// Package rule names the settings and results of the rules that workers, the starter and the activities expose, and
// what decides by them, so that another module can write them down. Their code is internal, and so are these types, as
// aliases: a field may be added to one in any release before 1.0, and an alias goes when its rule goes, with a line in
// the changelog.
package rule

import (
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/quality"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// When an agent dreams by itself.
type (
	UrgencyRule  = circadian.UrgencyRule  // the shorter idle time of an urgent agent
	Urgency      = circadian.Urgency      // how much an agent has to dream about, 0 to 1
	UrgencyInput = circadian.UrgencyInput // what urgency is computed from
	UrgencyTerm  = circadian.Term         // one part of an urgency
	Thresholds   = circadian.Thresholds   // bounds of vitality
)

// DefaultUrgencyRule and DefaultThresholds are the settings of a deployment that names none.
var (
	DefaultUrgencyRule = circadian.DefaultUrgencyRule
	DefaultThresholds  = circadian.DefaultThresholds
)

// How deep a dream goes, and how its thoughts are judged.
type (
	DepthPolicy     = hypnagogia.Policy
	DepthTerm       = hypnagogia.Term
	DepthInput      = hypnagogia.DepthInput
	DepthLearning   = hypnagogia.Learning
	Cycles          = hypnagogia.Cycles
	LooseningChoice = hypnagogia.LooseningChoice
	JudgingChoice   = hypnagogia.JudgingChoice // who judges thoughts: a model, or the distance of their vectors
	ObserverBias    = hypnagogia.Bias
	SurveyBudget    = hypnagogia.SearchBudget
	Sense           = hypnagogia.Sense
)

// What dreams may not develop.
type (
	Policy         = policy.Rules
	PolicyCap      = policy.Cap
	PolicyUnit     = policy.Unit
	PolicyGuard    = policy.Guard
	PolicyPattern  = policy.Pattern
	PolicySentence = policy.Sentence
	PolicyUnclear  = policy.Unclear
)

// DefaultPolicy returns the rules of a deployment that configures none.
func DefaultPolicy() Policy { return policy.Default() }

// How predictions are resolved and scored.
type (
	Verdict     = prediction.Verdict
	Outcome     = prediction.Outcome
	Scores      = prediction.Scores
	PhaseRecord = prediction.PhaseRecord
	Record      = prediction.Record
	Reading     = prediction.Reading
)

// What people decide about what dreams have made.
type (
	Reviewer          = review.Reviewer // accepts or rejects proposals
	Decision          = review.Decision
	Restorer          = review.Restorer // brings back what dreams archived
	Resolver          = review.Resolver // resolves predictions
	Resolution        = review.Resolution
	PredictionRequest = review.PredictionRequest
	ReadingTimes      = review.ReadingTimes
	PredictionJudge   = review.Judge          // resolves predictions in prose by a model
	PredictionCheck   = review.Checked        // what a check of predictions resolved
	LookedUp          = review.LookedUp       // the part of it that asked no model
	Judgement         = review.Judgement      // the part of it that a model was asked for
	IgnoredVerdict    = review.IgnoredVerdict // and its verdicts that do not count
	YieldConsequence  = quality.Consequence   // what automatic dreams do for how often dreams come true
)

// Errors of these decisions, of which the starter returns some.
var (
	ErrNotWaiting  = review.ErrNotWaiting
	ErrNotArchived = review.ErrNotArchived
	ErrNotFollowed = review.ErrNotFollowed
	ErrOverdue     = review.ErrOverdue
	ErrProposed    = review.ErrProposed
)

// What calls for a dream.
type (
	Listener = triggers.Listener // looks for new episodes and events; a worker's process runs one
	Callers  = triggers.Callers  // starts the dream; starter.Starter is one
	Fire     = triggers.Fire     // one call
)

// Errors of a verdict on a prediction that has another one, and on one whose dream was undone.
var (
	ErrResolved = prediction.ErrResolved
	ErrUndone   = prediction.ErrUndone
)

// What a feed's rules have seen.
type (
	AlarmWatch     = alarm.Watch
	FiredRule      = alarm.FiredRule
	UnusedReadings = alarm.UnusedReadings
	UnusedMetric   = alarm.UnusedMetric
	UntimelyError  = alarm.UntimelyError // the error of a reading with a wrong time
)
