// OpenAI's Agents SDK on its defaults, against an agent.
import { agent, assert, base, key, run } from './check.mjs'
import { matrix } from './matrix.mjs'

process.env.OPENAI_BASE_URL = base
process.env.OPENAI_API_KEY = key
process.env.OPENAI_AGENTS_DISABLE_TRACING = '1'
const { Agent, OpenAIProvider, run: ask, Runner, tool } = await import('@openai/agents')
const { z } = await import('zod')

const add = tool({ name: 'add', description: 'adds', parameters: z.object({ a: z.number(), b: z.number() }), execute: async ({ a, b }) => `the sum is ${a + b}` })

const sessions = matrix({
  say: async (text, { model = agent, secret } = {}) => {
    const iris = new Agent({ name: 'Iris', model })
    if (!secret) return (await ask(iris, text)).finalOutput
    return (await new Runner({ modelProvider: new OpenAIProvider({ apiKey: secret, baseURL: base }) }).run(iris, text)).finalOutput
  },
  cut: async (text) => {
    const stop = new AbortController()
    const result = await ask(new Agent({ name: 'Iris', model: agent }), text, { stream: true, signal: stop.signal })
    try {
      for await (const _ of result.toTextStream()) { stop.abort(); break }
      await result.completed
    } catch (err) {
      if (err.name !== 'AbortError') throw err
    }
  },
})

await run('agents sdk', {
  ...sessions,
  'talks': async () => {
    const result = await ask(new Agent({ name: 'Iris', model: agent, instructions: 'Be brief.' }), 'hello there')
    assert.match(result.finalOutput, /hello there/)
  },
  'runs a tool': async () => {
    const result = await ask(new Agent({ name: 'Iris', model: agent, tools: [add] }), 'two and three')
    assert.match(result.finalOutput, /the sum is 5/)
  },
  'runs a tool in a stream': async () => {
    const result = await ask(new Agent({ name: 'Iris', model: agent, tools: [add] }), 'two and three', { stream: true })
    let text = ''
    for await (const piece of result.toTextStream()) text += piece
    await result.completed
    assert.match(text, /the sum is 5/)
  },
  'thinks, and sends the thought back with the result': async () => {
    const modelSettings = { reasoning: { effort: 'low', summary: 'auto' }, providerData: { include: ['reasoning.encrypted_content'] } }
    const result = await ask(new Agent({ name: 'Iris', model: agent, tools: [add], modelSettings }), 'think: two and three')
    assert.match(result.finalOutput, /I thought so: the sum is 5/)
  },
  'goes on from a kept response': async () => {
    const iris = new Agent({ name: 'Iris', model: agent })
    const first = await ask(iris, 'the first of two')
    const second = await ask(iris, 'the second', { previousResponseId: first.lastResponseId })
    assert.match(second.finalOutput, /the second/)
  },
})
