/**
 * Imitates subscriptions of the Python implementation 3.14, as publisher and subscriber: one attempt for each callback and
 * no retry, nested changes reported at the wrong depth, a queue that answers 400 when it is full, errors without a body.
 */
import { randomBytes } from 'node:crypto'
import type { PythonAnswer, PythonPeer, PythonRequest, PythonTrust } from './python-peer.ts'

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

interface PublishedSubscription {
  readonly peerId: string
  readonly subtarget: string
  readonly granularity: string
  sequence: number
  readonly diffs: Map<number, Json>
}

/** The publisher side. */
export class PythonPublisher {
  readonly properties = new Map<string, Json>()
  readonly lists = new Map<string, Json[]>()
  readonly subscriptions = new Map<string, PublishedSubscription>()
  /** The response statuses of its callbacks, in order. */
  readonly statuses: number[] = []
  /** Loses all callbacks while it is true. */
  losesCallbacks = false
  /** Milliseconds of its clock after its first change. */
  #clockMs = 0
  /** The time of the change with each number, by subscription and number. */
  readonly #times = new Map<string, string>()
  readonly #peer: PythonPeer

  constructor(peer: PythonPeer) {
    this.#peer = peer
    this.#declare()
  }

  // Operations of the owner

  async set(name: string, value: Json): Promise<void> {
    this.properties.set(name, value)
    await this.#tell(name, value)
  }

  /** Sets a value two levels down, and reports it to subscribers one level too high, as the Python implementation does. */
  async setDeep(name: string, key: string, inner: string, value: Json): Promise<void> {
    const before = (this.properties.get(name) ?? {}) as { [key: string]: Json }
    const at = (before[key] ?? {}) as { [key: string]: Json }
    this.properties.set(name, { ...before, [key]: { ...at, [inner]: value } })
    await this.#tell(name, { [key]: value })
  }

  async delete(name: string): Promise<void> {
    this.properties.delete(name)
    this.lists.delete(name)
    await this.#tell(name, '')
  }

  /** Appends inside the application, which reports the change in the form of the protocol. */
  async append(list: string, item: Json): Promise<void> {
    const items = this.lists.get(list) ?? []
    this.lists.set(list, [...items, item])
    await this.#tell(list, { list, operation: 'append', length: items.length + 1, item, index: items.length })
  }

  async pop(list: string): Promise<void> {
    const items = this.lists.get(list) ?? []
    this.lists.set(list, items.slice(0, -1))
    await this.#tell(list, { list, operation: 'pop', length: items.length - 1, index: -1 })
  }

  /** Updates over HTTP, which reports the change in a form of its own. */
  async updateOverHttp(list: string, index: number, item: Json): Promise<void> {
    this.lists.set(list, (this.lists.get(list) ?? []).with(index, item))
    await this.#tell(list, { action: 'update', index, value: item })
  }

  /** Creates an empty list over HTTP, which reports the change as a sentence for people. */
  async createOverHttp(list: string): Promise<void> {
    this.lists.set(list, [])
    await this.#tell(list, '[Empty list property created]')
  }

  /** Appends over HTTP, which reports the change in a form of its own. */
  async appendOverHttp(list: string, item: Json): Promise<void> {
    const items = this.lists.get(list) ?? []
    this.lists.set(list, [...items, item])
    await this.#tell(list, { action: 'add', index: items.length, value: item })
  }

  /** Changes a value without a number and a callback, as it does for most of many changes at the same time. */
  setUnannounced(name: string, value: Json): void {
    this.properties.set(name, value)
  }

  /** Returns a function that restores the data of this moment without a message. */
  backup(): () => void {
    const [properties, lists] = [new Map(this.properties), new Map(this.lists)]
    const states = [...this.subscriptions].map(([id, one]) => [id, one.sequence, new Map(one.diffs)] as const)
    return () => {
      this.properties.clear()
      this.lists.clear()
      for (const [name, value] of properties) this.properties.set(name, value)
      for (const [name, items] of lists) this.lists.set(name, items)
      for (const [id, sequence, diffs] of states) {
        const one = this.subscriptions.get(id)
        if (one === undefined) continue
        one.sequence = sequence
        one.diffs.clear()
        for (const [number, data] of diffs) one.diffs.set(number, data)
      }
    }
  }

