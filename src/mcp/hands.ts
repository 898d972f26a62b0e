/** What a handler may use while an AI client calls it. */
import type { FormAnswer, McpCall } from '../app/mcp-declarations.ts'
import { clientTypeOf, type McpCallIn } from './call.ts'

export function handsOf(call: McpCallIn): McpCall {
  const { access, channel } = call
  return {
    context: {
      client_id: access.caller.clientId,
      trust_relationship: access.caller.relationship,
      peer_id: access.caller.peerId,
      token_data: { scope: access.token.scope, audience: access.token.audience, expires_at: access.token.expiresAt },
      transport_session_id: call.sessionId,
      client_info: call.client.info,
    },
    protocolVersion: call.revision,
    clientType: clientTypeOf(call.client.info),
    get signal() {
      return channel.signal
    },
    progress: (done, total, message) => channel.progress(done, total, message),
    log: (level, data, logger) => channel.log(level, data, logger),
    elicit: async (key, question) => (await channel.ask({ [key]: { elicit: question } }))[key] as FormAnswer,
    ask: (questions) => channel.ask(questions),
    background: () => channel.background(),
  }
}
