/**
 * One turn of a lane: the first of what waits in it is sent number by number, filtered by the rights of this moment, until
 * one does not arrive or the turn has lasted long enough; then the outcome is kept.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { JsonText } from '../json/json.ts'
import type { Log } from '../observe/log.ts'
import { runInBackground } from '../observe/context.ts'
import type { Metrics } from '../observe/metrics.ts'
import { readTraceContext } from '../observe/trace-context.ts'
import { failed, type Span, type Tracing } from '../observe/tracing.ts'
import type { PeerClient, PeerOutcome } from '../peer/peer-client.ts'
import type { PeerTimes } from '../peer/timeouts.ts'
import type { Permission, Related, Relation } from '../permission/permission.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { open } from '../secret/sealed.ts'
import { bindingOf, trustSecret } from '../secret/sealed-columns.ts'
import type { Store } from '../store/store.ts'
import { type MayRead, visiblePart, withheld } from './visibility.ts'
import { Batches } from './batches.ts'
import {
  type Callback,
  callbackOpening,
  type CallbackOptions,
  callbackUrl,
  diffCallback,
  resyncCallback,
  supports,
} from './callback.ts'
import { findHeads, findWaiting, type Head, type Waiting } from './queue-state-store.ts'
import {
  type Attempt,
  claimProbe,
  type LaneKey,
  prolong,
  putFullState,
  settle,
  type Settlement,
} from './queue-store.ts'
import { mayBeOfAnotherSecret, outcomeWith } from '../outbox/secret-rotation.ts'
import {
  type Circuit,
  circuitAfter,
  type DeliveryPolicy,
  judgeCircuit,
  judgeDelivery,
  type Verdict,
} from '../outbox/policy.ts'

/** What is in the scope now, as far as the peer may see it; null when there is nothing. */
export type FullState = (actorId: string, peer: Related, scope: Head) => Promise<JsonText | null>

export interface LaneTurnParts extends CallbackOptions {
  readonly store: Store
  readonly peerClient: PeerClient
  readonly permission: Permission
  readonly keyRing: KeyRing
  readonly policy: DeliveryPolicy
  readonly times: PeerTimes
  readonly fullState: FullState
  /** Tells whoever looks on that something became of a lane. */
  readonly announce: (lane: LaneKey) => Promise<void>
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Metrics
  readonly tracing: Tracing
  /** Nothing new is sent. */
  readonly isStopping: () => boolean
  /** Running calls were cut. */
  readonly isCut: () => boolean
}

/** What a turn came to, once its calls have ended. */
export interface Turn {
  /** The last number that was sent; null when none was. */
  readonly attempted: number | null
  /** Whether the peer could be talked to; null when nobody tried. */
  readonly reached: boolean | null
  /** Whether the lane is still held and has more to do now: resolves once the outcome is kept, rejects when it cannot be. */
  readonly hasMore: Promise<boolean>
}

/** A lane that could not be worked on through no fault of its peer waits so long. */
const pauseMs = 1000
const leastCompressedBytes = 1024
/**
 * What a turn sends at most, and until when after it read what there is and who may see it: rights that are withdrawn,
 * and relationships that end, are noticed so soon.
 */
const turnSize = { most: 100, characters: 2048 }
const longestTurnMs = 500
/** Lanes that are read with the same statements: what they have is in memory then, and read in one go. */
const mostReadAtOnce = 32
const mostSettledAtOnce = 100

const compressed = promisify(gzip)
const nothing: Turn = { attempted: null, reached: null, hasMore: Promise.resolve(false) }

export interface HeldLane {
  readonly lane: LaneKey
  held: number
}

/** A lane as it is when its turn begins. */
interface Begun {
  readonly head: Head
  readonly waiting: readonly Waiting[]
  readonly mayRead: MayRead
  /** Of the reading. */
  readonly at: number
}

/** The peer, as a turn has to do with it. */
interface PeerOfTurn {
  readonly url: string
  readonly bearer: { readonly secret: string; readonly baseuri: string }
  readonly opening: string
  readonly mayRead: MayRead
}

/** What was tried before of a number. */
type Tried = Pick<Head, 'tries' | 'uncertain' | 'failingSince'>
const untried: Tried = { tries: 0, uncertain: 0, failingSince: null }

/** What one number came to. */
interface Sent {
  readonly attempt: Attempt
  /** Up to which number it speaks. */
  readonly covers: number
  readonly before: Tried
  readonly verdict: Verdict
  /** Whether nobody knows what became of it. */
  readonly isUnclear: boolean
  readonly onCircuit: (before: Circuit) => Circuit
  /** As it is then, unless another lane changed it meanwhile. */
  readonly circuit: Circuit
}

