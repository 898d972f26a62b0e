/** Sends the messages of webhooks, in order for each webhook. */
import { connectionsPerOrigin } from '../../peer/guarded-client.ts'
import { changeCaller } from '../../job/change-event.ts'
import { type EntryOutcome, findJobEntries, type WaitingEntry } from '../../job/entry-store.ts'
import type { ClaimedJob } from '../../job/job-store.ts'
import type { JobQueue, RunResult } from '../../job/worker.ts'
import { known, members, object, stringText } from '../../json/json.ts'
import type { Log } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { failed, type Tracing } from '../../observe/tracing.ts'
import { type DeliveryPolicy, type DeliveryVerdict, judgeNotice, longestPutOffMs } from '../../outbox/policy.ts'
import type { PeerClient, PeerOutcome } from '../../peer/peer-client.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import type { Store } from '../../store/store.ts'
import { openSecrets, signingSecrets } from './secrets.ts'
import { signedHeaders } from './signature.ts'
import { findTarget, putRefusals, type WebhookTarget } from './webhook-store.ts'

export interface WebhookSenderDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly client: PeerClient
  readonly policy: DeliveryPolicy
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  readonly tracing: Tracing
}

/** Messages per run: a crash repeats at most as many. */
const maxMessages = 16
/** Time after which a run begins no further message, in milliseconds. */
const longestRunMs = 5000
const maxRunning = 64
const maxOfActor = 8
/** A receiver that refuses so many messages in a row is suspended. */
const maxRefusals = 50

/** A message that is sent again, or that suspends the webhook. */
interface Stop {
  readonly verdict: Extract<DeliveryVerdict, { kind: 'retry' | 'stop' }>
  readonly outcome: EntryOutcome
}

export class WebhookSender {
  readonly #deps: WebhookSenderDeps
  readonly jobQueue: JobQueue

  constructor(deps: WebhookSenderDeps) {
    this.#deps = deps
    this.jobQueue = {
      kind: 'webhook',
      run: (job, signal) => this.#run(job, signal),
      hostOf: ({ data }) => data,
      most: { running: maxRunning, ofActor: maxOfActor, ofHost: connectionsPerOrigin },
      longestMs: longestPutOffMs(deps.policy),
    }
  }

