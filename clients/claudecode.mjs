// Claude Code, which runs one of its own tools because the agent's model asks for it.
import { agent, base, key, run } from './check.mjs'
import { folder, installed, programMatrix } from './program.mjs'

const binary = installed('claude-code', '@anthropic-ai/claude-code-linux-x64/claude')

await run('claude-code', programMatrix(folder('claude'), (text, { model = agent, secret = key }) =>
  [binary, ['-p', text, '--allowedTools', 'Bash'], {
    ANTHROPIC_BASE_URL: base.replace(/\/v1$/, ''), ANTHROPIC_AUTH_TOKEN: secret, ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_OPUS_MODEL: agent, ANTHROPIC_DEFAULT_SONNET_MODEL: agent, ANTHROPIC_DEFAULT_HAIKU_MODEL: agent,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_MAX_RETRIES: '1',
  }]))
