/** What a callback of a peer leads to: the rule, without a store, a clock or a network. Times are Unix milliseconds. */
import { choiceField, jsonField, nullable, objectSchema, parsedField, readObject, stringField } from '../json/fields.ts'
import { type JsonText, known, members, normalise, stringValue, withoutLoneSurrogates } from '../json/json.ts'

/** A callback as it came. */
export interface IncomingCallback {
  readonly type: 'diff' | 'resync' | 'permission'
  /** 0 when it names none. */
  readonly sequence: number
  /** Null when it has to be fetched. */
  readonly data: JsonText | null
  /** The values in `data` take the place of what was there, instead of being merged into it. */
  readonly replaces: boolean
  readonly url: string | null
  readonly granularity: string
}

const fields = {
  type: nullable(choiceField('`diff` unless given', ['diff', 'resync', 'permission'])),
  sequence: nullable(
    parsedField({ type: 'integer', minimum: 0, description: 'Of the diff' }, 'a whole number', (value) => {
      return parseSequence(stringValue(value) ?? value) ?? undefined
    }),
  ),
  data: nullable(jsonField('What changed; without it the data is fetched')),
  replaces: nullable(jsonField('`true`: the values in `data` are whole, not parts to be merged')),
  url: nullable(stringField('Where the data can be fetched, below the address of the peer')),
  granularity: nullable(stringField('Of the subscription')),
}

export const callbackSchema = objectSchema(fields)

/** @throws ServiceError `bad_request` for what is no callback. */
export function parseCallback(body: JsonText, maxDepth: number): IncomingCallback {
  const clean = normalise(withoutLoneSurrogates(body), maxDepth)
  const { type, sequence, data, replaces, url, granularity } = readObject('take this callback', fields, clean)
  return {
    type: type ?? 'diff',
    sequence: sequence ?? 0,
    // Beside a URL an empty one says as little as none.
    data: data === undefined || (url !== undefined && (data === '{}' || data === '""')) ? null : data,
    replaces: replaces === 'true',
    url: url ?? null,
    granularity: granularity ?? '',
  }
}

/** A number of a diff; null for anything else. */
export function parseSequence(text: string): number | null {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : null
}

/** A callback that is kept until its turn comes. */
export type Kept = Pick<IncomingCallback, 'data' | 'replaces' | 'granularity'> & { readonly data: JsonText }

export function keptText({ data, replaces, granularity }: Kept): JsonText {
  return known(`{"data":${data},"replaces":${replaces},"granularity":${JSON.stringify(granularity)}}`)
}

export function readKept(text: string): Kept {
  const fields = members(known(text))
  return {
    data: fields?.get('data') ?? known('{}'),
    replaces: fields?.get('replaces') === 'true',
    granularity: stringValue(fields?.get('granularity') ?? known('""')) ?? '',
  }
}

/** What is known of a subscription when a callback comes. */
export interface ReceiverState {
  /** The last number applied. */
  readonly sequence: number
  /** The numbers that wait for the ones before them, ascending. */
  readonly pending: readonly number[]
  /** When what is missing is given up, and everything is fetched instead; null when nothing is missing. */
  readonly gapDueAt: number | null
  /** The whole is about to be fetched: until then nothing is applied to what is known to be wrong. */
  readonly awaitsResync: boolean
}

export interface ProcessorPolicy {
  readonly gapTimeoutMs: number
  readonly maxPending: number
}

export type CallbackVerdict =
  /** The callback, and everything up to `upTo` that waited for it. */
  | { readonly kind: 'apply'; readonly upTo: number; readonly gapDueAt: number | null }
  | { readonly kind: 'hold'; readonly gapDueAt: number }
  /** It was applied, or waits already. */
  | { readonly kind: 'ignore' }
  | { readonly kind: 'refuse'; readonly retryAfterSeconds: number }
  /**
   * Everything is fetched and takes the place of what is there. What waits is dropped up to and including `dropUpTo`,
   * and applied from there to `upTo`.
   */
  | {
      readonly kind: 'replace'
      readonly dropUpTo: number
      readonly upTo: number
      readonly gapDueAt: number | null
    }
  /** It has no place in the order. */
  | { readonly kind: 'pass' }

export function judgeCallback(
  state: ReceiverState,
  { type, sequence }: Pick<IncomingCallback, 'type' | 'sequence'>,
  now: number,
  policy: ProcessorPolicy,
): CallbackVerdict {
  if (type === 'permission') return { kind: 'pass' }
  if (type === 'resync') return judgeResync(state, sequence, now, policy)
  if (sequence <= state.sequence || state.pending.includes(sequence)) return { kind: 'ignore' }
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

/**
 * A number below the last one means that the peer began anew: then nothing that waits belongs to what comes. Otherwise
 * what is above it still does.
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

/** Whether fetching failed so seldom that waiting for it is better than going on without it. */
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
/** What seems to wait longer was put off by a clock that has been set back since. */
export const longestRetryMs = 3_600_000

/** When to fetch again after `attempts` failures in a row. */
export function fetchAgainMs(attempts: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempts, 20))
}
