// OpenCode, which runs one of its own tools because the agent's model asks for it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agent, base, key, run } from './check.mjs'
import { folder, installed, programMatrix } from './program.mjs'

const binary = installed('opencode', 'opencode-linux-x64/bin/opencode')
const home = folder('opencode')
const model = { tool_call: true, limit: { context: 32000, output: 2000 } }
writeFileSync(join(home, 'opencode.json'), JSON.stringify({
  $schema: 'https://opencode.ai/config.json', autoupdate: false, share: 'disabled', small_model: `oneiros/${agent}`,
  provider: { oneiros: {
    npm: '@ai-sdk/openai-compatible', options: { baseURL: base, apiKey: '{env:ONEIROS_KEY}' },
    models: { [agent]: model, nobody: model },
  } },
}))

await run('opencode', programMatrix(home, (text, { model = agent, secret = key }) =>
  [binary, ['run', '--model', `oneiros/${model}`, text], {
    ONEIROS_KEY: secret, XDG_CONFIG_HOME: join(home, 'config'), XDG_DATA_HOME: join(home, 'data'), XDG_CACHE_HOME: join(home, 'cache'),
    OPENCODE_DISABLE_MODELS_FETCH: '1',
  }]))
