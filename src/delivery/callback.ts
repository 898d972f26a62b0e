/** A callback as it goes out (wire, section 15). */
import { type JsonText, known, object, stringText } from '../json/json.ts'
import { hopsHeader } from '../subscription/hops.ts'
import type { TrustFacts } from '../trust/trust.ts'
import type { Head, Waiting } from './head-store.ts'
import type { LaneKey } from './lane-store.ts'

export interface Callback {
  readonly url: string
  readonly body: JsonText
  readonly headers: Readonly<Record<string, string>>
}

export interface CallbackOptions {
  /** Where the service is reached, without a slash at the end. */
  readonly baseUrl: string
  readonly maxHighGranularityBytes: number
}

/** @param waiting With what the peer may see of the change now. */
export function diffCallback(
  lane: LaneKey,
  head: Head,
  waiting: Waiting,
  { baseUrl, maxHighGranularityBytes }: CallbackOptions,
): Callback {
  const { data } = waiting
  const isHigh = head.granularity === 'high' && waiting.kind !== 'full'
  const isTooLarge = isHigh && Buffer.byteLength(data) > maxHighGranularityBytes
  const address = [lane.actorId, 'subscriptions', lane.peerId, lane.subscriptionId, String(waiting.sequence)]
  return {
    url: urlOf(lane, head),
    body: object([
      ...common(lane, head),
      ...(head.subtarget === '' ? [] : [['subtarget', stringText(head.subtarget)] as const]),
      ...(head.resource === '' ? [] : [['resource', stringText(head.resource)] as const]),
      ['sequence', known(String(waiting.sequence))],
      ['timestamp', timestamp(waiting.createdAt)],
      ['granularity', stringText(isHigh && !isTooLarge ? 'high' : 'low')],
      ...(isHigh && !isTooLarge
        ? [
            ['data', data] as const,
            // Beyond the protocol: tells a receiver that merges from one that gets parts (`Fitted`).
            ...(waiting.replaces ? [['replaces', known('true')] as const] : []),
          ]
        : [['url', stringText(below(baseUrl, address))] as const]),
    ]),
    headers: {
      ...(isTooLarge ? { 'X-ActingWeb-Granularity-Downgraded': 'true' } : {}),
      // Beyond the protocol, and only between services that count.
      ...(waiting.hops === 0 ? {} : { [hopsHeader]: String(waiting.hops) }),
    },
  }
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
  return {
    url: urlOf(lane, head),
    body: object([
      ...common(lane, head),
      ['subtarget', stringText(head.subtarget)],
      ...(head.resource === '' ? [] : [['resource', stringText(head.resource)] as const]),
      ['sequence', known(String(sequence))],
      ['timestamp', timestamp(now)],
      ['granularity', stringText(head.granularity)],
      ['type', known('"resync"')],
      ['url', stringText(below(baseUrl, [lane.actorId, ...path]))],
    ]),
    headers: {},
  }
}

function common(lane: LaneKey, head: Head): (readonly [string, JsonText])[] {
  return [
    ['id', stringText(lane.actorId)],
    ['subscriptionid', stringText(lane.subscriptionId)],
    ['target', stringText(head.target)],
  ]
}

function urlOf(lane: LaneKey, head: Head): string {
  return below(head.baseuri, ['callbacks', 'subscriptions', lane.actorId, lane.subscriptionId])
}

function below(base: string, segments: readonly string[]): string {
  return `${base}/${segments.map(encodeURIComponent).join('/')}`
}

/** Unix milliseconds as ISO 8601 in UTC. */
function timestamp(ms: number): JsonText {
  return stringText(new Date(ms).toISOString())
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
