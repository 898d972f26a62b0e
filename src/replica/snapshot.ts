/** Reads the data of a subscription from its peer: waiting diffs, and snapshots of the full state. */
import { isAccepted } from '../peer/ingress.ts'
import { elements, isArray, isObject, type JsonText, known, members, object, stringValue } from '../json/json.ts'
import type { Linked, PeerLinks, Reading } from './peer-link.ts'
import type { Scope } from '../subscription/scope.ts'
import type { Trust } from '../trust/trust.ts'
import { parseSequence, parseTimestamp } from './processor.ts'
import { type Content, type Fetched, isListMarker } from './copy/remote-data.ts'

export interface PolledDiff {
  readonly sequence: number
  readonly data: JsonText
  readonly replaces: boolean
  /** Time of the change on the clock of the peer, in Unix milliseconds. Null: not stated. */
  readonly publishedAt: number | null
}

export type Poll =
  | {
      readonly kind: 'polled'
      /** The last sequence number of the peer. */
      readonly sequence: number
      /** Ascending. */
      readonly diffs: readonly PolledDiff[]
    }
  | Exclude<Reading, { kind: 'read' }>

/** The full state at one sequence number, or the reason why it could not be read. */
export type Snapshot =
  | {
      readonly kind: 'snapshot'
      readonly fetched: Fetched
      readonly sequence: number
      /** Time of the change with this number. Null: unknown. */
      readonly publishedAt: number | null
      /** The peer kept changing, so the snapshot may include changes after `sequence`. */
      readonly isMoving: boolean
    }
  | { readonly kind: 'failed'; readonly reason: string }

/** Maximum number of reads while the peer keeps changing. */
const maxRounds = 4

/** Status codes that mean that the peer has no data for this actor. 410: the actor of the address lives elsewhere. */
const nothing: ReadonlySet<number> = new Set([401, 403, 404])

/** Limits for the fetch of a snapshot. */
export interface SnapshotLimits {
  /** Limit for all responses together, which are in memory at the same time. */
  readonly maxCharacters: number
  /** Shorter than the lease of a subscription that is fetched. */
  readonly longestMs: number
}

/** Limit for one diff, the maximum size of a callback. Up to a hundred diffs may wait in memory. */
const maxDiffBytes = 2_097_152

const snapshotLimits: SnapshotLimits = { maxCharacters: 67_108_864, longestMs: 240_000 }

export class PeerData {
  readonly #links: PeerLinks
  readonly #now: () => number
  readonly #limits: SnapshotLimits

  /** @param now Unix milliseconds. */
  constructor(links: PeerLinks, now: () => number, limits = snapshotLimits) {
    this.#links = links
    this.#now = now
    this.#limits = limits
  }

  async poll(trust: Linked, subscriptionId: string): Promise<Poll> {
    const reading = await this.#links.read(trust, ['subscriptions', trust.actorId, subscriptionId])
    if (reading.kind !== 'read') return reading
    const fields = members(reading.value)
    // An answer that holds only the first diffs names the number of its last one, and the last number of all besides.
    const sequence = parseSequence(fields?.get('last_sequence') ?? fields?.get('sequence') ?? '')
    const data = elements(fields?.get('data') ?? known('[]'))
    if (sequence === null || data === null) return { kind: 'failed', reason: 'The response is not a list of diffs' }
    const diffs = data.flatMap((entry) => diffIn(entry))
    if (diffs.length < data.length) return { kind: 'failed', reason: 'The response contains an invalid diff' }
    // Some implementations sort as strings: 1, 10, 2.
    return { kind: 'polled', sequence, diffs: diffs.toSorted((a, b) => a.sequence - b.sequence) }
  }

  /** Acknowledges everything up to a sequence number. False: the peer did not accept the call. */
  async acknowledge(trust: Linked, subscriptionId: string, sequence: number): Promise<boolean> {
    const path = ['subscriptions', trust.actorId, subscriptionId]
    const outcome = await this.#links.call(trust, 'PUT', path, JSON.stringify({ sequence }))
    return isAccepted(outcome)
  }

