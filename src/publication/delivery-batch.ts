/**
 * One delivery batch of a subscription queue: sends the waiting diffs in order, filtered by the peer's current rights,
 * until one fails or the batch has lasted long enough. Then the batch commits the outcome.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { MailPort } from '../app/background/mail-port.ts'
import type { AuditLog } from '../audit-log/audit-log.ts'
import type { JsonText } from '../json/json.ts'
import type { Log } from '../observe/log.ts'
import { runInBackground } from '../observe/context.ts'
import type { Metrics } from '../observe/metrics.ts'
import { readTraceContext } from '../observe/trace-context.ts'
import { failed, type Span, type Tracing } from '../observe/tracing.ts'
import { type FindMovedPeer, outcomeAfterMoves } from '../peer/moved-peer.ts'
import type { PeerClient, PeerOutcome } from '../peer/peer-client.ts'
import type { PeerTimes } from '../peer/timeouts.ts'
import type { Permission, Related, Relation } from '../permission/permission.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { open } from '../secret/sealed.ts'
import { bindingOf, trustSecret } from '../secret/sealed-columns.ts'
import type { Store } from '../store/store.ts'
import { isOtherImplementation } from '../trust/trust.ts'
import { shownPart } from './changed-rights.ts'
import { type MayRead, withheld } from './visibility.ts'
import { Batches } from './batches.ts'
import {
  type OutgoingCallback,
  callbackOpening,
  type OutgoingCallbackOptions,
  type CallbackSource,
  callbackUrl,
  diffCallback,
  resyncCallback,
  supports,
} from './callback.ts'
import { pushEntries } from './pushed.ts'
import {
  findNextDeletion,
  findQueueStates,
  findQueuedDiffs,
  type QueueState,
  type QueuedDiff,
} from './queue-state-store.ts'
import {
  type Attempt,
  awaited,
  type BatchOutcome,
  beforeChanges,
  claimProbe,
  commitOutcomes,
  extendLease,
  fetchMs,
  longestLookMs,
  onlyDeletions,
  putFullState,
  type QueueKey,
  type Repair,
} from './queue-store.ts'
import { hopsAfter, isLoop } from '../subscription/hop-limit.ts'
import { mayBeOfAnotherSecret, outcomeWith } from '../outbox/secret-rotation.ts'
import {
  type Circuit,
  circuitAfter,
  type DeliveryPolicy,
  judgeCircuit,
  judgeDelivery,
  type DeliveryVerdict,
  repairDelayMs,
} from '../outbox/policy.ts'

/** The current content of the scope that the peer may read. Null: none. */
export type FullState = (actorId: string, peer: Related, scope: QueueState) => Promise<JsonText | null | 'too long'>

export interface DeliveryBatchDeps extends OutgoingCallbackOptions {
  readonly store: Store
  readonly peerClient: PeerClient
  readonly findMovedPeer: FindMovedPeer
  readonly auditLog: Pick<AuditLog, 'record' | 'isOn' | 'hasRead'>
  readonly permission: Permission
  readonly keyRing: KeyRing
  readonly policy: DeliveryPolicy
  readonly times: PeerTimes
  readonly fullState: FullState
  /** Writes what repairs the copy into the queue. False: the peer may read nothing of its scope, and lacks no deletions. */
  readonly writeRepair: (queue: QueueKey, options: { readonly hasState: boolean }) => Promise<boolean>
  /** Notifies watching pages and clients of an outcome. */
  readonly announce: (queue: QueueKey) => Promise<void>
  readonly mail: Pick<MailPort, 'event'>
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Metrics
  readonly tracing: Tracing
  /** Whether the service is stopping, so that no further call may begin. */
  readonly isStopping: () => boolean
  /** Whether running calls were aborted. */
  readonly isCut: () => boolean
}

/** The result of a batch whose calls have ended. */
export interface BatchResult {
  /** The last sequence number that was sent. Null: none. */
  readonly attempted: number | null
  /** Whether the peer could be reached. Null: no call was made. */
  readonly reached: boolean | null
  /** Whether a deletion for which the permissions of the peer wait was sent. */
  readonly hasErased: boolean
  /** Resolves after the commit. True: more diffs wait, and the batch keeps its lease. Rejects when the commit fails. */
  readonly hasMore: Promise<boolean>
}

