import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientSetups, shortName } from '../../src/pages/apps/connect-guide.ts'

describe('the guide that connects AI clients', () => {
  it('has a command or a settings file for each client', () => {
    assert.deepEqual(
      clientSetups('https://notes.example/mcp', 'My Notes').map(({ client, text }) => [client, text]),
      [
        ['Claude Code', 'claude mcp add --transport http my-notes https://notes.example/mcp'],
        ['Cursor', '{\n  "mcpServers": {\n    "my-notes": {\n      "url": "https://notes.example/mcp"\n    }\n  }\n}'],
        ['MCP Inspector', 'npx @modelcontextprotocol/inspector'],
      ],
    )
  })

  it('names the service with letters that no shell interprets', () => {
    for (const [name, short] of [
      ['Notes', 'notes'],
      ['Café & Menu', 'cafe-menu'],
      ['$(rm -rf /); `x`', 'rm-rf-x'],
      ['--help', 'help'],
      ['日記', 'troupe'],
      ['', 'troupe'],
      ['a'.repeat(60), 'a'.repeat(40)],
    ] as const)
      assert.equal(shortName(name), short, name)
  })
})
