// openai-node's responses, unchanged, against an agent.
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { agent, assert, base, key, run } from './check.mjs'
import { matrix } from './matrix.mjs'

const client = new OpenAI({ baseURL: base, apiKey: key, maxRetries: 0 })
const add = { type: 'function', name: 'add', description: 'adds', strict: false, parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } } }

const sessions = matrix({
  say: async (input, { model = agent, secret = key } = {}) =>
    (await new OpenAI({ baseURL: base, apiKey: secret, maxRetries: 0 }).responses.create({ model, input })).output_text,
  cut: async (input) => {
    const stream = await client.responses.create({ model: agent, input, stream: true })
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') break
    }
    stream.controller.abort()
  },
})

await run('openai responses', {
  ...sessions,
  'talks': async () => {
    const { data, response } = await client.responses.create({ model: agent, input: 'hello there', instructions: 'Be brief.' }).withResponse()
    assert.match(data.output_text, /hello there/)
    assert.equal(data.status, 'completed')
    assert(data.usage.total_tokens > 0)
    assert.equal(response.headers.get('x-oneiros-agent'), agent)
  },
  'streams every event in order': async () => {
    const stream = await client.responses.create({ model: agent, input: 'one two three', stream: true })
    let text = '', last, number = 0
    for await (const event of stream) {
      assert.equal(event.sequence_number, number++)
      if (event.type === 'response.output_text.delta') text += event.delta
      last = event
    }
    assert.match(text, /one two three/)
    assert.equal(last.type, 'response.completed')
    assert.equal(last.response.output[0].content[0].text, text)
  },
  'has its helper add the events up': async () => {
    const stream = client.responses.stream({ model: agent, input: 'one two three' })
    const response = await stream.finalResponse()
    assert.match(response.output_text, /one two three/)
  },
  'runs a tool': async () => {
    const input = [{ role: 'user', content: 'what is two and three?' }]
    const first = await client.responses.create({ model: agent, input, tools: [add] })
    const call = first.output.find((item) => item.type === 'function_call')
    assert.deepEqual(JSON.parse(call.arguments), { a: 2, b: 3 })
    input.push(...first.output, { type: 'function_call_output', call_id: call.call_id, output: 'the sum is 5' })
    const second = await client.responses.create({ model: agent, input, tools: [add] })
    assert.match(second.output_text, /the sum is 5/)
  },
  'thinks, and sends the thought back with the result': async () => {
    const reasoning = { effort: 'low', summary: 'auto' }
    for (const more of [{ store: false }, {}]) {
      const input = [{ role: 'user', content: 'think: what is two and three?' }]
      const ask = { model: agent, input, tools: [add], reasoning, include: ['reasoning.encrypted_content'], ...more }
      let thought = ''
      const stream = client.responses.stream(ask).on('response.reasoning_summary_text.delta', ({ delta }) => { thought += delta })
      const first = await stream.finalResponse()
      assert.deepEqual(first.output.map((item) => item.type), ['reasoning', 'function_call'])
      assert.match(thought, /is it 5/)
      assert.equal(first.output[0].summary[0].text, thought)
      assert(first.output[0].encrypted_content)
      const result = (call) => ({ type: 'function_call_output', call_id: call.call_id, output: 'the sum is 5' })
      input.push(...first.output.map(({ parsed_arguments, ...item }) => item), result(first.output[1]))
      assert.match((await client.responses.create(ask)).output_text, /I thought so: the sum is 5/)
      input.splice(1)
      const whole = await client.responses.create(ask)
      input.push(...whole.output, result(whole.output[1]))
      assert.match((await client.responses.create(ask)).output_text, /I thought so: the sum is 5/)
      if (more.store === false) continue
      const kept = await client.responses.create({ ...ask, input: [result(whole.output[1])], previous_response_id: whole.id })
      assert.match(kept.output_text, /I thought so: the sum is 5/)
    }
  },
  'goes on from a kept response, reads it and removes it': async () => {
    const first = await client.responses.create({ model: agent, input: 'the first of two' })
    const second = await client.responses.create({ model: agent, input: 'the second', previous_response_id: first.id })
    assert.equal((await client.responses.retrieve(second.id)).output_text, second.output_text)
    const items = []
    for await (const item of client.responses.inputItems.list(second.id, { order: 'asc', limit: 2 })) items.push(item)
    assert.equal(items.length, 3)
    assert.equal(items[0].content[0].text, 'the first of two')
    const third = await client.responses.create({ model: agent, input: [{ type: 'item_reference', id: first.output[0].id }, { role: 'user', content: 'a third' }] })
    assert.match(third.output_text, /a third/)
    await client.responses.delete(second.id)
    await assert.rejects(client.responses.retrieve(second.id), OpenAI.NotFoundError)
    await assert.rejects(client.responses.create({ model: agent, input: 'x', previous_response_id: second.id }), (err) => {
      assert(err instanceof OpenAI.BadRequestError)
      return err.code === 'previous_response_not_found'
    })
  },
  'has structured output parsed': async () => {
    const response = await client.responses.parse({ model: agent, input: 'as JSON', text: { format: zodTextFormat(z.object({ answer: z.string() }), 'answer') } })
    assert.equal(response.output_parsed.answer, 'yes')
  },
  'is told what agents there are': async () => {
    await assert.rejects(client.responses.create({ model: 'gpt-none', input: 'hello' }), (err) => {
      assert(err instanceof OpenAI.NotFoundError)
      assert.equal(err.code, 'model_not_found')
      return err.message.includes(agent)
    })
  },
  'is told of what cannot be said': async () => {
    await assert.rejects(client.responses.create({ model: agent, input: 'hello', background: true }), (err) => err.param === 'background')
    await assert.rejects(client.responses.create({ model: agent, input: 'hello', tools: [{ type: 'web_search' }] }), OpenAI.BadRequestError)
  },
})
