/** Companions: actors that an actor creates at another service, or at its own, and controls as their trustee. */
import { personKind } from '../app/kinds/person.ts'
import type { CompanionKind } from '../app/declarations.ts'
import { ServiceError } from '../errors.ts'
import { isObject, type JsonText, members, normalize, stringValue } from '../json/json.ts'
import { isAccepted, isIngressPage } from '../peer/ingress.ts'
import type { PeerClient, PeerOutcome } from '../peer/peer-client.ts'
import { open, seal } from '../secret/sealed.ts'
import { bindingOf, companionPassphrase } from '../secret/sealed-columns.ts'
import { parseBaseuri, trustUrl } from './baseuri.ts'
import { type Companion, deleteCompanion, findCompanion, insertCompanion } from './companion-store.ts'
import { secretOf } from './record.ts'
import type { Trust } from './trust.ts'
import type { Self, TrustDeps } from './trust-deps.ts'
import type { Trusts } from './trusts.ts'

type Answered = Extract<PeerOutcome, { kind: 'answered' }>

/** The kind that every actor has without a declaration: a companion at its own service, of its own type. */
export const myself = 'myself'

const trustee = 'trustee'

export class Companions {
  readonly #deps: TrustDeps
  readonly #trusts: Trusts
  readonly #client: PeerClient

  constructor(deps: TrustDeps, trusts: Trusts, client: PeerClient) {
    this.#deps = deps
    this.#trusts = trusts
    this.#client = client
  }

  find(actorId: string, kind: string): Promise<Companion | null> {
    return this.#deps.store.read((q) => findCompanion(q, actorId, kind))
  }

  /**
   * Returns the companion of this kind, and creates it when it does not exist. Both sides approve the relationship.
   *
   * @throws ServiceError `bad_request` for a kind that is not declared, `peer_failed`
   */
  async obtain(actor: Self, kind: string): Promise<Companion> {
    const known = await this.find(actor.id, kind)
    if (known !== null) return known
    const { factory, type, relationship } = this.#kind(kind)
    const made = await this.#make(actor, kind, factory)
    try {
      if (type !== undefined && made.type !== type) throw failed('it made another kind of actor')
      const isFirst = await this.#deps.store.writeActor(actor.id, (tx) => insertCompanion(tx, made))
      if (!isFirst) throw failed('another companion of this kind was made at the same time')
    } catch (error) {
      await this.#call(made, 'DELETE', '')
      throw error
    }
    try {
      await this.#befriend(actor, made, relationship)
    } catch (error) {
      await this.remove(actor, kind)
      throw error
    }
    return made
  }

  /** Deletes the companion, its actor and the relationship. False: no such companion. @throws ServiceError `peer_failed` */
  async remove(actor: Self, kind: string): Promise<boolean> {
    const companion = await this.find(actor.id, kind)
    if (companion === null) return false
    const outcome = await this.#call(companion, 'DELETE', '')
    const isGone =
      isAccepted(outcome) || (outcome.kind === 'answered' && outcome.status === 404 && !isIngressPage(outcome))
    if (!isGone) throw failed(reasonOf(outcome))
    await this.#deps.store.writeActor(actor.id, (tx) => deleteCompanion(tx, actor.id, kind))
    await this.#trusts.delete(actor, companion.peerId, null, { byPeer: false, notify: false })
    return true
  }

  /**
   * Sends a request below the companion's address with the secret of the relationship. Repeats it as the trustee when
   * the companion refuses that secret.
   *
   * @throws ServiceError `peer_failed` when the companion cannot be reached.
   */
  async relay(
    actor: Self,
    companion: Companion,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: string,
  ): Promise<Answered> {
    const trust = await this.#trusts.find(actor.id, companion.peerId)
    const asPeer = trust === null ? null : await this.#callAsPeer(trust, method, path, body)
    const outcome =
      asPeer === null || (asPeer.kind === 'answered' && [302, 401, 403].includes(asPeer.status))
        ? await this.#call(companion, method, path, body)
        : asPeer
    if (outcome.kind !== 'answered') throw failed(outcome.reason)
    return outcome
  }

  #kind(name: string): CompanionKind {
    const { registry, baseUrl, typeOf } = this.#deps
    const declared = registry.companions.get(name)
    if (declared !== undefined) return declared
    if (name === myself) return { factory: `${baseUrl}/`, type: typeOf({ kind: personKind }), relationship: 'friend' }
    throw new ServiceError('bad_request', `Cannot create a companion: the kind ${JSON.stringify(name)} is not declared`)
  }

  async #make(actor: Self, kind: string, factory: string): Promise<Companion> {
    const outcome = await this.#client.call({
      method: 'POST',
      url: factory,
      body: JSON.stringify({ creator: trustee, trustee_root: `${this.#deps.baseUrl}/${actor.id}` }),
    })
    if (outcome.kind !== 'answered' || outcome.status !== 201) throw failed(reasonOf(outcome))
    const baseuri = parseBaseuri(outcome.headers['location'] ?? '')
    const passphrase = textIn(outcome.body, 'passphrase')
    // Accepts a passphrase only for an address at the service that sent it, because later calls carry the passphrase.
    if (baseuri === null || passphrase === null || new URL(baseuri).origin !== new URL(factory).origin) {
      throw failed('its factory did not return the address and the passphrase of the new actor')
    }
    const meta = await this.#deps.calls.meta(baseuri)
    if ('failed' in meta) throw failed(meta.failed)
    const binding = bindingOf(companionPassphrase, actor.id, kind)
    return {
      actorId: actor.id,
      kind,
      peerId: meta.id,
      baseuri,
      type: meta.type,
      passphrase: seal(this.#deps.keyRing, passphrase, binding),
    }
  }

  async #befriend(actor: Self, companion: Companion, relationship: string): Promise<void> {
    const trust = await this.#trusts.request(actor, { url: companion.baseuri, relationship })
    const path = trustUrl('', trust.relationship, actor.id)
    const approved = await this.#call(companion, 'PUT', path, '{"approved":true}')
    if (!isAccepted(approved)) throw failed(reasonOf(approved))
    await this.#trusts.approvedByPeer(actor, trust.peerId, trust.relationship)
  }

  #call(
    companion: Companion,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: string,
  ): Promise<PeerOutcome> {
    const { baseuri, actorId, kind, passphrase } = companion
    const password = open(this.#deps.keyRing, passphrase, bindingOf(companionPassphrase, actorId, kind))
    return this.#client.call({
      method,
      url: `${baseuri}${path}`,
      basic: { user: trustee, password, baseuri },
      body,
    })
  }

  #callAsPeer(
    trust: Trust,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: string,
  ): Promise<PeerOutcome> {
    return this.#client.call({
      method,
      url: `${trust.baseuri}${path}`,
      bearer: { secret: secretOf(this.#deps.keyRing, trust), baseuri: trust.baseuri },
      body,
    })
  }
}

function reasonOf(outcome: PeerOutcome): string {
  return outcome.kind === 'answered' ? `it answered ${outcome.status}` : outcome.reason
}

function textIn(body: string, name: string): string | null {
  let json: JsonText
  try {
    json = normalize(body, undefined, 'keep')
  } catch {
    return null
  }
  const value = isObject(json) ? members(json)?.get(name) : undefined
  return value === undefined ? null : stringValue(value)
}

function failed(reason: string): ServiceError {
  return new ServiceError('peer_failed', 'Cannot use the companion: its service did not return a valid response', {
    reason,
  })
}