  /** Sends the callback with the latest number again. */
  async repeatLast(): Promise<void> {
    for (const [id, subscription] of this.subscriptions) {
      const { sequence, diffs } = subscription
      await this.#send(id, subscription, sequence, diffs.get(sequence) ?? {})
    }
  }

  /** Forgets a subscription without a message, as a service that was restored from a backup does. */
  forget(id: string): void {
    this.subscriptions.delete(id)
  }

  /** Replaces over HTTP, which reports the change as a sentence for people. */
  async replaceOverHttp(list: string, items: readonly Json[]): Promise<void> {
    this.lists.set(list, [...items])
    await this.#tell(list, `Bulk update of ${items.length} items`)
  }

  async revoke(id: string): Promise<void> {
    const found = this.subscriptions.get(id)
    const trust = this.#peer.trusts.get(found?.peerId ?? '')
    if (trust === undefined) throw new Error(`Subscription ${id} does not exist`)
    this.subscriptions.delete(id)
    await this.#peer.call('DELETE', `${trust.baseuri}/subscriptions/${this.#peer.id}/${id}`, trust.secret)
  }

  async #tell(name: string, value: Json): Promise<void> {
    for (const [id, subscription] of this.subscriptions) {
      if (subscription.subtarget !== '' && subscription.subtarget !== name) continue
      // The Python implementation does not report a deletion to subscribers of exactly the deleted property.
      if (subscription.subtarget === name && value === '') continue
      const data = subscription.subtarget === name ? value : { [name]: value }
      const sequence = ++subscription.sequence
      subscription.diffs.set(sequence, data)
      const time = new Date(Date.UTC(2031, 1, 3, 4, 5, 6) + (this.#clockMs += 100))
      this.#times.set(`${id} ${sequence}`, time.toISOString().replace('T', ' ').replace('Z', '007'))
      await this.#send(id, subscription, sequence, data)
    }
  }

  /** Sends a callback once, and ignores the response. */
  async #send(id: string, subscription: PublishedSubscription, sequence: number, data: Json): Promise<void> {
    const trust = this.#peer.trusts.get(subscription.peerId)
    if (trust === undefined || subscription.granularity === 'none' || this.losesCallbacks) return
    const isHigh = subscription.granularity === 'high'
    const answer = await fetch(`${trust.baseuri}/callbacks/subscriptions/${this.#peer.id}/${id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${trust.secret}` },
      body: JSON.stringify({
        id: this.#peer.id,
        subscriptionid: id,
        target: 'properties',
        ...(subscription.subtarget === '' ? {} : { subtarget: subscription.subtarget }),
        sequence,
        timestamp: this.#times.get(`${id} ${sequence}`) ?? '',
        granularity: subscription.granularity,
        ...(isHigh ? { data } : { url: `${this.#peer.url}/subscriptions/${subscription.peerId}/${id}/${sequence}` }),
      }),
    })
    await answer.text()
    this.statuses.push(answer.status)
  }

  // Routes

  #declare(): void {
    const peer = this.#peer
    const known = (
      path: RegExp,
      method: string,
      serve: (trust: PythonTrust, request: PythonRequest, match: RegExpExecArray) => PythonAnswer,
    ) =>
      peer.route(method, path, (request, match) => {
        const caller = peer.authenticate(request)
        return 'status' in caller ? caller : serve(caller, request, match)
      })
    known(/^\/properties$/, 'GET', () => ({ status: 200, body: this.#listing() }))
    known(/^\/properties\/([^/]+)$/, 'GET', (_trust, _request, [, name = '']) => {
      const value = this.lists.get(name) ?? this.properties.get(name)
      return value === undefined ? { status: 404 } : { status: 200, body: JSON.stringify(value) }
    })
    known(/^\/properties\/([^/]+)\/metadata$/, 'GET', (_trust, _request, [, name = '']) =>
      this.lists.has(name) ? { status: 200, body: { length: this.lists.get(name)?.length } } : { status: 404 },
    )
    known(/^\/subscriptions\/([^/]+)$/, 'POST', (trust, request, [, peerId]) => {
      if (trust.peerid !== peerId) return { status: 403 }
      const asked = JSON.parse(request.body) as { target?: string; subtarget?: string; granularity?: string }
      if (!asked.target) return { status: 400 }
      const id = randomBytes(16).toString('hex')
      const { subtarget = '', granularity = 'none' } = asked
      this.subscriptions.set(id, { peerId, subtarget, granularity, sequence: 0, diffs: new Map() })
      return {
        status: 201,
        headers: { Location: `${peer.url}/subscriptions/${peerId}/${id}` },
        body: {
          subscriptionid: id,
          target: asked.target,
          subtarget: subtarget || null,
          resource: null,
          granularity,
          sequence: 0,
        },
      }
    })
    const one = /^\/subscriptions\/([^/]+)\/([^/]+)$/
    known(one, 'GET', (_trust, _request, [, peerId, id = '']) => {
      const found = this.subscriptions.get(id)
      if (found === undefined) return { status: 404 }
      // Its store sorts sequence numbers as strings.
      const diffs = [...found.diffs].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
      return {
        status: 200,
        body: {
          id: peer.id,
          peerid: peerId,
          subscriptionid: id,
          target: 'properties',
          subtarget: found.subtarget,
          resource: '',
          sequence: found.sequence,
          data: diffs.map(([sequence, data]) => ({
            sequence,
            timestamp: `${(this.#times.get(`${id} ${sequence}`) ?? '').replace(' ', 'T')}Z`,
            data,
          })),
        },
      }
    })
    known(one, 'PUT', (_trust, request, [, , id = '']) => {
      const found = this.subscriptions.get(id)
      const { sequence } = JSON.parse(request.body) as { sequence: number }
      if (found === undefined) return { status: 404 }
      for (const number of found.diffs.keys()) if (sequence === 0 || number <= sequence) found.diffs.delete(number)
      return { status: 204 }
    })
    known(/^\/subscriptions\/([^/]+)\/([^/]+)\/(\d+)$/, 'GET', (_trust, _request, [, peerId, id = '', number]) => {
      const data = this.subscriptions.get(id)?.diffs.get(Number(number))
      if (data === undefined) return { status: 404 }
      this.subscriptions.get(id)?.diffs.delete(Number(number))
      return { status: 200, body: { id: peer.id, peerid: peerId, subscriptionid: id, sequence: Number(number), data } }
    })
    known(/^\/callbacks\/subscriptions\/([^/]+)\/([^/]+)$/, 'DELETE', (_trust, _request, [, , id = '']) => {
      this.subscriptions.delete(id)
      return { status: 204 }
    })
  }

  #listing(): object {
    return {
      ...Object.fromEntries(this.properties),
      ...Object.fromEntries([...this.lists].map(([name, items]) => [name, { _list: true, count: items.length }])),
    }
  }

  /** The data in the form of a copy. */
  get source(): Record<string, Json> {
    return sorted({ ...Object.fromEntries(this.properties), ...Object.fromEntries(this.lists) })
  }
}

