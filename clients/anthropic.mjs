// Anthropic's library for Node, unchanged, against an agent.
import Anthropic from '@anthropic-ai/sdk'
import { agent, assert, base, key, run } from './check.mjs'
import { matrix } from './matrix.mjs'

const client = new Anthropic({ baseURL: base.replace(/\/v1$/, ''), apiKey: key, maxRetries: 0 })
const ask = (content, more) => ({ model: agent, max_tokens: 200, messages: [{ role: 'user', content }], ...more })
const add = { name: 'add', description: 'adds', input_schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } } }

const sessions = matrix({
  say: async (content, { model = agent, secret = key } = {}) =>
    (await new Anthropic({ baseURL: base.replace(/\/v1$/, ''), apiKey: secret, maxRetries: 0 }).messages.create(ask(content, { model }))).content.at(-1).text,
  cut: async (content) => {
    const stream = client.messages.stream(ask(content))
    for await (const event of stream) {
      if (event.type === 'content_block_delta') break
    }
    stream.abort()
  },
})

await run('anthropic', {
  ...sessions,
  'talks': async () => {
    const { data, response } = await client.messages.create(ask('hello there')).withResponse()
    assert.match(data.content[0].text, /hello there/)
    assert.equal(data.stop_reason, 'end_turn')
    assert(data.usage.input_tokens > 0 && data.usage.output_tokens > 0)
    assert.equal(response.headers.get('x-oneiros-agent'), agent)
    assert(data._request_id)
  },
  'streams, with usage': async () => {
    const stream = client.messages.stream(ask('one two three', { thinking: { type: 'enabled', budget_tokens: 1024 }, system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }] }))
    let text = ''
    stream.on('text', (piece) => { text += piece })
    const message = await stream.finalMessage()
    assert.match(text, /one two three/)
    assert.equal(message.content.at(-1).text, text)
    assert(message.usage.input_tokens > 0 && message.usage.output_tokens > 0)
  },
  'runs a tool': async () => {
    const first = await client.messages.stream(ask('what is two and three?', { tools: [add], tool_choice: { type: 'auto' } })).finalMessage()
    assert.equal(first.stop_reason, 'tool_use')
    const call = first.content.find((block) => block.type === 'tool_use')
    assert.deepEqual(call.input, { a: 2, b: 3 })
    const second = await client.messages.create(ask('', { tools: [add], messages: [
      { role: 'user', content: 'what is two and three?' }, { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'the sum is 5' }] },
    ] }))
    assert.match(second.content[0].text, /the sum is 5/)
  },
  'thinks, and sends the thought back with the result': async () => {
    const question = 'think: what is two and three?'
    for (const thinking of [{ type: 'enabled', budget_tokens: 1024 }, { type: 'adaptive' }]) {
      const more = { tools: [add], max_tokens: 2000, thinking }
      let thought = ''
      const stream = client.messages.stream(ask(question, more)).on('thinking', (piece) => { thought += piece })
      const first = await stream.finalMessage()
      assert.deepEqual(first.content.map((block) => block.type), ['thinking', 'tool_use'])
      assert.match(thought, /is it 5/)
      assert.equal(first.content[0].thinking, thought)
      assert(first.content[0].signature)
      const messages = [{ role: 'user', content: question }, { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: first.content[1].id, content: 'the sum is 5' }] }]
      assert.match((await client.messages.stream(ask('', { ...more, messages })).finalMessage()).content.at(-1).text, /I thought so: the sum is 5/)
      const whole = await client.messages.create(ask(question, more))
      messages[1] = { role: 'assistant', content: whole.content }
      messages[2].content[0].tool_use_id = whole.content[1].id
      assert.match((await client.messages.create(ask('', { ...more, messages }))).content.at(-1).text, /I thought so: the sum is 5/)
    }
  },
  'counts tokens': async () => {
    const { input_tokens } = await client.messages.countTokens({ model: agent, messages: [{ role: 'user', content: 'hello' }] })
    assert(input_tokens > 5)
  },
  'is told what agents there are': async () => {
    await assert.rejects(client.messages.create(ask('hello', { model: 'nobody' })), (err) => {
      assert(err instanceof Anthropic.NotFoundError)
      assert.equal(err.error.error.type, 'not_found_error')
      assert(err.requestID)
      return err.message.includes(agent)
    })
  },
  'is told which tool cannot be served': async () => {
    await assert.rejects(client.messages.create(ask('hello', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] })), (err) => {
      assert(err instanceof Anthropic.BadRequestError)
      return err.message.includes('web_search')
    })
  },
  'takes a key in both headers': async () => {
    if (key === 'none') return
    for (const options of [{ apiKey: 'oneiros_wrong' }, { apiKey: null, authToken: 'oneiros_wrong' }]) {
      const stranger = new Anthropic({ baseURL: base.replace(/\/v1$/, ''), maxRetries: 0, ...options })
      await assert.rejects(stranger.messages.create(ask('hello')), Anthropic.AuthenticationError)
    }
    const bearer = new Anthropic({ baseURL: base.replace(/\/v1$/, ''), maxRetries: 0, apiKey: null, authToken: key })
    assert((await bearer.messages.create(ask('hello'))).content.length > 0)
  },
})
