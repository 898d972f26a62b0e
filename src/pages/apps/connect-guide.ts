/** Texts that connect common AI clients: commands and settings files, which no language translates. */
interface ClientSetup {
  /** Name of the message that explains the text. */
  readonly step: 'claudeCode' | 'cursor' | 'inspector'
  readonly client: string
  readonly text: string
}

/** @param url MCP server URL. @param name Name of the service. */
export function clientSetups(url: string, name: string): readonly ClientSetup[] {
  const short = shortName(name)
  return [
    { step: 'claudeCode', client: 'Claude Code', text: `claude mcp add --transport http ${short} ${url}` },
    { step: 'cursor', client: 'Cursor', text: JSON.stringify({ mcpServers: { [short]: { url } } }, null, 2) },
    { step: 'inspector', client: 'MCP Inspector', text: 'npx @modelcontextprotocol/inspector' },
  ]
}

/** A name that is safe in commands and settings files, such as `my-notes`. */
export function shortName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|(?<!-)-+$/g, '')
  return plain === '' ? 'troupe' : plain.slice(0, 40)
}