interface OutboundSubscription {
  readonly peerId: string
  last: number
  /** The callbacks behind a gap, by number. */
  readonly queue: Map<number, Json>
  /** When the first of them arrived. */
  queuedAt: number
}

/** The copied properties of a peer. A value of the same name hides a list (WIRE-RESTORE-10). */
export interface PythonCopy {
  readonly values: Map<string, Json>
  readonly lists: Map<string, Json[]>
}

interface CachedPermissions {
  readonly patterns: ReadonlySet<string>
  readonly timestamp: string
}

interface CallbackBody {
  readonly sequence: number
  readonly data?: Json
  readonly url?: string
  readonly type?: string
  readonly timestamp?: string
}

/** A gap ends at the next callback behind it after this time. Milliseconds. */
const gapMs = 5000

/** The subscriber side. Its processor is on, or off as in default Python applications. */
export class PythonSubscriber {
  processes = true
  /** Whether the second callback after a gap begins the recovery at once, and not only more than 5 s after the first. */
  recovers = false
  readonly #peer: PythonPeer
  readonly #now: () => number
  #outbound = new Map<string, OutboundSubscription>()
  #copies = new Map<string, PythonCopy>()
  /** Peers of whose data a fetch failed after their callback was acknowledged (WIRE-RESTORE-08, WIRE-ADDRESS-04). */
  readonly lost = new Set<string>()
  /** Peers of whose list a change arrived that the fetched list had already: a full state has no number, so it is applied again. */
  readonly doubled = new Set<string>()
  /** Lists, by peer and name, that a full state lacked and the copy keeps. Later changes apply to what stayed (WIRE-RESTORE-09). */
  readonly #stale = new Set<string>()
  /** Names, by peer, whose deletion was acknowledged without effect, and that the next full state lacked and the copy keeps. */
  readonly #left = new Set<string>()
  /** Peers whose copy stayed when its subscription was lost. The next subscription continues it (WIRE-RESTORE-15). */
  readonly #orphaned = new Set<string>()
  /** By peer and list: when it was fetched. */
  readonly #fetchedAt = new Map<string, number>()
  /** By peer: the permissions that it granted, as they were read or received last. */
  #permissions = new Map<string, CachedPermissions>()
  /** By subscription: the callbacks that are being processed, one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(peer: PythonPeer, { now = () => 0 }: { readonly now?: () => number } = {}) {
    this.#peer = peer
    this.#now = now
    const path = /^\/callbacks\/subscriptions\/([^/]+)\/([^/]+)$/
    peer.route('POST', path, (request, [, , id = '']) => this.#take(request, id))
    // The publisher ends a subscription at this path.
    peer.route('DELETE', /^\/subscriptions\/([^/]+)\/([^/]+)$/, (request, [, , id = '']) => {
      const caller = peer.authenticate(request)
      if ('status' in caller) return caller
      this.#drop(id)
      return { status: 204 }
    })
    peer.route('POST', /^\/callbacks\/permissions\/([^/]+)$/, (request, [, peerId = '']) =>
      this.#takePermissions(request, peerId),
    )
    peer.onEnd((peerId) => {
      for (const [id, found] of this.#outbound) if (found.peerId === peerId) this.#outbound.delete(id)
      this.#copies.delete(peerId)
      this.#permissions.delete(peerId)
    })
  }

  get subscriptions(): string[] {
    return [...this.#outbound.keys()]
  }

  /** The peer of a subscription. */
  peerOf(id: string): string | undefined {
    return this.#outbound.get(id)?.peerId
  }

