// A client that is a program: it is started anew for each session, in a folder of its own.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from './check.mjs'
import { begun, matrix } from './matrix.mjs'

// installed gives the path of a program among the packages, and ends the run where it is not there.
export function installed(name, path) {
  const binary = new URL(`./node_modules/${path}`, import.meta.url).pathname
  if (existsSync(binary)) return binary
  console.log(`${name}: not run: its program for this system is not among the packages (linux-x64 alone is)`)
  process.exit(0)
}

// folder makes a home that is removed at the end.
export function folder(name) {
  const home = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), `oneiros-${name}-`))
  process.on('exit', () => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  return home
}

// programMatrix has the checks of a program. command(text, { model, secret }) says how it is started:
// [program, arguments, environment].
export function programMatrix(home, command) {
  function start(text, more = {}) {
    const [binary, args, env] = command(text, more)
    const child = spawn(binary, args, { cwd: home, env: { PATH: process.env.PATH, HOME: home, NO_COLOR: '1', ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stdout.on('data', (d) => { said += d })
    child.stderr.on('data', (d) => { said += d })
    const over = setTimeout(() => child.kill('SIGKILL'), 180_000)
    const ended = new Promise((done) => child.on('close', (status, signal) => {
      clearTimeout(over)
      done({ status, signal, said })
    }))
    return { child, ended }
  }
  async function say(text, more) {
    const { status, signal, said } = await start(text, more).ended
    if (status !== 0) throw new Error(`ended with ${status ?? signal}:\n${said}`)
    return said
  }
  async function cut(text, signal) {
    const { child, ended } = start(text)
    await Promise.race([begun(), ended.then(({ said }) => assert.fail(`ended before it was stopped:\n${said}`))])
    child.kill(signal)
    await ended
  }
  return {
    'runs a tool': async () => {
      const said = await say('list this folder')
      assert(existsSync(join(home, 'proof.txt')), `no tool was run:\n${said}`)
      assert.match(readFileSync(join(home, 'proof.txt'), 'utf8'), /dreamt/)
      assert.match(said, /I heard/, 'the answer after the tool is shown')
    },
    ...matrix({ say, cut: (text) => cut(text, 'SIGINT') }),
    'is killed in the middle': () => cut('My cat is called Minka, she is grey. Now count slowly', 'SIGKILL'),
  }
}
