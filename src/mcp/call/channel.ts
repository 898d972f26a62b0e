/** The channel of a running call to its client: progress, log messages and questions. */
import type { ClientQuestion, LogLevel } from '../../app/mcp-declarations.ts'
import type { McpRequest, Channel } from './call.ts'
import { metaOf } from '../protocol/meta.ts'
import { McpFailure } from '../protocol/failure.ts'
import { isId, isRecord } from '../protocol/message.ts'
import type { Outgoing } from './outgoing.ts'
import { modernRevision, type Revision, since } from '../protocol/revisions.ts'
import { requestOf } from './client-answer.ts'
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
      // The protocol requires progress to grow.
      if (!isId(token) || progress <= reached) return
      reached = progress
      const text = since(revision, '2025-03-26') ? message : undefined
      outgoing.send(notification('notifications/progress', { progressToken: token, progress, total, message: text }))
    },
    log(level, data, logger) {
      if (client.logLevel === null || levels.indexOf(level) < levels.indexOf(client.logLevel)) return
      outgoing.send(notification('notifications/message', { level, data, logger }))
    },
    async ask(questions) {
      if (session === null || revision === modernRevision) {
        throw new McpFailure('missing_capability', 'Cannot ask the client during this call')
      }
      const answers = Object.entries(questions).map(
        async ([key, question]) => [key, await answerTo(question, outgoing, session, clientAnswers)] as const,
      )
      return Object.fromEntries(await Promise.all(answers))
    },
    background() {},
  }
}

/** Sends a request to the client on the stream of the call. The client posts its answer separately. */
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
  throw new McpFailure('internal', 'The client did not answer the question of this call')
}

/** Removes the mode of an elicitation before 2025-11-25, because earlier revisions have forms only. */
function forRevision(params: object, revision: Revision): object {
  if (since(revision, '2025-11-25')) return params
  const { mode: _mode, ...rest } = params as { mode?: string }
  return rest
}

function notification(method: string, params: object): object {
  return { jsonrpc: '2.0', method, params }
}
