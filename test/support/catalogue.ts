/**
 * The rows that tests are held against: what can go wrong (threats and faults), and what the interface specification asks
 * for (ids that begin with R). A test that proves a row carries its id in its title or in that of a group around it.
 */
export interface Area {
  readonly id: string
  readonly subject: string
  readonly rows: number
}

export const areas: readonly Area[] = [
  { id: 'OAZ', subject: 'authorization endpoint', rows: 18 },
  { id: 'OTK', subject: 'token endpoint', rows: 19 },
  { id: 'ORF', subject: 'refresh, reuse and revocation', rows: 16 },
  { id: 'ODR', subject: 'dynamic client registration', rows: 9 },
  { id: 'MCP', subject: 'MCP endpoint and discovery', rows: 18 },
  { id: 'IDP', subject: 'sign-in through external providers', rows: 19 },
  { id: 'WEB', subject: 'browser surface, cookies and Basic', rows: 15 },
  { id: 'ACL', subject: 'authorisation and isolation between actors', rows: 14 },
  { id: 'OUT', subject: 'outbound requests', rows: 14 },
  { id: 'PEER', subject: 'trust and inbound callbacks', rows: 10 },
  { id: 'SUB', subject: 'subscriptions and delivery', rows: 16 },
  { id: 'HTTP', subject: 'requests, parsing and limits', rows: 14 },
  { id: 'LST', subject: 'list properties', rows: 13 },
  { id: 'DEL', subject: 'actor creation, lookup and deletion', rows: 8 },
  { id: 'DUR', subject: 'durability and store faults', rows: 15 },
  { id: 'CON', subject: 'concurrency and models', rows: 5 },
  { id: 'OPS', subject: 'several processes, upgrades, time and network', rows: 9 },
  { id: 'SEC', subject: 'secrets and logs', rows: 9 },
  { id: 'SUP', subject: 'dependencies and releases', rows: 4 },
  { id: 'RATE', subject: 'throttling', rows: 5 },
  { id: 'R-ACT', subject: 'factory, actor root, meta', rows: 10 },
  { id: 'R-PROP', subject: 'properties', rows: 6 },
  { id: 'R-LIST', subject: 'list properties', rows: 6 },
  { id: 'R-OP', subject: 'resources, methods, actions', rows: 6 },
  { id: 'R-TRUST', subject: 'trust relationships', rows: 8 },
  { id: 'R-PERM', subject: 'permissions', rows: 5 },
  { id: 'R-SUB', subject: 'subscriptions and callbacks', rows: 12 },
  { id: 'R-WEB', subject: 'server-rendered pages', rows: 5 },
  { id: 'R-OC', subject: 'sign-in through external providers', rows: 21 },
  { id: 'R-TOK', subject: 'session tokens', rows: 8 },
  { id: 'R-AS', subject: 'authorization server for MCP clients', rows: 6 },
  { id: 'R-MCP', subject: 'MCP', rows: 8 },
  { id: 'R-AUTH', subject: 'authentication', rows: 3 },
  { id: 'R-EVT', subject: 'events and hooks', rows: 3 },
  { id: 'R-OBS', subject: 'observation', rows: 1 },
  { id: 'R-LIM', subject: 'limits', rows: 2 },
  { id: 'R-VER', subject: 'versions', rows: 1 },
]
