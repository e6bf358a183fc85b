// Codex, which runs one of its own tools because the agent's model asks for it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agent, base, key, run } from './check.mjs'
import { folder, installed, programMatrix } from './program.mjs'

const binary = installed('codex', '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex')
const home = folder('codex')
mkdirSync(join(home, '.codex'))
writeFileSync(join(home, '.codex', 'config.toml'), `model_provider = "oneiros"

[model_providers.oneiros]
name = "Oneiros"
base_url = "${base}"
env_key = "ONEIROS_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`)

await run('codex', programMatrix(home, (text, { model = agent, secret = key }) =>
  [binary, ['exec', '--model', model, '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', text], { ONEIROS_KEY: secret }]))
