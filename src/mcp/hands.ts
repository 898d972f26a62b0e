/** What a handler may use while an AI client calls it. */
import type { FormAnswer, McpCall } from '../app/mcp-declarations.ts'
import { clientTypeOf, type McpCallIn } from './call.ts'

export function handsOf(call: McpCallIn): McpCall {
  return new Hands(call)
}

/** A class for its one accessor (see `Channel`); what a handler takes out of it by name works by itself. */
class Hands implements McpCall {
  readonly context: McpCall['context']
  readonly protocolVersion: string
  readonly clientType: McpCall['clientType']
  readonly progress: McpCall['progress']
  readonly log: McpCall['log']
  readonly elicit: McpCall['elicit']
  readonly ask: McpCall['ask']
  readonly background: McpCall['background']
  readonly #channel: McpCallIn['channel']

  constructor({ access, channel, client, revision, sessionId }: McpCallIn) {
    this.#channel = channel
    this.context = {
      client_id: access.caller.clientId,
      trust_relationship: access.caller.relationship,
      peer_id: access.caller.peerId,
      token_data: { scope: access.token.scope, audience: access.token.audience, expires_at: access.token.expiresAt },
      transport_session_id: sessionId,
      client_info: client.info,
    }
    this.protocolVersion = revision
    this.clientType = clientTypeOf(client.info)
    this.progress = (done, total, message) => channel.progress(done, total, message)
    this.log = (level, data, logger) => channel.log(level, data, logger)
    this.elicit = async (key, question) => (await channel.ask({ [key]: { elicit: question } }))[key] as FormAnswer
    this.ask = (questions) => channel.ask(questions)
    this.background = () => channel.background()
  }

  get signal(): AbortSignal {
    return this.#channel.signal()
  }
}
