/**
 * API keys: credentials of programs and devices that cannot sign in. A key is a client whose relationship is private to the
 * key, so permissions, approvals, the audit log and the pages treat it like any other program (docs/decisions/070).
 */
import type { KeyGrant, NewKey } from '../app/keys.ts'
import type { Caller } from '../caller.ts'
import { ServiceError } from '../errors.ts'
import type { Live } from '../live/live.ts'
import { futureTime, readNewGrant, unexpired, withGrants } from '../permission/grants.ts'
import { ruledCategories } from '../permission/rules.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId, randomPassphrase } from '../secret/random.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Tokens } from '../token/tokens.ts'
import { newTrust } from '../trust/new-trust.ts'
import { putOverride } from '../trust/override-store.ts'
import type { Trust } from '../trust/trust.ts'
import { findTrust, insertTrust, updateTrust } from '../trust/trust-store.ts'
import type { Self } from '../trust/trust-deps.ts'
import type { Trusts } from '../trust/trusts.ts'
import { cleanName } from './client.ts'
import { countKeys, findApiKeys, type StoredKey } from './key-store.ts'
import { scopes } from './resources.ts'

export interface KeysDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly tokens: Tokens
  readonly trusts: Pick<Trusts, 'delete'>
  readonly live: Pick<Live, 'record'>
  readonly scheduleExpiry: (tx: Transaction, key: Pick<Trust, 'actorId' | 'peerId'>, at: number) => Promise<void>
  readonly now: () => number
}

/** A key, with the rules that have not ended. */
export interface Key extends StoredKey {
  readonly grants: readonly KeyGrant[]
}

/** A new key with its secret, which is available only here. */
export interface CreatedKey {
  readonly id: string
  readonly key: string
}

export interface KeyChange {
  readonly name?: string | undefined
  /** Null: the key gets no end. Undefined: the end stays. */
  readonly until?: Date | null | undefined
}

/** Maximum number of keys of one actor. An owner could not review more. */
const maxKeys = 500
/** Limit of the grants of a key, in characters of their JSON: a list of keys contains the grants of all. */
const longestRules = 65_536

/** Trust type of the relationships of keys. It grants nothing: the grants of a key are stored with its relationship. */
export const keyTrustType = 'api_key'

export class Keys {
  readonly #deps: KeysDeps

  constructor(deps: KeysDeps) {
    this.#deps = deps
  }

  /**
   * Creates a key, which acts for the actor within the grants.
   *
   * @throws ServiceError `invalid_value` for a name, `bad_request` for grants or an end, `conflict` for too many keys.
   */
  async create(actorId: string, given: NewKey, by: Caller): Promise<CreatedKey> {
    const { store, keyRing, tokens, live, scheduleExpiry, now } = this.#deps
    const name = nameOf(given.name)
    const rules = withGrants({}, readNewGrant(withoutEnd(given.grants), now()))
    if (JSON.stringify(rules).length > longestRules)
      throw new ServiceError('bad_request', `Cannot create a key: its grants have more than ${longestRules} characters`)
    const until = given.until === undefined ? null : futureTime('create a key', given.until, now())
    const id = `key_${randomId()}`
    return store.writeActor(actorId, async (tx, locked) => {
      if ((await countKeys(tx, actorId)) >= maxKeys) {
        throw new ServiceError('conflict', `Cannot create a key: the actor has ${maxKeys} keys. Revoke one first.`)
      }
      const createdAt = now()
      await insertTrust(tx, { ...keyTrust(keyRing, { actorId, id, name, now: createdAt }), approvedUntil: until })
      await putOverride(tx, actorId, id, { rules, createdBy: by.kind, notes: '', updatedAt: createdAt })
      const key = await tokens.startKey(tx, actorId, {
        clientId: id,
        peerId: id,
        audience: '',
        scope: scopes.join(' '),
      })
      if (until !== null) await scheduleExpiry(tx, { actorId, peerId: id }, until)
      await live.record(tx, locked, 'trust', [id])
      return { id, key }
    })
  }

