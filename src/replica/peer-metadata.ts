/** Metadata about peers: their profiles, their capabilities, and the permissions that they grant. */
import { setImmediate } from 'node:timers/promises'
import {
  elements,
  isObject,
  type Json,
  type JsonText,
  known,
  members,
  object,
  stringText,
  stringValue,
  toPlain,
} from '../json/json.ts'
import { jsonField, nullable, objectSchema, optional, parsedField, readObject } from '../json/fields.ts'
import { runBehindResponse } from '../observe/context.ts'
import type { Live } from '../live/live.ts'
import type { Log } from '../observe/log.ts'
import { changesOfGrants, isRevoked, type PermissionChanges } from '../permission/grant-diff.ts'
import { peerRightsSchema, readOverride, wireRules } from '../trust/permissions.ts'
import type { EffectiveRules } from '../permission/rules.ts'
import type { AfterCommit, LockedActor, Store, Transaction } from '../store/store.ts'
import { emptyPending, markForFetch } from './subscriber-store.ts'
import { removeNames } from './copy/remote-data.ts'
import type { Trust } from '../trust/trust.ts'
import { findTrust, updateTrust } from '../trust/trust-store.ts'
import { type FactKind, factsOfPage, findFact, findFactPage, ownersOf, type PeerKey, putFact } from './facts-store.ts'
import type { PeerLinks, Reading } from './peer-link.ts'

const grantFields = {
  data: nullable(
    parsedField(
      { ...peerRightsSchema, description: 'Permissions that the peer grants from now on' },
      'an object of permissions',
      (value) => (isObject(value) ? value : undefined),
    ),
  ),
  timestamp: optional(jsonField('Time of the grant. Older notices are ignored')),
}

export const grantSchema = objectSchema(grantFields)

export interface PeerFactsDeps {
  readonly store: Store
  readonly live: Pick<Live, 'record'>
  readonly links: PeerLinks
  readonly log: Log
  readonly now: () => number
  readonly afterCommit: AfterCommit
  /** Starts the fetches that are due. */
  readonly wake: (actorId: string) => void
  /** The properties of a profile. An empty list turns profiles off. */
  readonly profileAttributes: readonly string[]
  /** Maximum age of methods and actions. 0 fetches them every time. */
  readonly capabilitiesMaxAgeMs: number
  /** Deletes copied data when the peer no longer grants access to it. */
  readonly autoDeleteRevoked: boolean
  /** Fetches data when the peer grants access to it. */
  readonly fetchesGranted: boolean
}

export type Occasion = 'mutual' | 'subscribed' | 'synchronized'

/** Members of stored metadata that do not come from the peer. */
const bookkeeping: ReadonlySet<string> = new Set(['actor_id', 'peer_id', 'fetched_at', 'fetch_error'])

const protocolMaxAgeMs = 86_400_000
const longestTags = 4096

/** Result of a push. Null: the push is older than the stored permissions, or the relationship does not exist. */
export type Granted = { readonly changes: PermissionChanges } | null

/** The source of the peer's permissions. */
type PermissionNotice =
  | { readonly kind: 'push'; readonly timestamp: string | null }
  /** `known`: the stored permissions at the time of the request. */
  | { readonly kind: 'pull'; readonly timestamp: null; readonly known: JsonText | null; readonly when: Occasion }

type NoteOutcome =
  | { readonly kind: 'kept'; readonly changes: PermissionChanges }
  /** The relationship does not exist. */
  | { readonly kind: 'gone' }
  /** Other permissions, which may be newer, were stored meanwhile. */
  | { readonly kind: 'overtaken' }

/** Limit of requests while the stored metadata changes meanwhile. The peer reports each further change itself. */
const maxRounds = 3

export class PeerFacts {
  readonly #deps: PeerFactsDeps
  readonly #running = new Set<Promise<void>>()

  constructor(deps: PeerFactsDeps) {
    this.#deps = deps
  }

  /** Returns the metadata of the last fetch. Undefined: never fetched. */
  async find(key: PeerKey, kind: FactKind): Promise<Json | undefined> {
    const found = await this.#deps.store.read((q) => findFact(q, key, kind))
    return found === null ? undefined : toPlain(found)
  }

