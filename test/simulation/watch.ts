/** Watches the requests on the network: data that must no longer be sent, and the order of callbacks. */
import type { PeerRequest } from '../../src/peer/peer-client.ts'

/**
 * How long a callback that was decided before the acknowledgment of a revocation may still leave the process.
 * Milliseconds.
 */
const underWayMs = 1000

/** Whether a subscriber stored a diff that it acknowledged. */
type Holds = (listenerId: string, publisherId: string, subscriptionId: string, sequence: number) => boolean

/** Whether the publisher made a diff to delete what the peer may no longer read. */
type Erases = (actorId: string, peerId: string, subscriptionId: string, sequence: number) => boolean

interface CallbackBody {
  readonly type?: string
  readonly sequence: number
  readonly data?: object
  readonly subtarget?: string
}

/** The properties in a callback whose content it shows. The copy of the peer may have what it deletes. */
function shownIn({ data, subtarget = '' }: CallbackBody): readonly string[] {
  if (data === undefined) return []
  const values: [name: string, value: unknown][] = subtarget === '' ? Object.entries(data) : [[subtarget, data]]
  const all = Object.values(data) as unknown[]
  const isEmpty = subtarget !== '' && typeof data === 'object' && all.every(deletes)
  return isEmpty ? [] : values.flatMap(([name, value]) => (deletes(value) ? [] : [name]))
}

function deletes(value: unknown): boolean {
  return value === '' || (value as { operation?: string } | null)?.operation === 'delete_all'
}

interface Ended {
  readonly at: number
}

export interface Withdrawal {
  readonly names: ReadonlySet<string>
  readonly at: number
}

export class Watch {
  readonly #now: () => number
  readonly #violation: (text: string) => void
  readonly #excludes: (actorId: string, peerId: string, name: string) => boolean
  readonly #holds: Holds
  readonly #erases: Erases
  /** `<actor> <secret>` of the relationships that ended at that actor. */
  readonly #ended = new Map<string, Ended>()
  /** By `<actor> <peer>`: the properties that the peer may no longer read, and since when. */
  readonly withdrawn = new Map<string, Withdrawal>()
  /** By process and subscription: the last sequence number sent. */
  readonly #sent = new Map<string, number>()
  /** By subscription: the process that waits for the response to a callback. */
  readonly #telling = new Map<string, string>()
  /**
   * By `<actor> <peer>`: properties in callbacks that were sent while the peer might read them, and arrived after the
   * revocation.
   */
  readonly #late = new Map<string, Set<string>>()
  /** By subscriber and subscription: the sequence numbers that its application received since the last snapshot. */
  readonly #heard = new Map<string, Set<number>>()
  callbacks = 0

  constructor(parts: {
    readonly now: () => number
    readonly violation: (text: string) => void
    /** Whether the rules still exclude the property. An ended relationship takes its rules with it. */
    readonly excludes: (actorId: string, peerId: string, name: string) => boolean
    readonly holds: Holds
    readonly erases: Erases
  }) {
    this.#now = parts.now
    this.#violation = parts.violation
    this.#excludes = parts.excludes
    this.#holds = parts.holds
    this.#erases = parts.erases
  }

  /** One of the names that was and still is withdrawn from the peer. */
  leaked(actorId: string, peerId: string, withdrawal: Withdrawal, names: readonly string[]): string | undefined {
    return names.find((name) => withdrawal.names.has(name) && this.#excludes(actorId, peerId, name))
  }

  /** Records that the actor acknowledged the end of a relationship. */
  end(actorId: string, secret: string): void {
    if (!this.isEnded(actorId, secret)) this.#ended.set(`${actorId} ${secret}`, { at: this.#now() })
  }

  /** Records that a delayed request created the relationship again. */
  begin(actorId: string, secret: string): void {
    this.#ended.delete(`${actorId} ${secret}`)
  }

  isEnded(actorId: string, secret: string): boolean {
    return this.#ended.has(`${actorId} ${secret}`)
  }

  get ended(): { readonly actorId: string; readonly secret: string }[] {
    return [...this.#ended.keys()].map((key) => {
      const [actorId = '', secret = ''] = key.split(' ')
      return { actorId, secret }
    })
  }

