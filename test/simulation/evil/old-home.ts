/**
 * The service that an actor left, and that turned evil afterwards: it has the key of this home, the secrets and the data of the
 * time of the move, and answers as it likes at the old address.
 */
import { parseKeyRing } from '../../../src/secret/key-ring.ts'
import { hashSecret } from '../../../src/secret/hash.ts'
import type { PeerRequest } from '../../../src/peer/peer-client.ts'
import { open, type Sealed } from '../../../src/secret/sealed.ts'
import { bindingOf, departureSecrets } from '../../../src/secret/sealed-columns.ts'
import { evilStatement, signJws } from '../../support/evil-home.ts'
import type { Random } from '../../support/random.ts'
import { testKeys } from '../../support/service.ts'
import type { Outsider } from '../network.ts'
import type { Reply } from '../program.ts'
import type { LeftBehind } from '../workload.ts'
import type { Host, SimActor, World } from '../world.ts'
import { bogusTimes, forgedRecords } from './forged.ts'
import type { Heard } from './heard.ts'

interface DepartureSecrets {
  readonly key: string
  readonly token: string
  readonly claim: string
}

export class OldHome implements Outsider {
  readonly #world: World
  readonly #random: Random
  readonly #heard: Heard
  readonly #actor: SimActor
  /** The old address. */
  readonly #url: string
  /** The secrets of relationships at the time of the move, by peer. */
  readonly #secrets: readonly { readonly peerid: string; readonly secret: string }[]
  readonly #key: object
  readonly #tokens: readonly string[]
  readonly #claims: readonly string[]
  #document: object | null = null
  readonly #announced: { readonly host: Host; readonly token: string }[] = []
  count = 0

  constructor(world: World, random: Random, heard: Heard, left: readonly [LeftBehind, ...LeftBehind[]]) {
    const [{ actor, from }] = left
    this.#world = world
    this.#random = random
    this.#heard = heard
    this.#actor = actor
    this.#url = `${from.origin}/${actor.id}`
    this.#secrets = left.map(({ peerid, secret }) => ({ peerid, secret }))
    const now = from.ledger.departureOf(actor.id) ?? ''
    const moves = [...new Set([...left.map(({ sealed }) => sealed), now])]
      .filter((sealed) => sealed !== '')
      .map((sealed) => secretsIn(sealed, actor.id))
    this.#key = JSON.parse(moves.at(-1)?.key ?? '{}') as object
    this.#tokens = moves.map(({ token }) => token).filter((token) => token !== '')
    this.#claims = moves.map(({ claim }) => claim).filter((claim) => claim !== '')
    for (const secret of [...this.#tokens, ...this.#claims]) heard.own(secret)
    for (const { secret } of left) heard.own(secret)
    for (const hash of from.ledger.secretsOf(actor.id)) heard.ownHash(hash)
  }

  /** Takes the address over. */
  turn(): void {
    this.#world.trace(`${this.#url} turns evil`)
    this.#world.outsiders.set(this.#url, this)
  }

  /** Makes one attack. */
  async act(): Promise<void> {
    this.count += 1
    const attack = this.#random.pick<() => Promise<unknown>>([
      () => this.#state(),
      () => this.#state(),
      () => this.#state(),
      () => this.#callBack(),
      () => this.#callBack(),
      () => this.#useSecret(),
      () => this.#useSecret(),
      () => this.#useMove(),
      () => this.#announce(),
      () => this.#leave(),
      () => this.#publish(),
      () => this.#renew(),
    ])
    await attack()
  }

