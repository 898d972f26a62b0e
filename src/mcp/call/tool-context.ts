/** The context of a handler that an AI client calls. */
import { own } from '../../json/json.ts'
import type { ClientQuestion, FormAnswer, McpCall } from '../../app/mcp-declarations.ts'
import { quoted, ServiceError } from '../../errors.ts'
import { clientTypeOf, type InFlightCall } from './call.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import { handedAnswer, answerProblem, requestOf } from './client-answer.ts'
import { requireCapabilities } from './input-required.ts'

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
      requireCapabilities(questions, client.capabilities)
      const answers = await channel.ask(questions)
      return Object.fromEntries(
        Object.entries(questions).map(([key, question]) => [key, checkedAnswer(key, question, own(answers, key))]),
      )
    }
    this.background = () => channel.background()
  }

  get signal(): AbortSignal {
    return this.#channel.signal()
  }
}

/**
 * The answer that the handler receives, from every channel. An elicitation without a valid action counts as cancelled.
 *
 * @throws ServiceError `invalid_input` for an answer that does not fit its question. The client receives the message.
 */
function checkedAnswer(key: string, question: ClientQuestion, answer: unknown): MessageParams {
  const request = requestOf(question)
  const problem = answerProblem(request, answer)
  if (problem === null && isRecord(answer)) return handedAnswer(request, answer)
  const isSubmitted = isRecord(answer) && answer['action'] === 'accept'
  if (('elicit' in question || 'open' in question) && !isSubmitted) return { action: 'cancel' }
  throw new ServiceError('invalid_input', `Cannot use the answer to ${quoted(key)}: ${problem ?? 'it does not fit'}`)
}
