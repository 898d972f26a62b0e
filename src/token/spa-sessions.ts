/** One-time session ids of single-page applications: what stands between the redirect and the tokens. */
import { hashSecret, sameSecret, type SecretHash } from '../secret/hash.ts'
import type { Store } from '../store/store.ts'
import type { IssuedTokens } from './chain.ts'
import type { OneTime } from './one-time.ts'

export interface SpaSession {
  readonly tokens: IssuedTokens
  /** Where the application goes on. */
  readonly redirectUrl: string
  /** With `hybrid` the refresh token went into a cookie. */
  readonly delivery: 'json' | 'cookie' | 'hybrid'
  /** Hash of the mark of the browser that began; null where a program did. */
  readonly begunIn: SecretHash | null
}

/** A page of this service that exchanges one, in the browser of this mark. */
export interface SpaPage {
  readonly browser: string | null
}

/** Another window, or a page that renders twice, asks again within this time. */
const repeatSeconds = 10

export class SpaSessions {
  readonly #store: Store
  readonly #oneTime: OneTime

  constructor(store: Store, oneTime: OneTime) {
    this.#store = store
    this.#oneTime = oneTime
  }

  /**
   * One that was made for a browser is exchanged by that one alone. Any other is for whoever has it, because the
   * application may live on another site, where no cookie of this one arrives; but a page of this service gets none that
   * was begun elsewhere: a stranger could sign its visitors in as somebody else by a link.
   *
   * @param browser What tells the asking browser from others: the same one gets the same answer again for 10 s.
   * @param page Null for a program, and for a page elsewhere.
   * @returns null for an id that is unknown, expired, exchanged, or not for this page.
   */
  async exchange(id: string, browser: string, page: SpaPage | null = null): Promise<SpaSession | null> {
    const presented = { purpose: 'spa_session', value: id, browser } as const
    const record = await this.#store.write((tx) =>
      this.#oneTime.consumeOrRepeat<SpaSession>(tx, presented, repeatSeconds),
    )
    return record !== null && isMeantFor(record.data, page) ? record.data : null
  }

  /** What `exchange` would return to whoever comes first, without exchanging it. */
  async find(id: string, browser: string, page: SpaPage | null = null): Promise<SpaSession | null> {
    const presented = { purpose: 'spa_session', value: id, browser } as const
    const record = await this.#store.read((q) => this.#oneTime.peek<SpaSession>(q, presented))
    return record !== null && isMeantFor(record.data, page) ? record.data : null
  }
}

function isMeantFor({ begunIn }: SpaSession, page: SpaPage | null): boolean {
  if (page === null) return true
  return begunIn !== null && page.browser !== null && sameSecret(hashSecret(page.browser), begunIn)
}