  async #send(host: Host, method: string, path: string, secret: string | null, body?: unknown): Promise<Reply | null> {
    const reply = await this.#world.askAsEvil(host, method, path, {
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      headers: path.startsWith('/moves/') && method === 'PUT' ? { 'content-type': 'application/x-ndjson' } : {},
    })
    if (reply !== null) this.#heard.take(`${JSON.stringify(reply.headers)} ${reply.body}`, `${method} ${path}`)
    return reply
  }

  #peer(): SimActor {
    const known = this.#world.actors.filter(({ id }) => this.#secrets.some(({ peerid }) => peerid === id))
    const all = known.length === 0 || this.#random.below(4) === 0 ? this.#world.actors : known
    return this.#random.pick(all as [SimActor, ...SimActor[]])
  }

  #secret(peer: SimActor): string {
    const own = this.#secrets.find(({ peerid }) => peerid === peer.id)
    const all = [...this.#heard.credentials]
    return own !== undefined && this.#random.below(3) > 0
      ? own.secret
      : (all[this.#random.below(all.length)] ?? 'evil'.repeat(10))
  }

  #home(): Host {
    return this.#random.pick(this.#world.hosts as [Host, ...Host[]])
  }

  /** States to a peer that the actor has moved, with the key of the old home. */
  async #state(): Promise<void> {
    const { id, url } = this.#actor
    const peer = this.#peer()
    const from = this.#random.pick([this.#url, url, url, `${this.#home().origin}/${id}`])
    const change = {
      ...(this.#random.below(2) === 0 ? { secret: this.#secret(peer) } : {}),
      ...(this.#random.below(2) === 0 ? bogusTimes(this.#random) : {}),
    }
    const statement = await evilStatement(this.#key, { from, peer: peer.url }, change)
    const reply = await this.#send(peer.host, 'POST', `/${peer.id}/callbacks/moved/${id}`, null, { statement })
    if (reply !== null && reply.status < 300)
      this.#world.violation(`EVIL: ${peer.id} took a statement of the old home of ${id}`)
  }

  /** Sends a change with the old secret. */
  async #callBack(): Promise<void> {
    const peer = this.#peer()
    const { id } = this.#actor
    const secret = this.#secret(peer)
    const [path, body] = this.#random.pick<readonly [string, object]>([
      [`/callbacks/permissions/${id}`, { properties: { patterns: ['*'], operations: ['read'] } }],
      [`/callbacks/subscriptions/${id}/${'s'.repeat(32)}`, { sequence: 1, data: {} }],
      [`/trust/friend/${id}`, { approved: true }],
      [`/subscriptions/${id}`, { target: 'properties', granularity: 'high' }],
    ])
    await this.#refused(peer.host, 'POST', `/${peer.id}${path}`, secret, body)
  }

  /** Uses the old secrets, as the actor at its peers and as the peers at the actor. */
  async #useSecret(): Promise<void> {
    const peer = this.#peer()
    const [host, owner, other] =
      this.#random.below(2) === 0 ? [peer.host, peer.id, this.#actor.id] : [this.#actor.host, this.#actor.id, peer.id]
    const [method, path] = this.#random.pick<readonly [string, string]>([
      ['GET', '/properties?format=full'],
      ['GET', `/subscriptions/${other}`],
      ['GET', `/trust/friend/${other}`],
      ['DELETE', `/trust/friend/${other}?peer=true`],
      ['PUT', '/properties/private'],
    ])
    const body = method === 'PUT' ? { theme: 'evil' } : undefined
    await this.#refused(host, method, `/${owner}${path}`, this.#secret(peer), body)
  }

  async #refused(host: Host, method: string, path: string, secret: string, body?: unknown): Promise<void> {
    const reply = await this.#send(host, method, path, secret, body)
    if (reply !== null && reply.status < 300)
      this.#world.violation(`EVIL: ${method} ${path} by the old home was answered ${reply.status}`)
  }

  /** Uses the token and the code of the move at the new home. */
  async #useMove(): Promise<void> {
    const { id, host } = this.#actor
    const all = [...this.#tokens, ...this.#claims]
    const secret = all[this.#random.below(all.length)] ?? 'evil'.repeat(10)
    const records = forgedRecords(id, [], () => secret)
    await this.#random.pick<() => Promise<unknown>>([
      () => this.#send(host, 'PUT', `/moves/${id}`, secret, records),
      () => this.#send(host, 'POST', `/moves/${id}/activation`, secret),
      () => this.#send(host, 'DELETE', `/moves/${id}`, secret),
      () => this.#send(host, 'GET', `/moves/${id}/claim?code=${secret}`, null),
    ])()
  }

  /** Announces the actor, as it was, to a service, and continues this move. */
  async #announce(): Promise<void> {
    const { id } = this.#actor
    const known = this.#announced[this.#random.below(this.#announced.length + 1)]
    if (known !== undefined) {
      const peers = this.#world.actors.filter((other) => other.id !== id)
      const records = forgedRecords(id, peers, () => this.#secret(this.#peer()))
      await (this.#random.below(2) === 0
        ? this.#send(known.host, 'PUT', `/moves/${id}`, known.token, records)
        : this.#send(known.host, 'POST', `/moves/${id}/activation`, known.token))
      return
    }
    const host = this.#home()
    const token = this.#heard.own(`old-${this.#random.below(2 ** 31)}-${'x'.repeat(32)}`)
    this.#world.forged.add(hashSecret(token))
    const to = `${host.origin}/${id}`
    this.#document = { state: 'moving', to, key: this.#shown(), token_hash: hashSecret(token) }
    const body = { actor: id, from: this.#url, token, claim_hash: hashSecret('evil-code') }
    const reply = await this.#send(host, 'POST', '/moves', null, body)
    if (reply?.status === 201) this.#announced.push({ host, token })
  }

  #shown(): object {
    return Object.fromEntries(Object.entries(this.#key).filter(([name]) => name !== 'd'))
  }

  /** Publishes a notice that names another new home, or the true one with another key. */
  async #leave(): Promise<void> {
    const { id, url } = this.#actor
    const to = this.#random.pick([url, `${this.#home().origin}/${id}`, `http://evil.test/${id}`])
    const claims = { iss: this.#url, sub: id, moved_to: to, key: this.#shown(), moved_at: Date.now() }
    const times = this.#random.below(3) === 0 ? bogusTimes(this.#random) : {}
    const notice = await signJws(this.#key, 'actor-move+jwt', { ...claims, ...times })
    this.#document = { state: 'moved', to, key: this.#shown(), notice }
  }

  async #publish(): Promise<void> {
    const from = [this.#actor.url, this.#url]
    this.#document = this.#random.below(2) === 0 ? null : { state: 'arrived', key: this.#shown(), from }
  }

  /** Asks a peer for the relationship again, from the old address. */
  async #renew(): Promise<void> {
    const { id } = this.#actor
    const known = this.#world.actors.filter((peer) => peer.host.ledger.secretOf(peer.id, id) !== null)
    // The first request of an id waits for the owner, also that of a stranger.
    const peer = known[this.#random.below(known.length)]
    if (peer === undefined) return
    await this.#refused(peer.host, 'POST', `/${peer.id}/trust/friend`, this.#secret(peer), {
      baseuri: this.#url,
      id,
      type: 'urn:actingweb:example.com:simulation',
      secret: this.#secret(peer),
      verify: 'evil'.repeat(8),
      crossing: 'lower-id',
    })
  }

  answer({ method, url, body, bearer, headers }: PeerRequest, { pathname }: URL): Promise<Reply> {
    this.#heard.take(
      `${url} ${typeof body === 'string' ? body : ''} ${JSON.stringify(headers ?? {})}`,
      `${method} ${url}`,
    )
    if (bearer !== undefined) this.#heard.takeCredential(bearer.secret)
    const json = (status: number, value: object): Reply => ({ status, headers: {}, body: JSON.stringify(value) })
    if (pathname.endsWith('/meta/moving'))
      return Promise.resolve(this.#document === null ? json(404, {}) : json(200, this.#document))
    if (pathname.endsWith('/meta')) return Promise.resolve(json(200, { id: this.#actor.id, type: 'urn:x:y:z' }))
    return Promise.resolve(json(200, { verification_token: 'evil'.repeat(8) }))
  }
}

function secretsIn(sealed: string, actorId: string): DepartureSecrets {
  const text = open(parseKeyRing(testKeys), sealed as Sealed, bindingOf(departureSecrets, actorId))
  return JSON.parse(text) as DepartureSecrets
}