/** Delay of a queue that could not be sent for a reason other than its peer. */
const pauseMs = 1000
const dayMs = 86_400_000
const leastCompressedBytes = 1024
/** Limits of a batch. A revoked right takes effect with the next batch, `longestBatchMs` later at the latest. */
const batchSize = { most: 100, characters: 2048 }
const longestBatchMs = 500
/** Queues that share the statements of a read. Their diffs are in memory at the same time. */
const maxReadAtOnce = 32
const maxCommittedAtOnce = 100

const compressed = promisify(gzip)
const nothing: BatchResult = {
  attempted: null,
  reached: null,
  hasErased: false,
  hasMore: Promise.resolve(false),
}

export interface QueueLease {
  readonly queue: QueueKey
  /** Unix milliseconds. Identifies the lease, and changes with an extension. */
  until: number
  /** End of the lease of the probe that the open circuit of the peer allowed. */
  probedUntil?: number
}

/** A queue at the start of its batch. */
interface BatchStart {
  readonly state: QueueState
  readonly waiting: readonly QueuedDiff[]
  readonly mayRead: MayRead
  /** Time of the read. */
  readonly at: number
}

interface Batch extends CallbackSource {
  readonly url: string
  readonly bearer: { readonly secret: string; readonly baseuri: string }
  readonly mayRead: MayRead
}

/** Earlier attempts for a diff. */
type Tried = Pick<QueueState, 'tries' | 'uncertain' | 'failingSince'>
const noDoubt: Repair = { at: null, failures: 0 }
const untried: Tried = { tries: 0, uncertain: 0, failingSince: null }

/** The outcome of one call. */
interface Sent {
  readonly attempt: Attempt
  /** The last sequence number that the callback covers. */
  readonly covers: number
  readonly before: Tried
  /** The callback brings the copy of the peer to the full state. */
  readonly isWhole: boolean
  /** The peer may accept the callback and fail to fetch the full state. */
  readonly needsFetch: boolean
  /** The callback deletes what the peer may no longer read. */
  readonly isErasure: boolean
  /** The peer refused the callback because changes went in circles (409). A resync would begin the circle again. */
  readonly isLoop: boolean
  readonly verdict: DeliveryVerdict
  /** The peer may or may not have received the callback. */
  readonly isUnclear: boolean
  readonly onCircuit: (before: Circuit) => Circuit
  /** The circuit after the call, without changes by other queues. */
  readonly circuit: Circuit
}

export class DeliveryBatches {
  readonly #deps: DeliveryBatchDeps
  readonly #starts: Batches<QueueKey, BatchStart | null>
  readonly #commits: Batches<BatchOutcome, boolean>

