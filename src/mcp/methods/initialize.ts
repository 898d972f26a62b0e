/** `initialize`: negotiates a revision and opens a session. */
import { type McpAccess, readClientInfo } from '../call/call.ts'
import type { McpDeps } from '../deps.ts'
import type { Capabilities } from '../method.ts'
import { type Id, isRecord, type MessageParams } from '../protocol/message.ts'
import { json, type Reply, rpcResult } from '../protocol/reply.ts'
import { asLegacy, latestLegacy, type LegacyRevision, since } from '../protocol/revisions.ts'

/** @throws McpFailure `invalid_params` for a client whose info and capabilities are too long. */
export async function initialize(
  deps: McpDeps,
  access: McpAccess,
  id: Id,
  params: MessageParams,
  capabilitiesIn: (revision: LegacyRevision) => Capabilities,
): Promise<Reply> {
  const revision = asLegacy(params['protocolVersion']) ?? latestLegacy
  const { server, instructions, sessions } = deps
  const info = readClientInfo(params['clientInfo'])
  const declared = params['capabilities']
  const body = rpcResult(id, {
    protocolVersion: revision,
    capabilities: capabilitiesIn(revision),
    serverInfo: server,
    instructions: instructions === '' ? undefined : instructions,
  })
  // The oldest revision has another transport. It has no sessions in this transport.
  const session = since(revision, '2025-03-26')
    ? await sessions.begin(access, revision, info, isRecord(declared) ? declared : {})
    : null
  if (session !== null) deps.metrics.mcpSessionBegun(revision)
  if (info !== null) await deps.remember(access, info)
  return session === null ? json(200, body) : { ...json(200, body), headers: { 'Mcp-Session-Id': session } }
}
