/** `server/discover`: the revisions and capabilities of the server, without a handshake. */
import type { McpDeps } from '../deps.ts'
import type { Capabilities } from '../method.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { supportedRevisions } from '../protocol/revisions.ts'

export function discover({ instructions }: McpDeps, capabilities: Capabilities): McpResult {
  return complete({
    supportedVersions: supportedRevisions,
    capabilities,
    instructions: instructions === '' ? undefined : instructions,
  })
}