  constructor(deps: DeliveryBatchDeps) {
    this.#deps = deps
    const { store, now } = deps
    // On a sharded database, the server of one actor may be down.
    const groupOf = (queue: QueueKey): string => (store.isSharded ? queue.actorId : '')
    this.#starts = new Batches(maxReadAtOnce, (queues) => this.#read(queues), groupOf)
    this.#commits = new Batches(
      maxCommittedAtOnce,
      (outcomes) => store.write((tx) => commitOutcomes(tx, outcomes, now()), { durability: 'relaxed' }),
      ({ queue }) => groupOf(queue),
    )
  }

  async run(lease: QueueLease): Promise<BatchResult> {
    const { now, times } = this.#deps
    const { queue } = lease
    const start = await this.#starts.ask(queue)
    if (start === null || start.state.leasedUntil !== lease.until) return nothing
    if (lease.until - now() < times.leastLeaseMs && !(await this.#extendLease(lease))) return nothing
    const { state, waiting } = start
    const [first] = waiting
    if (isRepairDue(state, first, now())) return this.#repair(lease, state)
    if (!maySend(state)) return this.#endWithoutAttempt(lease, state, 'idle')
    if (first === undefined) return this.#endWithoutAttempt(lease, state, 'now', { committed: state.sequence })
    const heldUntil = heldUntilRepair(state, first, now())
    if (heldUntil !== null) return this.#endWithoutAttempt(lease, state, heldUntil)
    return this.#sendFirst(lease, start, first)
  }

  /** Sends, unless the circuit of the peer is open. */
  async #sendFirst(lease: QueueLease, start: BatchStart, first: QueuedDiff): Promise<BatchResult> {
    const { now } = this.#deps
    const { state } = start
    const circuit = judgeCircuit(state.circuit, now(), this.#deps.policy)
    if (circuit === 'open') return this.#endWithoutAttempt(lease, state, state.circuit.openUntil ?? 'now')
    if (circuit === 'closed' && !mayStart(state, this.#deps.policy)) {
      // Random, so processes that release their leases at the same time do not retry at the same time.
      return this.#endWithoutAttempt(lease, state, now() + Math.round(pauseMs * (0.5 + this.#deps.random())))
    }
    if (circuit === 'probe' && !(await this.#claimProbe(lease, state)))
      return this.#endWithoutAttempt(lease, state, now() + pauseMs)
    return isUnsupported(first, state, now()) ? this.#replaceByState(lease, start) : this.#send(lease, start)
  }

  /** Throws when rights cannot be read, so no diff is sent unfiltered. */
  #read(queues: readonly QueueKey[]): Promise<(BatchStart | null)[]> {
    const { store, permission, now } = this.#deps
    const at = now()
    return store.read(async (q) => {
      // Read before the diffs: a concurrent diff may be missing in the state, but a counted diff is never missing.
      const states = await findQueueStates(q, queues, at)
      const peers = new Map(
        [...states].flatMap(([queue, state]) => (maySend(state) ? [[queue, relationOf(queue, state)] as const] : [])),
      )
      const [waiting, judgeOf] = await Promise.all([
        findQueuedDiffs(q, [...peers.keys()], batchSize),
        permission.judgeMany(q, [...peers.values()], { category: 'properties', right: 'read' }),
      ])
      return queues.map((queue) => {
        const [state, peer] = [states.get(queue), peers.get(queue)]
        if (state === undefined) return null
        const judge = peer && judgeOf(peer)
        return {
          state,
          waiting: waiting.get(queue) ?? [],
          mayRead: memoized((path) => judge?.(path).allowed === true),
          at,
        }
      })
    })
  }

  async #extendLease(lease: QueueLease): Promise<boolean> {
    const until = this.#deps.now() + this.#deps.times.leaseMs
    const isExtended = await this.#deps.store.write((tx) => extendLease(tx, lease.queue, lease.until, until))
    if (isExtended) lease.until = until
    return isExtended
  }

  async #claimProbe(lease: QueueLease, { circuit }: QueueState): Promise<boolean> {
    const { store, now, times } = this.#deps
    const until = now() + times.leaseMs
    const isClaimed = await store.write((tx) => claimProbe(tx, lease.queue, circuit.openUntil ?? 0, until))
    if (isClaimed) lease.probedUntil = until
    return isClaimed
  }

  async #send(lease: QueueLease, { state, waiting, mayRead, at }: BatchStart): Promise<BatchResult> {
    const { now, isStopping, keyRing, times } = this.#deps
    const { queue } = lease
    const secret = open(keyRing, state.secret, bindingOf(trustSecret, queue.actorId, queue.peerId))
    const bearer = { secret, baseuri: state.baseuri }
    const opening = callbackOpening(queue, state)
    const batch: Batch = { queue, state, url: callbackUrl(queue, state), bearer, opening, mayRead }
    const sent: Sent[] = []
    const mayContinue = (): boolean =>
      !isStopping() && now() - at < longestBatchMs && lease.until - now() >= times.leastLeaseMs
    for (const next of waiting) {
      // A resync covers all waiting diffs, so it is sent in a batch of its own.
      if (sent.length > 0 && (next.kind === 'resync' || !mayContinue())) break
      const one = await this.#attempt(batch, sent.length === 0 ? state : untried, next)
      if (one === null) break
      sent.push(one)
      // A changed circuit is committed before the next call.
      if (next.kind === 'resync' || one.verdict.kind !== 'delivered' || !isSame(one.circuit, state.circuit)) break
    }
    return this.#commit(lease, state, sent)
  }

  /** Null: the service stopped during the call and the outcome is unknown. */
  #attempt(batch: Batch, before: Tried, diff: QueuedDiff): Promise<Sent | null> {
    const { queue } = batch
    const attributes = {
      'troupe.actor': queue.actorId,
      'troupe.subscription': queue.subscriptionId,
      'troupe.sequence': diff.sequence,
    }
    // The callback belongs to the trace of the change, in any process and at any time.
    const sender = readTraceContext(diff.trace, undefined)
    const attempt = (): Promise<Sent | null> =>
      this.#deps.tracing.run('deliver callback', { kind: 'producer', attributes, sender, isRoot: true }, (span) =>
        this.#attemptIn(span, batch, before, diff),
      )
    const { requestId } = diff
    return requestId === null
      ? attempt()
      : runInBackground(attempt, { requestId, actorId: queue.actorId, peerId: queue.peerId })
  }

  async #attemptIn(span: Span, batch: Batch, before: Tried, diff: QueuedDiff): Promise<Sent | null> {
    const { queue, state } = batch
    const { now, isCut, policy, random, metrics, store } = this.#deps
    const covers = diff.kind === 'resync' ? await this.#coveredBy(batch, diff) : diff.sequence
    const shown = visible(diff, batch)
    const callback =
      diff.kind === 'resync'
        ? resyncCallback(batch, covers, now(), this.#deps)
        : diffCallback(batch, diff, shown ?? hidden, this.#deps)
    const sentAt = now()
    const outcome = await this.#outcomeOf(batch, callback)
    if (shown !== null && diff.kind !== 'erasure') this.#record(batch, diff, callback, outcome)
    if (isCut() && outcome.kind !== 'answered') return null
    const endedAt = now()
    const status = outcome.kind === 'answered' ? outcome.status : null
    const { tries, uncertain, failingSince } = before
    const counted = mayBeOfAnotherSecret(outcome) ? await outcomeWith(store, queue, state.secret, outcome) : outcome
    const verdict = judgeDelivery(
      { outcome: counted, now: endedAt, attempts: tries, uncertain, failingSince, random: random() },
      policy,
    )
    const onCircuit = (circuit: Circuit): Circuit => circuitAfter(circuit, outcome, endedAt, policy)
    metrics.delivered(verdict.kind)
    if (verdict.kind !== 'delivered') failed(span, verdict.kind)
    this.#report(queue, diff.sequence, verdict)
    return {
      covers,
      attempt: attemptOf(diff.sequence, verdict, { sentAt, answeredAt: status === null ? null : endedAt }),
      before,
      isWhole: diff.kind === 'resync' || diff.kind === 'full',
      needsFetch: diff.kind === 'resync' && this.#seesFetchOf(state),
      isErasure: diff.kind === 'erasure',
      // A peer has other reasons for 409, too.
      isLoop: status === 409 && isLoop(hopsAfter(String(diff.hops))),
      verdict,
      isUnclear: isUnclear(outcome),
      onCircuit,
      circuit: onCircuit(state.circuit),
    }
  }

  /**
   * A resync covers every diff up to the time of the call, and ends before a deletion: the Python library keeps what a full
   * state lacks.
   */
  async #coveredBy({ queue, state }: Batch, { sequence }: QueuedDiff): Promise<number> {
    const last = Math.max(state.sequence, sequence)
    if (last === sequence) return last
    const deletion = await this.#deps.store.read((q) => findNextDeletion(q, queue, sequence))
    return deletion === null ? last : Math.min(last, deletion - 1)
  }

  /** A state that does not fit into memory is not stored. The resync then has the URL of the properties. */
  async #replaceByState(lease: QueueLease, start: BatchStart): Promise<BatchResult> {
    const { store, fullState } = this.#deps
    const { queue } = lease
    const { state } = start
    const content = await fullState(queue.actorId, callerOf(queue, state), state)
    if (content === 'too long') return this.#send(lease, start)
    const isPut = await store.write((tx) => putFullState(tx, queue, state.sequence, content ?? withheld))
    return this.#endWithoutAttempt(lease, state, 'now', isPut ? { committed: state.sequence - 1 } : {})
  }

  /**
   * The Python library answers a resync with 204 also when it could not fetch the full state, and fetches it before the answer. So its
   * reads show whether the resync had an effect. The deletions follow, because the full state has none.
   */
  async #endWait(lease: QueueLease, state: QueueState): Promise<BatchResult> {
    const { now, random, auditLog } = this.#deps
    const { actorId, peerId } = lease.queue
    const { at, failures } = state.repair
    const isDone = await auditLog.hasRead({ actorId, peerId, path: '/properties', since: (at ?? now()) - fetchMs })
    const resyncs = awaited(failures)
    const repair = isDone
      ? { at: now(), failures: onlyDeletions }
      : { at: now() + repairDelayMs(resyncs, random(), false), failures: resyncs + 1 }
    const isHealthy = isDone && state.circuit.failures === 0
    const failingSince = isHealthy ? null : (state.failingSince ?? now())
    return this.#endWithoutAttempt(lease, { ...state, repair, failingSince }, 'now', { repairWasAt: at })
  }

  /**
   * Whether the peer is of a kind that may accept a resync without a fetch, and its reads are recorded. While its approval is not known,
   * each repair is a resync, so that a wait would end with a further one.
   */
  #seesFetchOf({ target, facts, peerApproved }: QueueState): boolean {
    return target === 'properties' && peerApproved && this.#deps.auditLog.isOn && isOtherImplementation(facts)
  }

  /** Writes the resync that brings the copy of the peer back, and ends the stop of a queue. */
  async #repair(lease: QueueLease, state: QueueState): Promise<BatchResult> {
    if (state.repair.failures < onlyDeletions && !holdsChanges(state)) return this.#endWait(lease, state)
    const hasState = state.repair.failures === onlyDeletions && !holdsChanges(state)
    const isWritten = await this.#deps.writeRepair(lease.queue, { hasState })
    const repair = isWritten && !hasState ? { ...state.repair, failures: Math.max(0, state.repair.failures) } : noDoubt
    const committed = isWritten && holdsChanges(state) ? state.sequence : 0
    return this.#endWithoutAttempt(lease, { ...state, state: 'live', repair }, 'now', {
      committed,
      repairWasAt: state.repair.at,
    })
  }

  async #outcomeOf(batch: Batch, callback: OutgoingCallback): Promise<PeerOutcome> {
    const { baseuri, facts } = batch.state
    const known = { address: baseuri, actorId: batch.queue.peerId, publicKey: facts.move_key ?? null }
    return outcomeAfterMoves(await this.#call(batch, callback), known, this.#deps.findMovedPeer)
  }

  #call({ state, url, bearer }: Batch, { body, headers }: OutgoingCallback): Promise<PeerOutcome> {
    const { peerClient, now } = this.#deps
    const request = { method: 'POST', url, bearer } as const
    const isCompressed =
      supports(state.facts, 'callbackcompression', now()) === true && Buffer.byteLength(body) > leastCompressedBytes
    return isCompressed
      ? compressed(body).then((bytes) =>
          peerClient.call({ ...request, body: bytes, headers: { ...headers, 'Content-Encoding': 'gzip' } }),
        )
      : peerClient.call({ ...request, body, headers })
  }

  /** Records who received which values, also when the peer may have received them. */
  #record(
    { queue, state }: Batch,
    { requestId }: QueuedDiff,
    { carried }: OutgoingCallback,
    outcome: PeerOutcome,
  ): void {
    if (carried === null || outcome.kind === 'unreached') return
    const status = outcome.kind === 'answered' ? outcome.status : 0
    for (const entry of pushEntries(queue, state, carried, { status, requestId: requestId ?? '' }))
      this.#deps.auditLog.record(entry)
  }

  #report(queue: QueueKey, sequence: number, verdict: DeliveryVerdict): void {
    const { log } = this.#deps
    const about = { subscriptionId: queue.subscriptionId, sequence, outcome: verdict.kind }
    if (verdict.kind === 'delivered') log.debug(about, 'A callback arrived')
    else log.warn({ ...about, reason: verdict.reason }, 'A callback did not arrive')
  }

  /** Commits the calls of the batch. Only the last one can have failed. */
  #commit({ queue, until }: QueueLease, state: QueueState, sent: readonly Sent[]): BatchResult {
    const last = sent.at(-1)
    if (last === undefined) return nothing
    const { circuit, covers } = last
    const { now, random } = this.#deps
    const repair = repairAfter(state.repair, last, now(), random())
    const isAwaited = repair.failures < onlyDeletions
    const isHealthy = circuit.failures === 0 && repair.at === null
    const since = isAwaited && circuit.failures === 0 ? state.failingSince : (state.failingSince ?? now())
    const failingSince = isHealthy ? null : since
    const committed = this.#commits.ask({
      queue,
      leasedUntil: until,
      ...progressOf(last, sent.at(-2)?.covers ?? 0),
      ...continuationOf(last),
      repair,
      repairWasAt: state.repair.at,
      isRepaired: state.repair.at !== null && (repair.at === null || (last.isWhole && isAwaited)),
      // The deletions follow when the full state was fetched.
      isWhole: last.isWhole && last.verdict.kind === 'delivered' && !isAwaited,
      failingSince,
      attempts: sent.map(({ attempt }) => attempt),
      circuit: isSame(circuit, state.circuit) ? null : last.onCircuit,
    })
    const hasMore = this.#reported(queue, failingSince, committed)
    this.#announce(queue, state, hasMore)
    const hasErased = sent.some(({ isErasure }) => isErasure)
    return { attempted: covers, reached: circuit.failures === 0, hasErased, hasMore }
  }

  /** Notifies the owner of a failure that lasts. */
  async #reported<T>({ actorId, peerId }: QueueKey, since: number | null, committed: Promise<T>): Promise<T> {
    const result = await committed
    const { now, mail } = this.#deps
    if (since !== null && now() - since >= dayMs) await mail.event({ kind: 'failing', actorId, peerId, since })
    return result
  }

  /** Runs after the commit, and only while a page or client watches the actor. */
  #announce(queue: QueueKey, { watchedUntil }: QueueState, kept: Promise<unknown>): void {
    if (watchedUntil < this.#deps.now()) return
    void kept
      .then(() => this.#deps.announce(queue))
      .catch((error: unknown) => this.#deps.log.debug({ error }, 'Cannot announce the outcome of a callback'))
  }

  /** Ends the batch without a call. */
  #endWithoutAttempt(
    { queue, until }: QueueLease,
    state: QueueState,
    next: BatchOutcome['next'],
    { committed = 0, repairWasAt = state.repair.at }: { committed?: number; repairWasAt?: number | null } = {},
  ): BatchResult {
    const hasMore = this.#commits.ask({
      queue,
      leasedUntil: until,
      committed,
      tries: committed > 0 ? 0 : state.tries,
      uncertain: committed > 0 ? 0 : state.uncertain,
      failingSince: state.failingSince,
      state: state.state === 'stopped' ? 'stopped' : 'live',
      repair: state.repair,
      repairWasAt,
      next,
      attempts: [],
      circuit: null,
    })
    return { ...nothing, hasMore }
  }
}

