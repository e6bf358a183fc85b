package dream

import "github.com/seed-56a03226/oneiros/activities/port/budget"

// Verdict is the observer's judgement of a text. The three distances are kept separately. All values lie in [0, 1].
type Verdict struct {
	Novelty          float64 `json:"novelty"`
	Relevance        float64 `json:"relevance"`
	Coherence        float64 `json:"coherence"`
	Composite        float64 `json:"composite"`
	DistancePlaybook float64 `json:"distance_playbook"` // 1 - highest cosine; 1 when the playbook is empty
	DistanceMemory   float64 `json:"distance_memory"`
	PlaybookEmpty    bool    `json:"playbook_empty,omitempty"`
	Judge            string  `json:"judge"` // the model, or "embedder" when the values were measured

	Floor *float64 `json:"floor,omitempty"` // what the composite had to exceed
	Parts *Parts   `json:"parts,omitempty"` // how the values were computed; nil in old verdicts
}

// Scores are the three values of a verdict, each in [0, 1].
type Scores struct {
	Novelty   float64 `json:"novelty"`
	Relevance float64 `json:"relevance"`
	Coherence float64 `json:"coherence"`
}

// How the values of a verdict were obtained.
const (
	ByMeasure  = "measured" // by embedder and words, without a judge's call
	BySingle   = "single"   // one call to a judge for this fragment
	ByTogether = "batched"  // one call for all fragments of a cycle
)

// JudgingAuto chooses between the two by price (Knobs.Judging).
const JudgingAuto = "auto"

// Parts are what a verdict was computed from.
type Parts struct {
	Measured    Scores  `json:"measured"`         // by embedder and words
	Judged      *Scores `json:"judged,omitempty"` // the model's answer; nil without one
	Way         string  `json:"way"`
	Together    int     `json:"together,omitempty"`     // fragments in the same call
	Why         string  `json:"why,omitempty"`          // why it was measured although a judge was configured
	JudgeReason string  `json:"judge_reason,omitempty"` // the judge's own reason

	Surface Surface  `json:"surface"`
	Meaning *Meaning `json:"meaning,omitempty"` // nil: the embedder cannot tell, or the text is too short
	Blind   string   `json:"blind,omitempty"`   // why Meaning is nil
	// how far its words stand in an order that the memory has; nil: too little memory or text to tell
	WordOrder *WordOrder `json:"word_order,omitempty"`
	// the largest share of its words that stand in one memory, three or more in a row; nil: not measured
	Copied *float64 `json:"copied,omitempty"`
	// mean natural logarithm of its tokens' probabilities; nil if the provider does not return it
	LogProb *float64 `json:"log_prob,omitempty"`
	// the factor in [0, 1] applied to coherence for it; 1 without one
	Likely float64 `json:"likely"`

	Marker *MarkerMatch `json:"marker,omitempty"` // the somatic marker that fired; nil for none
	Whole  float64      `json:"whole"`            // the composite before the observer's bias
	Bias   float64      `json:"bias"`             // the factor of the observer's bias; 1 until enough outcomes are known

	// of the judge's call, split evenly over a batch; nil without a call
	Cost *budget.Micros `json:"cost_micros,omitempty"`
}

// Surface is how much a text looks like natural speech: five shares in [0, 1] and their product.
type Surface struct {
	Wordlike float64 `json:"wordlike"` // share of plausible words of one script
	Fresh    float64 `json:"fresh"`    // share of word pairs that are not repeated
	Bearable float64 `json:"bearable"` // share of sentences of ordinary length
	Joined   float64 `json:"joined"`   // share of function words in plausible positions
	Spoken   float64 `json:"spoken"`   // function words of one language at an ordinary rate
	Whole    float64 `json:"whole"`
}

// WordOrder is how far the words of a text stand in an order that the agent's memory has.
type WordOrder struct {
	Deviations float64 `json:"deviations"` // above the mean of the same words shuffled, in standard deviations
	Expected   float64 `json:"expected"`   // the same of the memory's own sentences, were they as long
	Share      float64 `json:"share"`      // the factor in [0, 1] applied to coherence
}

// Meaning is how closely the parts of a text are related in meaning.
type Meaning struct {
	Cosine  float64 `json:"cosine"`  // mean over neighbouring parts
	Between float64 `json:"between"` // cosine of unrelated memories in this space
	Share   float64 `json:"share"`   // the factor in [0, 1] applied to coherence
}

// MarkerMatch is a somatic marker that matched a text.
type MarkerMatch struct {
	Marker string  `json:"marker"` // its id
	Cosine float64 `json:"cosine"` // of the marker's place, in dreams of 0.1; else 0
	// standard deviations by which a memory of the marker shares more of the text's words than other memories do
	Deviations float64 `json:"deviations,omitempty"`
	Threshold  float64 `json:"threshold"` // the deviations it had to reach; in dreams of 0.1, the cosine
	Strength   float64 `json:"strength"`  // of the affect
	Valence    Valence `json:"valence"`
	Count      int     `json:"count"`
	Relevance  float64 `json:"relevance"` // before the boost
	Boost      float64 `json:"boost"`     // added to relevance
}