  last(id: string): number | undefined {
    return this.#outbound.get(id)?.last
  }

  /** The copied properties of the first peer. Lists are arrays. */
  get copy(): Map<string, Json> {
    const [first] = this.#copies.values()
    return new Map<string, Json>([...(first?.lists ?? []), ...(first?.values ?? [])])
  }

  copyOf(peerId: string): PythonCopy {
    const found = this.#copies.get(peerId) ?? { values: new Map<string, Json>(), lists: new Map<string, Json[]>() }
    this.#copies.set(peerId, found)
    return found
  }

  /** Returns a function that restores the subscriptions and copies of this moment. */
  backup(): () => void {
    const kept = structuredClone([this.#outbound, this.#copies, this.#permissions] as const)
    return () => {
      ;[this.#outbound, this.#copies, this.#permissions] = structuredClone(kept)
    }
  }

  /** Subscribes to a peer. Returns null and stores nothing unless the response is 201 with an id and a Location. */
  async subscribe(peerId: string, granularity = 'high'): Promise<string | null> {
    const trust = this.#trust(peerId)
    const wanted = { id: this.#peer.id, target: 'properties', granularity }
    const url = `${trust.baseuri}/subscriptions/${this.#peer.id}`
    const answer = await this.#peer.send('POST', url, trust.secret, wanted).catch(() => null)
    if (answer?.status !== 201 || answer.location === null) return null
    const { subscriptionid: id } = JSON.parse(answer.body) as { subscriptionid: string }
    this.#outbound.set(id, { peerId, last: 0, queue: new Map(), queuedAt: 0 })
    // A peer that may read nothing yet has no permissions in its cache (WIRE-RIGHTS-10).
    if ((await this.baseline(trust)) > 0) await this.#readPermissions(trust)
    return id
  }

  /** Fetches the full state. It keeps copied names that the full state does not contain. Returns the number of names. */
  async baseline(trust: PythonTrust): Promise<number> {
    const fetched = await this.#peer.call('GET', `${trust.baseuri}/properties`, trust.secret)
    if (!('data' in fetched)) {
      this.lost.add(trust.peerid)
      return 0
    }
    const [hadLost, isOrphan] = [this.lost.delete(trust.peerid), this.#orphaned.delete(trust.peerid)]
    this.doubled.delete(trust.peerid)
    const found = Object.entries(fetched.data as Record<string, Json>)
    const shown = new Set(found.map(([name]) => name))
    const { values, lists } = this.copyOf(trust.peerid)
    for (const name of lists.keys()) this.#noteStale(trust.peerid, name, !shown.has(name))
    if (hadLost || isOrphan)
      for (const name of [...values.keys(), ...lists.keys()])
        if (!shown.has(name)) this.#left.add(`${trust.peerid} ${name}`)
    for (const name of shown) this.#left.delete(`${trust.peerid} ${name}`)
    for (const [name, value] of found) {
      if (isListMarker(value)) await this.#fetchList(trust, name)
      else this.copyOf(trust.peerid).values.set(name, value)
    }
    return found.length
  }

  /** Whether changes of the list were applied to items that its publisher had deleted before. */
  isStale(peerId: string, name: string): boolean {
    return this.#stale.has(`${peerId} ${name}`)
  }

  /** Whether the copy has the name only because a failed fetch or an earlier subscription left it there. */
  isLeft(peerId: string, name: string): boolean {
    return this.#left.has(`${peerId} ${name}`)
  }

  #noteStale(peerId: string, name: string, isStale: boolean): void {
    if (isStale) this.#stale.add(`${peerId} ${name}`)
    else this.#stale.delete(`${peerId} ${name}`)
  }

  async #fetchList(trust: PythonTrust, name: string): Promise<void> {
    const items = await this.#peer.call('GET', `${trust.baseuri}/properties/${name}`, trust.secret)
    if (!('data' in items) || !Array.isArray(items.data)) return void this.lost.add(trust.peerid)
    this.copyOf(trust.peerid).lists.set(name, items.data as Json[])
    this.#fetchedAt.set(`${trust.peerid} ${name}`, this.#now())
  }

  /** Unsubscribes. Returns false and keeps the record when the publisher answers with an error. */
  async unsubscribe(id: string): Promise<boolean> {
    const found = this.#outbound.get(id)
    const trust = this.#trust(found?.peerId ?? '')
    const deletion = await this.#peer.call(
      'DELETE',
      `${trust.baseuri}/callbacks/subscriptions/${this.#peer.id}/${id}`,
      trust.secret,
    )
    if ('error' in deletion) return false
    this.#drop(id)
    return true
  }

  /** The end of the last subscription to a peer deletes its copy. */
  #drop(id: string): void {
    const found = this.#outbound.get(id)
    this.#outbound.delete(id)
    const isLast = ![...this.#outbound.values()].some(({ peerId }) => peerId === found?.peerId)
    if (found !== undefined && isLast) this.#copies.delete(found.peerId)
  }

  /** Synchronizes all subscriptions to a peer, as its application may at any time. */
  async sync(peerId: string): Promise<void> {
    const trust = this.#trust(peerId)
    const ids = this.subscriptions.filter((id) => this.peerOf(id) === peerId)
    const statuses: number[] = []
    for (const id of ids) statuses.push(await this.#inTurn(id, (found) => this.#sync(found, trust, id)))
    if (statuses.length === 0 || statuses.some((status) => status !== 404)) return
    const probe = await this.#peer.call('GET', `${trust.baseuri}/trust/${this.#peer.id}`, trust.secret)
    // The copy stays, without an owner (WIRE-RESTORE-15).
    if ('data' in probe) {
      for (const id of ids) this.#outbound.delete(id)
      this.#orphaned.add(peerId)
    }
    // The actor does not exist at its publisher (WIRE-RESTORE-17).
    else this.#peer.forget(peerId)
  }

  /** Runs the work when earlier work for the subscription has ended: the state has a version, and a late change is repeated. */
  async #inTurn<T>(id: string, work: (found: OutboundSubscription) => Promise<T>): Promise<T> {
    const before = this.#turns.get(id) ?? Promise.resolve()
    const turn = before.then(() => {
      const found = this.#outbound.get(id)
      return work(found ?? { peerId: '', last: 0, queue: new Map(), queuedAt: 0 })
    })
    this.#turns.set(
      id,
      turn.catch(() => {}),
    )
    return turn
  }

  async #take(request: PythonRequest, id: string): Promise<PythonAnswer> {
    if (!this.#outbound.has(id)) return { status: 404 }
    const caller = this.#peer.authenticate(request)
    if ('status' in caller) return caller
    if (!caller.approved) return { status: 403 }
    if (!this.processes) return { status: 400 }
    const body = JSON.parse(request.body) as CallbackBody
    return this.#inTurn(id, (found) => this.#process(found, caller, { id, body }))
  }

  async #process(
    found: OutboundSubscription,
    trust: PythonTrust,
    { id, body }: { readonly id: string; readonly body: CallbackBody },
  ): Promise<PythonAnswer> {
    const { sequence, type, url } = body
    if (type === 'resync') {
      found.queue.clear()
      // Without a URL nothing is fetched, and the number moves all the same (WIRE-RESTORE-05).
      if (url !== undefined && url !== '') await this.baseline(trust)
      found.last = sequence
      return { status: 204 }
    }
    if (sequence <= found.last) return { status: 204 }
    let { data } = body
    if (data === undefined && url !== undefined) {
      const fetched = await this.#peer.call('GET', url, trust.secret)
      // A failed fetch counts as an empty diff, and the callback is acknowledged.
      if (!('data' in fetched)) this.lost.add(trust.peerid)
      data = 'data' in fetched ? ((fetched.data as { data?: Json }).data ?? {}) : {}
    }
    if (sequence > found.last + 1 && found.queue.size > 0) {
      if (this.recovers || this.#now() - found.queuedAt > gapMs) {
        found.last = 0
        found.queue.clear()
        await this.#sync(found, trust, id)
        return { status: 204 }
      }
      if (found.queue.size >= 100) return { status: 400 }
    }
    this.#noteDoubled(found.peerId, data ?? {}, body.timestamp)
    this.#feed(found, sequence, data ?? {})
    if (url !== undefined) {
      const path = `/subscriptions/${this.#peer.id}/${id}`
      await this.#peer.call('PUT', `${trust.baseuri}${path}`, trust.secret, { sequence })
    }
    return { status: 204 }
  }