/** The peer may or may not have received the callback. */
function isUnclear(outcome: PeerOutcome): boolean {
  return outcome.kind === 'unknown' || (outcome.kind === 'answered' && outcome.status >= 500)
}

function attemptOf(sequence: number, verdict: DeliveryVerdict, times: Pick<Attempt, 'sentAt' | 'answeredAt'>): Attempt {
  const outcome = verdict.kind === 'delivered' ? 'delivered' : verdict.kind === 'retry' ? 'waiting' : 'failed'
  return { sequence, outcome, reason: 'reason' in verdict ? verdict.reason : '', ...times }
}

/** The part of a diff that the peer may read. Null: none. */
function visible(
  { kind, data, replaces }: QueuedDiff,
  { state, mayRead }: Batch,
): Pick<QueuedDiff, 'data' | 'replaces'> | null {
  if (kind === 'erasure') return { data, replaces }
  const shown = shownPart(data, state, mayRead)
  return shown === null ? null : { data: shown, replaces }
}

/** Tells the peer that something changed, and must not replace its copy. */
const hidden = { data: withheld, replaces: false }

/** The diffs of a batch mostly touch the same few properties. */
function memoized(mayRead: MayRead): MayRead {
  const known = new Map<string, boolean>()
  return (path) => {
    const before = known.get(path)
    if (before !== undefined) return before
    const may = mayRead(path)
    known.set(path, may)
    return may
  }
}