  /** Returns the last fetched profiles of an actor's peers, by peer, in pages. Long ones are left out: `find` reads them. */
  async profiles(actorId: string): Promise<ReadonlyMap<string, Json>> {
    const profiles = new Map<string, Json>()
    for (let after = ''; ; ) {
      const page = await this.#deps.store.read((q) => findFactPage(q, actorId, 'profile', after))
      for (const { peerId, fact } of page) if (fact !== null) profiles.set(peerId, toPlain(fact))
      const last = page.at(-1)
      if (last === undefined || page.length < factsOfPage) return profiles
      after = last.name
      await setImmediate()
    }
  }

  /** Fetches in the background. */
  refreshLater(key: PeerKey, when: Occasion): void {
    const run = runBehindResponse(() => this.refresh(key, when))
    this.#running.add(run)
    void run.finally(() => this.#running.delete(run))
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Fetches the metadata that the occasion needs and that is not fresh. Never rejects. */
  async refresh(key: PeerKey, when: Occasion): Promise<void> {
    try {
      const { store, profileAttributes } = this.#deps
      // The peer refused this request before both sides approved, so the stored permissions may be outdated.
      const asksRights = when !== 'mutual' || (await store.read((q) => findFact(q, key, 'permissions'))) !== null
      if (!asksRights && profileAttributes.length === 0) return
      const trust = await store.read((q) => findTrust(q, key.actorId, key.peerId))
      if (trust === null || trust.baseuri === '' || !isActor(trust)) return
      await Promise.all([
        this.#refreshProfile(trust),
        this.#refreshProtocol(trust),
        ...(when === 'mutual' ? [] : [this.#refreshCapabilities(trust, when)]),
        ...(asksRights ? [this.#refreshPermissions(trust, when)] : []),
      ])
    } catch (error) {
      this.#deps.log.warn({ error }, 'Cannot refresh the metadata of a peer')
    }
  }

  async #refreshProfile(trust: Trust): Promise<void> {
    const { store, links, profileAttributes } = this.#deps
    if (profileAttributes.length === 0) return
    for (let round = 1; round <= maxRounds; round++) {
      const known_ = await store.read((q) => findFact(q, trust, 'profile'))
      const reading = await links.read(trust, ['properties'])
      const shown = reading.kind === 'read' ? members(reading.value) : null
      const fresh =
        shown === null
          ? null
          : profileAttributes.flatMap((name): (readonly [string, JsonText])[] => {
              const value = shown.get(name)
              return value === undefined ? [] : [[name, value]]
            })
      // A callback that arrived meanwhile may be newer than what was fetched.
      if (await this.#keep(trust, 'profile', fresh, { failure: failureOf(reading), expected: known_ })) return
    }
  }

  async #refreshCapabilities(trust: Trust, when: Occasion): Promise<void> {
    const { store, links, now, capabilitiesMaxAgeMs } = this.#deps
    const known_ = await store.read((q) => findFact(q, trust, 'capabilities'))
    if (when !== 'subscribed' && ageOf(known_, now()) < capabilitiesMaxAgeMs) return
    const [methods, actions] = await Promise.all([links.read(trust, ['methods']), links.read(trust, ['actions'])])
    const lists = [listIn(methods, 'methods'), listIn(actions, 'actions')] as const
    const fresh =
      lists[0] === null || lists[1] === null ? null : [['methods', lists[0]] as const, ['actions', lists[1]] as const]
    await this.#keep(trust, 'capabilities', fresh, { failure: failureOf(methods) ?? failureOf(actions) })
  }

  /** Fetches the option tags of the peer, which decide which protocol extensions this actor uses. */
  async #refreshProtocol(trust: Trust): Promise<void> {
    const { store, links, now } = this.#deps
    const fetchedAt = Date.parse(trust.facts.capabilities_fetched_at ?? '')
    if (now() - fetchedAt < protocolMaxAgeMs) return
    const [tags, version] = await Promise.all([
      links.read(trust, ['meta', 'actingweb', 'supported']),
      links.read(trust, ['meta', 'actingweb', 'version']),
    ])
    const supported = tags.kind === 'read' ? toPlain(tags.value) : null
    if (typeof supported !== 'string' || supported.length > longestTags) return
    // The version is kept as written: as a number, 1.0 would become 1.
    const spoken = version.kind === 'read' ? (stringValue(version.value) ?? version.value) : ''
    await store.writeActor(trust.actorId, async (tx) => {
      const current = await findTrust(tx, trust.actorId, trust.peerId)
      if (current === null) return
      const facts = {
        ...current.facts,
        aw_supported: supported,
        ...(spoken === '' || spoken.length > 64 ? {} : { aw_version: spoken }),
        capabilities_fetched_at: new Date(now()).toISOString(),
      }
      await updateTrust(tx, { ...current, facts }, now())
    })
  }

  async #refreshPermissions(trust: Trust, when: Occasion): Promise<void> {
    for (let round = 1; round <= maxRounds; round++) {
      const known_ = await this.#deps.store.read((q) => findFact(q, trust, 'permissions'))
      const reading = await this.#deps.links.read(trust, ['permissions', trust.actorId])
      const granted = reading.kind === 'read' ? members(reading.value)?.get('permissions') : undefined
      if (granted === undefined || !isObject(granted)) return
      const { rules } = readOverride(granted)
      const { kind } = await this.#keepGranted(trust, rules, { kind: 'pull', timestamp: null, known: known_, when })
      if (kind !== 'overtaken') return
    }
  }

  /**
   * Stores the permissions that the peer grants from now on. Deletes copied data that the peer revoked, and fetches
   * data that it added.
   *
   * @throws ServiceError `bad_request`
   */
  async granted(key: PeerKey, body: JsonText): Promise<Granted> {
    const { data = known('{}'), timestamp } = readObject('take these permissions', grantFields, body)
    const { rules } = readOverride(data)
    const time = timestamp === undefined ? null : toPlain(timestamp)
    const noted = await this.#keepGranted(key, rules, {
      kind: 'push',
      timestamp: typeof time === 'string' ? time : null,
    })
    return noted.kind === 'kept' ? noted : null
  }

  async #keepGranted(key: PeerKey, rules: EffectiveRules, notice: PermissionNotice): Promise<NoteOutcome> {
    const { store, now, autoDeleteRevoked, fetchesGranted } = this.#deps
    return store.writeActor(key.actorId, async (tx, actor): Promise<NoteOutcome> => {
      if ((await findTrust(tx, key.actorId, key.peerId)) === null) return { kind: 'gone' }
      const fact = await findFact(tx, key, 'permissions')
      const before = readGranted(fact)
      const knownTime = before?.timestamp ?? null
      if (isOvertaken(notice, { fact, knownTime, now: now() })) return { kind: 'overtaken' }
      const changes = changesOfGrants(before?.rules ?? null, rules)
      const timestamp = notice.timestamp ?? knownTime
      await putFact(tx, key, 'permissions', grantedText(key, rules, timestamp, now()), now())
      const mustDelete = before !== null && changes.has_revocations && autoDeleteRevoked
      const isEmptied =
        mustDelete && (await this.#deleteRevoked(tx, actor, key, { before: before.rules, after: rules }))
      // Data from before the grants were known may have been fetched with other rights.
      const isGranted = changes.is_initial || changes.granted_patterns.length > 0
      if (isEmptied || (isGranted && fetchesGranted)) await this.#fetchSoon(tx, key, notice)
      return { kind: 'kept', changes }
    })
  }

  /** Fetches a snapshot, whose data and sequence number agree. */
  async #fetchSoon(tx: Transaction, key: PeerKey, notice: PermissionNotice): Promise<void> {
    const { now, afterCommit, wake } = this.#deps
    const isMarked = await markForFetch(tx, key, now())
    // A new subscription is fetched by its caller next. The worker finds the others.
    const isNext = notice.kind === 'pull' && notice.when === 'subscribed'
    if (isMarked && !isNext) afterCommit(tx, () => wake(key.actorId))
  }

