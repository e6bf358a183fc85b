// openai-node, unchanged, against an agent.
import OpenAI from 'openai'
import { agent, assert, base, key, run } from './check.mjs'
import { matrix } from './matrix.mjs'

const client = new OpenAI({ baseURL: base, apiKey: key, maxRetries: 0 })
const say = (content, more) => client.chat.completions.create({ model: agent, messages: [{ role: 'user', content }], ...more })

const sessions = matrix({
  say: async (content, { model = agent, secret = key } = {}) => {
    const stranger = new OpenAI({ baseURL: base, apiKey: secret, maxRetries: 0 })
    return (await stranger.chat.completions.create({ model, messages: [{ role: 'user', content }] })).choices[0].message.content
  },
  cut: async (content) => {
    const stream = await say(content, { stream: true })
    for await (const chunk of stream) {
      if (chunk.choices[0].delta.content) break
    }
    stream.controller.abort()
  },
})

await run('openai', {
  ...sessions,
  'lists agents as models': async () => {
    const ids = []
    for await (const m of client.models.list()) ids.push(m.id)
    assert(ids.includes(agent), `${ids}`)
    assert.equal((await client.models.retrieve(agent)).object, 'model')
    assert.equal((await client.models.retrieve(`agent/${agent}`)).id, agent)
  },
  'talks': async () => {
    const { data, response } = await say('hello there').withResponse()
    assert.match(data.choices[0].message.content, /hello there/)
    assert(data.usage.total_tokens > 0)
    assert.equal(response.headers.get('x-oneiros-agent'), agent)
    assert(data._request_id)
  },
  'streams, with usage': async () => {
    const stream = await say('one two three', { stream: true, stream_options: { include_usage: true }, max_completion_tokens: 50, logprobs: false })
    let text = '', usage
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta?.content ?? ''
      usage = chunk.usage ?? usage
    }
    assert.match(text, /one two three/)
    assert(usage.completion_tokens > 0)
  },
  'thinks, and sends the thought back with the result': async () => {
    const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } } } }]
    const messages = [{ role: 'user', content: 'think: what is two and three?' }]
    const { message } = (await say('', { messages, tools })).choices[0]
    assert.match(message.reasoning_content, /is it 5/)
    messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'the sum is 5' })
    assert.match((await say('', { messages, tools })).choices[0].message.content, /I thought so: the sum is 5/)
    let thought = ''
    for await (const chunk of await say('', { messages: messages.slice(0, 1), tools, stream: true })) thought += chunk.choices[0]?.delta?.reasoning_content ?? ''
    assert.match(thought, /is it 5/)
  },
  'streams without usage when it asks for none': async () => {
    for await (const chunk of await say('one', { stream: true })) assert(!chunk.usage && chunk.choices.length === 1)
  },
  'runs a tool': async () => {
    const called = []
    const runner = client.chat.completions.runTools({
      model: agent, stream: true, messages: [{ role: 'user', content: 'what is two and three?' }],
      tools: [{ type: 'function', function: {
        name: 'add', description: 'adds', parse: JSON.parse, parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
        function: ({ a, b }) => { called.push([a, b]); return `the sum is ${a + b}` },
      } }],
    })
    assert.match(await runner.finalContent(), /the sum is 5/)
    assert.deepEqual(called, [[2, 3]])
  },
  'embeds, as base64 and as numbers': async () => {
    const packed = await client.embeddings.create({ model: agent, input: ['the bees', 'the sea'] })
    const plain = await client.embeddings.create({ model: agent, input: ['the bees', 'the sea'], encoding_format: 'float' })
    assert.equal(packed.data.length, 2)
    assert(packed.data[0].embedding.length > 8)
    packed.data[1].embedding.forEach((x, i) => assert(Math.abs(x - plain.data[1].embedding[i]) < 1e-5))
  },
  'is told what agents there are': async () => {
    await assert.rejects(client.chat.completions.create({ model: 'gpt-none', messages: [] }), (err) => {
      assert(err instanceof OpenAI.NotFoundError)
      assert.equal(err.code, 'model_not_found')
      return err.message.includes(agent)
    })
  },
  'is told of a body that is wrong': async () => {
    await assert.rejects(client.chat.completions.create({ model: agent, messages: 'hello' }), OpenAI.BadRequestError)
  },
})