  #noteDoubled(peerId: string, data: Json, timestamp: string | undefined): void {
    if (!isObject(data) || timestamp === undefined) return
    const isOld = (name: string): boolean =>
      Date.parse(timestamp) <= (this.#fetchedAt.get(`${peerId} ${name}`) ?? Number.NEGATIVE_INFINITY)
    for (const [name, value] of Object.entries(data))
      if (isObject(value) && 'operation' in value && isOld(name)) this.doubled.add(peerId)
  }

  /** Queues a change, and applies all that follow the last one. Returns how many. */
  #feed(found: OutboundSubscription, sequence: number, data: Json): number {
    if (sequence <= found.last) return 0
    if (found.queue.size === 0) found.queuedAt = this.#now()
    found.queue.set(sequence, data)
    let applied = 0
    for (let next = found.queue.get(found.last + 1); next !== undefined; next = found.queue.get(found.last + 1)) {
      this.#apply(found.peerId, next)
      found.queue.delete(++found.last)
      applied++
    }
    return applied
  }

  /** Polls, and applies what follows the last number. Fetches the full state when nothing does. Returns the status. */
  async #sync(found: OutboundSubscription, trust: PythonTrust, id: string): Promise<number> {
    const path = `${trust.baseuri}/subscriptions/${this.#peer.id}/${id}`
    const polled = await this.#peer.call('GET', path, trust.secret)
    if (!('data' in polled)) return polled.error
    const { sequence, data } = polled.data as {
      sequence: number
      data: { sequence: number; timestamp: string; data: Json }[]
    }
    let applied = 0
    // The time becomes a name in the copy (WIRE-RESTORE-22).
    for (const diff of data) {
      if (diff.sequence > found.last) this.#noteDoubled(found.peerId, diff.data, diff.timestamp)
      applied += this.#feed(found, diff.sequence, withTime(diff.data, diff.timestamp))
    }
    if (applied === 0) await this.baseline(trust)
    // A number 0 does not lower the last one (WIRE-RESTORE-14). What waits in the queue stays there (WIRE-RESTORE-21).
    if (sequence > 0 || found.last === 0) found.last = sequence
    if (data.length > 0) await this.#peer.call('PUT', path, trust.secret, { sequence })
    return 200
  }

  /** Applies a diff without merging: each value replaces the copied value. */
  #apply(peerId: string, data: Json): void {
    const copy = this.copyOf(peerId)
    for (const [name, value] of Object.entries(data as Record<string, Json>)) {
      const operation = typeof value === 'object' && value !== null && 'operation' in value ? value : null
      if (operation !== null) applyToList(copy, name, operation)
      if (operation?.['operation'] === 'delete_all') this.#noteStale(peerId, name, false)
      if (operation === null || operation['operation'] === 'delete_all') this.#left.delete(`${peerId} ${name}`)
      if (operation !== null) continue
      if (value === '' || value === null) copy.values.delete(name)
      else copy.values.set(name, value)
    }
  }

  /** It compares only the patterns of the properties, and acts on an older message, too (WIRE-RIGHTS-01 to WIRE-RIGHTS-08). */
  async #takePermissions(request: PythonRequest, peerId: string): Promise<PythonAnswer> {
    const caller = this.#peer.authenticate(request)
    if ('status' in caller) return caller
    if (!caller.approved) return { status: 403 }
    const { data = {}, timestamp = '' } = JSON.parse(request.body) as {
      data?: { properties?: { patterns?: readonly string[] | null } | null }
      timestamp?: string
    }
    if (data.properties?.patterns === null) return { status: 500 }
    const patterns = new Set(data.properties?.patterns ?? [])
    const cached = this.#permissions.get(peerId)
    if (cached === undefined || timestamp >= cached.timestamp) this.#permissions.set(peerId, { patterns, timestamp })
    const known = cached?.patterns ?? new Set<string>()
    const { lists } = this.copyOf(peerId)
    for (const pattern of known.difference(patterns))
      for (const name of lists.keys()) if (isMatch(pattern, name)) lists.delete(name)
    for (const pattern of patterns.difference(known)) await this.#fetchMatches(caller, pattern)
    return { status: 204 }
  }

  /** Fetches what a new pattern covers. Values that are no objects or lists are not stored. */
  async #fetchMatches(trust: PythonTrust, pattern: string): Promise<void> {
    const all = /[*?[]/.test(pattern)
      ? await this.#peer.call('GET', `${trust.baseuri}/properties`, trust.secret)
      : { data: { [pattern]: null } }
    if (!('data' in all)) return
    for (const name of Object.keys(all.data as object).filter((key) => isMatch(pattern, key))) {
      const fetched = await this.#peer.call('GET', `${trust.baseuri}/properties/${name}`, trust.secret)
      const value = 'data' in fetched ? (fetched.data as Json) : null
      const copy = this.copyOf(trust.peerid)
      const isKnownList = isListMarker((all.data as Record<string, Json>)[name] ?? null) || copy.lists.has(name)
      if (Array.isArray(value)) (isKnownList ? copy.lists : copy.values).set(name, value as Json[])
      else if (typeof value === 'object' && value !== null) copy.values.set(name, value)
    }
  }

  async #readPermissions(trust: PythonTrust): Promise<void> {
    const read = await this.#peer.call('GET', `${trust.baseuri}/permissions/${this.#peer.id}`, trust.secret)
    if (!('data' in read)) return
    const { permissions } = read.data as { permissions?: { properties?: { patterns?: readonly string[] } | null } }
    this.#permissions.set(trust.peerid, { patterns: new Set(permissions?.properties?.patterns ?? []), timestamp: '' })
  }

  #trust(peerId: string): PythonTrust {
    const trust = this.#peer.trusts.get(peerId)
    if (trust === undefined) throw new Error(`The Python actor has no relationship with ${peerId}`)
    return trust
  }
}

