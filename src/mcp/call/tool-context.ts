/** The context of a handler that an AI client calls. */
import type { ClientQuestion, FormAnswer, McpCall } from '../../app/mcp-declarations.ts'
import { clientTypeOf, type InFlightCall } from './call.ts'
import { isRecord } from '../protocol/message.ts'

export function toolContextOf(call: InFlightCall): McpCall {
  return new ToolContext(call)
}

/** A class because of its accessor `signal` (see `Channel`). A handler may destructure all other members. */
class ToolContext implements McpCall {
  readonly context: McpCall['context']
  readonly protocolVersion: string
  readonly clientType: McpCall['clientType']
  readonly progress: McpCall['progress']
  readonly log: McpCall['log']
  readonly elicit: McpCall['elicit']
  readonly ask: McpCall['ask']
  readonly background: McpCall['background']
  readonly #channel: InFlightCall['channel']

  constructor({ access, channel, client, revision, sessionId }: InFlightCall) {
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
    this.elicit = async (key, question) => (await this.ask({ [key]: { elicit: question } }))[key] as FormAnswer
    this.ask = async (questions) => {
      const answers = await channel.ask(questions)
      return Object.fromEntries(Object.entries(questions).map(([key, of]) => [key, withConsent(of, answers[key])]))
    }
    this.background = () => channel.background()
  }

  get signal(): AbortSignal {
    return this.#channel.signal()
  }
}

/**
 * Drops the content of a form that the person did not submit. A client may send partly filled fields, and a handler that
 * ignores `action` would use data that the person declined to give.
 */
function withConsent(question: ClientQuestion, answer: unknown): unknown {
  if (!('elicit' in question || 'open' in question)) return answer
  if (!isRecord(answer)) return { action: 'cancel' }
  if (answer['action'] === 'accept') return answer
  return { action: answer['action'] === 'decline' ? 'decline' : 'cancel' }
}
