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

/** The subscriber side. Its processor is on, or off as in default Python applications. */
export class PythonSubscriber {
  /** The copied properties. Lists are arrays. */
  readonly copy = new Map<string, Json>()
  processes = true
  /** Whether the second callback after a gap begins the recovery, as it does when it arrives more than 5 s after the first. */
  recovers = false
  readonly #peer: PythonPeer
  readonly #outbound = new Map<string, { readonly peerId: string; last: number; queue: Map<number, Json> }>()

  constructor(peer: PythonPeer) {
    this.#peer = peer
    const path = /^\/callbacks\/subscriptions\/([^/]+)\/([^/]+)$/
    peer.route('POST', path, (request, [, , id = '']) => this.#take(request, id))
    // The publisher ends a subscription at this path.
    peer.route('DELETE', /^\/subscriptions\/([^/]+)\/([^/]+)$/, (request, [, , id = '']) => {
      const caller = peer.authenticate(request)
      if ('status' in caller) return caller
      this.#outbound.delete(id)
      this.copy.clear()
      return { status: 204 }
    })
  }

  get subscriptions(): string[] {
    return [...this.#outbound.keys()]
  }

  last(id: string): number | undefined {
    return this.#outbound.get(id)?.last
  }

  /** Subscribes to a peer. Returns null and stores nothing unless the response is 201 with an id and a Location. */
  async subscribe(peerId: string, granularity = 'high'): Promise<string | null> {
    const trust = this.#trust(peerId)
    const answer = await fetch(`${trust.baseuri}/subscriptions/${this.#peer.id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${trust.secret}` },
      body: JSON.stringify({ id: this.#peer.id, target: 'properties', granularity }),
    })
    const body = await answer.text()
    if (answer.status !== 201 || answer.headers.get('location') === null) return null
    const { subscriptionid: id } = JSON.parse(body) as { subscriptionid: string }
    this.#outbound.set(id, { peerId, last: 0, queue: new Map() })
    await this.baseline(trust)
    return id
  }

  /** Fetches the full state. It keeps copied names that the full state does not contain. */
  async baseline(trust: PythonTrust): Promise<void> {
    const fetched = await this.#peer.call('GET', `${trust.baseuri}/properties`, trust.secret)
    if (!('data' in fetched)) return
    for (const [name, value] of Object.entries(fetched.data as Record<string, Json>)) {
      const isList = typeof value === 'object' && value !== null && '_list' in value
      const items = isList ? await this.#peer.call('GET', `${trust.baseuri}/properties/${name}`, trust.secret) : null
      if (items === null) this.copy.set(name, value)
      else if ('data' in items && Array.isArray(items.data)) this.copy.set(name, items.data as Json[])
    }
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
    this.#outbound.delete(id)
    return true
  }

  async #take(request: PythonRequest, id: string): Promise<PythonAnswer> {
    const found = this.#outbound.get(id)
    if (found === undefined) return { status: 404 }
    const caller = this.#peer.authenticate(request)
    if ('status' in caller) return caller
    if (!caller.approved) return { status: 403 }
    if (!this.processes) return { status: 400 }
    const body = JSON.parse(request.body) as { sequence: number; data?: Json; url?: string; type?: string }
    if (body.type === 'resync') {
      await this.baseline(caller)
      found.last = body.sequence
      return { status: 204 }
    }
    if (body.sequence <= found.last) return { status: 204 }
    let { data } = body
    if (data === undefined && body.url !== undefined) {
      const fetched = await this.#peer.call('GET', body.url, caller.secret)
      // A failed fetch counts as an empty diff, and the callback is acknowledged.
      data = 'data' in fetched ? ((fetched.data as { data?: Json }).data ?? {}) : {}
    }
    const isGap = body.sequence > found.last + 1
    if (isGap && found.queue.size >= 100) return { status: 400 }
    if (isGap && this.recovers && found.queue.size > 0) {
      await this.#recover(found, caller, id)
      return { status: 204 }
    }
    found.queue.set(body.sequence, data ?? {})
    for (let next = found.queue.get(found.last + 1); next !== undefined; next = found.queue.get(found.last + 1)) {
      this.#apply(next)
      found.queue.delete(++found.last)
    }
    if (body.url !== undefined) {
      const path = `/subscriptions/${this.#peer.id}/${id}`
      await this.#peer.call('PUT', `${caller.baseuri}${path}`, caller.secret, { sequence: body.sequence })
    }
    return { status: 204 }
  }

  /** Polls as if nothing was applied. Diffs that begin with number 1 are applied again, and others lead to a fetch. */
  async #recover(found: { last: number; queue: Map<number, Json> }, trust: PythonTrust, id: string): Promise<void> {
    found.last = 0
    found.queue.clear()
    const path = `${trust.baseuri}/subscriptions/${this.#peer.id}/${id}`
    const polled = await this.#peer.call('GET', path, trust.secret)
    if (!('data' in polled)) return
    const { sequence, data } = polled.data as { sequence: number; data: { sequence: number; data: Json }[] }
    if (data[0]?.sequence === 1) for (const diff of data) this.#apply(diff.data)
    else await this.baseline(trust)
    found.last = sequence
    await this.#peer.call('PUT', path, trust.secret, { sequence })
  }

  /** Applies a diff without merging: each value replaces the copied value. */
  #apply(data: Json): void {
    for (const [name, value] of Object.entries(data as Record<string, Json>)) {
      const operation = typeof value === 'object' && value !== null && 'operation' in value ? value : null
      if (operation !== null) this.#applyToList(name, operation)
      else if (value === '' || value === null) this.copy.delete(name)
      else this.copy.set(name, value)
    }
  }

  #applyToList(name: string, { operation, index = -1, item, items, old_item: old }: Record<string, Json>): void {
    const list = [...((this.copy.get(name) ?? []) as Json[])]
    const at = Number(index)
    const matches = list.flatMap((found, position) => (JSON.stringify(found) === JSON.stringify(old) ? [position] : []))
    if (operation === 'append') list.push(item ?? null)
    else if (operation === 'insert') list.splice(at, 0, item ?? null)
    else if (operation === 'update') list[matches.length === 1 ? (matches[0] ?? at) : at] = item ?? null
    else if (operation === 'extend') list.push(...((items ?? []) as Json[]))
    else if (operation === 'delete' || operation === 'pop') list.splice(at, 1)
    else if (operation === 'remove')
      list.splice(
        list.findIndex((found) => JSON.stringify(found) === JSON.stringify(item)),
        1,
      )
    else if (operation === 'clear') list.length = 0
    if (operation === 'delete_all') this.copy.delete(name)
    else if (operation !== 'metadata') this.copy.set(name, list)
  }

  #trust(peerId: string): PythonTrust {
    const trust = this.#peer.trusts.get(peerId)
    if (trust === undefined) throw new Error(`The Python actor has no relationship with ${peerId}`)
    return trust
  }
}

export function sorted<T>(value: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}
