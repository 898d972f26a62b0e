/**
 * Whatever is good once: a random value of which only the hash is kept, bound to a purpose, and where it matters to a
 * provider, an actor and the browser that began. Consumed by one conditional UPDATE.
 */
import { hashSecret, type SecretHash } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomToken } from '../secret/random.ts'
import { bindingOf, oneTimeData } from '../secret/sealed-columns.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import type { Queries, Transaction } from '../store/store.ts'
import {
  amendRecord,
  consumeRecord,
  findRecord,
  insertMark,
  insertRecord,
  type OneTimeRow,
  repeatRecord,
} from './one-time-store.ts'

export type RecordPurpose =
  /** `state` of a sign-in at a provider, also as the nonce of form_post. */
  | 'state'
  /** What a provider posted, until the browser that began fetches it. */
  | 'form_post'
  /** Deep-linked to a mobile application, which redeems it. */
  | 'ticket'
  /** `?session=` of a single-page application's redirect. */
  | 'spa_session'
  /** Free-text entry of an address. */
  | 'email_session'
  | 'email_verification'
  /** The anti-forgery proof of a claim page: join an actor that was made without proof. */
  | 'claim'
  /** Authorization code for a client. */
  | 'code'
  /** A consent that waits for the owner. */
  | 'consent'
  /** `state` of a connection with a third-party service. */
  | 'service'
  /** Mark of an assertion that was shown (recorded as used from the start). */
  | 'assertion'

/** In seconds. */
export const lifetimes: Readonly<Record<RecordPurpose, number>> = {
  state: 600,
  form_post: 60,
  ticket: 300,
  spa_session: 600,
  email_session: 600,
  email_verification: 86_400,
  claim: 600,
  code: 60,
  consent: 600,
  service: 600,
  assertion: 900,
}

export interface NewOneTime {
  readonly purpose: Exclude<RecordPurpose, 'assertion'>
  /** JSON; kept sealed. */
  readonly data: object
  /** The record goes with the actor. */
  readonly actorId?: string
  /** The provider it is about. */
  readonly provider?: string
  /** What identifies the browser that began (`browserCookie`): no other one consumes it. Null: whoever has it. */
  readonly browser?: string | null
  /** That of the purpose unless given. */
  readonly lifetimeSeconds?: number
}

export interface PresentedRecord {
  readonly purpose: Exclude<RecordPurpose, 'assertion'>
  readonly value: string
  /** Asked for: a record of another provider does not count. Any provider's counts when it is absent. */
  readonly provider?: string
  /** Of whoever presents it; null where nothing tells. */
  readonly browser?: string | null
}

export interface OneTimeRecord<T extends object> {
  readonly data: T
  readonly actorId: string | null
  /** Empty when it is not about one. */
  readonly provider: string
  /** Unix milliseconds; null for one that is unused. */
  readonly usedAt: number | null
}

export class OneTime {
  readonly #keyRing: KeyRing
  readonly #now: () => number

  constructor(keyRing: KeyRing, now: () => number) {
    this.#keyRing = keyRing
    this.#now = now
  }

