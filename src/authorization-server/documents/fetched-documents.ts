/** JSON documents that clients publish. Strangers choose the URLs, so the guarded HTTP client fetches them with limits. */
import { defaultMaxDepth, normalize, toPlain } from '../../json/json.ts'
import type { PeerClient } from '../../peer/peer-client.ts'

const maxKept = 500
const timeouts = { connectSeconds: 5, readSeconds: 5 }

/** Cache times in seconds: default, minimum, maximum. A consent and the token request after it see the same document. */
const keptSeconds = { unsaid: 300, least: 60, most: 86_400 }

export interface FetchedDocumentsOptions<T> {
  readonly client: PeerClient
  readonly now: () => number
  readonly maxBytes: number
  /** Reads the JSON of a document. What it throws is not cached. */
  readonly read: (url: string, document: unknown) => T | Promise<T>
  /** The error for a document that cannot be fetched. */
  readonly unusable: (why: string) => Error
}

interface Kept<T> {
  readonly value: T
  /** Unix milliseconds. */
  readonly fetchedAt: number
  readonly until: number
}

export class FetchedDocuments<T> {
  readonly #options: FetchedDocumentsOptions<T>
  readonly #kept = new Map<string, Kept<T>>()
  /** Running fetches. Concurrent callers share one, so that strangers cannot cause many requests to a third party. */
  readonly #asked = new Map<string, Promise<Kept<T>>>()

  constructor(options: FetchedDocumentsOptions<T>) {
    this.#options = options
  }

  /** Returns the cached document or fetches it. A failure is not cached. */
  async find(url: string): Promise<T> {
    const kept = this.#kept.get(url)
    if (kept !== undefined && kept.until > this.#options.now()) return kept.value
    return this.#fetchOnce(url)
  }

  /** Fetches the document again, unless the cached one is younger than `leastMs`. */
  async newer(url: string, leastMs: number): Promise<T> {
    const kept = this.#kept.get(url)
    const age = this.#options.now() - (kept?.fetchedAt ?? 0)
    if (kept !== undefined && age >= 0 && age < leastMs) return kept.value
    return this.#fetchOnce(url)
  }

  async #fetchOnce(url: string): Promise<T> {
    const asked = this.#asked.get(url) ?? this.#ask(url)
    this.#asked.set(url, asked)
    try {
      return (await asked).value
    } finally {
      this.#asked.delete(url)
    }
  }

  async #ask(url: string): Promise<Kept<T>> {
    const { document, headers } = await this.#fetch(url)
    const value = await this.#options.read(url, document)
    const fetchedAt = this.#options.now()
    const kept = { value, fetchedAt, until: fetchedAt + freshSeconds(headers) * 1000 }
    // The oldest entry is deleted, so the cache stays bounded and an evicted document costs one more fetch.
    this.#kept.delete(url)
    for (const [oldest] of this.#kept) {
      if (this.#kept.size < maxKept) break
      this.#kept.delete(oldest)
    }
    this.#kept.set(url, kept)
    return kept
  }

  async #fetch(url: string): Promise<{ document: unknown; headers: Readonly<Record<string, string>> }> {
    const { client, maxBytes, unusable } = this.#options
    const outcome = await client.call({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      maxAnswerBytes: maxBytes,
      timeouts,
    })
    if (outcome.kind !== 'answered' || outcome.status !== 200) throw unusable('it cannot be fetched')
    try {
      return { document: toPlain(normalize(outcome.body, defaultMaxDepth, 'keep')), headers: outcome.headers }
    } catch {
      throw unusable('it is not JSON')
    }
  }
}

/** Returns the freshness lifetime of the response in seconds (RFC 9111 section 5.2.2), within `keptSeconds`. */
function freshSeconds(headers: Readonly<Record<string, string>>): number {
  const control = headers['cache-control']?.toLowerCase() ?? ''
  if (/(?:^|,)\s*no-(?:store|cache)\b/.test(control)) return keptSeconds.least
  const [, age] = /(?:^|,)\s*max-age="?(\d{1,9})/.exec(control) ?? []
  if (age === undefined) return keptSeconds.unsaid
  return Math.min(Math.max(Number(age), keptSeconds.least), keptSeconds.most)
}