  /** Reads one diff at the URL of a callback. The peer clears the diff. */
  async diff(trust: Linked, url: string): Promise<Pick<PolledDiff, 'data' | 'replaces'> | null> {
    const reading = await this.#links.read(trust, url, maxDiffBytes)
    const fields = reading.kind === 'read' ? members(reading.value) : null
    const data = fields?.get('data')
    return data === undefined ? null : { data, replaces: fields?.get('replaces') === 'true' }
  }

  /**
   * Reads the full state at one sequence number. Reads again when the number has changed meanwhile, because a change that
   * the snapshot includes must not be applied again.
   *
   * @param from the known sequence number. Null: polls for the number first.
   */
  async snapshot(trust: Linked, scope: Scope, subscriptionId: string, from: number | null): Promise<Snapshot> {
    const first = from === null ? await this.poll(trust, subscriptionId) : null
    if (first?.kind === 'failed') return first
    let sequence = from ?? (first?.kind === 'polled' ? first.sequence : 0)
    const until = this.#now() + this.#limits.longestMs
    for (let round = 1; ; round++) {
      const fetched = await this.#fetch(trust, scope, until)
      if ('failed' in fetched) return { kind: 'failed', reason: fetched.failed }
      const poll = await this.poll(trust, subscriptionId)
      // The data may be outdated when the sequence number cannot be read.
      if (poll.kind === 'failed') return poll
      // A peer that refuses the poll is assumed to have the last known sequence number.
      const after: number = poll.kind === 'polled' ? poll.sequence : sequence
      if (after === sequence || round === maxRounds) {
        const publishedAt = timeOf(poll, sequence)
        return { kind: 'snapshot', fetched: fetched.fetched, sequence, publishedAt, isMoving: after !== sequence }
      }
      sequence = after
    }
  }

