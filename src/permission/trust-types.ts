/** The kinds of relationship that every service knows, as it publishes them. */
export interface TrustType {
  readonly name: string
  readonly display_name: string
  readonly description: string
}

export const builtInTrustTypes: readonly TrustType[] = [
  { name: 'admin', display_name: 'Administrator', description: 'Full access to the actor' },
  { name: 'associate', display_name: 'Associate', description: 'Reads what is shared with everybody' },
  { name: 'friend', display_name: 'Friend', description: 'Reads and changes shared data' },
  {
    name: 'mcp_client',
    display_name: 'MCP Client (AI Assistant)',
    description: 'An AI assistant acting for the owner',
  },
  { name: 'partner', display_name: 'Partner', description: 'Works on the owner’s data together with the owner' },
  { name: 'viewer', display_name: 'Viewer', description: 'Reads public data' },
]