export class LaneTurns {
  readonly #parts: LaneTurnParts
  readonly #beginnings: Batches<LaneKey, Begun | null>
  readonly #settlements: Batches<Settlement, boolean>

  constructor(parts: LaneTurnParts) {
    this.#parts = parts
    const { store, now } = parts
    this.#beginnings = new Batches(mostReadAtOnce, (lanes) => this.#read(lanes))
    this.#settlements = new Batches(mostSettledAtOnce, (ended) =>
      store.write((tx) => settle(tx, ended, now()), { isNote: true }),
    )
  }

  async take(holder: HeldLane): Promise<Turn> {
    const { now, times } = this.#parts
    const { lane } = holder
    const begun = await this.#beginnings.ask(lane)
    if (begun === null || begun.head.claimedUntil !== holder.held) return nothing
    if (holder.held - now() < times.leastLeaseMs && !(await this.#prolong(holder))) return nothing
    const { head, waiting } = begun
    const [first] = waiting
    if (!maySend(head)) return this.#rest(holder, head, 'asleep')
    if (first === undefined) return this.#rest(holder, head, 'now', { settled: head.sequence })
    const circuit = judgeCircuit(head.circuit, now(), this.#parts.policy)
    if (circuit === 'open') return this.#rest(holder, head, head.circuit.openUntil ?? 'now')
    if (circuit === 'closed' && !mayStart(head, this.#parts.policy)) {
      // Processes that give back at the same moment come again at different ones.
      return this.#rest(holder, head, now() + Math.round(pauseMs * (0.5 + this.#parts.random())))
    }
    if (circuit === 'probe' && !(await this.#claimProbe(lane, head))) return this.#rest(holder, head, now() + pauseMs)
    if (first.kind === 'resync' && supports(head.facts, 'subscriptionresync', now()) === false) {
      return this.#replaceByState(holder, head)
    }
    return this.#send(holder, begun)
  }

  /** Rights that cannot be read throw, and nothing is sent. */
  #read(lanes: readonly LaneKey[]): Promise<(Begun | null)[]> {
    const { store, permission, now } = this.#parts
    const at = now()
    return store.read(async (q) => {
      // First, so that what comes meanwhile may wait without being known to the head, but never the other way round.
      const heads = await findHeads(q, lanes, at)
      const peers = new Map(
        [...heads].flatMap(([lane, head]) => (maySend(head) ? [[lane, relationOf(lane, head)] as const] : [])),
      )
      const [waiting, judgeOf] = await Promise.all([
        findWaiting(q, [...peers.keys()], turnSize),
        permission.judgeMany(q, [...peers.values()], { category: 'properties', right: 'read' }),
      ])
      return lanes.map((lane) => {
        const [head, peer] = [heads.get(lane), peers.get(lane)]
        if (head === undefined) return null
        const judge = peer && judgeOf(peer)
        return {
          head,
          waiting: waiting.get(lane) ?? [],
          mayRead: remembering((path) => judge?.(path).allowed === true),
          at,
        }
      })
    })
  }

  async #prolong(holder: HeldLane): Promise<boolean> {
    const until = this.#parts.now() + this.#parts.times.leaseMs
    const isHeld = await this.#parts.store.write((tx) => prolong(tx, holder.lane, holder.held, until))
    if (isHeld) holder.held = until
    return isHeld
  }

  #claimProbe(lane: LaneKey, head: Head): Promise<boolean> {
    const { store, now, times } = this.#parts
    return store.write((tx) => claimProbe(tx, lane, head.circuit.openUntil ?? 0, now() + times.leaseMs))
  }

  async #send(holder: HeldLane, { head, waiting, mayRead, at }: Begun): Promise<Turn> {
    const { now, isStopping, keyRing, times } = this.#parts
    const { lane } = holder
    const secret = open(keyRing, head.secret, bindingOf(trustSecret, lane.actorId, lane.peerId))
    const bearer = { secret, baseuri: head.baseuri }
    const peer = { url: callbackUrl(lane, head), bearer, opening: callbackOpening(lane, head), mayRead }
    const sent: Sent[] = []
    const mayGoOn = (): boolean =>
      !isStopping() && now() - at < longestTurnMs && holder.held - now() >= times.leastLeaseMs
    for (const next of waiting) {
      // A resync speaks of all that waits, so it has a turn of its own.
      if (sent.length > 0 && (next.kind === 'resync' || !mayGoOn())) break
      const one = await this.#attempt(lane, head, sent.length === 0 ? head : untried, next, peer)
      if (one === null) break
      sent.push(one)
      // What one attempt did to the circuit counts before the next.
      if (next.kind === 'resync' || one.verdict.kind !== 'delivered' || !isSame(one.circuit, head.circuit)) break
    }
    return this.#conclude(holder, head, sent)
  }

  /** Null when the service stopped and nobody knows what became of it. */
  #attempt(lane: LaneKey, head: Head, before: Tried, waiting: Waiting, peer: PeerOfTurn): Promise<Sent | null> {
    const attributes = {
      'troupe.actor': lane.actorId,
      'troupe.subscription': lane.subscriptionId,
      'troupe.sequence': waiting.sequence,
    }
    // What the change belongs to, the news of it does, too, whoever tells it and when.
    const sender = readTraceContext(waiting.trace, undefined)
    const attempt = (): Promise<Sent | null> =>
      this.#parts.tracing.run('deliver callback', { kind: 'producer', attributes, sender, isRoot: true }, (span) =>
        this.#attemptIn(span, lane, head, before, waiting, peer),
      )
    const { requestId } = waiting
    return requestId === null
      ? attempt()
      : runInBackground(attempt, { requestId, actorId: lane.actorId, peerId: lane.peerId })
  }

  async #attemptIn(
    span: Span,
    lane: LaneKey,
    head: Head,
    before: Tried,
    waiting: Waiting,
    peer: PeerOfTurn,
  ): Promise<Sent | null> {
    const { now, isCut, policy, random, metrics, store } = this.#parts
    // A resync stands for everything up to the moment it is sent.
    const covers = waiting.kind === 'resync' ? Math.max(head.sequence, waiting.sequence) : waiting.sequence
    const callback =
      waiting.kind === 'resync'
        ? resyncCallback(lane, head, covers, now(), this.#parts)
        : diffCallback(lane, head, peer.opening, waiting, visible(waiting, head, peer.mayRead), this.#parts)
    const sentAt = now()
    const outcome = await this.#call(head, peer, callback)
    if (isCut() && outcome.kind !== 'answered') return null
    const endedAt = now()
    const { tries, uncertain, failingSince } = before
    const counted = mayBeOfAnotherSecret(outcome) ? await outcomeWith(store, lane, head.secret, outcome) : outcome
    const verdict = judgeDelivery(
      { outcome: counted, now: endedAt, attempts: tries, uncertain, failingSince, random: random() },
      policy,
    )
    const onCircuit = (circuit: Circuit): Circuit => circuitAfter(circuit, outcome, endedAt, policy)
    metrics.delivered(verdict.kind)
    if (verdict.kind !== 'delivered') failed(span, verdict.kind)
    this.#report(lane, waiting.sequence, verdict)
    return {
      covers,
      attempt: {
        sequence: waiting.sequence,
        outcome: verdict.kind === 'delivered' ? 'delivered' : verdict.kind === 'retry' ? 'waiting' : 'failed',
        reason: 'reason' in verdict ? verdict.reason : '',
        sentAt,
        answeredAt: outcome.kind === 'answered' ? endedAt : null,
      },
      before,
      verdict,
      isUnclear: outcome.kind === 'unknown' || (outcome.kind === 'answered' && outcome.status >= 500),
      onCircuit,
      circuit: onCircuit(head.circuit),
    }
  }

  async #replaceByState(holder: HeldLane, head: Head): Promise<Turn> {
    const { store, fullState } = this.#parts
    const { lane } = holder
    const state = (await fullState(lane.actorId, callerOf(lane, head), head)) ?? withheld
    const isPut = await store.write((tx) => putFullState(tx, lane, head.sequence, state))
    return this.#rest(holder, head, 'now', isPut ? { settled: head.sequence - 1 } : {})
  }

  #call(head: Head, { url, bearer }: PeerOfTurn, { body, headers }: Callback): Promise<PeerOutcome> {
    const { peerClient, now } = this.#parts
    const request = { method: 'POST', url, bearer } as const
    const isCompressed =
      supports(head.facts, 'callbackcompression', now()) === true && Buffer.byteLength(body) > leastCompressedBytes
    return isCompressed
      ? compressed(body).then((bytes) =>
          peerClient.call({ ...request, body: bytes, headers: { ...headers, 'Content-Encoding': 'gzip' } }),
        )
      : peerClient.call({ ...request, body, headers })
  }

  #report(lane: LaneKey, sequence: number, verdict: Verdict): void {
    const { log } = this.#parts
    const about = { subscriptionId: lane.subscriptionId, sequence, outcome: verdict.kind }
    if (verdict.kind === 'delivered') log.debug(about, 'A callback arrived')
    else log.warn({ ...about, reason: verdict.reason }, 'A callback did not arrive')
  }

  /** All but the last have arrived. */
  #conclude({ lane, held }: HeldLane, head: Head, sent: readonly Sent[]): Turn {
    const last = sent.at(-1)
    if (last === undefined) return nothing
    const { verdict, circuit, covers } = last
    const isSettled = verdict.kind === 'delivered' || verdict.kind === 'failed'
    const { tries, uncertain, failingSince } = last.before
    const at = verdict.kind === 'retry' ? Math.max(verdict.at, circuit.openUntil ?? 0) : 'now'
    const hasMore = this.#settlements.ask({
      lane,
      held,
      settled: isSettled ? covers : (sent.at(-2)?.covers ?? 0),
      tries: isSettled ? 0 : tries + 1,
      uncertain: isSettled ? 0 : uncertain + Number(last.isUnclear && verdict.kind === 'retry'),
      failingSince: circuit.failures === 0 ? null : (failingSince ?? this.#parts.now()),
      state: verdict.kind === 'stop' ? 'stopped' : 'live',
      next: verdict.kind === 'stop' ? 'asleep' : (circuit.openUntil ?? at),
      attempts: sent.map(({ attempt }) => attempt),
      circuit: isSame(circuit, head.circuit) ? null : last.onCircuit,
    })
    this.#announce(lane, head, hasMore)
    return { attempted: covers, reached: circuit.failures === 0, hasMore }
  }

  /** Behind the turn, and only while somebody looks on. */
  #announce(lane: LaneKey, { watchedUntil }: Head, kept: Promise<unknown>): void {
    if (watchedUntil < this.#parts.now()) return
    void kept
      .then(() => this.#parts.announce(lane))
      .catch((error: unknown) => this.#parts.log.debug({ error }, 'Nobody was told what became of a callback'))
  }

  /** Ends the turn without an attempt. */
  #rest(
    { lane, held }: HeldLane,
    head: Head,
    next: Settlement['next'],
    { settled = 0 }: { settled?: number } = {},
  ): Turn {
    const hasMore = this.#settlements.ask({
      lane,
      held,
      settled,
      tries: settled > 0 ? 0 : head.tries,
      uncertain: settled > 0 ? 0 : head.uncertain,
      failingSince: head.failingSince,
      state: head.state === 'stopped' ? 'stopped' : 'live',
      next,
      attempts: [],
      circuit: null,
    })
    return { ...nothing, hasMore }
  }
}

