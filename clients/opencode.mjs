// OpenCode, which runs one of its own tools because the agent's model asks for it.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, assert, base, key, run } from './check.mjs'

const binary = new URL('./node_modules/opencode-linux-x64/bin/opencode', import.meta.url).pathname
if (!existsSync(binary)) {
  console.log('opencode: not run: its binary for this system is not among the packages (linux-x64 alone is)')
  process.exit(0)
}
const home = mkdtempSync(join(tmpdir(), 'oneiros-opencode-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))

await run('opencode', {
  'runs a tool': async () => {
    writeFileSync(join(home, 'opencode.json'), JSON.stringify({
      $schema: 'https://opencode.ai/config.json', autoupdate: false, share: 'disabled', model: `oneiros/${agent}`, small_model: `oneiros/${agent}`,
      provider: { oneiros: {
        npm: '@ai-sdk/openai-compatible', options: { baseURL: base, apiKey: key },
        models: { [agent]: { tool_call: true, limit: { context: 32000, output: 2000 } } },
      } },
    }))
    const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), XDG_DATA_HOME: join(home, 'data'), XDG_CACHE_HOME: join(home, 'cache'), OPENCODE_DISABLE_MODELS_FETCH: '1', NO_COLOR: '1' }
    const child = spawn(binary, ['run', 'list this folder'], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stdout.on('data', (d) => { said += d })
    child.stderr.on('data', (d) => { said += d })
    const over = setTimeout(() => child.kill('SIGKILL'), 90_000)
    const status = await new Promise((done) => child.on('close', done))
    clearTimeout(over)
    assert.equal(status, 0, said)
    assert(existsSync(join(home, 'proof.txt')), `no tool was run:\n${said}`)
    assert.match(readFileSync(join(home, 'proof.txt'), 'utf8'), /dreamt/)
    assert.match(said, /I heard/, 'the answer after the tool is shown')
  },
})
