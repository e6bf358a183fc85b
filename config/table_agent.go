package config

import (
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

func agentKnobs() []Knob {
	return append(append(append(append(dreamingRows(), urgencyRows()...), wakingRows()...), digestRows()...),
		vitalityRows()...)
}

func dreamingRows() []Knob {
	return []Knob{
		{
			Key: "agent.auto", Sort: YesNo, Default: false,
			Reason: "New agents dream by themselves when idle. Off until somebody switches it on, because it may spend money.",
		},
		{
			Key:     "agent.idle_timeout",
			Sort:    Span,
			Default: "30m",
			Low:     10,
			High:    30 * day,
			Reason:  "Quiet time before an agent that may dream by itself does, up to agent.jitter later. Long enough to outlast a pause in a talk.",
		},
		{
			Key:     "agent.min_gap",
			Sort:    Span,
			Default: "6h",
			Low:     60,
			High:    90 * day,
			Reason:  "Least time between two dreams that nobody asked for. Four dreams of $0.50 fill the cap of a day.",
		},
		{
			Key: "agent.jitter", Sort: Span, Default: "5m", High: 1 * day,
			Reason: "Dreams by themselves begin, and interrupted ones go on, up to so much later, each agent and each dream its own. A thousand agents that fall idle together, or whose window opens, begin 3 or 4 a second instead of at once. Unless set, at most a sixth of idle_timeout.",
		},
		{
			Key: "agent.windows", Sort: Text, Default: "", Unit: "hours",
			Reason: "Dreams by themselves begin only then, by the clock of the agent's own zone: \"22:00-07:00\", \"mon-fri 22:00-07:00, sat,sun 00:00-24:00\". Empty: always, since an idle agent disturbs nobody. A dream that has begun is not ended by them.",
		},
		{
			Key: "agent.quiet", Sort: Text, Default: "", Unit: "hours",
			Reason: "Dreams by themselves never begin then, whatever agent.windows says; written the same way. For when money or machines are wanted for something else. Empty: none.",
		},
	}
}

// urgencyRows configure when an urgent agent may idle for a shorter time.
func urgencyRows() []Knob {
	return []Knob{
		{
			Key: "agent.urgent_idle", Sort: Span, Default: "10m", High: 30 * day,
			Reason: "Quiet time before an urgent agent dreams by itself, and before a dream begins that a trigger calls for; up to agent.jitter later. Ten minutes outlast the pause in most talks. Never before agent.min_gap has passed, nor outside its hours, caps or consent. At 0 urgency moves nothing. Unless set, at most a third of idle_timeout.",
		},
		{
			Key:     "agent.urgent",
			Sort:    Number,
			Default: circadian.DefaultEager.Urgent,
			Low:     .05,
			High:    1,
			Unit:    "share",
			Reason:  "Urgency from which an idle agent waits for agent.urgent_idle only, not for agent.idle_timeout. See triggers.md.",
		},
		{
			Key:     "agent.urgent_uncertain",
			Sort:    Number,
			Default: circadian.DefaultEager.Uncertain,
			Low:     .05,
			High:    1,
			Unit:    "share",
			Reason:  "Likewise while times are uncertain: a change of regime was found in the newest ten episodes or outcomes. The lower threshold of the same documents; never above agent.urgent.",
		},
	}
}

func wakingRows() []Knob {
	return []Knob{
		{
			Key:     "agent.client_timeout",
			Sort:    Span,
			Default: "60s",
			Low:     1,
			High:    1 * day,
			Reason:  "How long one request keeps an agent awake. A minute covers the pause before the next question, and what dies without a word holds nobody longer.",
		},
		{
			Key:     "agent.wake_lock",
			Sort:    Span,
			Default: "5s",
			Low:     1,
			High:    3600,
			Reason:  "No dream begins for so long after any client came or went, so that a storm of connections starts none. Never above client_timeout.",
		},
		{
			Key:     "agent.alarm_hold",
			Sort:    Span,
			Default: "5m",
			Low:     1,
			High:    1 * day,
			Reason:  "How long an alarm keeps an agent awake that nobody visits: time for a person to read the message and connect, and five looks of a probe that asks every minute, so that a value that flickers wakes once and not five times. Never below wake_lock.",
		},
		{
			Key:     "agent.resume_after",
			Sort:    Span,
			Default: "5m",
			Low:     1,
			High:    1 * day,
			Reason:  "Quiet time before an interrupted dream goes on; it goes on up to agent.jitter later. Five times client_timeout, so that it is not interrupted again in the same talk; well below idle_timeout, because half of it is paid for. Unless set, at most idle_timeout and half of resume_ttl.",
		},
		{
			Key: "agent.resume_ttl", Sort: Span, Default: "8h", High: 30 * day,
			Reason: "How long after an interruption a dream may go on: one night. What it gathered belongs to the day before; older residue has lost its context. At 0 a dream ends when it is woken.",
		},
	}
}

// digestRows configure what clients see of dreams.
func digestRows() []Knob {
	return []Knob{
		{
			Key: "agent.digest", Sort: Choice, Default: journal.DigestMessage, Choices: journal.Digests,
			Reason: "What a client that wakes an agent sees of its dreams: message, the significant insights since it was last awake, quoted as background and labelled \"dream, unverified\"; header, their number without any text; off. A client may request another form.",
		},
		{
			Key: "agent.private", Sort: YesNo, Default: false,
			Reason: "Clients see nothing of dreams, whatever they request. The operator of the deployment can still read the journal.",
		},
		{
			Key: "agent.shared", Sort: YesNo, Default: false,
			Reason: "Tell clients of dreams although the agent remembers talks of others. A dream reads the talks of all, so that what it says may quote any of them: unless set, a key of role client hears of dreams only while every talk that the agent remembers is its own and its user's. For agents whose users have no secrets from each other.",
		},
		{
			Key: "agent.review", Sort: Choice, Default: string(dream.ReviewAuto),
			Choices: []string{string(dream.ReviewAuto), string(dream.ReviewAsk), string(dream.JournalOnly)},
			Reason:  "What becomes of what the dreams of an agent leave behind, unless the agent has a way of its own. auto: it counts at once, as low confidence. review: nothing counts until a person accepts it (oneiros review). journal-only: a dream writes its journal and its record and nothing else. See review.md.",
		},
	}
}

// vitalityRows takes its defaults from package circadian.
func vitalityRows() []Knob {
	t := circadian.DefaultThresholds
	return []Knob{
		{
			Key:     "agent.vitality.thriving",
			Sort:    Number,
			Default: t.Thriving,
			High:    1,
			Unit:    "share",
			Reason:  "Thriving from here: onsets of at most 5 cycles, and never more than dream.cycles, within 90 s. Vitality is the least share left of the caps of day and month, or what an agent was given. Half of the default day is two whole dreams.",
		},
		{
			Key:     "agent.vitality.stable",
			Sort:    Number,
			Default: t.Stable,
			High:    1,
			Unit:    "share",
			Reason:  "Stable from here: at most 3 cycles within 60 s. A quarter of the default day is one whole dream.",
		},
		{
			Key:     "agent.vitality.conservation",
			Sort:    Number,
			Default: t.Conservation,
			High:    1,
			Unit:    "share",
			Reason:  "Conservation from here: one cycle within 30 s. An eighth of the default day is half a dream; falling below it ends an onset early.",
		},
		{
			Key:     "agent.vitality.declining",
			Sort:    Number,
			Default: t.Declining,
			High:    1,
			Unit:    "share",
			Reason:  "Declining from here, terminal below: no onset in either. A fortieth of the default day is $0.05, the onset's share of one dream.",
		},
	}
}

func feedKnobs() []Knob {
	return []Knob{{
		Key: "feed.listen", Sort: Text, Default: "127.0.0.1:7412", Unit: "host:port",
		Reason: "Where a worker takes readings that are pushed over HTTP, for the alarms. Only this machine may push unless another address is given; who listens wider puts a gate before it. The port is clear of Temporal's (7233 to 7243) and of those that systems lend to outgoing connections. Empty: nothing listens.",
	}}
}
