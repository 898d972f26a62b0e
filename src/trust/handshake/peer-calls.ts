/** Requests to the peer during a handshake. */
import { ServiceError } from '../../errors.ts'
import type { OverrideRules } from '../../permission/rules.ts'
import { isRefusal } from '../../outbox/policy.ts'
import type { Timers } from '../../timers.ts'
import { isObject, type JsonText, members, normalize, stringValue } from '../../json/json.ts'
import type { PeerClient, PeerOutcome } from '../../peer/peer-client.ts'
import { isAccepted } from '../../peer/ingress.ts'
import { sameSecret } from '../../secret/hash.ts'
import { idAt, trustUrl } from '../baseuri.ts'
import { readOverride } from '../permissions.ts'
import { keptOwn, settledById } from './incoming-request.ts'

/** Delays before the second and the third attempt to read the peer's metadata. */
const pausesMs = [500, 1000] as const
const maxDepth = 32

export type Meta = { readonly id: string; readonly type: string } | { readonly failed: string }

export interface OutgoingRequest {
  readonly actorId: string
  /** Root address of this actor. */
  readonly actorUrl: string
  readonly type: string
  readonly peerId: string
  readonly baseuri: string
  readonly relationship: string
  readonly secret: string
  readonly verify: string
  readonly description: string
  readonly invitation?: string | undefined
}

/** The relationship that an invitation offers. */
export interface OfferedRelationship {
  readonly relationship: string
  /** Name that the inviting person chose; empty without one. */
  readonly name: string
  /** The membership of an invitation to a group. Null: another relationship. */
  readonly membership: OfferedRole | null
}

/** A role at a group, as the group states it. */
export interface OfferedRole {
  /** Name of the kind of the group. */
  readonly kind: string
  readonly role: string
  /** In one phrase; empty without one. */
  readonly description: string
  readonly rules: OverrideRules
}

/** URL of this relationship at the peer, with the credential for it. */
export interface PeerAddress {
  readonly url: string
  readonly baseuri: string
  readonly secret: string
}

const approval = '{"approved":true}'

export class TrustCalls {
  readonly #client: PeerClient
  readonly #timers: Timers

  constructor(client: PeerClient, timers: Timers) {
    this.#client = client
    this.#timers = timers
  }

  /** Reads the peer's metadata, with up to three attempts. Repeating is safe, because the handshake has not begun. */
  async meta(baseuri: string): Promise<Meta> {
    const request = { method: 'GET', url: `${baseuri}/meta` } as const
    let outcome = await this.#client.call(request)
    for (const pauseMs of pausesMs) {
      if (outcome.kind === 'answered' && outcome.status < 500) break
      await new Promise<void>((resolve) => this.#timers.setTimer(pauseMs, resolve))
      outcome = await this.#client.call(request)
    }
    return readMeta(outcome, baseuri)
  }

  request(asked: OutgoingRequest): Promise<PeerOutcome> {
    return this.#client.call({
      method: 'POST',
      url: trustUrl(asked.baseuri, asked.relationship),
      body: JSON.stringify({
        baseuri: asked.actorUrl,
        id: asked.actorId,
        type: asked.type,
        secret: asked.secret,
        desc: asked.description,
        verify: asked.verify,
        crossing: settledById,
        invitation: asked.invitation,
      }),
    })
  }

  /** Reads the invitation with this link. Null: it is not open, or the peer does not answer. */
  async invitedTo(url: string): Promise<OfferedRelationship | null> {
    const outcome = await this.#client.call({ method: 'GET', url, headers: { Accept: 'application/json' } })
    if (outcome.kind !== 'answered' || outcome.status !== 200) return null
    const fields = objectIn(outcome.body)
    const relationship = textIn(fields, 'relationship')
    if (relationship === null) return null
    return { relationship, name: textIn(fields, 'name') ?? '', membership: membershipIn(fields?.get('membership')) }
  }

  /** Whether the peer accepted the request but ignored its secret, because the peer's own request wins. */
  keptOwn(outcome: PeerOutcome): boolean {
    return outcome.kind === 'answered' && textIn(objectIn(outcome.body), 'crossing') === keptOwn
  }

  /** Sends this actor's approval. A peer accepts it only with the secret of the relationship. */
  approve({ url, baseuri, secret }: PeerAddress): Promise<PeerOutcome> {
    return this.#client.call({ method: 'POST', url, bearer: { secret, baseuri }, body: approval })
  }

  /** Whether the peer's owner approved. The peer returns 200 for its record then, and refuses it otherwise. Null: unknown. */
  async isApproved({ url, baseuri, secret }: PeerAddress): Promise<boolean | null> {
    const outcome = await this.#client.call({ method: 'GET', url, bearer: { secret, baseuri } })
    const status = outcome.kind === 'answered' && isAccepted(outcome) ? outcome.status : null
    if (status === 200) return true
    return isRefusal(outcome) || status === 202 ? false : null
  }

  /** Whether the actor at this address confirms the token of a request that was made in its name. */
  async verify(asked: {
    readonly baseuri: string
    readonly relationship: string
    readonly actorId: string
    readonly secret: string
    readonly token: string
  }): Promise<boolean> {
    const { baseuri, relationship, actorId, secret, token } = asked
    const url = trustUrl(baseuri, relationship, actorId)
    const outcome = await this.#client.call({ method: 'GET', url, bearer: { secret, baseuri } })
    if (outcome.kind !== 'answered') return false
    const fields = objectIn(outcome.body)
    const shown = textIn(fields, 'verification_token') ?? textIn(fields, 'verificationToken')
    return shown !== null && sameSecret(shown, token)
  }
}

function readMeta(outcome: PeerOutcome, baseuri: string): Meta {
  if (outcome.kind !== 'answered') return { failed: outcome.reason }
  if (outcome.status < 200 || outcome.status > 299) return { failed: `its metadata request returned ${outcome.status}` }
  const fields = objectIn(outcome.body)
  const id = textIn(fields, 'id')
  const type = textIn(fields, 'type')
  if (id === null || type === null) return { failed: 'its metadata is not a JSON object with id and type' }
  return id === idAt(baseuri) ? { id, type } : { failed: 'its metadata names another actor' }
}

/** Null: no membership, or one whose permissions cannot be read. */
function membershipIn(json: JsonText | undefined): OfferedRole | null {
  const fields = json === undefined || !isObject(json) ? null : members(json)
  const [kind, role, permissions] = [textIn(fields, 'kind'), textIn(fields, 'role'), fields?.get('permissions')]
  if (kind === null || role === null || permissions === undefined) return null
  try {
    return { kind, role, description: textIn(fields, 'description') ?? '', rules: readOverride(permissions).rules }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return null
  }
}

function objectIn(body: string): ReadonlyMap<string, JsonText> | null {
  try {
    const json = normalize(body, maxDepth, 'keep')
    return isObject(json) ? members(json) : null
  } catch {
    return null
  }
}

function textIn(fields: ReadonlyMap<string, JsonText> | null, name: string): string | null {
  const value = fields?.get(name)
  return value === undefined ? null : stringValue(value)
}