  /** Returns false, and stores nothing, when the stored metadata is no longer `expected`. */
  async #keep(
    key: PeerKey,
    kind: FactKind,
    fresh: readonly (readonly [string, JsonText])[] | null,
    { failure, expected }: { readonly failure: string | null; readonly expected?: JsonText | null },
  ): Promise<boolean> {
    const { store, live, now } = this.#deps
    return store.writeActor(key.actorId, async (tx, actor) => {
      // The relationship may have ended meanwhile.
      if ((await findTrust(tx, key.actorId, key.peerId)) === null) return true
      const isShown = kind === 'profile' && actor.watchedUntil >= now()
      const before = fresh === null || expected !== undefined ? await findFact(tx, key, kind) : null
      if (expected !== undefined && before !== expected) return false
      const text =
        fresh === null
          ? object([
              ...(before === null ? ownersOf(key) : (members(before) ?? [])),
              ...(before === null ? [['fetched_at', known('null')] as const] : []),
              ['fetch_error', stringText(failure ?? 'The answer was not understood')],
            ])
          : object([
              ...fresh,
              ...ownersOf(key),
              ['fetched_at', stringText(new Date(now()).toISOString())],
              ['fetch_error', known('null')],
            ])
      await putFact(tx, key, kind, text, now())
      // An open page shows the peer by its name.
      if (isShown && fresh !== null && !isSame(before, fresh)) await live.record(tx, actor, 'trust', [key.peerId])
      return true
    })
  }

  /** Deletes copied data and pending callbacks that the peer revoked. Returns whether callbacks were pending. */
  async #deleteRevoked(
    tx: Transaction,
    actor: LockedActor,
    key: PeerKey,
    { before, after }: { readonly before: EffectiveRules; readonly after: EffectiveRules },
  ): Promise<boolean> {
    await removeNames(tx, key, (name) => isRevoked(before, after, name))
    await this.#deps.live.record(tx, actor, 'remote', [key.peerId])
    return emptyPending(tx, key)
  }
}

