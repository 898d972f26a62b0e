/** Calls to an actor in a relationship, with its secret and to its own address alone. */
import { ServiceError } from '../errors.ts'
import { type JsonText, normalise, withoutLoneSurrogates } from '../json/json.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { secretOf } from '../trust/record.ts'
import type { Trust } from '../trust/trust.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../peer/peer-client.ts'

export type Linked = Pick<Trust, 'actorId' | 'peerId' | 'baseuri' | 'secret'>

export type Reading =
  | { readonly kind: 'read'; readonly value: JsonText; readonly headers: Readonly<Record<string, string>> }
  /** The peer answered, and does not give it. */
  | { readonly kind: 'refused'; readonly status: number }
  /** It cannot be known now; the reason is for the log. */
  | { readonly kind: 'failed'; readonly reason: string }

/** 32 MiB: a whole actor is fetched at once. */
const maxAnswerBytes = 33_554_432

/** Answers of these kinds say that it may be given at another time. */
const notNow: ReadonlySet<number> = new Set([408, 425, 429])

export class PeerLinks {
  readonly #client: PeerClient
  readonly #keyRing: KeyRing
  readonly #maxJsonDepth: number

  constructor(client: PeerClient, keyRing: KeyRing, maxJsonDepth: number) {
    this.#client = client
    this.#keyRing = keyRing
    this.#maxJsonDepth = maxJsonDepth
  }

  /**
   * @param path the segments below the peer's root, or an absolute address, which has to lie below it.
   * @param mostBytes of the answer.
   */
  call(
    trust: Linked,
    method: PeerRequest['method'],
    path: readonly string[] | string,
    body?: string,
    mostBytes = maxAnswerBytes,
  ): Promise<PeerOutcome> {
    const { baseuri } = trust
    return this.#client.call({
      method,
      url: typeof path === 'string' ? path : [baseuri, ...path.map(encodeURIComponent)].join('/'),
      bearer: { secret: secretOf(this.#keyRing, trust), baseuri },
      maxAnswerBytes: mostBytes,
      body,
    })
  }

  async read(trust: Linked, path: readonly string[] | string, mostBytes?: number): Promise<Reading> {
    return this.reading(await this.call(trust, 'GET', path, undefined, mostBytes))
  }

  /** Every 2xx is a success; a body that is no JSON is a text. */
  reading(outcome: PeerOutcome): Reading {
    if (outcome.kind !== 'answered') return { kind: 'failed', reason: outcome.reason }
    const { status, headers, body } = outcome
    if (status < 200 || status > 499 || notNow.has(status)) {
      return { kind: 'failed', reason: `The peer answered ${status}` }
    }
    if (status > 299) return { kind: 'refused', status }
    try {
      return { kind: 'read', value: this.#valueOf(body), headers }
    } catch (error) {
      if (error instanceof ServiceError)
        return { kind: 'failed', reason: `The answer cannot be kept: ${error.message}` }
      throw error
    }
  }

  #valueOf(body: string): JsonText {
    try {
      return normalise(withoutLoneSurrogates(normalise(body, this.#maxJsonDepth)), this.#maxJsonDepth)
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'invalid_json') {
        return normalise(JSON.stringify(body.toWellFormed()))
      }
      throw error
    }
  }
}
