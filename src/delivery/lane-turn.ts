/** One turn of a lane: its first waiting number is sent, filtered by the rights of this moment, and the outcome kept. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { JsonText } from '../json/json.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { PeerClient, PeerOutcome } from '../peer/peer-client.ts'
import type { Permission, Related } from '../permission/permission.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { open } from '../secret/sealed.ts'
import { bindingOf, trustSecret } from '../secret/sealed-columns.ts'
import type { Store } from '../store/store.ts'
import { visiblePart, withheld } from '../subscription/visibility.ts'
import { type Callback, type CallbackOptions, diffCallback, resyncCallback, supports } from './callback.ts'
import {
  claimProbe,
  findHead,
  type Head,
  type LaneKey,
  prolong,
  putFullState,
  type Settlement,
  type Waiting,
} from './lane-store.ts'
import { circuitAfter, type DeliveryPolicy, judgeCircuit, judgeDelivery } from './policy.ts'
import type { Settler } from './settler.ts'

/** What is in the scope now, as far as the peer may see it; null when there is nothing. */
export type FullState = (actorId: string, peer: Related, scope: Head) => Promise<JsonText | null>

export interface LaneTurnParts extends CallbackOptions {
  readonly store: Store
  readonly settler: Settler
  readonly peerClient: PeerClient
  readonly permission: Permission
  readonly keyRing: KeyRing
  readonly policy: DeliveryPolicy
  readonly fullState: FullState
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Metrics
  /** True once running calls were cut because the service stops. */
  readonly isCut: () => boolean
}

export interface Turn {
  /** The lane is still held and has more to do now. */
  readonly hasMore: boolean
  /** The number that was sent; null when none was. */
  readonly attempted: number | null
  /** Whether the peer could be talked to; null when nobody tried. */
  readonly reached: boolean | null
}

/** How long a worker holds a lane, and how much of that has to be left when an attempt begins. */
export const holdMs = 30_000
const leastHoldMs = 20_000
/** To connect, and to the end of the answer. */
export const callTimeouts = { connectSeconds: 5, readSeconds: 10 } as const
/** A lane that could not be worked on through no fault of its peer waits so long. */
const pauseMs = 1000
const leastCompressedBytes = 1024

const compressed = promisify(gzip)
const nothing: Turn = { hasMore: false, attempted: null, reached: null }

export interface HeldLane {
  readonly lane: LaneKey
  held: number
}

export class LaneTurns {
  readonly #parts: LaneTurnParts

  constructor(parts: LaneTurnParts) {
    this.#parts = parts
  }

  async take(holder: HeldLane): Promise<Turn> {
    const { store, now } = this.#parts
    const { lane } = holder
    const head = await store.read((q) => findHead(q, lane))
    if (head === null || head.claimedUntil !== holder.held) return nothing
    if (holder.held - now() < leastHoldMs && !(await this.#prolong(holder))) return nothing
    const { next } = head
    if (head.state !== 'live' || !head.approved || head.baseuri === '') return this.#rest(holder, head, 'asleep')
    if (next === null) return this.#rest(holder, head, 'now', { settled: head.sequence })
    const circuit = judgeCircuit(head.circuit, now(), this.#parts.policy)
    if (circuit === 'open') return this.#rest(holder, head, head.circuit.openUntil ?? 'now')
    if (circuit === 'probe' && !(await this.#claimProbe(lane, head))) return this.#rest(holder, head, now() + pauseMs)
    return this.#attempt(holder, head, next)
  }

  async #prolong(holder: HeldLane): Promise<boolean> {
    const until = this.#parts.now() + holdMs
    const isHeld = await this.#parts.store.write((tx) => prolong(tx, holder.lane, holder.held, until))
    if (isHeld) holder.held = until
    return isHeld
  }

  #claimProbe(lane: LaneKey, head: Head): Promise<boolean> {
    const { store, now } = this.#parts
    return store.write((tx) => claimProbe(tx, lane, head.circuit.openUntil ?? 0, now() + holdMs))
  }

  async #attempt(holder: HeldLane, head: Head, waiting: Waiting): Promise<Turn> {
    const { lane } = holder
    const { now } = this.#parts
    let callback: Callback
    // A resync stands for everything up to the moment it is sent.
    const covers = waiting.kind === 'resync' ? head.sequence : waiting.sequence
    if (waiting.kind !== 'resync') {
      callback = diffCallback(lane, head, await this.#visible(lane, head, waiting), this.#parts)
    } else if (supports(head.facts, 'subscriptionresync', now()) === false) {
      return this.#replaceByState(holder, head)
    } else {
      callback = resyncCallback(lane, head, covers, now(), this.#parts)
    }
    const sentAt = now()
    const outcome = await this.#call(lane, head, callback)
    if (this.#parts.isCut() && outcome.kind !== 'answered') return nothing
    return this.#conclude(holder, head, { covers, sentAt, outcome })
  }

  /** Rights that cannot be read throw, and nothing is sent. */
  async #visible(lane: LaneKey, head: Head, waiting: Waiting): Promise<Waiting> {
    const judge = await this.#parts.permission.judge(lane.actorId, callerOf(lane, head), {
      category: 'properties',
      right: 'read',
    })
    const data = visiblePart(waiting.data, head, (path) => judge(path).allowed)
    // What stands in its place takes no place at the peer.
    return data === null ? { ...waiting, data: withheld, replaces: false } : { ...waiting, data }
  }

  async #replaceByState(holder: HeldLane, head: Head): Promise<Turn> {
    const { store, fullState } = this.#parts
    const { lane } = holder
    const state = (await fullState(lane.actorId, callerOf(lane, head), head)) ?? withheld
    const isPut = await store.write((tx) => putFullState(tx, lane, head.sequence, state))
    return this.#rest(holder, head, 'now', isPut ? { settled: head.sequence - 1 } : {})
  }

  async #call(lane: LaneKey, head: Head, { url, body, headers }: Callback): Promise<PeerOutcome> {
    const { keyRing, peerClient, now } = this.#parts
    const secret = open(keyRing, head.secret, bindingOf(trustSecret, lane.actorId, lane.peerId))
    const isCompressed =
      Buffer.byteLength(body) > leastCompressedBytes && supports(head.facts, 'callbackcompression', now()) === true
    return peerClient.call({
      method: 'POST',
      url,
      bearer: { secret, baseuri: head.baseuri },
      body: isCompressed ? await compressed(body) : body,
      headers: isCompressed ? { ...headers, 'Content-Encoding': 'gzip' } : headers,
      timeouts: callTimeouts,
    })
  }

