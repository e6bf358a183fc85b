// What every client is tried with, and docs/clients.md has a table of.
import { agent, assert, base, key, operator } from './check.mjs'

const root = base.replace(/\/v1$/, '')

const operate = (path, more) => fetch(`${root}${path}`, { headers: { Authorization: `Bearer ${operator}` }, ...more })
const state = async () => (await (await operate(`/v1/agents/${agent}/status`)).json()).state

async function until(what, holds) {
  const end = performance.now() + 120_000
  while (!await holds()) {
    assert(performance.now() < end, `not within two minutes: ${what}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

// begun waits until an answer of the model is on its way.
export const begun = () => until('the model answers', async () => await (await fetch(process.env.ONEIROS_TALKER)).json() > 0)

// wakes talks to an agent in a state, and looks at it the while: some programs take longer than an agent is held awake.
async function wakes(before, say) {
  await until(`the agent is ${before}`, async () => await state() === before)
  let over = false
  const answer = say('Good morning to you.').finally(() => { over = true })
  const woke = async () => /^(waking|awake)$/.test(await state())
  let seen = await woke()
  while (!over && !seen) {
    await new Promise((done) => setTimeout(done, 50))
    seen = await woke()
  }
  assert.match(await answer, /I heard: .*Good morning to you\./s)
  assert(seen || await woke(), 'the agent is awake while it is talked to')
}

// matrix gives the checks. say(text, { model, secret }) returns the answer of a new session, or throws what the client tells;
// cut(text) hangs up once the answer has begun.
export const matrix = ({ say, cut }) => ({
  'talks': async () => { assert.match(await say('hello there'), /I heard: .*hello there/s) },
  'wakes a sleeping agent': () => wakes('sleeping', say),
  'wakes a dreaming agent': async () => {
    const dream = { method: 'POST', body: JSON.stringify({ agent, tier: 'hardened' }) }
    await until('a dream begins', async () => (await operate('/v1/dreams', dream)).ok)
    await wakes('dreaming', say)
  },
  'hangs up in the middle': () => cut('My dog is called Rufus, he is brown. Now count slowly'),
  'recalls in a second session': async () => {
    await say('My boat is called Rumpelstilz and has seven sails.')
    await until('it recalls', async () => /I recall seven sails/.test(await say('How many sails has my boat Rumpelstilz?')))
  },
  'sends 60 KB': async () => {
    const long = 'a long word '.repeat(5000)
    assert.match(await say(`(long)${long}(end)`), new RegExp(`I heard ${long.length} bytes`))
  },
  'is told of a key that is wrong': async () => {
    if (key === 'none') return
    await assert.rejects(async () => say('hello', { secret: 'oneiros_wrong' }), (err) => /401|key/i.test(err.message) || assert.fail(err.message))
  },
  'is told of a model that there is not': async () => {
    await assert.rejects(async () => say('hello', { model: 'nobody' }), (err) => /There is no agent|may not exist/.test(err.message) || assert.fail(err.message))
  },
})
