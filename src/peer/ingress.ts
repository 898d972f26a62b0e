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
