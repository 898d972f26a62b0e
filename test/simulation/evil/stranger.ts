/** A stranger with full control of one service: it knows the ids of all actors, and lies in every request and every answer. */
import { hashSecret } from '../../../src/secret/hash.ts'
import type { PeerRequest } from '../../../src/peer/peer-client.ts'
import type { Random } from '../../support/random.ts'
import { type EvilKeys, evilStatement, newEvilKeys, signJws } from '../../support/evil-home.ts'
import type { Outsider } from '../network.ts'
import type { Reply } from '../program.ts'
import type { Host, SimActor, World } from '../world.ts'
import type { Heard } from './heard.ts'
import { bogusTimes, forgedRecords } from './forged.ts'

export const strangerOrigin = 'http://evil.test'
/** The actor that the stranger has, beside those that it pretends to have. */
export const strangerId = 'e'.repeat(32)

/** An announced move of the stranger. */
interface Announced {
  readonly id: string
  readonly host: Host
  readonly token: string
  readonly code: string
  newKey: object
  passphrase: string | null
}

const relationships = ['friend', 'friend', 'associate', 'associate', 'partner', 'admin', 'unknown'] as const
const resources = [
  '/properties?format=full',
  '/trust',
  '/subscriptions',
  '/meta/moving',
  '/activity',
  '/move',
  '/files',
  '/resources',
  '/attributes',
  '',
] as const

export class Stranger implements Outsider {
  readonly #world: World
  readonly #random: Random
  readonly #heard: Heard
  #keys: EvilKeys = { shown: {}, kept: {} }
  /** By id: what `/meta/moving` answers. */
  readonly #documents = new Map<string, object>()
  /** By id: the token that its last trust request has to confirm. */
  readonly #verify = new Map<string, string>()
  readonly #moves: Announced[] = []
  /** Ids of subscriptions that were named to it. */
  readonly #subscriptions = ['s'.repeat(32)]
  readonly #statements: string[] = []
  /** Whether it may take the ids of other actors in trust requests, which block theirs until the owner decides. */
  mayPretend = true
  count = 0

  constructor(world: World, random: Random, heard: Heard) {
    this.#world = world
    this.#random = random
    this.#heard = heard
  }

  async open(): Promise<void> {
    this.#keys = await newEvilKeys()
    this.#world.outsiders.set(strangerOrigin, this)
  }

