/** How a call reaches its client while it runs: what it is told, and what it is asked. */
import type { ClientQuestion, LogLevel } from '../../app/mcp-declarations.ts'
import type { McpRequest, Channel } from './call.ts'
import { metaOf } from '../protocol/meta.ts'
import { McpFailure } from '../protocol/failure.ts'
import { isId, isRecord } from '../protocol/message.ts'
import type { Outgoing } from './outgoing.ts'
import { modernRevision, type Revision, since } from '../protocol/revisions.ts'
import { requestOf, requireCapabilities } from './input-required.ts'
import type { Session } from '../sessions/session.ts'
import { type ClientAnswers, newRequestId } from '../sessions/client-answers.ts'

const levels: readonly LogLevel[] = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export function isLogLevel(level: unknown): level is LogLevel {
  return levels.some((known) => known === level)
}

export function channelOf(request: McpRequest, outgoing: Outgoing, clientAnswers: ClientAnswers): Channel {
  const { params, revision, client, session } = request
  const token = metaOf(params)['progressToken']
  let reached = Number.NEGATIVE_INFINITY
  return {
    signal: () => outgoing.signal,
    progress(progress, total, message) {
      // It has to grow; what does not is not told.
      if (!isId(token) || progress <= reached) return
      reached = progress
      const said = message !== undefined && since(revision, '2025-03-26') ? { message } : {}
      const of = total === undefined ? {} : { total }
      outgoing.send(notification('notifications/progress', { progressToken: token, progress, ...of, ...said }))
    },
    log(level, data, logger) {
      if (client.logLevel === null || levels.indexOf(level) < levels.indexOf(client.logLevel)) return
      outgoing.send(notification('notifications/message', { level, data, ...(logger === undefined ? {} : { logger }) }))
    },
    async ask(questions) {
      requireCapabilities(questions, client.capabilities)
      if (session === null || revision === modernRevision) {
        throw new McpFailure('missing_capability', 'The client cannot be asked in this call')
      }
      const answers = Object.entries(questions).map(
        async ([key, question]) => [key, await answerTo(question, outgoing, session, clientAnswers)] as const,
      )
      return Object.fromEntries(await Promise.all(answers))
    },
    background() {},
  }
}

/** A real request to the client, on the stream of the call; its answer is a POST of its own. */
async function answerTo(
  question: ClientQuestion,
  outgoing: Outgoing,
  session: Session,
  clientAnswers: ClientAnswers,
): Promise<unknown> {
  const id = newRequestId()
  const { method, params } = requestOf(question)
  const answer = clientAnswers.waitFor(session, id, outgoing.signal)
  outgoing.send({ jsonrpc: '2.0', id, method, params: forRevision(params, session.revision) })
  const body = await answer
  if (body !== null && isRecord(body['result'])) return body['result']
  if ('elicit' in question || 'open' in question) return { action: 'cancel' }
  throw new McpFailure('internal', 'The client did not answer what this call asked')
}

/** Modes of elicitation came with 2025-11-25; before, there were forms alone. */
function forRevision(params: object, revision: Revision): object {
  if (since(revision, '2025-11-25')) return params
  const { mode: _mode, ...rest } = params as { mode?: string }
  return rest
}

function notification(method: string, params: object): object {
  return { jsonrpc: '2.0', method, params }
}
