package llama

import (
	"testing"

	"github.com/ardanlabs/jinja"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// The templates of two families, as their makers ship them.
const (
	zephyr = "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n" +
		"{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n" +
		"{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"
	gemma = "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}" +
		"{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}" +
		"{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"
)

var talk = []inference.Message{
	{Role: "system", Content: "Be brief."},
	{Role: "user", Content: "Hello."},
	{Role: "assistant", Content: "Hm."},
	{Role: "user", Content: "Well?"},
}

func follows(t *testing.T, template string) scribe {
	t.Helper()
	own, err := jinja.Compile(tidied(template))
	require.NoError(t, err)
	return scribe{own: own, bos: "<s>", eos: "</s>"}
}

func TestAConversationIsWrittenAsTheModelsMakerMeant(t *testing.T) {
	t.Parallel()
	text, err := follows(t, zephyr).write(talk, true)
	require.NoError(t, err)
	require.Equal(t,
		"<|system|>\nBe brief.</s>\n<|user|>\nHello.</s>\n<|assistant|>\nHm.</s>\n<|user|>\nWell?</s>\n<|assistant|>\n",
		text)
	closed, err := follows(t, zephyr).write(talk[:2], false)
	require.NoError(t, err)
	require.Equal(t, "<|system|>\nBe brief.</s>\n<|user|>\nHello.</s>\n", closed)
}

func TestWhereNoSystemIsKnownItSpeaksThroughTheUser(t *testing.T) {
	t.Parallel()
	s := follows(t, gemma)
	_, err := s.write(talk, true)
	require.ErrorContains(t, err, "System role not supported")
	s.folds = true
	text, err := s.write(talk, true)
	require.NoError(t, err)
	require.Equal(t,
		"<s><start_of_turn>user\nBe brief.\n\nHello.<end_of_turn>\n<start_of_turn>model\nHm.<end_of_turn>\n"+
			"<start_of_turn>user\nWell?<end_of_turn>\n<start_of_turn>model\n", text)
	require.Equal(t, []inference.Message{{Role: "user", Content: "Be brief."}}, folded(talk[:1]))
}

func TestATemplateThatMakesNothingIsAFault(t *testing.T) {
	t.Parallel()
	_, err := follows(t, "{% if false %}x{% endif %}").write(talk, true)
	require.ErrorContains(t, err, "makes nothing of 4 messages")
}
