// The AI SDK with its provider for OpenAI, which speaks the Responses API by default.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { agent, assert, base, key, run } from './check.mjs'
import { matrix } from './matrix.mjs'

const oneiros = createOpenAI({ baseURL: base, apiKey: key })
const add = tool({ description: 'adds', inputSchema: z.object({ a: z.number(), b: z.number() }), execute: async ({ a, b }) => `the sum is ${a + b}` })
const providerOptions = { openai: { store: false, reasoningSummary: 'auto', include: ['reasoning.encrypted_content'], forceReasoning: true } }

const sessions = matrix({
  say: async (prompt, { model = agent, secret = key } = {}) => (await generateText({ model: createOpenAI({ baseURL: base, apiKey: secret })(model), prompt, maxRetries: 0 })).text,
  cut: async (prompt) => {
    const stop = new AbortController()
    const result = streamText({ model: oneiros(agent), prompt, abortSignal: stop.signal, maxRetries: 0, onError: () => {} })
    try {
      for await (const _ of result.textStream) { stop.abort(); break }
    } catch (err) {
      if (err.name !== 'AbortError') throw err
    }
  },
})

await run('ai-sdk openai()', {
  ...sessions,
  'streams text, with usage': async () => {
    const result = streamText({ model: oneiros(agent), system: 'Be brief.', prompt: 'one two three', maxRetries: 0 })
    let text = ''
    for await (const piece of result.textStream) text += piece
    assert.match(text, /one two three/)
    assert((await result.usage).totalTokens > 0)
  },
  'runs a tool': async () => {
    const { text, steps } = await generateText({ model: oneiros(agent), prompt: 'two and three', tools: { add }, stopWhen: stepCountIs(3), maxRetries: 0 })
    assert.match(text, /the sum is 5/)
    assert.equal(steps.length, 2)
  },
  'thinks, and sends the thought back with the result': async () => {
    const ask = { model: oneiros(agent), prompt: 'think: what is two and three?', tools: { add }, stopWhen: stepCountIs(3), maxRetries: 0, providerOptions }
    const { text, steps } = await generateText(ask)
    assert.match(steps[0].reasoningText, /is it 5/)
    assert.match(text, /I thought so: the sum is 5/)
    const result = streamText(ask)
    assert.match(await result.text, /I thought so: the sum is 5/)
    assert.match((await result.steps)[0].reasoningText, /is it 5/)
  },
  'runs a tool in a stream': async () => {
    const result = streamText({ model: oneiros(agent), prompt: 'two and three', tools: { add }, stopWhen: stepCountIs(3), maxRetries: 0 })
    assert.match(await result.text, /the sum is 5/)
  },
  'has structured output': async () => {
    const { output } = await generateText({ model: oneiros(agent), prompt: 'as JSON', output: Output.object({ schema: z.object({ answer: z.string() }) }), maxRetries: 0 })
    assert.equal(output.answer, 'yes')
  },
})
