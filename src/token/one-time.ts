/**
 * One-time values: random strings of which only the hash is stored. Each is bound to a purpose, and optionally to a
 * provider, an actor and a browser. One conditional UPDATE consumes a value.
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
  deleteRecord,
  findRecord,
  insertMark,
  insertRecord,
  type OneTimeRow,
  repeatRecord,
} from './one-time-store.ts'

export type RecordPurpose =
  /** `state` of a sign-in at a provider. */
  | 'state'
  /** A form that a provider posted, until the browser that began the sign-in fetches it. */
  | 'form_post'
  /** Value in a deep link to a mobile application, which redeems it. */
  | 'ticket'
  /** `?session=` in the redirect to a single-page application. */
  | 'spa_session'
  /** A sign-in that waits for a typed email address. */
  | 'email_session'
  | 'email_verification'
  /** CSRF token of a claim page, on which a person joins an actor that was created without proof. */
  | 'claim'
  /** Authorization code for a client. */
  | 'code'
  /** A consent that waits for the owner. */
  | 'consent'
  /** `state` of a connection with a third-party service. */
  | 'service'
  /** A person whom the service or the embedding program authenticated, until the callback. */
  | 'own_code'
  /** A code that was sent to an address. */
  | 'email_link'
  /** A device that asks for its tokens (RFC 8628). */
  | 'device_code'
  /** The code that the owner enters for a device. */
  | 'user_code'
  /** A link with which an operator lets a locked-out owner sign in. */
  | 'owner_link'
  /** Finds the owner of a recovery code. */
  | 'recovery_code'
  /** Record of a presented assertion, inserted as already used. */
  | 'assertion'

/** Lifetime of each purpose, in seconds. */
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
  own_code: 60,
  email_link: 600,
  device_code: 600,
  user_code: 600,
  owner_link: 3600,
  // A hundred years: the code ends with its use.
  recovery_code: 3_155_760_000,
  assertion: 900,
}

export interface NewOneTime {
  readonly purpose: Exclude<RecordPurpose, 'assertion'>
  /** JSON, stored sealed. */
  readonly data: object
  /** The record is deleted with this actor. */
  readonly actorId?: string
  /** The provider or third-party service of the flow. */
  readonly provider?: string
  /** Cookie of the only browser that may consume the value (`browserCookie`). Null allows any caller. */
  readonly browser?: string | null
  /** Default: the lifetime of the purpose. */
  readonly lifetimeSeconds?: number
  /** A random value of the caller. Default: 43 characters of base64url. */
  readonly value?: string
}

export interface PresentedRecord {
  readonly purpose: Exclude<RecordPurpose, 'assertion'>
  readonly value: string
  /** Requires a record of this provider. Default: any provider. */
  readonly provider?: string
  /** Cookie of the presenting browser. Null when it is unknown. */
  readonly browser?: string | null
}

export interface OneTimeRecord<T extends object> {
  readonly data: T
  readonly actorId: string | null
  /** Empty for a record without a provider. */
  readonly provider: string
  /** Unix milliseconds. Null for an unused record. */
  readonly usedAt: number | null
}

export class OneTime {
  readonly #keyRing: KeyRing
  readonly #now: () => number

  constructor(keyRing: KeyRing, now: () => number) {
    this.#keyRing = keyRing
    this.#now = now
  }

  /** Stores a record. @returns the value, prefixed with `ac_` for an authorization code. */
  async create(tx: Transaction, record: NewOneTime): Promise<string> {
    const { purpose, data, actorId, provider, browser, lifetimeSeconds } = record
    const value = `${purpose === 'code' ? 'ac_' : ''}${record.value ?? randomToken(32)}`
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
   * Consumes a record. Exactly one caller gets it, within its lifetime.
   *
   * @typeParam T Type of the data that `create` stored for the purpose.
   * @returns null for a value that is unknown, expired, used, or of another purpose, provider or browser. A value of
   *   another purpose, provider or browser is not consumed.
   */
  async consume<T extends object>(tx: Transaction, presented: PresentedRecord): Promise<OneTimeRecord<T> | null> {
    const hash = hashSecret(presented.value)
    const row = await consumeRecord(tx, hash, conditionsOf(presented), this.#now())
    return row === null ? null : this.#opened<T>(hash, row)
  }

  /**
   * Like `consume`, but returns the record again to the same browser for `repeatSeconds`, because pages may repeat a
   * request. The first request binds an unbound record to its browser.
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

  /** Returns the result of `consume` without consuming the record. */
  async peek<T extends object>(q: Queries, presented: PresentedRecord): Promise<OneTimeRecord<T> | null> {
    return this.#find<T>(q, presented, 'unused')
  }

  /** Returns a consumed record that is not purged yet. It distinguishes a second use from a guess. */
  async spent<T extends object>(q: Queries, presented: PresentedRecord): Promise<OneTimeRecord<T> | null> {
    return this.#find<T>(q, presented, 'used')
  }

  /** Replaces the data of a consumed record with its outcome, for `spent`. */
  async remember(tx: Transaction, value: string, data: object, seconds: number): Promise<void> {
    const hash = hashSecret(value)
    const sealed = seal(this.#keyRing, JSON.stringify(data), bindingOf(oneTimeData, hash))
    await amendRecord(tx, hash, sealed, this.#now() + seconds * 1000)
  }

  /** Deletes unused records by their values' hashes. */
  async discard(tx: Transaction, hashes: readonly SecretHash[]): Promise<void> {
    for (const hash of hashes) await deleteRecord(tx, hash)
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
   * Records an assertion as used.
   *
   * @param until Unix seconds, after which the assertion is no longer valid.
   * @returns true for the first use, false for every later one.
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
    // The binding proves that this class sealed the data for this record, so its type is that of the purpose.
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