  /** @returns the value, 43 characters of base64url (`ac_` before those of an authorization code). */
  async create(tx: Transaction, record: NewOneTime): Promise<string> {
    const { purpose, data, actorId, provider, browser, lifetimeSeconds } = record
    const value = `${purpose === 'code' ? 'ac_' : ''}${randomToken(32)}`
    const hash = hashSecret(value)
    await insertRecord(tx, {
      hash,
      purpose,
      actorId: actorId ?? null,
      provider: provider ?? '',
      browser: hashOf(browser),
      data: seal(this.#keyRing, JSON.stringify(data), bindingOf(oneTimeData, hash)),
      expiresAt: this.#now() + (lifetimeSeconds ?? lifetimes[purpose]) * 1000,
    })
    return value
  }

  /**
   * Exactly one caller ever gets it, and only within its lifetime.
   *
   * @typeParam T What `create` was given for the purpose.
   * @returns null for a value that is unknown, expired, used, of another purpose, provider or browser; one of another
   *   provider or browser is not spent by that.
   */
  async consume<T extends object>(tx: Transaction, presented: PresentedRecord): Promise<OneTimeRecord<T> | null> {
    const hash = hashSecret(presented.value)
    const row = await consumeRecord(tx, hash, conditionsOf(presented), this.#now())
    return row === null ? null : this.#opened<T>(hash, row)
  }

  /**
   * As `consume`, and for so long again for the same browser, which may have asked twice. What tells browsers apart is
   * fixed by the first one that comes.
   */
  async consumeOrRepeat<T extends object>(
    tx: Transaction,
    presented: PresentedRecord & { readonly browser: string },
    repeatSeconds: number,
  ): Promise<OneTimeRecord<T> | null> {
    const hash = hashSecret(presented.value)
    const now = this.#now()
    const row =
      (await consumeRecord(tx, hash, conditionsOf(presented), now)) ??
      (await repeatRecord(tx, hash, conditionsOf(presented), now - repeatSeconds * 1000))
    return row === null ? null : this.#opened<T>(hash, row)
  }

  /** What `consume` would return, without consuming it. */
  async peek<T extends object>(q: Queries, presented: PresentedRecord): Promise<OneTimeRecord<T> | null> {
    return this.#find<T>(q, presented, 'unused')
  }

  /** A record that was consumed and is not purged yet: a second use is told from a guess. */
  async spent<T extends object>(q: Queries, presented: PresentedRecord): Promise<OneTimeRecord<T> | null> {
    return this.#find<T>(q, presented, 'used')
  }

  /** Keeps what came of a consumed record with it, for `spent`. */
  async remember(tx: Transaction, value: string, data: object, seconds: number): Promise<void> {
    const hash = hashSecret(value)
    const sealed = seal(this.#keyRing, JSON.stringify(data), bindingOf(oneTimeData, hash))
    await amendRecord(tx, hash, sealed, this.#now() + seconds * 1000)
  }

  async #find<T extends object>(
    q: Queries,
    presented: PresentedRecord,
    state: 'unused' | 'used',
  ): Promise<OneTimeRecord<T> | null> {
    const hash = hashSecret(presented.value)
    const row = await findRecord(q, hash, conditionsOf(presented), this.#now())
    return row === null || (row.usedAt === null) !== (state === 'unused') ? null : this.#opened<T>(hash, row)
  }

  /**
   * @param until Unix seconds; after it the same assertion could not be valid any more.
   * @returns true for the first showing, false for every other one.
   */
  async markSeen(
    tx: Transaction,
    { purpose, fingerprint, until }: { purpose: 'assertion'; fingerprint: string; until: number },
  ): Promise<boolean> {
    const hash = hashSecret(`${purpose} ${fingerprint}`)
    const now = this.#now()
    const data = seal(this.#keyRing, '{}', bindingOf(oneTimeData, hash))
    const expiresAt = Math.max(until * 1000, now + lifetimes[purpose] * 1000)
    return insertMark(tx, { hash, purpose, data, expiresAt }, now)
  }

  #opened<T extends object>(hash: SecretHash, { data, actorId, provider, usedAt }: OneTimeRow): OneTimeRecord<T> {
    // Sealed by `create` for this very record, so it is what the purpose's data is.
    const read = JSON.parse(open(this.#keyRing, data as Sealed, bindingOf(oneTimeData, hash))) as T
    return { data: read, actorId, provider, usedAt }
  }
}

function conditionsOf({ purpose, provider, browser }: PresentedRecord): {
  purpose: RecordPurpose
  provider: string | null
  browser: SecretHash | null
} {
  return { purpose, provider: provider ?? null, browser: hashOf(browser) }
}

function hashOf(browser: string | null = null): SecretHash | null {
  return browser === null ? null : hashSecret(browser)
}
