/** Webhooks of actors: URLs that receive the changes of an actor, signed by the Standard Webhooks specification. */
import { isIP } from 'node:net'
import type { Registry } from '../app/registry.ts'
import { quoted, ServiceError } from '../errors.ts'
import { type JsonText, members, object, stringText } from '../json/json.ts'
import { eventsOf } from '../job/change-event.ts'
import { type Append, appendEntries, dropEntries, findJobTimeline, type ShownEntry } from '../job/entry-store.ts'
import { redriveJobs } from '../job/redrive-store.ts'
import { refusedAddress } from '../peer/address-rules.ts'
import { hostOf, judgeUrl, type PeerPolicy } from '../peer/url-rules.ts'
import { covers } from '../permission/pattern.ts'
import type { ChangeSink } from '../property/change.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId } from '../secret/random.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Transaction } from '../store/store.ts'
import { openSecrets, sealSecrets } from './secrets.ts'
import { isSecret, newSecret } from './signature.ts'
import {
  deleteWebhook,
  findReceivers,
  findTarget,
  findWebhooks,
  insertWebhook,
  putRefusals,
  putSecrets,
  type StoredWebhook,
} from './webhook-store.ts'

export const webhookEvents = ['property_changed', 'list_changed'] as const
export type WebhookEventName = (typeof webhookEvents)[number]

/** Members of a message that contain values. */
const valueMembers = new Set(['value', 'item', 'items', 'old_item'])

export interface NewWebhook {
  readonly url: string
  readonly events: readonly WebhookEventName[]
  /** Patterns of the names of properties and lists. Default: every name. */
  readonly names?: readonly string[] | undefined
  readonly description?: string | undefined
  /** Default: a new secret. */
  readonly secret?: string | undefined
}

export interface WebhookFacts extends Omit<StoredWebhook, 'events' | 'names'> {
  readonly events: readonly WebhookEventName[]
  readonly names: readonly string[]
}

export interface WebhooksDeps {
  readonly store: CatchUpStore
  readonly registry: Pick<Registry, 'propertyHooks'>
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly policy: PeerPolicy
  /** The most webhooks of an actor. */
  readonly maxWebhooks: number
  /** The most messages of a webhook that wait. */
  readonly maxWaiting: number
  /** Starts the delivery of the actor's messages after their commit. */
  readonly wake: (actorId: string) => void
}

export const longestUrl = 2000
export const mostNames = 20
export const longestName = 200
export const longestDescription = 200
/** Limit of a page of deliveries. */
export const mostShownDeliveries = 100
/** After a rotation, the old secret also signs for so long by default: a day. */
export const overlapSeconds = 86_400
export const longestOverlapSeconds = 30 * 86_400

export class Webhooks {
  readonly #deps: WebhooksDeps

  constructor(deps: WebhooksDeps) {
    this.#deps = deps
  }

