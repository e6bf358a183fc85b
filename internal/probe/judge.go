package probe

// First is among how many of the first answers a text must be: as many as most callers of recall ask for.
const First = 10

// Result is what became of one question.
type Result struct {
	Before bool // it was found when the night began
	After  bool // it, or what took its place, was found when the night ended
	// the night itself can be the reason of a difference: it changed the text, or what it made stands before it
	Caused bool
	Behind bool // it is found both times, and something that the night made has come before it
}

// Verdict counts the results of a night.
type Verdict struct {
	Requested int `json:"asked"`
	Before    int `json:"before"` // found when it began
	After     int `json:"after"`  // found when it ended
	Lost      int `json:"lost"`   // found before and not after, because of the night
	Gained    int `json:"gained"` // found after and not before
	Margin    int `json:"margin"` // so many more may be lost, or come behind, than gained
	Behind    int `json:"behind"` // found when it ended, but behind something that the night made
}

// Margin is how many questions a night may lose net: two, or one in a hundred where that is more. Below that a loss can
// be the luck of equals that changed places.
func Margin(requests int) int { return max(2, requests/100) }

// Judge counts.
func Judge(results []Result) Verdict {
	v := Verdict{Requested: len(results), Margin: Margin(len(results))}
	for _, r := range results {
		if r.Before {
			v.Before++
		}
		if r.After {
			v.After++
		}
		switch {
		case r.Before && !r.After && r.Caused:
			v.Lost++
		case !r.Before && r.After:
			v.Gained++
		case r.Before && r.After && r.Behind:
			v.Behind++
		}
	}
	return v
}

// Worse says whether the night is to be undone. A memory that comes second to what a night made of other words is as
// good as lost to who asks for it: a night that contradicts what people said need not push it out of the first answers.
func (v Verdict) Worse() bool { return v.Lost+v.Behind-v.Gained > v.Margin }
