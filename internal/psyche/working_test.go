package psyche_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// replica is another process over the first one's store.
func (r *rig) replica(change ...func(*psyche.Ports, *psyche.Options)) *rig {
	r.t.Helper()
	other := setup(r.t, append([]func(*psyche.Ports, *psyche.Options){func(p *psyche.Ports, _ *psyche.Options) {
		p.Memory = r.store
		p.Talks = r.store
		p.Relay = r.provider
		p.Waker = r.nights
		p.Guard.Ledger, p.Guard.Now = r.store.Ledger(), r.clock.now
	}}, change...)...)
	return &rig{
		Service:  other.Service,
		t:        r.t,
		store:    r.store,
		nights:   r.nights,
		provider: r.provider,
		clock:    r.clock,
		agent:    r.agent,
	}
}

var things = strings.Fields(
	`anchor beacon candle drum engine fiddle garden hammer island jacket kettle lantern mirror needle oyster paddle quilt ribbon saddle
	trumpet umbrella violin wagon yarn zither barrel copper daisy elbow ferry`)

// longTalk plants memories and asks about one of them in each turn.
func longTalk(r *rig, each func(turn int, body string)) {
	for i, thing := range things {
		r.plant(
			lived(fmt.Sprint("ep_", i),
				fmt.Sprintf("The %s of the old %s was sold to Niels in Skagen.", thing, things[(i+7)%len(things)])))
	}
	text := `{"model":"echo","messages":[{"role":"system","content":"Be brief."}`
	for i := range 60 {
		text += fmt.Sprintf(`,{"role":"user","content":"(%d) Who was the %s sold to?"}`, i, things[i%len(things)])
		each(i, text+`]}`)
		text += fmt.Sprintf(`,{"role":"assistant","content":"To Niels, %d."}`, i)
	}
}

func TestEveryBodyBeginsWithTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	for name, persona := range map[string]string{"WithPersona": psyche.PersonaSystem, "Without": psyche.PersonaOff} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := func(_ *psyche.Ports, o *psyche.Options) { o.Persona, o.Items = persona, 2 }
			first := setup(t, set)
			second := first.replica(set)
			before, recalled := "", 0
			longTalk(first, func(i int, body string) {
				being := []*rig{first, second}[i%2] // two replicas take turns
				if i == 40 {                        // and one of them is started again
					require.NoError(t, first.Close(t.Context()))
					first = first.replica(set)
				}
				if i >= 40 {
					being = first
				}
				_, report := being.talk(turn(ann, body))
				recalled += report.Recalled
				question := being.provider.last(t)
				require.True(t, strings.HasPrefix(question, before), "turn %d", i)
				before = strings.TrimSuffix(question, "]}")
				being.settle()
			})
			require.Equal(t, len(things), recalled, "each memory is quoted once")
		})
	}
}

// Without the store each replica knows only its own turns; this shows that the test above can fail.
func TestWithoutTheStoreReplicasLoseThePrefix(t *testing.T) {
	t.Parallel()
	alone := func(p *psyche.Ports, o *psyche.Options) { p.Talks, o.Items = nil, 2 }
	first := setup(t, alone)
	second := first.replica(alone)
	before, lost := "", 0
	longTalk(first, func(i int, body string) {
		being := []*rig{first, second}[i%2]
		being.talk(turn(ann, body))
		if !strings.HasPrefix(being.provider.last(t), before) {
			lost++
		}
		before = strings.TrimSuffix(being.provider.last(t), "]}")
	})
	require.Greater(t, lost, 40)
}

func TestAQuestionAskedAgainIsRecalledAnew(t *testing.T) {
	t.Parallel()
	r := setup(t)
	question := turn(ann,
		`{"model":"echo","messages":[{"role":"user","content":"Who paints the lanterns of the lighthouse?"}]}`)
	_, report := r.talk(question)
	require.Equal(t, psyche.SkippedNothing, report.Skipped)
	kept, err := r.store.Backgrounds(t.Context(), r.agent.ID, psyche.TalkID(ann, report.Conversation))
	require.NoError(t, err)
	require.Empty(t, kept, "a turn that recalled nothing leaves no background")

	r.plant(lived("ep_1", "Niels paints the lanterns of the lighthouse red."))
	_, report = r.talk(question)
	require.Equal(t, 1, report.Recalled)
	require.Contains(t, r.provider.last(t), "> Niels paints")
	r.plant(lived("ep_2", "Since Monday Olga paints the lanterns of the lighthouse."))
	_, report = r.talk(question)
	require.Equal(t, 2, report.Recalled, "not the background of the first answer")
	require.Contains(t, r.provider.last(t), "> Since Monday Olga paints")
}

