package probe

// First is among how many of the first answers a text must be: as many as most callers of recall request.
const First = 10

// Result is the result of one question.
type Result struct {
	Before bool // it was found when the dream began
	After  bool // it, or its replacement, was found when the dream ended
	// the dream itself can be the cause of a difference: it changed the text, or one of its items ranks before it
	Caused bool
	Behind bool // it is found both times, and an item of the dream now ranks before it
}

// Verdict counts the results of a dream.
type Verdict struct {
	Requested int `json:"asked"`
	Before    int `json:"before"` // found when it began
	After     int `json:"after"`  // found when it ended
	Lost      int `json:"lost"`   // found before and not after, because of the night
	Gained    int `json:"gained"` // found after and not before
	Margin    int `json:"margin"` // so many more may be lost, or come behind, than gained
	Behind    int `json:"behind"` // found when it ended, but after an item of the dream
}

// Margin is how many questions a dream may lose net: two, or one in a hundred where that is more. Fewer losses can be
// chance, because equal scores change places.
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
