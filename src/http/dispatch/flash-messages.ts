/**
 * Flash messages: the result that a page shows after a form. The response to the form is a redirect, so a cookie carries
 * the name of the message. Another site could forge a query parameter but not this cookie.
 */
import { cookieValue } from '../../auth/credentials.ts'
import type { HttpRequest } from '../edge/request.ts'

export const notices = {
  saved: 'Saved.',
  created: 'Created.',
  added: 'Added.',
  uploaded: 'Stored.',
  deleted: 'Deleted.',
  asked: 'Asked. The other side decides now.',
  approved: 'Approved.',
  withdrawn: 'The approval is withdrawn. It no longer has access.',
  ended: 'Ended.',
  reset: 'It has the usual rights of its kind of relationship again, and no others.',
  allowed: 'Allowed, once.',
  refused: 'Refused.',
  followed: 'You are notified of each change from now on.',
  redriven: 'What failed is sent again.',
  signedOut: 'Signed out there.',
  disconnected: 'Disconnected.',
  keyRevoked: 'The key was revoked.',
  youAreSignedOut: 'You have been signed out.',
  accountDeleted: 'Your account was deleted.',
  sessionExpired: 'Your session expired.',
  signedInAgain: 'Your session had expired. You are signed in again.',
  accessKept: 'The password keeps working.',
  accessRevoked: 'The password no longer works.',
} as const

export type FlashMessage = keyof typeof notices

const name = '__Host-notice'
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax'

/** @param maxAgeSeconds Must cover a sign-in at a provider when one precedes the page. */
export function noticeCookie(notice: FlashMessage, maxAgeSeconds = 60): string {
  return `${name}=${notice}; Max-Age=${maxAgeSeconds}; ${attributes}`
}

export const noticeShown = `${name}=; Max-Age=0; ${attributes}`

export function noticeOf(request: HttpRequest): string | null {
  const notice = noticeNameOf(request)
  return notice === null ? null : notices[notice]
}

export function noticeNameOf(request: HttpRequest): FlashMessage | null {
  const given = cookieValue(request.header('cookie'), name)
  return given !== undefined && Object.hasOwn(notices, given) ? (given as FlashMessage) : null
}
