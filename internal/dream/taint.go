package dream

import "slices"

// trust lists the taints from the most to the least trusted. A person speaks for themselves. The agent's words come
// from its model, which can be wrong but is the one that was chosen. A tool says what somebody else's program put
// together, and the web what anybody wrote. A dream is made to be untrue, so that it is the least trusted of all, and
// recall keeps what carries it apart.
var trust = []Taint{FromHuman, FromAgent, FromTool, FromWeb, FromDream}

// LeastTrusted is the label of a text that was made from texts with these labels: the least trusted of them.
// A label that is none of the five is trusted no more than a dream. Without any label there is nothing to trust either.
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

// Known says whether a taint is one of the five.
func (t Taint) Known() bool { return slices.Contains(trust, t) }
