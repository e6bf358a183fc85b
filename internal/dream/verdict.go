package dream

import "github.com/seed-56a03226/oneiros/internal/budget"

// Verdict is what the observer saw in a text. The three distances stay apart. All lie in [0, 1].
type Verdict struct {
	Novelty          float64 `json:"novelty"`
	Relevance        float64 `json:"relevance"`
	Coherence        float64 `json:"coherence"`
	Composite        float64 `json:"composite"`
	DistancePlaybook float64 `json:"distance_playbook"` // 1 - highest cosine; 1 when the playbook is empty
	DistanceMemory   float64 `json:"distance_memory"`
	PlaybookEmpty    bool    `json:"playbook_empty,omitempty"`
	Judge            string  `json:"judge"` // the model, or "embedder" when the numbers were measured, not answered

	Floor *float64 `json:"floor,omitempty"` // what the composite had to exceed
	Parts *Parts   `json:"parts,omitempty"` // how the numbers came about; nil in verdicts that are older than it
}

// Scores are the three things that a verdict weighs, each in [0, 1].
type Scores struct {
	Novelty   float64 `json:"novelty"`
	Relevance float64 `json:"relevance"`
	Coherence float64 `json:"coherence"`
}

// Ways in which the numbers of a verdict can come about.
const (
	ByMeasure  = "measured" // by the embedder and the words, without a call to a judge
	BySingle   = "single"   // one call to a judge for this fragment
	ByTogether = "batched"  // one call for the fragments of a cycle
)

// JudgingAuto lets the price decide between the two (Knobs.Judging).
const JudgingAuto = "auto"

// Parts are what a verdict was put together from.
type Parts struct {
	Measured Scores  `json:"measured"`         // by the embedder and the words
	Judged   *Scores `json:"judged,omitempty"` // as the model answered; nil when none did
	Way      string  `json:"way"`
	Together int     `json:"together,omitempty"` // fragments in the same call
	Why      string  `json:"why,omitempty"`      // it was measured although a judge was to be asked
	Said     string  `json:"said,omitempty"`     // the judge's own reason

	Surface Surface  `json:"surface"`
	Meaning *Meaning `json:"meaning,omitempty"` // nil: the embedder cannot see it, or the text is too short
	Blind   string   `json:"blind,omitempty"`   // why not
	// mean natural logarithm of its tokens' probabilities; nil where the provider does not tell
	LogProb *float64 `json:"log_prob,omitempty"`
	// in [0, 1], what coherence was multiplied with for it; 1 where nobody told
	Likely float64 `json:"likely"`

	Marker *Fired  `json:"marker,omitempty"` // the somatic marker that fired; nil for none
	Whole  float64 `json:"whole"`            // the composite before the observer's bias
	Bias   float64 `json:"bias"`             // what it was multiplied with; 1 until enough outcomes are known

	// of the judge's answer, an even share when it was given together; nil when none was bought
	Cost *budget.Micros `json:"cost_micros,omitempty"`
}

// Surface is how much a text looks like somebody speaking: five shares in [0, 1] and their product.
type Surface struct {
	Wordlike float64 `json:"wordlike"` // words that can be words, of one script
	Fresh    float64 `json:"fresh"`    // pairs of words that do not come round again
	Bearable float64 `json:"bearable"` // sentences that are neither stumps nor endless
	Joined   float64 `json:"joined"`   // small words that stand where small words can stand
	Spoken   float64 `json:"spoken"`   // small words of one language, as often as anybody says them
	Whole    float64 `json:"whole"`
}

// Meaning is how far the parts of a text belong together by their meaning.
type Meaning struct {
	Cosine  float64 `json:"cosine"`  // mean of neighbouring parts
	Between float64 `json:"between"` // how near memories that have nothing to do with each other lie in this space
	Share   float64 `json:"share"`   // in [0, 1], what coherence was multiplied with
}

// Fired is a somatic marker that matched a text.
type Fired struct {
	Marker    string  `json:"marker"` // its id
	Cosine    float64 `json:"cosine"`
	Threshold float64 `json:"threshold"` // it had to reach, by what memories are near to this text
	Strength  float64 `json:"strength"`  // of the feeling
	Valence   Valence `json:"valence"`
	Count     int     `json:"count"`
	Relevance float64 `json:"relevance"` // before the boost
	Boost     float64 `json:"boost"`     // added to relevance
}