function maySend({ state, approved, baseuri }: QueueState): boolean {
  return state === 'live' && approved && baseuri !== ''
}

function isUnsupported({ kind }: QueuedDiff, { facts }: QueueState, now: number): boolean {
  return kind === 'resync' && supports(facts, 'subscriptionresync', now) === false
}

/**
 * Whether the copy of the peer is in doubt and its repair is due. Diffs that wait are sent first, unless the queue is stopped or
 * they are held.
 */
function isRepairDue(queue: QueueState, first: QueuedDiff | undefined, now: number): boolean {
  const { repair, state, approved, baseuri } = queue
  const isDue = repair.at !== null && repair.at <= now
  const isFirst = state === 'stopped' || first === undefined || (holdsChanges(queue) && isChange(first))
  return isDue && approved && baseuri !== '' && isFirst
}

/** Whether the resync of the repair replaces the changes that wait. */
function holdsChanges({ repair, peerApproved }: QueueState): boolean {
  return !peerApproved || repair.at === beforeChanges
}

/** Whether the callback brings a part of the state, and not all of it. */
function isChange({ kind }: QueuedDiff): boolean {
  return kind === 'diff' || kind === 'erasure'
}

/**
 * Until when changes are held for a peer that has not approved and has refused one. The approval makes the repair due, whose resync
 * replaces the changes. Without a refusal changes are sent, because the message about the approval may have been lost.
 */
