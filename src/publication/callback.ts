/** Builds callbacks (WIRE-SUB-05). */
import { type JsonText, known } from '../json/json.ts'
import { hopsHeader } from '../subscription/hop-limit.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import type { QueueState, QueuedDiff } from './queue-state-store.ts'
import type { QueueKey } from './queue-store.ts'

export interface OutgoingCallback {
  readonly body: JsonText
  /** The values in the body. Null: it has none, and the peer fetches them. */
  readonly carried: JsonText | null
  readonly headers: Readonly<Record<string, string>>
}

/** The subscription that a callback belongs to. */
export interface CallbackSource {
  readonly queue: QueueKey
  readonly state: QueueState
  /** Result of `callbackOpening`. */
  readonly opening: string
}

export interface OutgoingCallbackOptions {
  /** URL of the service, without a trailing slash. */
  readonly baseUrl: string
  readonly maxHighGranularityBytes: number
}

/** URL of all callbacks of a subscription. */
export function callbackUrl(queue: QueueKey, { baseuri }: QueueState): string {
  return below(baseuri, ['callbacks', 'subscriptions', queue.actorId, queue.subscriptionId])
}

/** The JSON members at the start of all diff callbacks of a subscription. */
export function callbackOpening(queue: QueueKey, state: QueueState): string {
  const fields = {
    ...common(queue, state),
    ...(state.subtarget === '' ? {} : { subtarget: state.subtarget }),
    ...(state.resource === '' ? {} : { resource: state.resource }),
  }
  return JSON.stringify(fields).slice(0, -1)
}

/** Builds the callback of a diff. The second parameter is the part of the diff that the peer may read now. */
export function diffCallback(
  { queue, state, opening }: CallbackSource,
  diff: QueuedDiff,
  { data, replaces }: Pick<QueuedDiff, 'data' | 'replaces'>,
  { baseUrl, maxHighGranularityBytes }: OutgoingCallbackOptions,
): OutgoingCallback {
  const { sequence, createdAt, hops } = diff
  const isHigh = state.granularity === 'high' && diff.kind !== 'full'
  const isTooLarge = isHigh && isLarger(data, maxHighGranularityBytes)
  const numbered = `${opening},"sequence":${sequence},"timestamp":"${new Date(createdAt).toISOString()}"`
  // An extension of the protocol: `replaces` tells the receiver not to merge the data (`ProjectedDiff`).
  const body =
    isHigh && !isTooLarge
      ? `${numbered},"granularity":"high","data":${data}${replaces ? ',"replaces":true}' : '}'}`
      : `${numbered},"granularity":"low","url":${JSON.stringify(diffUrl(baseUrl, queue, sequence))}}`
  const carried = isHigh && !isTooLarge ? data : null
  if (!isTooLarge && hops === 0) return { body: known(body), carried, headers: {} }
  return {
    body: known(body),
    carried,
    headers: {
      ...(isTooLarge ? { 'X-ActingWeb-Granularity-Downgraded': 'true' } : {}),
      // An extension of the protocol. Services that do not know the header ignore it.
      ...(hops === 0 ? {} : { [hopsHeader]: String(hops) }),
    },
  }
}

/** A UTF-16 unit has at most three bytes, so short strings need no count. */
function isLarger(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes
}

function diffUrl(baseUrl: string, { actorId, peerId, subscriptionId }: QueueKey, sequence: number): string {
  return below(baseUrl, [actorId, 'subscriptions', peerId, subscriptionId, String(sequence)])
}

/** Asks the peer to fetch the full state, which includes everything up to `sequence`. */
export function resyncCallback(
  { queue, state }: CallbackSource,
  sequence: number,
  now: number,
  { baseUrl }: Pick<OutgoingCallbackOptions, 'baseUrl'>,
): OutgoingCallback {
  const path = [state.target, state.subtarget, state.subtarget === '' ? '' : state.resource].filter(
    (step) => step !== '',
  )
  const fields = {
    ...common(queue, state),
    subtarget: state.subtarget,
    ...(state.resource === '' ? {} : { resource: state.resource }),
    sequence,
    timestamp: new Date(now).toISOString(),
    granularity: state.granularity,
    type: 'resync',
    url: below(baseUrl, [queue.actorId, ...path]),
  }
  return { body: known(JSON.stringify(fields)), carried: null, headers: {} }
}

function common(queue: QueueKey, state: QueueState): object {
  return { id: queue.actorId, subscriptionid: queue.subscriptionId, target: state.target }
}

function below(base: string, segments: readonly string[]): string {
  return `${base}/${segments.map(encodeURIComponent).join('/')}`
}

/** Option tags are cached for a day, as peers cache ours. */
const factsMs = 86_400_000

/** Whether the peer supports an option. Null: unknown. */
export function supports(facts: TrustFacts, tag: string, now: number): boolean | null {
  const { aw_supported: tags, capabilities_fetched_at: fetchedAt } = facts
  if (tags === undefined || fetchedAt === undefined) return null
  const age = now - Date.parse(fetchedAt)
  return age >= 0 && age < factsMs ? tags.split(',').some((known_) => known_.trim() === tag) : null
}