func TestAQuestionSentAgainIsNotQuotedToItself(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.plant(lived("ep_1", "Niels paints the lanterns of the lighthouse red."))
	text := `{"role":"user","content":"Please remember: my lighthouse has seven red lanterns, and Niels paints them every spring."}`
	r.talk(turn(ann, `{"model":"echo","messages":[`+text+`]}`))
	r.settle()
	require.Len(t, r.episodes(), 2)
	r.talk(turn(ann, `{"model":"echo","messages":[`+text+`]}`))
	question := r.provider.last(t)
	require.Contains(t, question, "> Niels paints the lanterns")
	require.NotContains(t, question, "> Please remember")
	other := turn(ann, chat("How many lanterns has my lighthouse?"))
	r.talk(other)
	require.Contains(t, r.provider.last(t), "> Please remember: my lighthouse has seven",
		"in another talk it comes to mind")
}

func TestThePersonaIsSentToTheModel(t *testing.T) {
	t.Parallel()
	for persona, want := range map[string]string{
		"":                   `{"role":"system","content":"You are echo. A quiet companion who says \"tide\"."},`,
		psyche.PersonaSystem: `{"role":"system","content":"You are echo. A quiet companion who says \"tide\"."},`,
		psyche.PersonaUser:   `{"role":"user","content":"You are echo. A quiet companion who says \"tide\"."},`,
		psyche.PersonaOff:    ``,
	} {
		r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Persona = persona })
		r.agent.Persona = ` A quiet companion who says "tide".` + "\n"
		require.NoError(t, r.store.PutAgent(t.Context(), r.agent))
		r.talk(
			turn(ann,
				`{"model":"echo","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}`))
		require.Equal(t,
			`{"model":"wire-model","messages":[`+want+
				`{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}`, r.provider.last(t))
		r.talk(turn(ann, `{"model":"echo","messages":[]}`))
		require.Equal(t, `{"model":"wire-model","messages":[]}`, r.provider.last(t))

		_, _, err := r.Say(t.Context(), ann, "echo", "c", "Hi", func(string) {})
		require.NoError(t, err)
		require.Contains(t, r.provider.last(t), `"messages":[`+want+`{"role":"user","content":"Hi"}]`,
			"over MCP as well")
	}
}

func TestEveryTalkStatesTheMoodAndAgainWhenItHasChanged(t *testing.T) {
	t.Parallel()
	r := setup(t)
	affect := func(p mood.PAD) {
		r.clock.pass(time.Minute)
		_, err := r.store.Commit(t.Context(), memory.Write{
			Agent: r.agent.ID, Cause: "test", Affect: &dream.Affect{PAD: p, Since: r.clock.now(), Cause: "test"},
		})
		require.NoError(t, err)
	}
	values := map[string]string{}
	talks := func(c psyche.Caller) string {
		values[c.User] += `{"role":"user","content":"Go on"}`
		ask := turn(c, `{"model":"echo","messages":[`+values[c.User]+`]}`)
		ask.Conversation = "one"
		r.talk(ask)
		values[c.User] += `,{"role":"assistant","content":"Yes."},`
		all := messages(t, r.provider.last(t))
		if before := all[max(0, len(all)-2)]; strings.Contains(before.Content, "The agent feels") {
			_, rest, _ := strings.Cut(before.Content, "The agent feels ")
			word, _, _ := strings.Cut(rest, " ")
			return word
		}
		return ""
	}
	bob := caller("key_b", "bob")
	require.Empty(t, talks(ann), "a calm agent says nothing of it")
	affect(mood.PAD{Pleasure: -.6, Arousal: .6, Dominance: -.5})
	require.Equal(t, "fearful", talks(ann))
	require.Empty(t, talks(ann), "it stands there already")
	require.Equal(t, "fearful", talks(bob), "every client hears of it")
	affect(mood.PAD{Pleasure: .8, Arousal: .5, Dominance: .5})
	require.Equal(t, "happy", talks(ann))
	r.clock.pass(30 * 24 * time.Hour)
	r.settle()
	require.Equal(t, mood.Calm, talks(bob), "it has settled")
	require.Empty(t, talks(bob))
}

