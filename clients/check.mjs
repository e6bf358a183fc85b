// What every client's run shares: where the server is, and how a run says what it did.
import assert from 'node:assert/strict'

export const base = process.env.ONEIROS_BASE ?? 'http://127.0.0.1:7680/v1'
export const key = process.env.ONEIROS_KEY || 'none'
export const operator = process.env.ONEIROS_OPERATOR_KEY || key
export const agent = process.env.ONEIROS_AGENT ?? 'iris'
export { assert }

export async function run(name, checks) {
  const only = process.env.ONEIROS_CHECK
  for (const [what, check] of Object.entries(checks)) {
    if (only && what !== only) continue
    const began = performance.now()
    try {
      await check()
    } catch (err) {
      console.error(`${name}: ${what}: FAILED\n${err?.stack ?? err}`)
      process.exit(1)
    }
    console.log(`${name}: ${what}: ok (${Math.round(performance.now() - began)} ms)`)
  }
}