  async #run(job: ClaimedJob, signal: AbortSignal): Promise<RunResult> {
    const { store, now, log } = this.#deps
    try {
      const [target, entries] = await store.read((q) =>
        Promise.all([
          findTarget(q, job.actorId, job.id),
          findJobEntries(q, job, { after: job.done, limit: maxMessages }),
        ]),
      )
      if (target === null) return { settled: { ...fresh, done: null, dueAt: 0 }, entries: [] }
      return await this.#sendAll(job, target, entries, signal)
    } catch (error) {
      log.warn({ error, actorId: job.actorId }, 'Cannot read the messages of a webhook; the next attempt reads again')
      const { done, attempts, failingSince } = job
      return { settled: { done, dueAt: now() + 1000, state: 'live', attempts, failingSince, reason: '' }, entries: [] }
    }
  }

  /** Sends messages until one must be sent again. */
  async #sendAll(
    job: ClaimedJob,
    target: WebhookTarget,
    entries: readonly WaitingEntry[],
    signal: AbortSignal,
  ): Promise<RunResult> {
    const outcomes: EntryOutcome[] = []
    let { done, attempts, failingSince } = job
    let { refusals } = target
    let stop: Stop | null = null
    const startedAt = this.#deps.now()
    for (const [index, entry] of entries.entries()) {
      // Other webhooks wait for the place of this one, also when its receiver answers slowly.
      if (signal.aborted || this.#deps.now() - startedAt >= longestRunMs) break
      // The owner may have removed the webhook or replaced its secret since the last message.
      const current = index === 0 ? target : await this.#deps.store.read((q) => findTarget(q, job.actorId, job.id))
      if (current === null) break
      const sent = await this.#send(job, current, entry, { attempts, failingSince })
      if (sent.verdict.kind === 'retry' || sent.verdict.kind === 'stop') {
        stop = { verdict: sent.verdict, outcome: sent.outcome }
        break
      }
      outcomes.push(sent.outcome)
      done = entry.number
      attempts = 0
      const isRefused = sent.verdict.kind === 'failed'
      refusals = isRefused ? refusals + 1 : 0
      failingSince = isRefused ? (failingSince ?? this.#deps.now()) : null
      if (refusals >= maxRefusals) {
        stop = {
          verdict: { kind: 'stop', reason: `The receiver refused ${refusals} messages in a row` },
          outcome: sent.outcome,
        }
        break
      }
    }
    // Messages may be missing, because the purge has deleted them.
    if (entries.length === 0) done = job.last
    if (refusals !== target.refusals)
      await this.#deps.store.write((tx) => putRefusals(tx, job.actorId, job.id, refusals))
    return this.#resultOf(job, { done, attempts, failingSince, outcomes, stop })
  }

  #resultOf(
    job: ClaimedJob,
    run: {
      readonly done: number
      readonly attempts: number
      readonly failingSince: number | null
      readonly outcomes: readonly EntryOutcome[]
      readonly stop: Stop | null
    },
  ): RunResult {
    const { now, log, metrics } = this.#deps
    const { done, attempts, failingSince, outcomes, stop } = run
    if (stop === null) {
      const settled = { done, dueAt: now(), state: 'live', attempts, failingSince, reason: '' } as const
      return { settled, entries: outcomes }
    }
    const { verdict, outcome } = stop
    const isStopped = verdict.kind === 'stop'
    const facts = { actorId: job.actorId, webhook: job.id, reason: verdict.reason, attempt: attempts + 1 }
    metrics.jobRun('webhook', isStopped ? 'suspended' : 'retry')
    if (isStopped) log.warn(facts, 'A webhook is suspended until its owner or troupe redrive continues it')
    else log.info(facts, 'Cannot deliver a message to a webhook; the service sends it again')
    const isSettled = outcome.number <= done
    return {
      settled: {
        done,
        dueAt: verdict.kind === 'retry' ? verdict.at : now(),
        state: isStopped ? 'stopped' : 'live',
        attempts: isSettled ? attempts : attempts + 1,
        failingSince: failingSince ?? now(),
        reason: verdict.reason,
      },
      entries: isSettled ? outcomes : [...outcomes, outcome],
    }
  }

  async #send(
    { actorId, id }: ClaimedJob,
    target: WebhookTarget,
    entry: WaitingEntry,
    failing: { readonly attempts: number; readonly failingSince: number | null },
  ): Promise<{ readonly verdict: DeliveryVerdict; readonly outcome: EntryOutcome }> {
    const { client, keyRing, policy, now, random, metrics, tracing } = this.#deps
    const sentAt = now()
    const body = bodyOf(actorId, entry)
    const secrets = signingSecrets(openSecrets(keyRing, actorId, id, target.secrets), sentAt)
    const signed = { id: entry.entryId, timestamp: Math.floor(sentAt / 1000), body }
    const headers = signedHeaders(signed, secrets)
    const attributes = { 'troupe.actor': actorId, 'troupe.webhook': id }
    const options = { kind: 'producer', attributes, isRoot: true } as const
    const result = await tracing.run('deliver webhook', options, async (span) => {
      const answer = await client.call({ method: 'POST', url: target.url, body, headers })
      if (answer.kind !== 'answered' || answer.status >= 300) failed(span, answer.kind)
      return answer
    })
    const verdict = judge(result, { ...failing, now: now(), uncertain: 0, random: random() }, policy)
    if (verdict.kind === 'delivered') metrics.jobRun('webhook', 'done')
    else if (verdict.kind === 'failed') metrics.jobRun('webhook', 'failed')
    const outcome = {
      number: entry.number,
      outcome: verdict.kind === 'delivered' || verdict.kind === 'failed' ? verdict.kind : 'waiting',
      attempts: entry.attempts + 1,
      sentAt,
      answeredAt: result.kind === 'answered' ? now() : null,
      status: result.kind === 'answered' ? result.status : null,
      reason: verdict.kind === 'delivered' ? '' : verdict.reason,
    } as const
    return { verdict, outcome }
  }
}

const fresh = { state: 'live', attempts: 0, failingSince: null, reason: '' } as const

/** Like the verdict for a notice, but a redirect is final, and 410 ends the webhook, as the specification says. */
function judge(
  outcome: PeerOutcome,
  attempted: Omit<Parameters<typeof judgeNotice>[0], 'outcome'>,
  policy: DeliveryPolicy,
): DeliveryVerdict {
  if (outcome.kind !== 'answered') {
    // The exact reason would let the owner map the network of the service.
    const reason = outcome.kind === 'unreached' ? 'The receiver could not be reached' : 'The receiver did not answer'
    const verdict = judgeNotice({ ...attempted, outcome }, policy)
    return verdict.kind === 'delivered' ? verdict : { ...verdict, reason }
  }
  const reason = `The receiver answered ${outcome.status}`
  if (outcome.status === 410) return { kind: 'stop', reason }
  // The owner has entered an address that is not the one of the receiver.
  const isRedirect = outcome.status >= 300 && outcome.status < 400 && outcome.status !== 308
  if (isRedirect) return { kind: 'failed', reason }
  // A receiver does not speak the protocol, so its pages are its own answers.
  const verdict = judgeNotice({ ...attempted, outcome: { ...outcome, body: '' } }, policy)
  return verdict.kind === 'delivered' ? verdict : { ...verdict, reason }
}

/** The JSON of a message. */
function bodyOf(actorId: string, { type, data, origin, createdAt }: WaitingEntry): string {
  const { kind, id } = changeCaller(origin)
  const isNamed = id !== undefined && (kind === 'peer' || kind === 'client')
  const caller = object([['kind', stringText(kind)], ...(isNamed ? [['id', stringText(id)] as const] : [])])
  return object([
    ['type', stringText(type)],
    ['timestamp', stringText(new Date(createdAt).toISOString())],
    ['data', object([['actor', stringText(actorId)], ['caller', caller], ...(members(known(data)) ?? [])])],
  ])
}
