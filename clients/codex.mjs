// Codex, which runs one of its own tools because the agent's model asks for it.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agent, assert, base, key, run } from './check.mjs'

const binary = new URL('./node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex', import.meta.url).pathname
if (!existsSync(binary)) {
  console.log('codex: not run: its binary for this system is not among the packages (linux-x64 alone is)')
  process.exit(0)
}
const home = mkdtempSync(join(process.env.TMPDIR ?? '/tmp', 'oneiros-codex-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))
mkdirSync(join(home, '.codex'))

function configure(model) {
  writeFileSync(join(home, '.codex', 'config.toml'), `model = "${model}"
model_provider = "oneiros"

[model_providers.oneiros]
name = "Oneiros"
base_url = "${base}"
env_key = "ONEIROS_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`)
}

// codex runs it once, in a folder of its own.
async function codex(question, secret = key) {
  const env = { PATH: process.env.PATH, HOME: home, ONEIROS_KEY: secret, NO_COLOR: '1' }
  const child = spawn(binary, ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', question], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stdout.on('data', (d) => { said += d })
  child.stderr.on('data', (d) => { said += d })
  const over = setTimeout(() => child.kill('SIGKILL'), 90_000)
  const status = await new Promise((done) => child.on('close', done))
  clearTimeout(over)
  return { status, said }
}

configure(agent)
await run('codex', {
  'runs a tool': async () => {
    const { status, said } = await codex('list this folder')
    assert.equal(status, 0, said)
    assert(existsSync(join(home, 'proof.txt')), `no tool was run:\n${said}`)
    assert.match(readFileSync(join(home, 'proof.txt'), 'utf8'), /dreamt/)
    assert.match(said, /I heard/, 'the answer after the tool is shown')
  },
  'is told of a key that is wrong': async () => {
    const { status, said } = await codex('hello', 'oneiros_wrong')
    assert.notEqual(status, 0)
    assert.match(said, /401/, said)
  },
  'is told of a model that there is not': async () => {
    configure('gpt-none')
    const { status, said } = await codex('hello')
    assert.notEqual(status, 0)
    assert.match(said, /There is no agent/, said)
  },
})