function heldUntilRepair({ repair, peerApproved }: QueueState, first: QueuedDiff, now: number): number | null {
  const isHeld = !peerApproved && isChange(first) && repair.at !== null && repair.at > now
  return isHeld ? Math.min(repair.at, now + longestLookMs) : null
}

/** A callback that failed finally leaves the copy in doubt until the peer has accepted the full state. */
function repairAfter(
  before: Repair,
  { attempt, verdict, isWhole, needsFetch, isLoop }: Sent,
  now: number,
  random: number,
): Repair {
  const { at, failures } = before
  if (verdict.kind === 'delivered' && isWhole && needsFetch)
    return { at: attempt.sentAt + fetchMs, failures: awaited(Math.max(0, failures)) }
  if (verdict.kind === 'delivered') return isWhole ? noDoubt : before
  if (verdict.kind === 'retry' || isLoop) return before
  const isStopped = verdict.kind === 'stop'
  // Further diffs that fail do not delay the repair.
  const failed = Math.max(0, failures)
  if (!isWhole && !isStopped && at !== null) return { at, failures: failed }
  return { at: now + repairDelayMs(failed, random, isStopped), failures: failed + Number(isWhole || isStopped) }
}

/**
 * Whether a further call stays within the circuit threshold. Each leased queue of the peer may have one call on its way
 * that is not counted yet.
 */
