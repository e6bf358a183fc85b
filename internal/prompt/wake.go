package prompt

// WakeTrigger is why an agent is called.
type WakeTrigger string

// The triggers.
const (
	ByMention  WakeTrigger = "mention"   // a post names it
	Directly   WakeTrigger = "direct"    // somebody calls it without a post
	AtSetTimes WakeTrigger = "scheduled" // a time that was set has come
)

// Speech is something that was said in a room.
type Speech struct {
	Author string
	Agent  bool // the author is an agent
	Text   string
}

// WakeInput is the input of Wake. What is empty is left out of the prompt.
type WakeInput struct {
	Self    Self
	Trigger WakeTrigger
	Silent  string // since when the agent has said nothing, in words: "2 days, since Monday 09:12"
	Caller  Speech // who calls, and the post or the message; without an author for a scheduled wake

	Room       string
	Categories []string // of the post
	Score      string   // of the post, such as "0.75"

	Root   *Speech  // what the thread is about
	Chain  []Speech // the replies before the call, in order
	Others []string // the handles of others who are called by the same post
	Memory []Line   // what the agent remembers of it, m1, m2, …
	Mood   string   // the word for the agent's mood
}

// Wake asks an agent that is called whether it answers and what. Its answer is read into a WakeAnswer.
func Wake(w WakeInput) Text {
	ask := "wake.scheduled"
	switch w.Trigger {
	case ByMention:
		ask = "wake.mention"
	case Directly:
		ask = "wake.direct"
	}
	return Text{
		System: render("wake.system", w),
		Shown:  render("wake.shown", w),
		Ask:    render(ask, w),
		Name:   "wake",
		Schema: schema("wake"),
	}
}
