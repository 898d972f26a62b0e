/** Answers of an ingress, which stands before the service of a peer and answers for it during a deployment or an outage. */
import type { PeerOutcome } from './peer-client.ts'

type Answer = Extract<PeerOutcome, { kind: 'answered' }>

/**
 * Whether an answer with an error status is a page. Services of the protocol answer errors with JSON or without a body, so
 * the page says nothing about the actor, the relationship or the message.
 */
export function isIngressPage({ status, body }: Pick<Answer, 'status' | 'body'>): boolean {
  return status >= 400 && !/^\s*(?:[{["]|$)/.test(body)
}

/**
 * Whether the service of the peer accepted a message. The success of the protocol is 204, or JSON. Other services may answer a word,
 * such as `OK`. A page with a success status is the sign-in of a proxy, the challenge of a firewall or a captive portal.
 */
export function isAccepted(outcome: PeerOutcome): boolean {
  return outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300 && !isMarkup(outcome)
}

/** Whether the service of the peer says that it does not know the actor, the relationship or the subscription. */
export function isUnknownTo(outcome: PeerOutcome): boolean {
  if (outcome.kind !== 'answered' || isIngressPage(outcome)) return false
  return outcome.status === 404 || outcome.status === 410
}

/** The byte order mark is a space for the patterns. */
function isMarkup({ headers, body }: Pick<Answer, 'headers' | 'body'>): boolean {
  if (/^\s*</.test(body)) return true
  const isHtml = /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(headers['content-type'] ?? '')
  return isHtml && !/^\s*[{["]/.test(body) && /<[a-z!/]/i.test(body)
}
