/**
 * Decides how a callback of a peer is handled. Pure functions, without store, clock or network. Times are Unix
 * milliseconds.
 */
import { choiceField, jsonField, nullable, objectSchema, parsedField, readObject, stringField } from '../json/fields.ts'
import { type JsonText, known, members, normalize, replaceLoneSurrogates, stringValue } from '../json/json.ts'

/** A callback as the peer sent it. */
export interface IncomingCallback {
  readonly type: 'diff' | 'resync' | 'permission'
  /** 0: the callback has no sequence number. */
  readonly sequence: number
  /** Null: the data must be fetched. */
  readonly data: JsonText | null
  /** The values in `data` replace the previous values. False: they are merged. */
  readonly replaces: boolean
  readonly url: string | null
  readonly granularity: string
  /** Time of the change on the clock of the peer, in Unix milliseconds. Null: not stated. */
  readonly publishedAt: number | null
}

const fields = {
  type: nullable(choiceField('Default: `diff`', ['diff', 'resync', 'permission'])),
  sequence: nullable(
    parsedField(
      { type: 'integer', minimum: 0, description: 'Sequence number of the diff' },
      'a whole number',
      (value) => {
        return parseSequence(stringValue(value) ?? value) ?? undefined
      },
    ),
  ),
  data: nullable(jsonField('The change. The receiver fetches it when absent')),
  replaces: nullable(jsonField('`true`: the values in `data` replace the previous values and are not merged')),
  url: nullable(stringField('URL of the data, below the root URL of the peer')),
  granularity: nullable(stringField('Granularity of the subscription')),
  timestamp: nullable(jsonField('Time of the change')),
}

export const callbackSchema = objectSchema(fields)

/** @throws ServiceError `bad_request` for an invalid callback. */
export function parseCallback(body: JsonText, maxDepth: number): IncomingCallback {
  const clean = normalize(body, maxDepth, 'replace')
  const { type, sequence, data, replaces, url, granularity, timestamp } = readObject(
    'take this callback',
    fields,
    clean,
  )
  return {
    type: type ?? 'diff',
    sequence: sequence ?? 0,
    // Empty data next to a URL means the same as absent data.
    data: data === undefined || (url !== undefined && (data === '{}' || data === '""')) ? null : data,
    replaces: replaces === 'true',
    url: url ?? null,
    granularity: granularity ?? '',
    publishedAt: timestamp === undefined ? null : parseTimestamp(stringValue(timestamp)),
  }
}

/** Parses a time in ISO 8601. Without a zone it is UTC, as the Python library means it. Null: not a valid time. */
export function parseTimestamp(text: string | null): number | null {
  const [, day, time, zone] =
    /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d:?\d\d)?$/.exec(text ?? '') ?? []
  const at =
    day === undefined || time === undefined ? Number.NaN : Date.parse(`${day}T${time.slice(0, 12)}${zone ?? 'Z'}`)
  return Number.isNaN(at) ? null : at
}

/** Parses a sequence number. Null: not a valid number. An archive of the actor can have any valid one (`recordInteger`). */
export function parseSequence(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** A callback that is stored until the callbacks before it arrive. */
export type Kept = Pick<IncomingCallback, 'data' | 'replaces' | 'granularity' | 'publishedAt'> & {
  readonly data: JsonText
}

export function keptText({ data, replaces, granularity, publishedAt }: Kept): JsonText {
  const members = `"replaces":${replaces},"granularity":${JSON.stringify(granularity)},"publishedAt":${publishedAt}`
  return known(`{"data":${data},${members}}`)
}

export function readKept(text: string): Kept {
  const fields = members(known(text))
  return {
    data: replaceLoneSurrogates(fields?.get('data') ?? known('{}')),
    replaces: fields?.get('replaces') === 'true',
    granularity: stringValue(fields?.get('granularity') ?? known('""')) ?? '',
    publishedAt: parseSequence(fields?.get('publishedAt') ?? ''),
  }
}

/** State of a subscription when a callback arrives. */
export interface ReceiverState {
  /** The last sequence number that was applied. */
  readonly sequence: number
  /** Sequence numbers of pending callbacks, ascending. */
  readonly pending: readonly number[]
  /** Time at which an open gap leads to a resync. Null: no gap. */
  readonly gapDueAt: number | null
  /** The copy is known to be wrong and a snapshot is due, so no diff is applied until then. */
  readonly awaitsResync: boolean
  /** Time of the last change that was applied, on the clock of the peer. Null: unknown. */
  readonly publishedAt: number | null
}

export interface ProcessorPolicy {
  readonly gapTimeoutMs: number
  readonly maxPending: number
}

export type CallbackVerdict =
  /** Apply the callback, and the pending callbacks after it up to `upTo`. */
  | { readonly kind: 'apply'; readonly upTo: number; readonly gapDueAt: number | null }
  | { readonly kind: 'hold'; readonly gapDueAt: number }
  /** The callback was applied already, or is pending. */
  | { readonly kind: 'ignore' }
  /** The peer uses a sequence number for another change, so it went back in time. Fetch a snapshot. */
  | { readonly kind: 'went-back' }
  | { readonly kind: 'refuse'; readonly retryAfterSeconds: number }
  /**
   * Fetch a snapshot, and replace the copy by it. Delete pending callbacks up to `dropUpTo`, and apply those from there
   * to `upTo`.
   */
  | {
      readonly kind: 'replace'
      readonly dropUpTo: number
      readonly upTo: number
      readonly gapDueAt: number | null
    }
  /** The callback is not part of the sequence. */
  | { readonly kind: 'pass' }

export function judgeCallback(
  state: ReceiverState,
  {
    type,
    sequence,
    publishedAt = null,
  }: Pick<IncomingCallback, 'type' | 'sequence'> & { readonly publishedAt?: number | null },
  now: number,
  policy: ProcessorPolicy,
): CallbackVerdict {
  if (type === 'permission') return { kind: 'pass' }
  if (type === 'resync') return judgeResync(state, sequence, now, policy)
  if (sequence <= state.sequence) return { kind: isLaterChange(state, sequence, publishedAt) ? 'went-back' : 'ignore' }
  if (state.pending.includes(sequence)) return { kind: 'ignore' }
  if (sequence === state.sequence + 1 && !state.awaitsResync) {
    const upTo = lastInRow(sequence, state.pending)
    return { kind: 'apply', upTo, gapDueAt: gapAfter(upTo, state.pending, now, policy) }
  }
  if (state.pending.length >= policy.maxPending) {
    const waitMs = (state.gapDueAt ?? now + policy.gapTimeoutMs) - now
    return { kind: 'refuse', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) }
  }
  return { kind: 'hold', gapDueAt: state.gapDueAt ?? now + policy.gapTimeoutMs }
}