  async #conclude(
    holder: HeldLane,
    head: Head,
    { covers, sentAt, outcome }: { covers: number; sentAt: number; outcome: PeerOutcome },
  ): Promise<Turn> {
    const { lane } = holder
    const { policy, random, metrics } = this.#parts
    const now = this.#parts.now()
    const { attempts, uncertain, failingSince } = head
    const verdict = judgeDelivery({ outcome, now, attempts, uncertain, failingSince, random: random() }, policy)
    const circuit = circuitAfter(head.circuit, outcome, now, policy)
    const isSettled = verdict.kind === 'delivered' || verdict.kind === 'failed'
    const isUnclear = outcome.kind === 'unknown' || (outcome.kind === 'answered' && outcome.status >= 500)
    const at = verdict.kind === 'retry' ? Math.max(verdict.at, circuit.openUntil ?? 0) : 'now'
    const sequence = head.next?.sequence ?? covers
    metrics.delivered(verdict.kind)
    this.#report(lane, sequence, verdict)
    const hasMore = await this.#parts.settler.settle({
      lane,
      held: holder.held,
      settled: isSettled ? covers : 0,
      attempts: isSettled ? 0 : attempts + 1,
      uncertain: isSettled ? 0 : uncertain + Number(isUnclear && verdict.kind === 'retry'),
      failingSince: circuit.failures === 0 ? null : (failingSince ?? now),
      state: verdict.kind === 'stop' ? 'stopped' : 'live',
      next: verdict.kind === 'stop' ? 'asleep' : (circuit.openUntil ?? at),
      keep: true,
      attempt: {
        sequence,
        outcome: verdict.kind === 'delivered' ? 'delivered' : verdict.kind === 'retry' ? 'waiting' : 'failed',
        reason: 'reason' in verdict ? verdict.reason : '',
        sentAt,
        answeredAt: outcome.kind === 'answered' ? now : null,
      },
      circuit: isSameCircuit(head, circuit) ? null : circuit,
      recovered: head.circuit.openUntil !== null && circuit.openUntil === null,
    })
    return { hasMore, attempted: covers, reached: circuit.failures === 0 }
  }

  #report(lane: LaneKey, sequence: number, verdict: ReturnType<typeof judgeDelivery>): void {
    const { log } = this.#parts
    const about = { subscriptionId: lane.subscriptionId, sequence, outcome: verdict.kind }
    if (verdict.kind === 'delivered') log.debug(about, 'A callback arrived')
    else log.warn({ ...about, reason: verdict.reason }, 'A callback did not arrive')
  }

  /** Ends the turn without an attempt. */
  async #rest(
    { lane, held }: HeldLane,
    head: Head,
    next: Settlement['next'],
    { settled = 0 }: { settled?: number } = {},
  ): Promise<Turn> {
    const hasMore = await this.#parts.settler.settle({
      lane,
      held,
      settled,
      attempts: settled > 0 ? 0 : head.attempts,
      uncertain: settled > 0 ? 0 : head.uncertain,
      failingSince: head.failingSince,
      state: head.state === 'stopped' ? 'stopped' : 'live',
      next,
      keep: true,
      attempt: null,
      circuit: null,
      recovered: false,
    })
    return { ...nothing, hasMore }
  }
}

function callerOf(lane: LaneKey, head: Head): Extract<Related, { kind: 'peer' }> {
  const { relationship, approved } = head
  return { kind: 'peer', peerId: lane.peerId, relationship, approved, via: 'bearer' }
}

function isSameCircuit(head: Head, circuit: Head['circuit']): boolean {
  return head.circuit.failures === circuit.failures && head.circuit.openUntil === circuit.openUntil
}
