// The protocol's own conformance suite and inspector, unchanged: the suite in full against the face with the suite's fixtures, and
// what needs none against the product; then the inspector over HTTP and over standard input and output.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { once } from 'node:events'
import { agent, assert, base, key, run } from '../check.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const repo = join(here, '..', '..')
const scratch = mkdtempSync(join(tmpdir(), 'oneiros-mcp-'))
const product = base.replace(/\/v1\/?$/, '/mcp')
const keyless = key === 'none'
const node = process.execPath
const conformance = join(here, '..', 'node_modules', '.bin', 'conformance')
const inspector = join(here, '..', 'node_modules', '.bin', 'mcp-inspector')

// What can be asked of any server, by version of the protocol; the rest needs the suite's own tools, prompts and documents.
const fixtureFree = {
  '2025-11-25': ['server-initialize', 'server-session-lifecycle', 'ping', 'logging-set-level', 'tools-list', 'resources-list', 'prompts-list',
    'dns-rebinding-protection', 'server-sse-multiple-streams'],
  '2026-07-28': ['tools-list', 'resources-list', 'prompts-list', 'dns-rebinding-protection', 'server-sse-multiple-streams', 'sep-2164-resource-not-found',
    'caching', 'http-header-validation'],
}

function program(args, more) {
  const done = spawnSync(node, args, { encoding: 'utf8', timeout: 120_000, cwd: scratch, env: { ...process.env, HOME: scratch }, ...more })
  assert.equal(done.status, 0, `${args.slice(1).join(' ')}\n${done.stdout}\n${done.stderr}`)
  return done.stdout
}

const suite = (url, version, ...more) => program([conformance, 'server', '--url', url, '--spec-version', version, ...more])
const inspect = (...args) => JSON.parse(program([inspector, '--cli', ...args]))
const told = (out) => {
  const total = /Total: (\d+) passed, (\d+) failed/.exec(out)
  assert(total && total[2] === '0' && Number(total[1]) > 0, out)
  console.log(`mcp:   ${total[0]}`)
}

async function fixtures() {
  let binary = process.env.ONEIROS_FIXTURES
  if (!binary) {
    binary = join(scratch, 'mcpfixtures')
    const built = spawnSync('go', ['build', '-o', binary, './testsuite/mcpfixtures'], { cwd: repo, encoding: 'utf8', env: { ...process.env, CGO_ENABLED: '0' } })
    assert.equal(built.status, 0, built.stderr)
  }
  const child = spawn(binary, ['-listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { url: String(line).trim(), stop: () => child.kill() }
}

const header = keyless ? [] : ['--header', `Authorization: Bearer ${key}`]
const tools = ['chat', 'connect', 'get_emotion', 'leave', 'recall_memory', 'status', 'store_memory', 'update_emotion']
const checks = {}
const face = await fixtures()
process.on('exit', () => { face.stop(); rmSync(scratch, { recursive: true, force: true }) })

for (const version of ['2025-06-18', '2025-11-25', '2026-07-28']) {
  checks[`conformance ${version}, every scenario, with fixtures`] = () => told(suite(face.url, version, '--suite', 'all'))
}
checks['conformance, what 2026-07-28 requires'] = () => program([conformance, 'server', '--url', face.url, '--requirements', '2026-07-28'])

const reachable = process.env.ONEIROS_BASE !== undefined && await fetch(product, { headers: keyless ? {} : { authorization: `Bearer ${key}` } }).then(() => true, () => false)
if (reachable && keyless) {
  for (const [version, scenarios] of Object.entries(fixtureFree)) {
    checks[`conformance ${version}, the product`] = () => { for (const s of scenarios) suite(product, version, '--scenario', s) }
  }
}
if (reachable) {
  const at = [product, '--transport', 'http', ...header]
  checks['inspector, the product, lists tools that any client can take'] = () => {
    const names = inspect(...at, '--method', 'tools/list', '--strict').tools.map((t) => t.name)
    for (const name of tools) assert(names.includes(name), `${name} is not among ${names}`)
  }
  checks['inspector, the product, remembers and recalls'] = () => {
    const call = (name, ...args) => inspect(...at, '--method', 'tools/call', '--tool-name', name, '--tool-arg', `agent=${agent}`, ...args)
    const { id } = call('store_memory', 'content=the inspector was here').structuredContent
    const found = call('recall_memory', 'query=the inspector was here', 'n=3').structuredContent.memories
    assert(found.some((m) => m.id === id), JSON.stringify(found))
    assert.equal(call('status').structuredContent.agent, agent)
    assert(call('chat', 'message=hello there').structuredContent.reply)
  }
} else {
  console.log(`mcp: ONEIROS_BASE names no server that answers: the product is left out`)
}
if (process.env.ONEIROS_BIN) {
  checks['inspector, over standard input and output'] = () => {
    // clients hand down little of their environment, so that what the program was told is told again
    const told = Object.entries(process.env).filter(([name]) => /^ONEIROS_(CONFIG|DATA_DIR|STORE)/.test(name)).flatMap((each) => ['-e', each.join('=')])
    const at = [...told, process.env.ONEIROS_BIN, 'mcp', '--agent', agent]
    const names = inspect(...at, '--method', 'tools/list').tools.map((t) => t.name)
    for (const name of tools) assert(names.includes(name), `${name} is not among ${names}`)
    assert.equal(inspect(...at, '--method', 'tools/call', '--tool-name', 'status').structuredContent.agent, agent)
  }
}
await run('mcp', checks)
process.exit(0)