  /** Fetches everything in the scope that the peer shows, by name. */
  async #fetch(trust: Linked, scope: Scope, until: number): Promise<{ fetched: Fetched } | { failed: string }> {
    if (scope.target !== 'properties') return { fetched: new Map() }
    return scope.subtarget === '' ? this.#fetchAll(trust, until) : this.#fetchOne(trust, scope)
  }

  /** Fetches all properties. The peer controls the number and length of its lists, so their total is limited. */
  async #fetchAll(trust: Linked, until: number): Promise<{ fetched: Fetched } | { failed: string }> {
    const listing = await this.#links.read(trust, ['properties'])
    const given = allOrNothing(listing)
    if ('failed' in given) return given
    const names = given.value === null ? new Map<string, JsonText>() : members(given.value)
    if (names === null) return { failed: 'The listing is not a JSON object' }
    const fetched = new Map<string, Content>()
    const budget = { characters: this.#limits.maxCharacters - (given.value?.length ?? 0), until }
    for (const [name, value] of names) {
      const content = isListMarker(value)
        ? await this.#listOf(trust, name, value, budget)
        : ({ kind: 'value', value } as const)
      if (content === null) continue
      if ('failed' in content) return content
      fetched.set(name, content)
    }
    return { fetched }
  }

  /** Reads a list. Some peers include the items in the listing. Otherwise the list is fetched, and reduces the budget. */
  async #listOf(
    trust: Linked,
    name: string,
    marker: JsonText,
    budget: { characters: number; readonly until: number },
  ): Promise<Content | { failed: string } | null> {
    const inListing = listContent(marker)
    if (inListing === null && this.#now() > budget.until) return { failed: 'The lists take too long' }
    const content = inListing ?? (await this.#fetchList(trust, name))
    if (content !== null && 'failed' in content) return content
    if (inListing === null && content?.kind === 'list') {
      budget.characters -= content.items.reduce((sum, { length }) => sum + length, 0)
    }
    return budget.characters < 0 ? { failed: 'The lists are too large together' } : content
  }

  /** Null: the peer does not show the list, or no longer. */
  async #fetchList(trust: Linked, name: string): Promise<Content | { failed: string } | null> {
    const given = allOrNothing(await this.#links.read(trust, ['properties', name]))
    if ('failed' in given || given.value === null) return 'failed' in given ? given : null
    const items = elements(given.value)
    return items === null ? { kind: 'kept' } : { kind: 'list', items }
  }

  async #fetchOne(trust: Linked, { subtarget, resource }: Scope): Promise<{ fetched: Fetched } | { failed: string }> {
    const path = ['properties', subtarget, ...(resource === '' ? [] : [resource])]
    const given = allOrNothing(await this.#links.read(trust, path))
    if ('failed' in given) return given
    const { value } = given
    if (value === null) return { fetched: new Map() }
    if (resource === '' && isArray(value)) {
      // A list and an array value look the same. Only a list has metadata.
      const metadata = await this.#links.read(trust, ['properties', subtarget, 'metadata'])
      if (metadata.kind === 'failed') return { failed: metadata.reason }
      if (metadata.kind === 'refused' && metadata.status !== 404) {
        return { failed: `The peer answered ${metadata.status}` }
      }
      if (metadata.kind === 'read' && isObject(metadata.value)) {
        return { fetched: new Map([[subtarget, { kind: 'list', items: elements(value) ?? [] }]]) }
      }
    }
    return { fetched: new Map([[subtarget, { kind: 'value', value }]]) }
  }

  /** Reads the permissions that the peer granted. Null: unknown. */
  async permissions(trust: Linked): Promise<JsonText | null> {
    const reading = await this.#links.read(trust, ['permissions', trust.actorId])
    const granted = reading.kind === 'read' ? members(reading.value)?.get('permissions') : undefined
    return granted !== undefined && isObject(granted) ? granted : null
  }

  /** Whether the relationship still exists at the peer. Null: the peer cannot be asked now. */
  async knowsUs(trust: Linked & Pick<Trust, 'relationship'>): Promise<boolean | null> {
    const short = await this.#links.read(trust, ['trust', trust.actorId])
    // The Python library answers 404 at the address without the name of the relationship, whatever it knows.
    const isMissing = short.kind === 'refused' && short.status === 404
    const reading = isMissing ? await this.#links.read(trust, ['trust', trust.relationship, trust.actorId]) : short
    // A relationship ends by what the peer says about it, and not by any other refusal.
    if (reading.kind === 'failed' || (reading.kind === 'refused' && !nothing.has(reading.status))) return null
    return reading.kind === 'read' && isObject(reading.value) && members(reading.value)?.has('error') === false
  }
}

/** The time of the change with the last number, when the peer still has its diff. */
function timeOf(poll: Poll, sequence: number): number | null {
  const last = poll.kind === 'polled' ? poll.diffs.at(-1) : undefined
  return last?.sequence === sequence ? last.publishedAt : null
}

function allOrNothing(reading: Reading): { value: JsonText | null } | { failed: string } {
  if (reading.kind === 'read') return { value: reading.value }
  if (reading.kind === 'failed') return { failed: reading.reason }
  return nothing.has(reading.status) ? { value: null } : { failed: `The peer answered ${reading.status}` }
}

function diffIn(entry: JsonText): PolledDiff[] {
  const fields = members(entry)
  const sequence = parseSequence(fields?.get('sequence') ?? '')
  const data = fields?.get('data')
  if (sequence === null || data === undefined) return []
  const publishedAt = parseTimestamp(stringValue(fields?.get('timestamp') ?? known('null')))
  return [{ sequence, data, replaces: fields?.get('replaces') === 'true', publishedAt }]
}

/** Reads the items from a listing that includes them. Null: the listing has no items. */
function listContent(marker: JsonText): Content | null {
  const fields = members(marker)
  const items = elements(fields?.get('items') ?? known('""'))
  if (items === null) return null
  const text = (name: string): string | undefined => stringValue(fields?.get(name) ?? known('null')) ?? undefined
  return { kind: 'list', items, description: text('description'), explanation: text('explanation') }
}

/** Returns a snapshot as one value, for handlers. */
export function fetchedValue(fetched: Fetched, { subtarget }: Scope): JsonText {
  const shown = [...fetched].flatMap(([name, content]): (readonly [string, JsonText])[] =>
    content.kind === 'kept' ? [] : [[name, contentValue(content)]],
  )
  if (subtarget === '') return object(shown)
  return shown.find(([name]) => name === subtarget)?.[1] ?? known('""')
}

function contentValue(content: Exclude<Content, { kind: 'kept' }>): JsonText {
  return content.kind === 'value' ? content.value : known(`{"_list":true,"items":[${content.items.join(',')}]}`)
}