  /**
   * Adds a webhook. The secret cannot be read again.
   *
   * @throws ServiceError `invalid_value` for a URL, event, name or secret that cannot be used; `forbidden` at the limit.
   */
  async add(actorId: string, webhook: NewWebhook): Promise<{ readonly id: string; readonly secret: string }> {
    requireUsable(webhook, this.#deps.policy)
    const { store, keyRing, now, maxWebhooks } = this.#deps
    const { url, events, names = [], description = '', secret = newSecret() } = webhook
    const id = randomId()
    await store.changeActor(actorId, async (tx, actor) => {
      if (actor.webhookCount >= maxWebhooks)
        throw new ServiceError('forbidden', `Cannot add the webhook: an actor may have at most ${maxWebhooks}`)
      await insertWebhook(tx, actorId, {
        id,
        url,
        events: JSON.stringify([...new Set(events)]),
        names: JSON.stringify(names),
        description,
        createdAt: now(),
        host: hostOf(url),
        secrets: sealSecrets(keyRing, actorId, id, { secret }),
      })
    })
    return { id, secret }
  }

  /** The webhooks of the actor, oldest first. */
  async list(actorId: string): Promise<WebhookFacts[]> {
    return (await this.#deps.store.read((q) => findWebhooks(q, actorId, null))).map(factsOf)
  }

  async find(actorId: string, id: string): Promise<WebhookFacts | null> {
    const [stored] = await this.#deps.store.read((q) => findWebhooks(q, actorId, id))
    return stored === undefined ? null : factsOf(stored)
  }

  /** Returns false when the webhook does not exist. A message that is sent now may still arrive. */
  remove(actorId: string, id: string): Promise<boolean> {
    return this.#deps.store.changeActor(actorId, (tx) => deleteWebhook(tx, actorId, id))
  }

  /**
   * Replaces the secret. Both secrets sign for `overlap` seconds. Null: the webhook does not exist.
   *
   * @throws ServiceError `invalid_value` for a secret that cannot be used.
   */
  async rotate(
    actorId: string,
    id: string,
    { secret = newSecret(), overlap = overlapSeconds }: { readonly secret?: string; readonly overlap?: number },
  ): Promise<string | null> {
    requireSecret(secret)
    const { store, keyRing, now } = this.#deps
    return store.changeActor(actorId, async (tx) => {
      const target = await findTarget(tx, actorId, id)
      if (target === null) return null
      const { secret: old } = openSecrets(keyRing, actorId, id, target.secrets)
      const secrets = { secret, old, oldUntil: now() + overlap * 1000 }
      await putSecrets(tx, actorId, id, sealSecrets(keyRing, actorId, id, overlap === 0 ? { secret } : secrets))
      return secret
    })
  }

  /** Sends a message of the type `test`. Returns its id; null: the webhook does not exist. */
  async test(actorId: string, id: string): Promise<string | null> {
    const { store } = this.#deps
    return store.changeActor(actorId, async (tx) => {
      if ((await findTarget(tx, actorId, id)) === null) return null
      const entryId = messageId()
      const data = object([['message', stringText('This is a test of the webhook')]])
      await this.#append(tx, actorId, [{ id, entries: [{ entryId, type: 'test', data }] }])
      return entryId
    })
  }

  /** The messages, newest first. Null: the webhook does not exist. */
  async deliveries(
    actorId: string,
    id: string,
    page: { readonly before: number | null; readonly limit: number },
  ): Promise<ShownEntry[] | null> {
    const key = { actorId, kind: 'webhook', id } as const
    return this.#deps.store.read(async (q) =>
      (await findTarget(q, actorId, id)) === null ? null : findJobTimeline(q, key, page),
    )
  }

  /** Sends failed messages again, and continues a suspended webhook. Returns their number; null without the webhook. */
  async redrive(actorId: string, id: string): Promise<number | null> {
    const { store, now, wake } = this.#deps
    return store.changeActor(actorId, async (tx) => {
      if ((await findTarget(tx, actorId, id)) === null) return null
      await putRefusals(tx, actorId, id, 0)
      const { entries } = await redriveJobs(tx, { actorId, kind: 'webhook', id }, now())
      store.afterCommit(tx, () => wake(actorId))
      return entries
    })
  }

  /** Stores the messages of a change, in its transaction. */
  readonly sink: ChangeSink = async (tx, actor, changes) => {
    if (actor.webhookCount === 0) return
    const events = eventsOf(changes)
    if (events.length === 0) return
    const receivers = await findReceivers(tx, actor.id)
    const appends = receivers.flatMap(({ id, ...wanted }): Append[] => {
      const types = JSON.parse(wanted.events) as string[]
      const names = JSON.parse(wanted.names) as string[]
      const entries = events
        .filter(
          ({ type, name }) => types.includes(type) && (names.length === 0 || names.some((one) => covers(one, name))),
        )
        .map(({ type, name, data }) => ({ entryId: messageId(), type, data: this.#shown(name, data) }))
      return entries.length === 0 ? [] : [{ id, entries }]
    })
    if (appends.length > 0) await this.#append(tx, actor.id, appends)
  }

  /** A hook may show readers another value than the stored one, or none, so the message leaves out values. */
  #shown(name: string, data: JsonText): JsonText {
    if (this.#deps.registry.propertyHooks(name, 'get').length === 0) return data
    return object([...(members(data) ?? [])].filter(([member]) => !valueMembers.has(member)))
  }

  async #append(tx: Transaction, actorId: string, appends: readonly Append[]): Promise<void> {
    const { store, now, wake, maxWaiting } = this.#deps
    const made = { now: now(), hops: 0, origin: tx.origin }
    const last = await appendEntries(tx, { actorId, kind: 'webhook' }, appends, made)
    // Checks the limit once per stride, so most changes need no statement for it.
    const stride = Math.max(1, Math.floor(maxWaiting / 16))
    const overfull = appends.flatMap(({ id, entries }) => {
      const number = last.get(id) ?? 0
      const isChecked = Math.floor(number / stride) > Math.floor((number - entries.length) / stride)
      return number > maxWaiting && isChecked ? [{ id, upTo: number - maxWaiting }] : []
    })
    if (overfull.length > 0) await dropEntries(tx, { actorId, kind: 'webhook' }, overfull)
    store.afterCommit(tx, () => wake(actorId))
  }
}

function factsOf({ events, names, ...webhook }: StoredWebhook): WebhookFacts {
  return { ...webhook, events: JSON.parse(events) as WebhookEventName[], names: JSON.parse(names) as string[] }
}

function messageId(): string {
  return `msg_${randomId()}`
}

function requireUsable({ url, events, names = [], description = '', secret }: NewWebhook, policy: PeerPolicy): void {
  requireUrl(url, policy)
  requireEvents(events)
  requireNames(names)
  if (typeof description !== 'string' || description.length > longestDescription || !isText(description))
    throw refuse(`its description must be a string of at most ${longestDescription} characters`)
  if (secret !== undefined) requireSecret(secret)
}

function refuse(why: string): ServiceError {
  return new ServiceError('invalid_value', `Cannot add the webhook: ${why}`)
}

function requireUrl(url: unknown, policy: PeerPolicy): void {
  if (typeof url !== 'string' || url.length > longestUrl)
    throw refuse(`its URL must be a string of at most ${longestUrl} characters`)
  const judged = judgeUrl(url, policy)
  if ('refused' in judged) throw refuse(`its URL ${judged.refused}`)
  // Each connection checks the address again, because the host of another URL resolves only then.
  const host = judged.url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && refusedAddress(host, policy.allowPrivatePeers) !== null)
    throw refuse('its URL names a private address')
}

function requireEvents(events: readonly unknown[]): void {
  const isKnown = (event: unknown): boolean => webhookEvents.some((known) => known === event)
  if (!Array.isArray(events) || events.length === 0 || !events.every(isKnown))
    throw refuse(`events must be some of ${webhookEvents.join(', ')}`)
}

function requireNames(names: readonly unknown[]): void {
  const isName = (name: unknown): boolean =>
    typeof name === 'string' && name !== '' && name.length <= longestName && isText(name)
  if (!Array.isArray(names) || names.length > mostNames || !names.every(isName))
    throw refuse(`names must be at most ${mostNames} strings of 1 to ${longestName} characters`)
}

function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

function requireSecret(secret: unknown): void {
  if (typeof secret === 'string' && isSecret(secret)) return
  throw new ServiceError(
    'invalid_value',
    `Cannot use the secret of the webhook: it must be ${quoted('whsec_')} and the base64 of 24 to 64 bytes`,
  )
}