function isListMarker(value: Json): boolean {
  return typeof value === 'object' && value !== null && '_list' in value
}

function withTime(data: Json, timestamp: string): Json {
  return isObject(data) ? { ...data, timestamp } : data
}

function isObject(value: Json): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a name matches a glob. */
function isMatch(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => RegExp.escape(part))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(name)
}

/** An operation that does not fit the list changes nothing. */
function applyToList(copy: PythonCopy, name: string, operation: Record<string, Json>): void {
  const { operation: what, index = -1, item = null, items = [], old_item: old } = operation
  if (what === 'delete_all') copy.lists.delete(name)
  if (what === 'delete_all' || what === 'metadata') return
  const list = [...(copy.lists.get(name) ?? [])]
  const at = Number(index)
  const isThere = at < list.length && at >= -list.length
  const matches = list.flatMap((found, position) => (isSame(found, old ?? null) ? [position] : []))
  if (what === 'append') list.push(item)
  else if (what === 'insert') list.splice(at, 0, item)
  else if (what === 'update' && matches.length === 1) list[matches[0] ?? 0] = item
  else if (what === 'update' && isThere) list[at] = item
  else if (what === 'extend') list.push(...(items as Json[]))
  else if ((what === 'delete' || what === 'pop') && isThere) list.splice(at, 1)
  else if (what === 'remove' && list.some((found) => isSame(found, item)))
    list.splice(
      list.findIndex((found) => isSame(found, item)),
      1,
    )
  else if (what === 'clear') list.length = 0
  copy.lists.set(name, list)
}

function isSame(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

export function sorted<T>(value: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}
