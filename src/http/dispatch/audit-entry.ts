/** A request in the terms of the access ledger, once it is answered. */
import { catalogue, type ErrorCode, type ServiceError } from '../../errors.ts'
import type { Act } from '../../audit-log/entry.ts'
import type { Answer } from '../edge/response.ts'
import type { RequestState } from './request-state.ts'

export interface Answered {
  readonly state: RequestState
  /** Below the prefix of the service, still encoded. */
  readonly path: string
  readonly answer: Pick<Answer, 'status'>
  /** What made it fail, where something did. */
  readonly failure: ServiceError | null
  /** The verdict that let the caller in. */
  readonly grant: string | null
}

const refusing: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'forbidden', 'approval_denied', 'too_many_requests'])

/** Null for what is not noted: what the owner did, and who came without credentials and was shown the way to sign in. */
export function actOf({ state, path, answer, failure, grant }: Answered): Act | null {
  const { actorId, caller, route, method, requestId, isSentToSignIn } = state
  // One message of an AI client may hold several calls, and `mcp` records each call.
  if (route?.access === 'client') return null
  if (actorId === null || route === null || caller?.kind === 'creator' || caller?.kind === 'application') return null
  if (isSentToSignIn && !state.hasCredential) return null
  const isRefused = isSentToSignIn || (failure !== null && refusing.has(failure.code))
  const isHeld = failure?.code === 'approval_required'
  const known = caller !== null && caller.kind !== 'anonymous'
  return {
    actorId,
    callerKind: known ? caller.kind : 'anonymous',
    caller: !known ? (state.source() ?? '') : caller.kind === 'peer' || caller.kind === 'client' ? caller.peerId : '',
    through: route.path.startsWith('/:actor/callbacks') ? 'callback' : 'http',
    method,
    // Of what a stranger was refused only the kind of address is kept: it could think of any number of them.
    path: (!known && isRefused ? route.path : path).replace(/^\/[^/]*/, '') || '/',
    decision: isRefused ? 'refused' : isHeld ? 'asked' : 'allowed',
    reason: isRefused || isHeld ? reasonOf(failure) : (grant ?? 'open to everybody'),
    status: answer.status,
    requestId,
    isRead: method === 'GET',
  }
}

/** The words of an application's own refusal may hold anything, so they are not kept. */
function reasonOf(failure: ServiceError | null): string {
  if (failure === null) return 'sent to sign in'
  return failure.detail.reason ?? catalogue[failure.code].text
}