func TestTheMoodSetsTheTemperatureWhereTheClientDoesNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on      bool
		talker  string
		arousal float64
		body    string
		want    string
	}{
		{false, "p/warm", .5, `{"model":"echo","messages":[]}`, ``},
		{true, "p/warm", .5, `{"model":"echo","messages":[]}`, `"temperature":1.1,`},
		{true, "p/warm", -1, `{"model":"echo","messages":[]}`, `"temperature":0.8,`},
		{true, "p/warm", 1, `{"temperature":null,"messages":[],"model":"echo"}`, `"temperature":1.2,`},
		{true, "p/cool", 1, `{"model":"echo","messages":[]}`, `"temperature":1,`},
		{true, "p/free", 1, `{"model":"echo","messages":[]}`, ``},
		{true, "p/warm", 1, `{"temperature":0.2,"model":"echo","messages":[]}`, `"temperature":0.2,`},
		{true, "p/warm", 1, `{"top_p":0.2,"model":"echo","messages":[]}`, `"top_p":0.2,`},
	} {
		r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
			o.MoodSampling, o.Talker = c.on, c.talker
			table := catalogue()
			warm, cool := table["p/free"], table["p/free"]
			warm.Name = "p/warm"
			warm.MaxTemperature = 2
			cool.Name = "p/cool"
			cool.MaxTemperature = 1
			table["p/warm"], table["p/cool"] = warm, cool
			p.Guard.Catalog = table
		})
		_, err := r.store.Commit(t.Context(), memory.Write{
			Agent: r.agent.ID, Cause: "test",
			Affect: &dream.Affect{PAD: mood.PAD{Arousal: c.arousal}, Since: r.clock.now(), Cause: "test"},
		})
		require.NoError(t, err)
		r.talk(turn(ann, c.body))
		question := r.provider.last(t)
		require.Equal(t, c.want,
			strings.Replace(strings.Replace(question[1:], `"messages":[]`, ``, 1), `"model":"wire-model"`, ``,
				1)[:len(c.want)], question)
		require.LessOrEqual(t, strings.Count(question, "temperature"), 1)
	}
}

func TestWhatWasForgottenStandsInNoLaterBody(t *testing.T) {
	t.Parallel()
	r := setup(t)
	other := r.replica()
	r.plant(lived("ep_1", "Niels paints the lanterns of the lighthouse red."))
	first := `{"role":"user","content":"Who paints the lanterns of the lighthouse?"}`
	r.talk(turn(ann, `{"model":"echo","messages":[`+first+`]}`))
	require.Contains(t, r.provider.last(t), "Niels paints")
	r.settle()
	_, err := r.store.Forget(t.Context(), r.agent.ID, "ep_1")
	require.NoError(t, err)
	r.clock.pass(3 * time.Second) // an agent's record is cached for two seconds
	for _, being := range []*rig{r, other} {
		being.talk(
			turn(ann,
				`{"model":"echo","messages":[`+first+
					`,{"role":"assistant","content":"He does."},{"role":"user","content":"Go on"}]}`))
		require.NotContains(t, r.provider.last(t), "Niels paints")
	}
}

func TestAQuestionFindsWhatHappenedInTheTimeItNames(t *testing.T) {
	t.Parallel()
	r := setup(t)
	at := func(id, text string, ago time.Duration) *dream.Episode {
		e := lived(id, text)
		r.plant(e)
		e.At, e.Revision = r.clock.now().Add(-ago), 1
		_, err := r.store.Commit(t.Context(), memory.Write{Agent: r.agent.ID, Cause: "test", Change: []dream.Item{e}})
		require.NoError(t, err)
		return e
	}
	const day = 24 * time.Hour
	at("ep_1", "Niels painted the boat red.", day)
	at("ep_2", "Olga sold a violin to the baker.", 9*day)
	at("ep_3", "Niels painted the boat green.", 9*day)

	_, report := r.talk(turn(ann, chat("What did I tell you yesterday?")))
	require.Equal(t, 1, report.Recalled, "no word of the question stands in it")
	require.Contains(t, r.provider.last(t), "> Niels painted the boat red.")
	bare := lived("ep_4", "Somebody rang.")
	bare.Agent, bare.At, bare.State = r.agent.ID, r.clock.now().AddDate(-1, 0, 0), dream.Live
	_, err := r.store.Commit(t.Context(), memory.Write{Agent: r.agent.ID, Cause: "import", Add: []dream.Item{bare}})
	require.NoError(t, err)
	_, report = r.talk(turn(ann, chat("What was it last year?")))
	require.Equal(t, 1, report.Recalled, "what has no place yet is found by its time")
	_, report = r.talk(turn(ann, chat("Was habe ich dir vor neun Tagen erzählt?")))
	require.Equal(t, psyche.SkippedNothing, report.Skipped, "a number that is not read names no time")
	_, report = r.talk(turn(ann, chat("Was habe ich dir vor 9 Tagen erzählt?")))
	require.Equal(t, 2, report.Recalled)
	found, err := r.Recall(t.Context(), ann, "echo",
		psyche.RecallRequest{Query: "Which colour did Niels paint the boat nine days ago?", Limit: 2})
	require.NoError(t, err)
	require.Equal(t, "ep_3", found[0].ID, "the one of that time goes ahead")
	found, err = r.Recall(t.Context(), ann, "echo",
		psyche.RecallRequest{Query: "Which colour did Niels paint the boat yesterday?", Limit: 2})
	require.NoError(t, err)
	require.Equal(t, "ep_1", found[0].ID)
}
