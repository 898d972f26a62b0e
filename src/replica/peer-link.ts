/** Calls to a peer with the secret of the relationship, only to URLs below the peer's root. */
import { ServiceError } from '../errors.ts'
import { type JsonText, normalize } from '../json/json.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { outcomeWith } from '../outbox/secret-rotation.ts'
import type { Store } from '../store/store.ts'
import { secretOf } from '../trust/record.ts'
import type { Trust } from '../trust/trust.ts'
import { isIngressPage } from '../peer/ingress.ts'
import { type FindMovedPeer, outcomeAfterMoves } from '../peer/moved-peer.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../peer/peer-client.ts'

export type Linked = Pick<Trust, 'actorId' | 'peerId' | 'baseuri' | 'secret' | 'facts'>

export type Reading =
  | { readonly kind: 'read'; readonly value: JsonText; readonly headers: Readonly<Record<string, string>> }
  /** The peer responded, and refused the data. */
  | { readonly kind: 'refused'; readonly status: number }
  /** The data cannot be read now. The reason is only for the log. */
  | { readonly kind: 'failed'; readonly reason: string }

/** 32 MiB, because one response contains a whole actor. */
const maxAnswerBytes = 33_554_432

/** Status codes that mean that a later request may succeed. */
const notNow: ReadonlySet<number> = new Set([408, 425, 429])

/** How peers are reached, and where they are. */
interface Peers {
  readonly peerClient: PeerClient
  readonly findMovedPeer: FindMovedPeer
}

export class PeerLinks {
  readonly #store: Store
  readonly #client: PeerClient
  readonly #findMovedPeer: FindMovedPeer
  readonly #keyRing: KeyRing
  readonly #maxJsonDepth: number

  constructor(store: Store, { peerClient, findMovedPeer }: Peers, keyRing: KeyRing, maxJsonDepth: number) {
    this.#store = store
    this.#client = peerClient
    this.#findMovedPeer = findMovedPeer
    this.#keyRing = keyRing
    this.#maxJsonDepth = maxJsonDepth
  }

  /**
   * Calls the peer. A refusal is "unreached" while the peer may have another secret.
   *
   * @param path The segments below the peer's root, or an absolute URL, which must be below it.
   * @param maxBytes Limit for the response.
   */
  async call(
    trust: Linked,
    method: PeerRequest['method'],
    path: readonly string[] | string,
    body?: string,
    maxBytes = maxAnswerBytes,
  ): Promise<PeerOutcome> {
    const { baseuri, peerId, facts } = trust
    const outcome = await this.#client.call({
      method,
      url: typeof path === 'string' ? path : [baseuri, ...path.map(encodeURIComponent)].join('/'),
      bearer: { secret: secretOf(this.#keyRing, trust), baseuri },
      maxAnswerBytes: maxBytes,
      body,
    })
    const known = { address: baseuri, actorId: peerId, publicKey: facts.move_key ?? null }
    const settled = await outcomeAfterMoves(outcome, known, this.#findMovedPeer)
    return outcomeWith(this.#store, trust, trust.secret, settled)
  }

  async read(trust: Linked, path: readonly string[] | string, maxBytes?: number): Promise<Reading> {
    return this.reading(await this.call(trust, 'GET', path, undefined, maxBytes))
  }

  /** Converts an outcome. Every 2xx status is a success. A body that is not valid JSON is read as a string. */
  reading(outcome: PeerOutcome): Reading {
    if (outcome.kind !== 'answered') return { kind: 'failed', reason: outcome.reason }
    const { status, headers, body } = outcome
    // A failed read is never an empty answer. A redirect is that of an ingress, or of an address that the peer has left.
    const isOther = status < 200 || (status > 299 && status < 400) || status > 499
    if (isOther || notNow.has(status) || isIngressPage(outcome)) {
      return { kind: 'failed', reason: `The peer answered ${status}` }
    }
    if (status > 299) return { kind: 'refused', status }
    try {
      return { kind: 'read', value: this.#valueOf(body), headers }
    } catch (error) {
      if (error instanceof ServiceError)
        return { kind: 'failed', reason: `Cannot store the response: ${error.message}` }
      throw error
    }
  }

  /** Reads a body that must be JSON. @throws ServiceError `invalid_json` */
  json(body: string): JsonText {
    return normalize(body, this.#maxJsonDepth, 'replace')
  }

  #valueOf(body: string): JsonText {
    try {
      return this.json(body)
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'invalid_json') {
        return normalize(JSON.stringify(body.toWellFormed()))
      }
      throw error
    }
  }
}
