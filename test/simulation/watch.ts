/** Looks at what goes over the network: what must not be sent any more, and in which order what may be is sent. */
import type { PeerRequest } from '../../src/peer/peer-client.ts'

/** What was decided before a withdrawal was acknowledged may still leave the process for so long (milliseconds). */
const underWayMs = 1000

/** Whether a listener has a number that it acknowledged. */
type Holds = (listenerId: string, publisherId: string, subscriptionId: string, sequence: number) => boolean

interface Told {
  readonly type?: string
  readonly sequence: number
  readonly data?: object
  readonly subtarget?: string
}

/** The properties that a callback tells of. */
function namesIn({ data, subtarget = '' }: Told): readonly string[] {
  if (data === undefined) return []
  return subtarget === '' ? Object.keys(data) : JSON.stringify(data) === '{}' ? [] : [subtarget]
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
  /** `<actor> <secret>` of relationships that ended for that actor. */
  readonly #ended = new Map<string, Ended>()
  /** By `<actor> <peer>`: properties that the peer may not read since then. */
  readonly withdrawn = new Map<string, Withdrawal>()
  /** By process and subscription: the last number sent. */
  readonly #sent = new Map<string, number>()
  /** By subscription: the process that waits for an answer to a number of it. */
  readonly #telling = new Map<string, string>()
  /** By `<actor> <peer>`: properties told of while the peer might read them, and arrived after that was over. */
  readonly #late = new Map<string, Set<string>>()
  /** By listener and subscription: the numbers that its application heard of since the last whole. */
  readonly #heard = new Map<string, Set<number>>()
  callbacks = 0

  constructor(parts: {
    readonly now: () => number
    readonly violation: (text: string) => void
    /** Whether it is so still: a relationship that ended took its rules with it. */
    readonly excludes: (actorId: string, peerId: string, name: string) => boolean
    readonly holds: Holds
  }) {
    this.#now = parts.now
    this.#violation = parts.violation
    this.#excludes = parts.excludes
    this.#holds = parts.holds
  }

  /** One of the names that was withdrawn from the peer, and is still. */
  leaked(actorId: string, peerId: string, withdrawal: Withdrawal, names: readonly string[]): string | undefined {
    return names.find((name) => withdrawal.names.has(name) && this.#excludes(actorId, peerId, name))
  }

  /** The end of a relationship was acknowledged by the actor. */
  end(actorId: string, secret: string): void {
    if (!this.isEnded(actorId, secret)) this.#ended.set(`${actorId} ${secret}`, { at: this.#now() })
  }

  /** A request that was on its way made the relationship anew. */
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
      this.#violation(`I7: ${process} tells ${url} of a change although the relationship ended at ${ended.at}`)
    }
    const other = this.#telling.get(subscription)
    if (other !== undefined && other !== process) {
      this.#violation(`I3: ${process} tells a number of ${subscription} while ${other} tells one`)
    }
    this.#telling.set(subscription, process)
    if (typeof body !== 'string') return
    const told = JSON.parse(body) as Told
    const lane = `${process} ${subscription}`
    const last = this.#sent.get(lane) ?? 0
    if (told.sequence < last) {
      this.#violation(`I3: ${process} sends number ${told.sequence} of ${subscription} after number ${last}`)
    }
    this.#sent.set(lane, told.sequence)
    const peerId = new URL(url).pathname.split('/')[1] ?? ''
    const withdrawal = this.withdrawn.get(`${actorId} ${peerId}`)
    if (withdrawal === undefined || this.#now() - withdrawal.at <= underWayMs) return
    const leaked = this.leaked(actorId, peerId, withdrawal, namesIn(told))
    if (leaked !== undefined) this.#violation(`I7: ${process} tells ${url} of "${leaked}", which was withdrawn`)
  }

  /** Looked for in the publisher's tables at that moment. */
  arrives({ method, url, body }: PeerRequest): void {
    const [, peerId = '', actorId = ''] =
      /^\/([^/]+)\/callbacks\/subscriptions\/([^/]+)\/[^/]+$/.exec(new URL(url).pathname) ?? []
    if (method !== 'POST' || peerId === '' || typeof body !== 'string') return
    for (const name of namesIn(JSON.parse(body) as Told)) {
      if (!this.#excludes(actorId, peerId, name)) continue
      const pair = `${actorId} ${peerId}`
      this.#late.set(pair, (this.#late.get(pair) ?? new Set()).add(name))
    }
  }

  /** Whether the peer may have learned of the property too late to be told to forget it. */
  isLate(actorId: string, peerId: string, name: string): boolean {
    return this.#late.get(`${actorId} ${peerId}`)?.has(name) === true
  }

  /** An application is told of what was applied. */
  heard(listenerId: string, told: object): void {
    const { subscription, sequence, type } = told as {
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

  /** The process knows what came of a request. */
  done(process: string, { method, url }: PeerRequest): void {
    const [, subscription = ''] = /\/callbacks\/subscriptions\/[^/]+\/([^/]+)$/.exec(new URL(url).pathname) ?? []
    if (method === 'POST' && this.#telling.get(subscription) === process) this.#telling.delete(subscription)
  }

  /** What a process waited for when it died, others may take up. */
  died(process: string): void {
    for (const [subscription, teller] of this.#telling) {
      if (teller === process) this.#telling.delete(subscription)
    }
  }

  answered({ method, url, bearer, body }: PeerRequest, status: number): void {
    const [, listener = '', publisher = '', subscription = ''] =
      /^\/([^/]+)\/callbacks\/subscriptions\/([^/]+)\/([^/]+)$/.exec(new URL(url).pathname) ?? []
    if (method === 'POST' && status === 204 && subscription !== '' && typeof body === 'string') {
      const { sequence, type } = JSON.parse(body) as Told
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