/** Whether the fetched metadata equals the stored metadata. */
function isSame(before: JsonText | null, fresh: readonly (readonly [string, JsonText])[]): boolean {
  const known = before === null ? null : members(before)
  const names = [...(known?.keys() ?? [])].filter((name) => !bookkeeping.has(name))
  return names.length === fresh.length && fresh.every(([name, value]) => known?.get(name) === value)
}

/** Whether the peer is an actor. Clients of the OAuth server have relationships too, and serve no metadata. */
function isActor({ establishedVia }: Trust): boolean {
  return establishedVia === 'trust' || establishedVia === 'trustee'
}

function failureOf(reading: Reading): string | null {
  switch (reading.kind) {
    case 'read':
      return null
    case 'refused':
      return `The peer answered ${reading.status}`
    case 'failed':
      return 'The peer could not be reached'
    default:
      return reading satisfies never
  }
}

/** Returns the list in a response. A peer without this endpoint has an empty list. */
function listIn(reading: Reading, name: string): JsonText | null {
  if (reading.kind === 'refused') return reading.status === 404 ? known('[]') : null
  const list = reading.kind === 'read' ? members(reading.value)?.get(name) : undefined
  return list !== undefined && elements(list) !== null ? list : null
}

function ageOf(fact: JsonText | null, now: number): number {
  const fetchedAt = fact === null ? undefined : members(fact)?.get('fetched_at')
  const time = fetchedAt === undefined ? null : toPlain(fetchedAt)
  return typeof time === 'string' ? now - Date.parse(time) : Number.POSITIVE_INFINITY
}

function grantedText(key: PeerKey, rules: EffectiveRules, timestamp: string | null, now: number): string {
  return JSON.stringify({
    actor_id: key.actorId,
    peer_id: key.peerId,
    ...wireRules(rules, null),
    timestamp,
    fetched_at: new Date(now).toISOString(),
    fetch_error: null,
  })
}

function readGranted(fact: JsonText | null): { rules: EffectiveRules; timestamp: string | null } | null {
  if (fact === null) return null
  const { timestamp } = toPlain(fact) as { timestamp?: Json }
  return { rules: readOverride(fact).rules, timestamp: typeof timestamp === 'string' ? timestamp : null }
}

/** Whether stored permissions may be newer than these. `fact` is the stored metadata, with the time `knownTime`. */
function isOvertaken(
  notice: PermissionNotice,
  { fact, knownTime, now }: { readonly fact: JsonText | null; readonly knownTime: string | null; readonly now: number },
): boolean {
  if (notice.kind === 'pull') return fact !== notice.known
  // A clock that was ahead and was corrected must not block the permissions that the peer sends afterwards.
  const isCorrected = isAfter(knownTime, now) && !isAfter(notice.timestamp, now)
  return isOlder(notice.timestamp, knownTime) && !isCorrected
}

function isAfter(timestamp: string | null, now: number): boolean {
  return timestamp !== null && Date.parse(timestamp) > now
}

/** Compares two times. An invalid time is not older than any other. */
function isOlder(timestamp: string | null, known_: string | null): boolean {
  return timestamp !== null && known_ !== null && Date.parse(timestamp) < Date.parse(known_)
}
