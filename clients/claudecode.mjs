// Claude Code, which runs one of its own tools because the agent's model asks for it, and whose next session recalls.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, assert, base, key, run } from './check.mjs'

const binary = new URL('./node_modules/@anthropic-ai/claude-code-linux-x64/claude', import.meta.url).pathname
if (!existsSync(binary)) {
  console.log('claude-code: not run: its binary for this system is not among the packages (linux-x64 alone is)')
  process.exit(0)
}
const home = mkdtempSync(join(tmpdir(), 'oneiros-claude-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))

async function claude(prompt, more = {}, flags = []) {
  const env = {
    PATH: process.env.PATH, HOME: home, ANTHROPIC_BASE_URL: base.replace(/\/v1$/, ''), ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: agent,
    ANTHROPIC_DEFAULT_OPUS_MODEL: agent, ANTHROPIC_DEFAULT_SONNET_MODEL: agent, ANTHROPIC_DEFAULT_HAIKU_MODEL: agent,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_MAX_RETRIES: '1', NO_COLOR: '1', ...more,
  }
  const child = spawn(binary, ['-p', prompt, ...flags], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  child.stdout.on('data', (d) => { text += d })
  child.stderr.on('data', (d) => { text += d })
  const over = setTimeout(() => child.kill('SIGKILL'), 90_000)
  const status = await new Promise((done) => child.on('close', done))
  clearTimeout(over)
  return { status, text }
}

await run('claude-code', {
  'runs a tool': async () => {
    const { status, text } = await claude('list this folder', {}, ['--allowedTools', 'Bash'])
    assert.equal(status, 0, text)
    assert(existsSync(join(home, 'proof.txt')), `no tool was run:\n${text}`)
    assert.match(readFileSync(join(home, 'proof.txt'), 'utf8'), /dreamt/)
    assert.match(text, /I heard/, 'the answer after the tool is shown')
  },
  'is told of a model that there is not': async () => {
    const { status, text } = await claude('hello', { ANTHROPIC_MODEL: 'nobody' })
    assert.notEqual(status, 0, text)
  },
  'is told of a key that is wrong': async () => {
    if (key === 'none') return
    const { status, text } = await claude('hello', { ANTHROPIC_AUTH_TOKEN: 'oneiros_wrong' })
    assert.notEqual(status, 0, text)
    assert.match(text, /401|key/i)
  },
})
