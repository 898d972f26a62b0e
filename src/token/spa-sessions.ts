/** One-time session ids of single-page applications: what stands between the redirect and the tokens. */
import type { Store } from '../store/store.ts'
import type { IssuedTokens } from './chain.ts'
import type { OneTime } from './one-time.ts'

export interface SpaSession {
  readonly tokens: IssuedTokens
  /** Where the application goes on. */
  readonly redirectUrl: string
  /** With `hybrid` the refresh token went into a cookie. */
  readonly delivery: 'json' | 'cookie' | 'hybrid'
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
   * application may live on another site, where no cookie of this one arrives.
   *
   * @param browser What tells the asking browser from others: the same one gets the same answer again for 10 s.
   * @returns null for an id that is unknown, expired or exchanged.
   */
  async exchange(id: string, browser: string): Promise<SpaSession | null> {
    const presented = { purpose: 'spa_session', value: id, browser } as const
    const record = await this.#store.write((tx) =>
      this.#oneTime.consumeOrRepeat<SpaSession>(tx, presented, repeatSeconds),
    )
    return record?.data ?? null
  }

  /** What `exchange` would return to whoever comes first, without exchanging it. */
  async find(id: string, browser: string): Promise<SpaSession | null> {
    const presented = { purpose: 'spa_session', value: id, browser } as const
    const record = await this.#store.read((q) => this.#oneTime.peek<SpaSession>(q, presented))
    return record?.data ?? null
  }
}
