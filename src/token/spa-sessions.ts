/** One-time session ids, which single-page applications receive in a redirect and exchange for tokens. */
import { hashSecret, sameSecret, type SecretHash } from '../secret/hash.ts'
import type { Store } from '../store/store.ts'
import type { IssuedTokens } from './chain.ts'
import type { OneTime } from './one-time.ts'

export interface SpaSession {
  readonly tokens: IssuedTokens
  /** URL at which the application continues. */
  readonly redirectUrl: string
  /** How the tokens are delivered. With `hybrid`, a cookie already holds the refresh token. */
  readonly delivery: 'json' | 'cookie' | 'hybrid'
  /** Hash of the cookie of the browser that began. Null when a program began. */
  readonly begunIn: SecretHash | null
}

/** A page of this service that exchanges an id, in the browser with this cookie. */
export interface SpaPage {
  readonly browser: string | null
}

/** Time in which an exchange may be repeated, by another window or a page that renders twice. */
const repeatSeconds = 10

export class SpaSessions {
  readonly #store: Store
  readonly #oneTime: OneTime

  constructor(store: Store, oneTime: OneTime) {
    this.#store = store
    this.#oneTime = oneTime
  }

  /**
   * Exchanges an id for its tokens. Only the bound browser can exchange a bound id. Any caller can exchange an unbound id,
   * because the application may be on another site, which gets no cookie of this one. A page of this service only accepts
   * ids that its own browser began: otherwise a link could sign its visitors in as another user.
   *
   * @param browser Identifies the requesting browser, which receives the same response again for 10 seconds.
   * @param page Null for a program, and for a page on another site.
   * @returns null for an id that is unknown, expired, exchanged, or not for this page.
   */
  async exchange(id: string, browser: string, page: SpaPage | null = null): Promise<SpaSession | null> {
    const presented = { purpose: 'spa_session', value: id, browser } as const
    const record = await this.#store.write((tx) =>
      this.#oneTime.consumeOrRepeat<SpaSession>(tx, presented, repeatSeconds),
    )
    return record !== null && isMeantFor(record.data, page) ? record.data : null
  }

  /** Returns the session that `exchange` would return for this id, without using the id up. */
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