  sent(process: string, { method, url, body, bearer }: PeerRequest): void {
    const [, actorId = '', subscription = ''] =
      /\/callbacks\/subscriptions\/([^/]+)\/([^/]+)$/.exec(new URL(url).pathname) ?? []
    if (method !== 'POST' || subscription === '') return
    this.callbacks++
    const secret = bearer?.secret ?? ''
    const ended = this.#ended.get(`${actorId} ${secret}`)
    if (ended !== undefined && this.#now() - ended.at > underWayMs) {
      this.#violation(`I7: ${process} sends a callback to ${url} although the relationship ended at ${ended.at}`)
    }
    const other = this.#telling.get(subscription)
    // A callback of the old service may still be in transit when an actor has moved, and the new service repeats it.
    if (other !== undefined && other !== process && serviceOf(other) === serviceOf(process)) {
      this.#violation(`I3: ${process} sends a callback of ${subscription} while ${other} sends one`)
    }
    this.#telling.set(subscription, process)
    if (typeof body !== 'string') return
    const callback = JSON.parse(body) as CallbackBody
    const lane = `${process} ${subscription}`
    const last = this.#sent.get(lane) ?? 0
    if (callback.sequence < last) {
      this.#violation(`I3: ${process} sends number ${callback.sequence} of ${subscription} after number ${last}`)
    }
    this.#sent.set(lane, callback.sequence)
    const peerId = new URL(url).pathname.split('/')[1] ?? ''
    const withdrawal = this.withdrawn.get(`${actorId} ${peerId}`)
    if (withdrawal === undefined || this.#now() - withdrawal.at <= underWayMs) return
    const leaked = this.leaked(actorId, peerId, withdrawal, shownIn(callback))
    if (leaked !== undefined) this.#violation(`I7: ${process} sends "${leaked}" to ${url}, which was withdrawn`)
  }

  /** Checks the publisher's tables when a callback arrives. */
  arrives({ method, url, body }: PeerRequest): void {
    const [, peerId = '', actorId = '', subscription = ''] =
      /^\/([^/]+)\/callbacks\/subscriptions\/([^/]+)\/([^/]+)$/.exec(new URL(url).pathname) ?? []
    if (method !== 'POST' || peerId === '' || typeof body !== 'string') return
    const callback = JSON.parse(body) as CallbackBody
    if (this.#erases(actorId, peerId, subscription, callback.sequence)) return
    for (const name of shownIn(callback)) {
      if (!this.#excludes(actorId, peerId, name)) continue
      const pair = `${actorId} ${peerId}`
      this.#late.set(pair, (this.#late.get(pair) ?? new Set()).add(name))
    }
  }

  /** Whether the peer may have received the property after it was notified of the revocation. */
  isLate(actorId: string, peerId: string, name: string): boolean {
    return this.#late.get(`${actorId} ${peerId}`)?.has(name) === true
  }

  /** Records a diff that the application of a subscriber received. */
  heard(listenerId: string, callback: object): void {
    const { subscription, sequence, type } = callback as {
      subscription: { subscriptionid: string }
      sequence: number
      type: string
    }
    const key = `${listenerId} ${subscription.subscriptionid}`
    const heard = this.#heard.get(key) ?? new Set()
    this.#heard.set(key, type === 'resync' ? new Set() : heard)
    if (type !== 'diff') return
    if (heard.has(sequence)) this.#violation(`I4: number ${sequence} of ${key} is applied twice`)
    heard.add(sequence)
  }

  /** Records that the process has the outcome of a request. */
  done(process: string, { method, url }: PeerRequest): void {
    const [, subscription = ''] = /\/callbacks\/subscriptions\/[^/]+\/([^/]+)$/.exec(new URL(url).pathname) ?? []
    if (method === 'POST' && this.#telling.get(subscription) === process) this.#telling.delete(subscription)
  }

  /** Releases the subscriptions of a dead process for other processes. */
  died(process: string): void {
    for (const [subscription, teller] of this.#telling) {
      if (teller === process) this.#telling.delete(subscription)
    }
  }

  answered({ method, url, bearer, body }: PeerRequest, status: number): void {
    const [, listener = '', publisher = '', subscription = ''] =
      /^\/([^/]+)\/callbacks\/subscriptions\/([^/]+)\/([^/]+)$/.exec(new URL(url).pathname) ?? []
    if (method === 'POST' && status === 204 && subscription !== '' && typeof body === 'string') {
      const { sequence, type } = JSON.parse(body) as CallbackBody
      if (type === undefined && !this.#holds(listener, publisher, subscription, sequence)) {
        this.#violation(`I1: ${listener} acknowledged number ${sequence} of ${subscription} and does not have it`)
      }
    }
    const [, actorId = ''] = /^\/([^/]+)\/trust\/[^/]+\/[^/]+$/.exec(new URL(url).pathname) ?? []
    if (method === 'DELETE' && actorId !== '' && bearer !== undefined && status === 204) {
      this.end(actorId, bearer.secret)
    }
  }
}

function serviceOf(process: string): string {
  return process.slice(0, process.indexOf('.'))
}