/** Whether a known number belongs to a change after the last one that was applied. A repetition has an earlier time, or the same. */
function isLaterChange(state: ReceiverState, sequence: number, publishedAt: number | null): boolean {
  const isLater = publishedAt !== null && state.publishedAt !== null && publishedAt > state.publishedAt
  return sequence > 0 && isLater && !state.awaitsResync
}

/**
 * Decides about a resync. A sequence number below the last one means that the peer restarted its sequence, so all
 * pending callbacks are obsolete. Otherwise pending callbacks above the number stay valid.
 */
export function judgeResync(
  state: ReceiverState,
  sequence: number,
  now: number,
  policy: ProcessorPolicy,
): Extract<CallbackVerdict, { kind: 'replace' }> {
  if (sequence < state.sequence) {
    return { kind: 'replace', dropUpTo: Number.MAX_SAFE_INTEGER, upTo: sequence, gapDueAt: null }
  }
  const upTo = lastInRow(sequence, state.pending)
  return { kind: 'replace', dropUpTo: sequence, upTo, gapDueAt: gapAfter(upTo, state.pending, now, policy) }
}

/** The last number that follows `from` without a gap. */
function lastInRow(from: number, pending: readonly number[]): number {
  const waiting = new Set(pending)
  let last = from
  while (waiting.has(last + 1)) last++
  return last
}

function gapAfter(upTo: number, pending: readonly number[], now: number, policy: ProcessorPolicy): number | null {
  return pending.some((sequence) => sequence > upTo) ? now + policy.gapTimeoutMs : null
}

/** Failed fetches after which diffs are applied without waiting for the snapshot. */
const patientAttempts = 3

export function awaitsResync({
  resyncPending,
  attempts,
}: {
  readonly resyncPending: boolean
  readonly attempts: number
}): boolean {
  return resyncPending && attempts < patientAttempts
}

const firstRetryMs = 5000
/** Upper bound of the delay. A longer one means that the clock was set back since. */
export const longestRetryMs = 3_600_000

/** Delay of the next fetch after `attempts` failures in a row. */
export function fetchAgainMs(attempts: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempts, 20))
}

/** First check of a copy after a change, and the time between two checks. */
const firstCheckMs = 600_000
const checkAgainMs = 86_400_000
/** The time of a check that a process has begun without a gap. */
export const checkRuns = 0

/**
 * The time at which a copy is compared with its publisher after a change. The Python library announces only some of many
 * changes at the same time, without a gap in the numbers. An idle subscription has no check.
 */
export function checkTimeAfterChange(
  {
    checkAt,
    checkedAt,
    createdAt,
  }: { readonly checkAt: number | null; readonly checkedAt: number | null; readonly createdAt: number },
  now: number,
): number {
  // Spreads the checks.
  const part = (createdAt % 1000) / 1000
  const again = Math.round(checkAgainMs * (1 + part / 24))
  // With a time that is due, a busy publisher would be compared without a pause.
  if (checkAt === checkRuns) return now + again
  if (checkAt !== null) return checkAt
  const first = Math.round(now + firstCheckMs * (1 + part))
  return checkedAt === null ? first : Math.max(first, checkedAt + again)
}

/** The progress of a subscription whose copy was compared with the peer. A comparison that is not due stays planned. */
export function checkedNow(
  { checkAt }: { readonly checkAt: number | null },
  now: number,
): { readonly checkAt?: null; readonly checkedAt?: number } {
  return checkAt !== null && checkAt <= now ? { checkAt: null, checkedAt: now } : {}
}

/** A comparison that is due waits again, because diffs arrived instead. A busy peer would be asked without a pause. */
export function checkedLater(
  { checkAt }: { readonly checkAt: number | null },
  now: number,
): { readonly checkAt?: number } {
  return checkAt !== null && checkAt <= now ? { checkAt: now + firstCheckMs } : {}
}
