/**
 * Checks I3 after every commit, from the tables alone: each subscription counts 1, 2, 3 … in the order of the commits.
 * Each sequence number keeps its diff unchanged, and a suspended target receives none.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { openFile } from './databases.ts'
import type { ReadCache } from './read-cache.ts'

export interface LedgerParts {
  /** Tells whether the database has changed. */
  readonly reads: ReadCache
  readonly maxDiffs: number
  readonly queues: Queues
  readonly violation: (text: string) => void
  /** By hash: the relationship of the secret, of all hosts. With evil services only. */
  readonly secrets: Map<string, string>
  /** Hashes of the secrets that were first those of relationships with evil services. The stranger asks with them for others, too. */
  readonly secretsOfEvil: Set<string>
  /** Hashes of the tokens by which evil services announced actors. */
  readonly forged: ReadonlySet<string>
  /** Whether an evil service has the address of the peer. */
  readonly isStrange: (peerId: string, baseuri: string) => boolean
  /** Whether a peer of another kind has the subscription. */
  readonly isSubscribed: (peerId: string, subscriptionId: string) => boolean
}

interface Waiting {
  readonly actor: string
  readonly peer: string
  /** The address of the peer. Empty for work that has none. */
  readonly baseuri: string
  readonly at: number
}

interface Queue {
  sequence: number
  readonly texts: Map<number, string>
}

/** The subscriptions that were seen, by their keys. The ledgers of all hosts share them, because actors move. */
export type Queues = Map<string, Queue>

/**
 * Nothing but the repair of the peer's copy is to be sent. A peer whose approval is not known gets no changes before its repair:
 * the reference sends its approval once, so a lost one is never known.
 */
const waitsForRepair = `repair_at IS NOT NULL AND (sequence <= committed OR state = 'stopped' OR
  (actor_id, peer_id) IN (SELECT t.actor_id, t.peer_id FROM trust t WHERE t.peer_approved = 0))`

export class Ledger {
  readonly #database: DatabaseSync
  readonly #subscriptions: StatementSync
  readonly #numbers: StatementSync
  readonly #diffs: StatementSync
  readonly #suspensions: StatementSync
  readonly #acknowledged: StatementSync
  readonly #erasure: StatementSync
  readonly #due: readonly (readonly [table: string, StatementSync])[]
  readonly #forgedActors: StatementSync
  readonly #trusts: StatementSync
  readonly #departure: StatementSync
  readonly #notices: StatementSync
  /** `<actor> <property>` of the targets that were suspended at the last commit; `<actor>` alone for all properties. */
  #suspended = new Set<string>()
  readonly #queues: Queues
  readonly #repairs: StatementSync
  readonly #subscribed: StatementSync
  readonly #residence: StatementSync
  readonly #violation: (text: string) => void
  readonly #parts: LedgerParts
  /** By actor: the hashes of all secrets that its relationships have had here. */
  readonly #past = new Map<string, Set<string>>()
  readonly #read = new Map<string, unknown>()
  #readAt = -1
  /** Count of assigned sequence numbers. */
  count = 0

  readonly #maxDiffs: number