  /** Makes one attack. */
  async act(): Promise<void> {
    this.count += 1
    const attack = this.#random.pick<() => Promise<unknown>>([
      () => this.#askForTrust(),
      () => this.#askForTrust(),
      () => this.#pretendToMove(),
      () => this.#pretendToMove(),
      () => this.#pretendToMove(),
      () => this.#state(),
      () => this.#state(),
      () => this.#callBack(),
      () => this.#callBack(),
      () => this.#notify(),
      () => this.#read(),
      () => this.#read(),
      () => this.#write(),
      () => this.#end(),
      () => this.#lead(),
    ])
    await attack()
  }

  // Requests

  #victim(): SimActor {
    return this.#random.pick(this.#world.actors as [SimActor, ...SimActor[]])
  }

  /** An id that it uses: its own, or that of another actor. */
  #name(): string {
    return this.#random.below(2) === 0 ? strangerId : this.#victim().id
  }

  #made(): string {
    return this.#heard.own(
      `evil-${this.#random
        .below(2 ** 31)
        .toString(36)
        .padStart(16, '0')}`,
    )
  }

  #secret(): string {
    const known = [...this.#heard.credentials]
    return this.#random.below(3) === 0 ? this.#made() : (known[this.#random.below(known.length)] ?? this.#made())
  }

  async #send(
    host: Host,
    method: string,
    path: string,
    given: { readonly secret?: string; readonly body?: unknown; readonly headers?: Record<string, string> } = {},
  ): Promise<Reply | null> {
    const { secret, body, headers = {} } = given
    const reply = await this.#world.askAsEvil(host, method, path, {
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      headers,
    })
    if (reply !== null) this.#heard.take(`${JSON.stringify(reply.headers)} ${reply.body}`, `${method} ${path}`)
    return reply
  }

  /** Asks for a relationship from its own address, or in the name of another actor at its address. */
  async #askForTrust(): Promise<void> {
    const victim = this.#victim()
    const isOwn = !this.mayPretend || this.#random.below(2) === 0
    const id = isOwn ? strangerId : this.#victim().id
    const isSpoof = !isOwn && this.#random.below(4) === 0
    const other = this.#world.actors.find((actor) => actor.id === id)
    const verify = this.#made()
    if (this.#random.below(4) > 0) this.#verify.set(id, verify)
    const reply = await this.#send(victim.host, 'POST', `/${victim.id}/trust/${this.#random.pick(relationships)}`, {
      body: {
        baseuri: isSpoof && other !== undefined ? other.url : `${strangerOrigin}/${id}`,
        id,
        type: 'urn:actingweb:example.com:simulation',
        desc: 'It is me',
        secret: this.#random.below(5) === 0 ? '' : this.#secret(),
        verify,
        ...(this.#random.below(2) === 0 ? { crossing: 'lower-id' } : {}),
        ...(this.#random.below(4) === 0 ? { invitation: this.#made() } : {}),
      },
    })
    const minted = reply === null ? undefined : /"secret":"([^"]+)"/.exec(reply.body)?.[1]
    if (minted !== undefined) this.#heard.own(minted)
  }

  /** One step of a move from its address to a service, with the id of another actor. */
  async #pretendToMove(): Promise<void> {
    const known = this.#moves[this.#random.below(this.#moves.length + 1)]
    if (known === undefined) return this.#announce()
    const { id, host, token, code } = known
    await this.#random.pick<() => Promise<unknown>>([
      () => this.#sendArchive(known),
      () => this.#leave(known),
      () => this.#send(host, 'POST', `/moves/${id}/activation`, { secret: token }),
      () => this.#send(host, 'POST', `/moves/${id}/activation`, { secret: token }),
      () => this.#send(host, 'DELETE', `/moves/${id}`, { secret: token }),
      () => this.#send(host, 'GET', `/moves/${id}/claim?code=${code}`),
      () => this.#claim(known),
    ])()
  }

  async #announce(): Promise<void> {
    const id = this.#random.below(8) === 0 ? strangerId : this.#victim().id
    const host = this.#random.pick(this.#world.hosts as [Host, ...Host[]])
    const [token, code] = [`${this.#made()}${'-'.repeat(32)}`, this.#made()]
    const from = `${strangerOrigin}/${id}`
    this.#world.forged.add(hashSecret(token))
    this.#heard.own(token)
    this.#documents.set(id, {
      state: 'moving',
      to: `${host.origin}/${id}`,
      key: this.#keys.shown,
      token_hash: hashSecret(token),
    })
    const body = { actor: id, from, token, claim_hash: hashSecret(code) }
    const reply = await this.#send(host, 'POST', '/moves', { body })
    if (reply?.status !== 201) return
    const newKey = (JSON.parse(reply.body) as { key: object }).key
    this.#moves.push({ id, host, token, code, newKey, passphrase: null })
  }

  async #sendArchive({ id, host, token }: Announced): Promise<void> {
    const peers = this.#world.actors.filter((actor) => actor.id !== id)
    const body = forgedRecords(id, peers, () => this.#secret())
    const headers = { 'content-type': 'application/x-ndjson' }
    await this.#send(host, 'PUT', `/moves/${id}`, { secret: token, body, headers })
  }

  /** Publishes the notice of an announced move. */
  async #leave({ id, host, newKey }: Announced): Promise<void> {
    const [from, to] = [`${strangerOrigin}/${id}`, `${host.origin}/${id}`]
    const times = this.#random.below(4) === 0 ? bogusTimes(this.#random) : { moved_at: Date.now() }
    const claims = { iss: from, sub: id, moved_to: to, key: newKey, ...times }
    const notice = await signJws(this.#keys.kept, 'actor-move+jwt', claims)
    this.#documents.set(id, { state: 'moved', to, key: this.#keys.shown, notice })
  }

  /** Takes the actor that it brought to a service, and asks others for relationships from there. */
  async #claim(move: Announced): Promise<void> {
    const { id, host, code } = move
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
    const page = await this.#send(host, 'POST', `/moves/${id}/claim`, { body: `code=${code}`, headers })
    const passphrase = /\b[0-9a-f]{40}\b/.exec(page?.body ?? '')?.[0]
    if (passphrase !== undefined) move.passphrase = this.#heard.own(passphrase)
    if (move.passphrase === null || !this.mayPretend) return
    const victim = this.#victim()
    await this.#world.askAsEvil(host, 'POST', `/${id}/trust`, {
      authorization: `Basic ${Buffer.from(`mallory:${move.passphrase}`).toString('base64')}`,
      body: JSON.stringify({ url: victim.url, relationship: 'friend' }),
    })
  }

  /** States to an actor that one of its peers has moved. */
  async #state(): Promise<void> {
    const [victim, moved] = [this.#victim(), this.#victim()]
    const addresses = [
      `${strangerOrigin}/${moved.id}`,
      moved.url,
      ...this.#world.hosts.map((h) => `${h.origin}/${moved.id}`),
    ]
    const from = this.#random.pick(addresses as [string, ...string[]])
    if (from.startsWith(strangerOrigin)) {
      const cameFrom = this.#world.hosts.map(({ origin }) => `${origin}/${moved.id}`)
      this.#documents.set(moved.id, { state: 'arrived', key: this.#keys.shown, from: cameFrom })
    }
    const old = this.#statements[this.#random.below(this.#statements.length)]
    const isOld = old !== undefined && this.#random.below(3) === 0
    const change = { secret: this.#secret(), ...(this.#random.below(2) === 0 ? {} : bogusTimes(this.#random)) }
    const statement = isOld ? old : await evilStatement(this.#keys.kept, { from, peer: victim.url }, change)
    await this.#send(victim.host, 'POST', `/${victim.id}/callbacks/moved/${moved.id}`, { body: { statement } })
  }

  #callback(): object {
    const [first = ''] = this.#subscriptions
    const forged = { theme: this.#made() }
    return {
      id: this.#name(),
      target: 'properties',
      sequence: this.#random.pick([0, 1, 2, 3, 9, 2 ** 53 - 1, -1]),
      timestamp: new Date(Date.now()).toISOString(),
      granularity: this.#random.pick(['high', 'low']),
      subscriptionid: this.#subscriptions[this.#random.below(this.#subscriptions.length)] ?? first,
      ...this.#random.pick<object>([
        { data: { mood: forged, settings: forged } },
        { data: { todo: { list: 'todo', operation: 'clear', length: 0 } } },
        { type: 'resync', url: `${strangerOrigin}/${strangerId}/properties` },
        { url: `${strangerOrigin}/${strangerId}/subscriptions/x/1` },
      ]),
    }
  }

  /** Sends a change in the name of a peer. */
  async #callBack(): Promise<void> {
    const victim = this.#victim()
    const body = this.#callback() as { readonly subscriptionid: string }
    const path = `/${victim.id}/callbacks/subscriptions/${this.#name()}/${body.subscriptionid}`
    const sent = this.#random.below(6) === 0 ? {} : { secret: this.#secret() }
    await this.#send(victim.host, this.#random.pick(['POST', 'PUT']), path, { body, ...sent })
  }

  /** Pushes permissions and approvals in the name of a peer. */
  async #notify(): Promise<void> {
    const [victim, name] = [this.#victim(), this.#name()]
    const [path, body] = this.#random.pick<readonly [string, object]>([
      [`/callbacks/permissions/${name}`, { properties: { patterns: ['*'], operations: ['read', 'write'] } }],
      [`/callbacks/permissions/${name}`, { data: {}, id: name, timestamp: '9999-12-31T23:59:59Z' }],
      [`/trust/friend/${name}`, { approved: true }],
      [`/subscriptions/${name}`, { target: 'properties', granularity: 'high' }],
    ])
    await this.#send(victim.host, 'POST', `/${victim.id}${path}`, { secret: this.#secret(), body })
  }

  async #read(): Promise<void> {
    const victim = this.#victim()
    const more = [`/trust/friend/${this.#name()}`, `/subscriptions/${this.#name()}`, `/trust/${this.#name()}`]
    const path = this.#random.pick([...resources, ...more])
    const sent = this.#random.below(6) === 0 ? {} : { secret: this.#secret() }
    await this.#send(victim.host, 'GET', `/${victim.id}${path}`, sent)
  }

  /** Writes what only an owner or a friend may write. */
  async #write(): Promise<void> {
    const victim = this.#victim()
    const [method, path, body] = this.#random.pick<readonly [string, string, object]>([
      ['PUT', '/properties/private', { theme: 'evil' }],
      ['POST', '/move', { to: strangerOrigin }],
      ['PUT', `/trust/friend/${this.#name()}`, { approved: true }],
      ['PUT', `/trust/friend/${this.#name()}/permissions`, { properties: { patterns: ['*'], operations: ['read'] } }],
      ['POST', '/trust', { url: `${strangerOrigin}/${strangerId}`, relationship: 'admin' }],
    ])
    const reply = await this.#send(victim.host, method, `/${victim.id}${path}`, { secret: this.#secret(), body })
    if (reply !== null && reply.status < 300)
      this.#world.violation(`EVIL: ${method} ${path} of ${victim.id} by a stranger was answered ${reply.status}`)
  }

  /** Ends relationships and subscriptions, its own and those of others. */
  async #end(): Promise<void> {
    const [victim, name] = [this.#victim(), this.#name()]
    const id = this.#subscriptions[this.#random.below(this.#subscriptions.length)] ?? ''
    const path = this.#random.pick([
      `/trust/friend/${name}?peer=true`,
      `/trust/${name}`,
      `/subscriptions/${name}/${id}`,
      `/callbacks/subscriptions/${name}/${id}`,
      '',
      '/move',
    ])
    const secret = this.#secret()
    await this.#send(victim.host, 'DELETE', `/${victim.id}${path}`, { secret })
  }

  /** Publishes that an actor went from its address to that of an innocent one. */
  async #lead(): Promise<void> {
    const [id, victim] = [this.#name(), this.#victim()]
    const to =
      this.#random.below(2) === 0
        ? victim.url
        : `${this.#random.pick(this.#world.hosts as [Host, ...Host[]]).origin}/${id}`
    const claims = {
      iss: `${strangerOrigin}/${id}`,
      sub: id,
      moved_to: to,
      key: this.#keys.shown,
      moved_at: Date.now(),
    }
    const notice = await signJws(this.#keys.kept, 'actor-move+jwt', claims)
    this.#documents.set(id, { state: 'moved', to, key: this.#keys.shown, notice })
  }

  // Answers

  async answer({ method, url: text, body, bearer, basic, headers }: PeerRequest, url: URL): Promise<Reply> {
    const where = `${method} ${text}`
    this.#heard.take(`${text} ${typeof body === 'string' ? body : ''} ${JSON.stringify(headers ?? {})}`, where)
    if (bearer !== undefined) this.#heard.takeCredential(bearer.secret)
    if (basic !== undefined) this.#heard.takeCredential(basic.password)
    const { pathname } = url
    const [, id = '', resource = '', name = '', peer = '', last = ''] = pathname.split('/')
    if (resource === 'callbacks' && last !== '') this.#subscriptions.push(last)
    if (method === 'POST' && resource === 'trust' && typeof body === 'string') this.#ownSecretIn(body)
    const statement = typeof body === 'string' ? /"statement":"([^"]+)"/.exec(body)?.[1] : undefined
    if (statement !== undefined) {
      this.#statements.push(statement)
      // The new secret of a relationship with it.
      this.#ownSecretIn(Buffer.from(statement.split('.')[1] ?? '', 'base64url').toString())
    }
    // The caller waits, and gives up.
    if (this.#random.below(15) === 0) await this.#world.time.pause(this.#random.below(40_000))
    if (this.#random.below(6) === 0) return this.#nonsense()
    if (resource === 'meta') return this.#metaOf(id, name)
    if (resource === 'trust' && method === 'GET') {
      const token = this.#verify.get(id) ?? this.#made()
      return reply(200, { verification_token: token, id, peerid: peer, approved: true, secret: this.#made() })
    }
    if (resource === 'trust' && method === 'POST') return this.#trusts(id, name)
    if (resource === 'subscriptions' && method === 'POST') return this.#subscribes()
    if (resource === 'subscriptions') return reply(200, { ...this.#callback(), data: [this.#callback()] })
    if (resource === 'properties') {
      return reply(200, { mood: 'evil', settings: { theme: 'evil' }, todo: { _list: true, count: 2 ** 40, items: [] } })
    }
    if (resource === 'callbacks' && this.#random.below(3) === 0) return this.#nonsense()
    return reply(204, null)
  }

  /** The secret of a request that an owner sent to it. */
  #ownSecretIn(body: string): void {
    const secret = /"secret":"([^"]+)"/.exec(body)?.[1]
    if (secret !== undefined) this.#heard.own(secret)
  }

  #metaOf(id: string, name: string): Reply {
    if (name === 'moving') {
      const document = this.#documents.get(id)
      return document === undefined ? reply(404, { error: 'not_found' }) : reply(200, document)
    }
    return reply(200, {
      id: this.#random.below(8) === 0 ? this.#victim().id : id,
      type: 'urn:actingweb:example.com:simulation',
      version: '1.0',
      aw_supported: this.#random.pick(['moving,trust,www,nested', 'trust', '']),
      aw_formats: 'json',
    })
  }

  /** Answers a trust request of an owner. */
  #trusts(id: string, relationship: string): Reply {
    const victim = this.#victim()
    const record = {
      id,
      peerid: victim.id,
      baseuri: this.#random.pick([victim.url, `${strangerOrigin}/${id}`, `${strangerOrigin}/${victim.id}`]),
      relationship,
      secret: this.#made(),
      approved: true,
      peer_approved: true,
      verified: true,
      ...(this.#random.below(4) === 0 ? { crossing: 'kept' } : {}),
    }
    return {
      ...reply(this.#random.pick([201, 201, 202]), record),
      headers: { location: `${victim.url}/trust/friend/x` },
    }
  }

  #subscribes(): Reply {
    const id = this.#random.below(2) === 0 ? this.#made() : (this.#subscriptions.at(-1) ?? '')
    this.#subscriptions.push(id)
    const path = `${strangerOrigin}/${strangerId}/subscriptions/x/${id}`
    return {
      ...reply(201, { subscriptionid: id, sequence: this.#random.pick([0, 1, 10 ** 12]) }),
      headers: { location: path },
    }
  }

  #nonsense(): Reply {
    const victim = this.#victim()
    const moved = { error: 'actor_moved', moved_to: victim.url, notice: 'a.b.c' }
    return this.#random.pick<() => Reply>([
      () => reply(200, []),
      () => ({ status: 200, headers: {}, body: '{"id":' }),
      () => ({ ...reply(302, {}), headers: { location: `${victim.url}/properties` } }),
      () => ({ ...reply(308, moved), headers: { location: victim.url } }),
      () => reply(401, {}),
      () => reply(403, { error: 'forbidden' }),
      () => reply(404, { error: 'not_found' }),
      () => reply(410, {}),
      () => ({ ...reply(429, {}), headers: { 'retry-after': '99999999999' } }),
      () => ({ ...reply(503, {}), headers: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' } }),
      () => reply(500, {}),
    ])()
  }
}

function reply(status: number, body: object | null): Reply {
  return { status, headers: { 'content-type': 'application/json' }, body: body === null ? '' : JSON.stringify(body) }
}
