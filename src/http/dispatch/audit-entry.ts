/** Makes the audit log entry of a request after its response is known. */
import { catalogue, type ErrorCode, type ServiceError } from '../../errors.ts'
import { type AuditEntry, entryReasons } from '../../audit-log/entry.ts'
import { unknownDevice } from '../../token/device.ts'
import type { HttpResponse } from '../edge/response.ts'
import type { RequestState } from './request-state.ts'

export interface Answered {
  readonly state: RequestState
  /** The path without the prefix of the service, still percent-encoded. */
  readonly path: string
  readonly answer: Pick<HttpResponse, 'status'>
  /** The error of the request; null when it succeeded. */
  readonly failure: ServiceError | null
}

const refusing: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'forbidden', 'approval_denied', 'too_many_requests'])

/** Returns null for requests that are not recorded here: requests of the owner, and redirects to sign-in without credentials. */
export function auditEntryOf({ state, path, answer, failure }: Answered): AuditEntry | null {
  const { actorId, route, method, requestId } = state
  // A message of an AI client may contain several calls. `mcp` records each call.
  if (actorId === null || route === null || route.access === 'client') return null
  if (state.isSentToSignIn && !state.hasCredential) return null
  const who = callerIn(state)
  if (who === null) return null
  const decision = decisionOn(state, failure)
  // An anonymous client can invent any number of paths, so a refusal records only the path of the route.
  const isInvented = who.callerKind === 'anonymous' && decision === 'refused'
  return {
    actorId,
    ...who,
    through: route.path.startsWith('/:actor/callbacks') ? 'callback' : 'http',
    method,
    path: belowActor(isInvented ? route.path : path),
    decision,
    reason: decision === 'allowed' ? (state.grant ?? 'open to everybody') : reasonOf(failure),
    status: answer.status,
    requestId,
    isRead: method === 'GET',
  }
}

/** Returns the entries of what the owner did: the acts that the request noted. */
export function ownEntriesOf({ state, answer: { status }, failure }: Omit<Answered, 'path'>): AuditEntry[] {
  if (failure !== null || status >= 400 || state.isDecision === true) return []
  const { requestId } = state
  const described = state.device?.() ?? unknownDevice
  const device = described === unknownDevice ? '' : described
  return (state.acts ?? []).map((act) => ({
    ...act,
    callerKind: 'owner',
    caller: 'owner',
    through: 'http',
    decision: 'allowed',
    reason: entryReasons.owner,
    status,
    requestId,
    device,
  }))
}

function belowActor(path: string): string {
  return path.replace(/^\/[^/]*/, '') || '/'
}

/** Returns null for the owner and the application, whose requests are not recorded. */
function callerIn({ caller, source }: RequestState): Pick<AuditEntry, 'callerKind' | 'caller'> | null {
  switch (caller?.kind) {
    case 'creator':
    case 'application':
      return null
    case 'peer':
    case 'client':
      return { callerKind: caller.kind, caller: caller.peerId }
    case 'trustee':
      return { callerKind: 'trustee', caller: '' }
    default:
      return { callerKind: 'anonymous', caller: source() ?? '' }
  }
}

function decisionOn({ isSentToSignIn }: RequestState, failure: ServiceError | null): 'allowed' | 'asked' | 'refused' {
  if (isSentToSignIn || (failure !== null && refusing.has(failure.code))) return 'refused'
  return failure?.code === 'approval_required' ? 'asked' : 'allowed'
}

/** Returns the reason of a refusal. Messages of an application may contain private data, so they are not recorded. */
function reasonOf(failure: ServiceError | null): string {
  if (failure === null) return 'sent to sign in'
  return failure.detail.reason ?? catalogue[failure.code].text
}