  constructor(path: string, parts: LedgerParts) {
    const { maxDiffs, queues, violation } = parts
    this.#parts = parts
    this.#maxDiffs = maxDiffs
    this.#queues = queues
    this.#database = openFile(path)
    this.#violation = violation
    this.#subscriptions = this.#database.prepare(
      `SELECT actor_id, peer_id, subscription_id, subtarget, sequence, committed FROM publisher_subscription
       JOIN actor ON id = actor_id WHERE residence IN ('here', 'moving')`,
    )
    const ofQueue = 'actor_id = ? AND peer_id = ? AND subscription_id = ?'
    this.#numbers = this.#database.prepare(
      `SELECT sequence FROM delivery WHERE ${ofQueue} AND sequence > ? ORDER BY sequence`,
    )
    this.#diffs = this.#database.prepare(`SELECT sequence, kind, data FROM diff WHERE ${ofQueue}`)
    this.#erasure = this.#database.prepare(`SELECT 1 FROM diff WHERE ${ofQueue} AND sequence = ? AND kind = 'erasure'`)
    this.#suspensions = this.#database.prepare("SELECT actor_id, subtarget FROM suspension WHERE target = 'properties'")
    const address = '(SELECT t.baseuri FROM trust t WHERE t.actor_id = w.actor_id AND t.peer_id = w.peer_id)'
    this.#due = [
      ['publisher_subscription', 'actor_id', 'peer_id', address, 'due_at', `AND NOT (${waitsForRepair})`],
      ['notice', 'sender', 'recipient', 'baseuri', 'due_at'],
      ['subscriber_subscription', 'actor_id', 'peer_id', address, 'gap_due_at'],
      ['arrival_peer', 'actor_id', 'peer_id', 'baseuri', 'due_at'],
      ['job', 'actor_id', 'kind', `''`, 'due_at'],
    ].map(([table = '', actor, peer, baseuri, at, also = '']) => [
      table,
      this.#database.prepare(
        `SELECT ${actor} AS actor, ${peer} AS peer, ${baseuri} AS baseuri, ${at} AS at FROM ${table} w
         WHERE ${at} IS NOT NULL ${also}`,
      ),
    ])
    this.#forgedActors = this.#database.prepare("SELECT actor_id, token_hash FROM arrival WHERE state = 'here'")
    this.#trusts = this.#database.prepare('SELECT actor_id, peer_id, baseuri, secret_hash, next_secret_hash FROM trust')
    this.#notices = this.#database.prepare('SELECT 1 FROM notice WHERE baseuri = ? AND due_at IS NOT NULL')
    this.#departure = this.#database.prepare('SELECT secrets FROM departure WHERE actor_id = ?')
    this.#repairs = this.#database.prepare(
      `SELECT actor_id AS actorId, peer_id AS peerId, subscription_id AS subscriptionId, due_at AS at
       FROM publisher_subscription WHERE due_at IS NOT NULL AND ${waitsForRepair}`,
    )
    this.#subscribed = this.#database.prepare(
      'SELECT 1 FROM subscriber_subscription WHERE actor_id = ? AND peer_id = ? AND subscription_id = ?',
    )
    this.#residence = this.#database.prepare('SELECT residence FROM actor WHERE id = ?')
    this.#acknowledged = this.#database.prepare(
      `SELECT s.sequence >= ?1 OR s.resync_pending = 1 OR EXISTS (SELECT 1 FROM pending_callback p
         WHERE p.actor_id = s.actor_id AND p.peer_id = s.peer_id AND p.subscription_id = s.subscription_id
           AND p.sequence = ?1) AS isHeld
       FROM subscriber_subscription s WHERE s.actor_id = ?2 AND s.peer_id = ?3 AND s.subscription_id = ?4`,
    )
  }

  /** Whether the actor is at this host, also while it is moving away. */
  isHome(actorId: string): boolean {
    const row = this.#sinceChange(`residence ${actorId}`, () => this.#residence.get(actorId)) as
      | { residence: string }
      | undefined
    return (row?.residence === 'here' || row?.residence === 'moving') && !this.#forged().has(actorId)
  }

  /** Whether the actor is at this host, or left it. */
  wasHome(actorId: string): boolean {
    return this.isHome(actorId) || this.departureOf(actorId) !== null
  }

  /** Whether a row of the actor is here, in any state. */
  hasActor(actorId: string): boolean {
    return this.#residence.get(actorId) !== undefined
  }

  /** The sealed secrets of a move from here. Null without one. */
  departureOf(actorId: string): string | null {
    return (
      (this.#sinceChange(`departure ${actorId}`, () => this.#departure.get(actorId)) as { secrets: string } | undefined)
        ?.secrets ?? null
    )
  }

  /** The actors here that evil services have made, with the ids of others. */
  #forged(): ReadonlySet<string> {
    if (this.#parts.forged.size === 0) return new Set()
    const rows = this.#sinceChange('arrivals', () => this.#forgedActors.all()) as {
      actor_id: string
      token_hash: string
    }[]
    return new Set(rows.filter((row) => this.#parts.forged.has(row.token_hash)).map((row) => row.actor_id))
  }

  /** Returns what the database had at its last change. */
  #sinceChange<T>(key: string, read: () => T): T {
    const { version } = this.#parts.reads
    if (version === null) return read()
    if (version !== this.#readAt) this.#read.clear()
    this.#readAt = version
    if (!this.#read.has(key)) this.#read.set(key, read())
    return this.#read.get(key) as T
  }

  /** The relationships of the actors here, with the addresses of their peers. */
  trusts(): readonly { readonly actorId: string; readonly peerId: string; readonly baseuri: string }[] {
    const forged = this.#forged()
    const rows = this.#trusts.all() as { actor_id: string; peer_id: string; baseuri: string }[]
    return rows
      .filter(({ actor_id }) => !forged.has(actor_id))
      .map(({ actor_id, peer_id, baseuri }) => ({ actorId: actor_id, peerId: peer_id, baseuri }))
  }

  /** Hashes of all secrets that the relationships of the actor have had here. */
  secretsOf(actorId: string): readonly string[] {
    return [...(this.#past.get(actorId) ?? [])]
  }

  /** Whether an actor here has a peer, or a message for one, at this address. */
  knows(baseuri: string): boolean {
    return this.trusts().some((trust) => trust.baseuri === baseuri) || this.#notices.get(baseuri) !== undefined
  }

  /** Records the secrets between actors of which none is evil. */
  watchSecrets(): void {
    const forged = this.#forged()
    const rows = this.#trusts.all() as {
      actor_id: string
      peer_id: string
      baseuri: string
      secret_hash: string
      next_secret_hash: string | null
    }[]
    for (const { actor_id, peer_id, baseuri, secret_hash, next_secret_hash } of rows) {
      if (forged.has(actor_id)) continue
      const { secrets, secretsOfEvil, isStrange } = this.#parts
      const isEvil = isStrange(peer_id, baseuri)
      for (const hash of [secret_hash, next_secret_hash ?? secret_hash]) {
        if (isEvil && !secrets.has(hash)) secretsOfEvil.add(hash)
        if (isEvil) continue
        if (!secretsOfEvil.has(hash)) secrets.set(hash, `${actor_id} ${peer_id}`)
        this.#past.set(actor_id, (this.#past.get(actor_id) ?? new Set()).add(hash))
      }
    }
  }

  /** Checks the tables after a commit. */
  observe(): void {
    const queues = this.#subscriptions.all() as unknown as {
      actor_id: string
      peer_id: string
      subscription_id: string
      subtarget: string
      sequence: number
      committed: number
    }[]
    const suspended = this.#suspendedNow()
    const forged = this.#forged()
    for (const { actor_id, peer_id, subscription_id, subtarget, sequence, committed } of queues) {
      if (forged.has(actor_id)) continue
      const key = [actor_id, peer_id, subscription_id] as const
      const name = `subscription ${subscription_id} of ${peer_id} to ${actor_id}`
      const known = this.#queues.get(key.join(' ')) ?? { sequence: 0, texts: new Map<number, string>() }
      this.#queues.set(key.join(' '), known)
      if (sequence < known.sequence) this.#violation(`I3: ${name} went back from ${known.sequence} to ${sequence}`)
      if (committed > sequence) this.#violation(`I3: ${name} has committed ${committed} of ${sequence}`)
      const added = (this.#numbers.all(...key, known.sequence) as { sequence: number }[]).map((row) => row.sequence)
      // Diffs beyond the limit were replaced by one resync.
      const first = Math.max(known.sequence + 1, (added[0] ?? 1) <= sequence - this.#maxDiffs + 1 ? (added[0] ?? 1) : 1)
      const expected = Array.from({ length: Math.max(0, sequence - first + 1) }, (_, index) => first + index)
      if (added.join() !== expected.join()) {
        this.#violation(
          `I3: ${name} is at ${sequence} after ${known.sequence}, and its new numbers are [${added.join()}]`,
        )
      }
      this.count += added.length
      const diffs = this.#diffs.all(...key) as { sequence: number; kind: string; data: string }[]
      const kept = new Set(diffs.map((diff) => diff.sequence))
      const lost = expected.find((number) => !kept.has(number))
      if (lost !== undefined && expected.length === 1) this.#violation(`I3: ${name} has no diff ${lost}`)
      for (const diff of diffs) {
        if (diff.sequence > sequence) this.#violation(`I3: ${name} has a diff ${diff.sequence} beyond ${sequence}`)
        if (diff.kind === 'diff' && diff.sequence > known.sequence) {
          const names = subtarget === '' ? Object.keys(JSON.parse(diff.data) as object) : [subtarget]
          const mute = names.find((property) => suspended.has(actor_id) || suspended.has(`${actor_id} ${property}`))
          if (mute !== undefined) this.#violation(`I3: ${name} has number ${diff.sequence} of "${mute}", suspended`)
        }
        const text = known.texts.get(diff.sequence)
        if (text !== undefined && diff.kind === 'diff' && text !== diff.data) {
          this.#violation(`I3: diff ${diff.sequence} of ${name} was ${text} and became ${diff.data}`)
        }
        known.texts.set(diff.sequence, diff.kind === 'diff' ? diff.data : '')
      }
      known.sequence = sequence
    }
  }

  /** The targets that were suspended before the commit and still are. */
  #suspendedNow(): ReadonlySet<string> {
    const before = this.#suspended
    const rows = this.#suspensions.all() as { actor_id: string; subtarget: string }[]
    this.#suspended = new Set(rows.map(({ actor_id, subtarget }) => `${actor_id} ${subtarget}`.trimEnd()))
    return before.intersection(this.#suspended)
  }

  /** Whether the actor has the subscription to the peer. */
  isSubscribed(actorId: string, peerId: string, subscriptionId: string): boolean {
    return this.#subscribed.get(actorId, peerId, subscriptionId) !== undefined
  }

  /**
   * Describes an outstanding task, or null when nothing is due. The repair of a copy never ends while its peer lacks the
   * subscription, so it does not count then. A notice to the former address of a peer is retried for days when the peer has no
   * such relationship: its request was under way while it moved.
   * Work for evil services does not count: they answer as they like.
   */
  due(ledgers: readonly Ledger[]): string | null {
    const repairs = this.#repairs.all() as { actorId: string; peerId: string; subscriptionId: string; at: number }[]
    for (const { actorId, peerId, subscriptionId, at } of repairs) {
      const isKnown = ledgers.some((ledger) => ledger.isSubscribed(peerId, actorId, subscriptionId))
      if (isKnown || this.#parts.isSubscribed(peerId, subscriptionId))
        return `a repair of the copy at ${peerId} is due at ${at}`
    }
    const forged = this.#forged()
    const isEvil = ({ actor, peer, baseuri }: Waiting): boolean =>
      forged.has(actor) || (baseuri !== '' && this.#parts.isStrange(peer, baseuri))
    const all = new Map(this.#due.map(([table, statement]) => [table, statement.all() as unknown as Waiting[]]))
    const informed = all.get('arrival_peer') ?? []
    for (const [table, rows] of all) {
      const row = rows.find((found) => {
        // The work of an arrival stays due while an evil peer does not take the new address.
        const peers =
          table === 'job' && found.peer === 'arrival' ? informed.filter(({ actor }) => actor === found.actor) : []
        const isWanted = table !== 'notice' || this.#isWanted(found, ledgers)
        return isWanted && !isEvil(found) && (peers.length === 0 || peers.some((peer) => !isEvil(peer)))
      })
      if (row !== undefined) return `${table} to ${row.peer} is due at ${row.at}`
    }
    return null
  }

  #isWanted({ actor, peer }: Waiting, ledgers: readonly Ledger[]): boolean {
    const theirs = ledgers.map((ledger) => ledger.secretOf(peer, actor)).find((hash) => hash !== null)
    return theirs !== undefined
  }

  /** Rows whose owner ended, and that no foreign key deletes. */
  leftovers(): readonly string[] {
    const found = (sql: string): string[] =>
      (this.#database.prepare(sql).all() as { actor: string; what: string }[]).map(
        ({ actor, what }) => `I8: ${actor} has ${what}`,
      )
    return [
      ...found(`SELECT DISTINCT actor_id AS actor, bucket || ' without a subscription' AS what FROM attribute a
        WHERE bucket LIKE 'remote:%' AND NOT EXISTS (SELECT 1 FROM subscriber_subscription s
          WHERE s.actor_id = a.actor_id AND 'remote:' || s.peer_id = a.bucket)`),
      ...found(`SELECT actor_id AS actor, bucket || ' of ' || name || ' without a relationship' AS what FROM attribute a
        WHERE bucket LIKE '\\_peer\\_%' ESCAPE '\\' AND NOT EXISTS (SELECT 1 FROM trust t
          WHERE t.actor_id = a.actor_id AND t.actor_id || ':' || t.peer_id = a.name)`),
      ...(this.#trusts.all() as { actor_id: string; peer_id: string; baseuri: string; next_secret_hash: unknown }[])
        .filter((row) => row.next_secret_hash !== null && !this.#parts.isStrange(row.peer_id, row.baseuri))
        .map((row) => `I8: ${row.actor_id} has two secrets with ${row.peer_id}`),
      ...found(`SELECT id AS actor, subscription_count || ' subscriptions, counted wrong' AS what FROM actor
        WHERE subscription_count <> (SELECT COUNT(*) FROM publisher_subscription s WHERE s.actor_id = actor.id)`),
      ...found(`SELECT id AS actor, key_subscription_count || ' subscriptions to keys, counted wrong' AS what FROM actor
        WHERE key_subscription_count <>
          (SELECT COUNT(*) FROM publisher_subscription s WHERE s.actor_id = actor.id AND s.resource <> '')`),
    ]
  }

  /** Whether the subscriber durably stored a diff that it acknowledged: applied, queued, or covered by a resync. */
  holds(actorId: string, peerId: string, subscriptionId: string, sequence: number): boolean {
    const row = this.#acknowledged.get(sequence, actorId, peerId, subscriptionId) as { isHeld: number } | undefined
    return row === undefined || row.isHeld === 1
  }

  /** Whether a diff deletes what the peer may no longer read. */
  erases(actorId: string, peerId: string, subscriptionId: string, sequence: number): boolean {
    return this.#erasure.get(actorId, peerId, subscriptionId, sequence) !== undefined
  }

  /** The hash of the secret, or null without a relationship. */
  secretOf(actorId: string, peerId: string): string | null {
    const row = this.#database
      .prepare('SELECT secret_hash AS hash FROM trust WHERE actor_id = ? AND peer_id = ?')
      .get(actorId, peerId) as { hash: string } | undefined
    return row?.hash ?? null
  }

  /** Whether the owner's rules currently exclude a property for the peer. */
  excludes(actorId: string, peerId: string, name: string): boolean {
    const row = this.#database
      .prepare('SELECT rules FROM permission_override WHERE actor_id = ? AND peer_id = ?')
      .get(actorId, peerId) as { rules: string } | undefined
    const rules = JSON.parse(row?.rules ?? '{}') as { properties?: { excluded_patterns?: string[] } }
    return rules.properties?.excluded_patterns?.includes(name) === true
  }

  close(): void {
    this.#database.close()
  }
}