/** What the peer may see of it. */
function visible({ data, replaces }: Waiting, head: Head, mayRead: MayRead): Pick<Waiting, 'data' | 'replaces'> {
  const shown = visiblePart(data, head, mayRead)
  // What stands in its place takes no place at the peer.
  return shown === null ? { data: withheld, replaces: false } : { data: shown, replaces }
}

/** The numbers of a turn mostly speak of the same few properties. */
function remembering(mayRead: MayRead): MayRead {
  const known = new Map<string, boolean>()
  return (path) => {
    const before = known.get(path)
    if (before !== undefined) return before
    const may = mayRead(path)
    known.set(path, may)
    return may
  }
}

function maySend({ state, approved, baseuri }: Head): boolean {
  return state === 'live' && approved && baseuri !== ''
}

/**
 * Whether a call may start without the calls of other lanes together exceeding the threshold: each lane that is taken may
 * have one on its way that is not counted yet.
 */
function mayStart({ circuit: { failures }, taken }: Head, { circuitThreshold }: DeliveryPolicy): boolean {
  return failures === 0 || taken <= Math.max(1, circuitThreshold - failures)
}

function relationOf(lane: LaneKey, head: Head): Relation {
  return { actorId: lane.actorId, caller: callerOf(lane, head) }
}

function callerOf(lane: LaneKey, { relationship, approved }: Head): Extract<Related, { kind: 'peer' }> {
  return { kind: 'peer', peerId: lane.peerId, relationship, approved, via: 'bearer' }
}

function isSame(one: Circuit, other: Circuit): boolean {
  return one.failures === other.failures && one.openUntil === other.openUntil
}
