/** A callback as it goes out (wire, section 15). */
import { type JsonText, known } from '../json/json.ts'
import { hopsHeader } from '../subscription/hop-limit.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import type { Head, Waiting } from './queue-state-store.ts'
import type { LaneKey } from './queue-store.ts'

export interface Callback {
  readonly body: JsonText
  readonly headers: Readonly<Record<string, string>>
}

export interface CallbackOptions {
  /** Where the service is reached, without a slash at the end. */
  readonly baseUrl: string
  readonly maxHighGranularityBytes: number
}

/** Where all callbacks of a subscription go. */
export function callbackUrl(lane: LaneKey, { baseuri }: Head): string {
  return below(baseuri, ['callbacks', 'subscriptions', lane.actorId, lane.subscriptionId])
}

/** The members that all callbacks of a subscription about its diffs begin with. */
export function callbackOpening(lane: LaneKey, head: Head): string {
  const told = {
    ...common(lane, head),
    ...(head.subtarget === '' ? {} : { subtarget: head.subtarget }),
    ...(head.resource === '' ? {} : { resource: head.resource }),
  }
  return JSON.stringify(told).slice(0, -1)
}

/**
 * @param opening of the subscription.
 * @param data what the peer may see of the change now.
 */
export function diffCallback(
  lane: LaneKey,
  head: Head,
  opening: string,
  waiting: Waiting,
  { data, replaces }: Pick<Waiting, 'data' | 'replaces'>,
  { baseUrl, maxHighGranularityBytes }: CallbackOptions,
): Callback {
  const { sequence, createdAt, hops } = waiting
  const isHigh = head.granularity === 'high' && waiting.kind !== 'full'
  const isTooLarge = isHigh && isLarger(data, maxHighGranularityBytes)
  const numbered = `${opening},"sequence":${sequence},"timestamp":"${timestamp(createdAt)}"`
  // Beyond the protocol, `replaces` tells a receiver that merges from one that gets parts (`Fitted`).
  const body =
    isHigh && !isTooLarge
      ? `${numbered},"granularity":"high","data":${data}${replaces ? ',"replaces":true}' : '}'}`
      : `${numbered},"granularity":"low","url":${JSON.stringify(diffUrl(baseUrl, lane, sequence))}}`
  if (!isTooLarge && hops === 0) return { body: known(body), headers: {} }
  return {
    body: known(body),
    headers: {
      ...(isTooLarge ? { 'X-ActingWeb-Granularity-Downgraded': 'true' } : {}),
      // Beyond the protocol, and only between services that count.
      ...(hops === 0 ? {} : { [hopsHeader]: String(hops) }),
    },
  }
}

/** A character has three bytes at most: few texts are counted. */
function isLarger(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes
}

function diffUrl(baseUrl: string, { actorId, peerId, subscriptionId }: LaneKey, sequence: number): string {
  return below(baseUrl, [actorId, 'subscriptions', peerId, subscriptionId, String(sequence)])
}

/** The peer fetches the whole, and has everything up to `sequence` with it. */
export function resyncCallback(
  lane: LaneKey,
  head: Head,
  sequence: number,
  now: number,
  { baseUrl }: Pick<CallbackOptions, 'baseUrl'>,
): Callback {
  const path = [head.target, head.subtarget, head.subtarget === '' ? '' : head.resource].filter((step) => step !== '')
  const told = {
    ...common(lane, head),
    subtarget: head.subtarget,
    ...(head.resource === '' ? {} : { resource: head.resource }),
    sequence,
    timestamp: timestamp(now),
    granularity: head.granularity,
    type: 'resync',
    url: below(baseUrl, [lane.actorId, ...path]),
  }
  return { body: known(JSON.stringify(told)), headers: {} }
}

function common(lane: LaneKey, head: Head): object {
  return { id: lane.actorId, subscriptionid: lane.subscriptionId, target: head.target }
}

function below(base: string, segments: readonly string[]): string {
  return `${base}/${segments.map(encodeURIComponent).join('/')}`
}

let spelt = { second: Number.NaN, text: '' }

/** Unix milliseconds as ISO 8601 in UTC. What waits was mostly written within the same second. */
function timestamp(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== spelt.second) spelt = { second, text: new Date(second * 1000).toISOString().slice(0, -4) }
  return `${spelt.text}${String(ms - second * 1000).padStart(3, '0')}Z`
}

/** Option tags are believed for a day, as long as peers remember ours. */
const factsMs = 86_400_000

/** Whether the peer is known to support an option; null when it is not known whether it does. */
export function supports(facts: TrustFacts, tag: string, now: number): boolean | null {
  const { aw_supported: tags, capabilities_fetched_at: fetchedAt } = facts
  if (tags === undefined || fetchedAt === undefined) return null
  const age = now - Date.parse(fetchedAt)
  return age >= 0 && age < factsMs ? tags.split(',').some((known_) => known_.trim() === tag) : null
}