function mayStart({ circuit: { failures }, leased }: QueueState, { circuitThreshold }: DeliveryPolicy): boolean {
  return failures === 0 || leased <= Math.max(1, circuitThreshold - failures)
}

function relationOf(queue: QueueKey, state: QueueState): Relation {
  return { actorId: queue.actorId, caller: callerOf(queue, state) }
}

function callerOf(queue: QueueKey, { relationship, approved }: QueueState): Extract<Related, { kind: 'peer' }> {
  return { kind: 'peer', peerId: queue.peerId, relationship, approved, via: 'bearer' }
}

/** @param committedBefore The last sequence number that the calls before the last one cover. */
function progressOf(
  { verdict, before, covers, isUnclear }: Sent,
  committedBefore: number,
): Pick<BatchOutcome, 'committed' | 'tries' | 'uncertain'> {
  if (verdict.kind === 'delivered' || verdict.kind === 'failed') return { committed: covers, tries: 0, uncertain: 0 }
  const uncertain = before.uncertain + Number(isUnclear && verdict.kind === 'retry')
  return { committed: committedBefore, tries: before.tries + 1, uncertain }
}

function continuationOf({ verdict, circuit }: Sent): Pick<BatchOutcome, 'state' | 'next'> {
  if (verdict.kind === 'stop') return { state: 'stopped', next: 'idle' }
  if (verdict.kind !== 'retry') return { state: 'live', next: circuit.openUntil ?? 'now' }
  // The pause of the circuit must not shorten that of the message: an address that the peer has left is asked once an hour.
  return { state: 'live', next: Math.max(verdict.at, circuit.openUntil ?? 0) }
}

function isSame(one: Circuit, other: Circuit): boolean {
  return one.failures === other.failures && one.openUntil === other.openUntil
}
