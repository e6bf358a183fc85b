package dream

import "slices"

// trust lists the taints from the most to the least trusted. People are trusted about themselves. The agent's words
// come from its model, which can be wrong but was chosen by its owner. Tools return what other programs produced, and
// the web what anybody wrote. Dreams are meant to be untrue and come last; recall keeps them apart.
var trust = []Taint{FromHuman, FromAgent, FromTool, FromWeb, FromDream}

// LeastTrusted is the taint of a text made from texts with these taints: the least trusted of them. An unknown taint
// counts as a dream's, and so does no taint at all.
func LeastTrusted(taints ...Taint) Taint {
	least := -1
	for _, t := range taints {
		at := slices.Index(trust, t)
		if at < 0 {
			return FromDream
		}
		least = max(least, at)
	}
	if least < 0 {
		return FromDream
	}
	return trust[least]
}

// Valid says whether a taint is one of the five.
func (t Taint) Valid() bool { return slices.Contains(trust, t) }
