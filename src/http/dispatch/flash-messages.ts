/**
 * Flash messages: the result that a page shows after a form. The response to the form is a redirect, so a cookie carries
 * the name of the message. Another site could forge a query parameter but not this cookie.
 */
import { cookieValue } from '../../auth/credentials.ts'
import type { HttpRequest } from '../edge/request.ts'

/** The catalogs of `pages/languages` have the text of each message. */
const flashMessages = [
  'saved',
  'created',
  'added',
  'addedSeveral',
  'moved',
  'uploaded',
  'deleted',
  'asked',
  'connected',
  'approved',
  'withdrawn',
  'resumed',
  'connectionEnded',
  'subscriptionEnded',
  'reset',
  'allowed',
  'refused',
  'followed',
  'redriven',
  'actorSuspended',
  'actorResumed',
  'signedOutEverywhere',
  'limitsReset',
  'accountOfOwnerDeleted',
  'operatorBegun',
  'operatorAdded',
  'operatorRemoved',
  'signedOut',
  'disconnected',
  'keyRevoked',
  'invitationRevoked',
  'roleGiven',
  'memberRemoved',
  'youAreSignedOut',
  'accountDeleted',
  'sessionExpired',
  'signedInAgain',
  'undone',
  'undoneInPart',
  'historyDeleted',
  'accessKept',
  'accessRevoked',
  'importBegun',
  'importStopped',
  'moveBegun',
  'moveStopped',
  'peersTriedAgain',
  'passkeyAdded',
  'passkeyRemoved',
] as const

export type FlashMessage = (typeof flashMessages)[number]

const name = '__Host-notice'
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax'

/** @param maxAgeSeconds Must cover a sign-in at a provider when one precedes the page. */
export function noticeCookie(notice: FlashMessage, maxAgeSeconds = 60): string {
  return `${name}=${notice}; Max-Age=${maxAgeSeconds}; ${attributes}`
}

/** Like `noticeCookie`, for a message with a button that takes back the changes of the request. */
export function undoableNoticeCookie(notice: FlashMessage, requestId: string): string {
  return `${name}=${notice}.${requestId}; Max-Age=60; ${attributes}`
}

export const noticeShown = `${name}=; Max-Age=0; ${attributes}`

export function noticeOf(request: HttpRequest): FlashMessage | null {
  const [given] = partsOf(request)
  return flashMessages.find((message) => message === given) ?? null
}

/** The request whose changes the message offers to take back. Null: none. */
export function undoableRequestOf(request: HttpRequest): string | null {
  return partsOf(request)[1] ?? null
}

function partsOf(request: HttpRequest): readonly string[] {
  return /^([A-Za-z]+)(?:\.([\w-]{1,64}))?$/.exec(cookieValue(request.header('cookie'), name) ?? '')?.slice(1) ?? []
}
