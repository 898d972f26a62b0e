/**
 * Sends the messages that are due. A message is marked right before its content leaves, so it reaches the receiver at most once,
 * also after a crash: a marked message without an answer is never sent again.
 */
import type { ClaimedJob } from '../../job/job-store.ts'
import type { JobQueue, RunResult } from '../../job/worker.ts'
import type { Log } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import { isKeyMissing } from '../../secret/sealed.ts'
import type { Store } from '../../store/store.ts'
import { findDeclined, optionalKinds } from './choice-store.ts'
import { endMail, findMail, type MailState, markHandedOver, type StoredMail, unmark } from './mail-store.ts'
import type { HandOver, MailContent, MailTransport } from './message.ts'
import type { Sender } from './smtp-settings.ts'
import { openContent } from './tables.ts'

export interface MailSenderDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobRun'>
  readonly transport: MailTransport
  readonly from: Sender | null
  /** The host in message ids. */
  readonly host: string
}

/** The waits after failed attempts, in seconds. A person may wait for the first message. The last one repeats. */
const waits = [5, 15, 60, 300, 900, 1800, 3600] as const
/** Connections to the server at once. */
const maxRunning = 5

export class MailSender {
  readonly #deps: MailSenderDeps
  readonly jobQueue: JobQueue

  constructor(deps: MailSenderDeps) {
    this.#deps = deps
    this.jobQueue = {
      kind: 'mail',
      run: (job) => this.#run(job),
      hostOf: () => '',
      most: { running: maxRunning, ofActor: maxRunning, ofHost: maxRunning },
      longestMs: 3600_000,
    }
  }

  async #run(job: ClaimedJob): Promise<RunResult> {
    const { store, log } = this.#deps
    try {
      const mail = await store.read((q) => findMail(q, job.actorId, job.id))
      if (mail === null || mail.state !== 'waiting') return ended(job)
      const outcome = await this.#attempt(job, mail)
      return outcome.kind === 'retry' ? this.#retry(job, outcome.reason) : await this.#end(job, mail, outcome)
    } catch (error) {
      log.warn({ error, mail: job.id }, 'Cannot read or store a message to a person')
      return this.#retry(job, 'An unexpected error')
    }
  }

  async #attempt({ actorId, id }: ClaimedJob, mail: StoredMail): Promise<HandOver | { readonly kind: 'expired' }> {
    const { store, keyRing, now, transport, from, host } = this.#deps
    // A process was killed, or lost its connection, after the content had left.
    if (mail.handedAt !== null)
      return { kind: 'unknown', reason: 'The process ended before the receiver of the message answered' }
    if (now() >= mail.expiresAt) return { kind: 'expired' }
    const isOptional = optionalKinds.some((each) => each === mail.kind)
    if (isOptional && (await store.read((q) => findDeclined(q, actorId))).has(mail.kind))
      return { kind: 'refused', reason: 'The owner turned messages of this kind off' }
    let content: MailContent
    try {
      content = openContent(keyRing, actorId, id, mail.content)
    } catch (error) {
      if (isKeyMissing(error)) return { kind: 'refused', reason: 'The key of the message is lost' }
      throw error
    }
    const { kind, createdAt } = mail
    const outgoing = { ...content, kind, createdAt, from, headers: headersOf(content), messageId: `<${id}@${host}>` }
    let isMarked = false
    const outcome = await transport(outgoing, async () => {
      isMarked = await store.write((tx) => markHandedOver(tx, actorId, id, now()))
      if (!isMarked) throw new Error('Another process has this message')
    })
    // The mark of another process stays.
    if (outcome.kind === 'retry' && isMarked) await store.write((tx) => unmark(tx, actorId, id))
    return outcome
  }

  #retry(job: ClaimedJob, reason: string): RunResult {
    const { now, random, log, metrics } = this.#deps
    metrics.jobRun('mail', 'retry')
    log.info({ mail: job.id, reason, attempt: job.attempts + 1 }, 'Cannot send a message; the service tries again')
    const seconds = waits[Math.min(job.attempts, waits.length - 1)] ?? waits[0]
    const { done, attempts, failingSince } = job
    const dueAt = now() + Math.round(seconds * (500 + 500 * random()))
    return {
      settled: { done, dueAt, state: 'live', attempts: attempts + 1, failingSince: failingSince ?? now(), reason },
      entries: [],
    }
  }

  async #end(
    job: ClaimedJob,
    { kind, createdAt }: StoredMail,
    outcome: Exclude<HandOver, { kind: 'retry' }> | { readonly kind: 'expired' },
  ): Promise<RunResult> {
    const { store, log, metrics, now } = this.#deps
    const state: Exclude<MailState, 'waiting'> = outcome.kind
    const reason = 'reason' in outcome ? outcome.reason : ''
    await store.write((tx) => endMail(tx, job.actorId, job.id, { state, reason }))
    metrics.jobRun('mail', state === 'sent' ? 'done' : 'failed')
    const about = { mail: job.id, kind, outcome: state, reason, waited: now() - createdAt }
    if (state === 'sent') log.debug(about, 'A message was sent')
    else log.warn(about, 'A message to a person was not sent, or may not have been')
    return ended(job)
  }
}

function ended({ attempts, failingSince }: ClaimedJob): RunResult {
  return { settled: { done: null, dueAt: 0, state: 'live', attempts, failingSince, reason: '' }, entries: [] }
}

/** RFC 2369 and RFC 8058. */
function headersOf({ unsubscribeUrl }: MailContent): Readonly<Record<string, string>> {
  if (unsubscribeUrl === undefined) return {}
  return { 'List-Unsubscribe': `<${unsubscribeUrl}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
}