  /** Lists the keys of an actor, newest first. */
  async list(actorId: string): Promise<Key[]> {
    return this.#read(actorId, null)
  }

  async find(actorId: string, id: string): Promise<Key | null> {
    const [key] = await this.#read(actorId, id)
    return key ?? null
  }

  async #read(actorId: string, id: string | null): Promise<Key[]> {
    const { store, now } = this.#deps
    const stored = await store.read((q) => findApiKeys(q, actorId, id))
    const at = now()
    return stored.filter(({ until }) => until === null || at < until).map((key) => shown(key, at))
  }

  /**
   * Renames a key, or moves its end. Returns false when the key does not exist, or has ended.
   *
   * @throws ServiceError `invalid_value` for a name, `bad_request` for an end that is not in the future, `conflict` for the
   *   end of a key whose approval the owner took back.
   */
  async change(actorId: string, id: string, change: KeyChange): Promise<boolean> {
    const { store, live, scheduleExpiry, now } = this.#deps
    const name = change.name === undefined ? undefined : nameOf(change.name)
    const { until } = change
    const end = until === undefined || until === null ? until : futureTime('move the end of the key', until, now())
    return store.writeActor(actorId, async (tx, locked) => {
      const trust = await findTrust(tx, actorId, id)
      if (!isKey(trust) || (trust.approvedUntil !== null && trust.approvedUntil <= now())) return false
      if (end !== undefined && !trust.approved)
        throw new ServiceError('conflict', 'Cannot move the end of the key: its approval was taken back')
      const approvedUntil = end === undefined ? trust.approvedUntil : end
      await updateTrust(tx, { ...trust, description: name ?? trust.description, approvedUntil }, now())
      if (end !== undefined && end !== null) await scheduleExpiry(tx, trust, end)
      await live.record(tx, locked, 'trust', [id])
      return true
    })
  }

  /** Ends a key, immediately in every process. Returns false when it does not exist. */
  async revoke(actor: Self, id: string): Promise<boolean> {
    const { store, trusts } = this.#deps
    if (!isKey(await store.read((q) => findTrust(q, actor.id, id)))) return false
    return trusts.delete(actor, id, null, { byPeer: false, notify: false })
  }
}

function isKey(trust: Trust | null): trust is Trust {
  return trust?.establishedVia === 'api_key'
}

function keyTrust(
  ring: KeyRing,
  {
    actorId,
    id,
    name,
    now,
  }: { readonly actorId: string; readonly id: string; readonly name: string; readonly now: number },
): Trust {
  const trust = newTrust(ring, {
    actorId,
    peerId: id,
    baseuri: '',
    type: 'key',
    relationship: keyTrustType,
    description: name,
    secret: randomPassphrase(),
    approved: true,
    peerApproved: true,
    verified: true,
    ownRequest: null,
    now,
  })
  return { ...trust, establishedVia: 'api_key' }
}

function nameOf(text: unknown): string {
  const name = typeof text === 'string' ? cleanName(text) : ''
  if (name === '') throw new ServiceError('invalid_value', 'Invalid name of a key: it has no printable characters')
  return name
}

/** @throws ServiceError `bad_request`, because a key and its grants end together. */
function withoutEnd(grants: NewKey['grants']): NewKey['grants'] {
  if (typeof grants !== 'object' || grants === null || Array.isArray(grants)) {
    throw new ServiceError('bad_request', 'Cannot create a key: grants must be an object with one member per category')
  }
  if ('until' in grants) {
    throw new ServiceError('bad_request', 'Cannot create a key: until belongs beside grants, because the key ends then')
  }
  return grants
}

function shown({ rules, ...key }: StoredKey, now: number): Key {
  const current = unexpired(rules, now)
  const grants = ruledCategories.flatMap((category) =>
    (current[category]?.grants ?? []).map(({ pattern, operations, until }) => ({
      category,
      pattern,
      operations,
      until: until === undefined ? null : new Date(until),
    })),
  )
  return { ...key, rules: current, grants }
}
