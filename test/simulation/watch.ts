/** Looks at what goes over the network: what must not be sent any more, and in which order what may be is sent. */
import type { PeerRequest } from '../../src/peer/peer-client.ts'

/** What was decided before a withdrawal was acknowledged may still leave the process for so long (milliseconds). */
const underWayMs = 1000

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
  /** `<actor> <secret>` of relationships that ended for that actor. */
  readonly #ended = new Map<string, Ended>()
  /** By `<actor> <peer>`: properties that the peer may not read since then. */
  readonly withdrawn = new Map<string, Withdrawal>()
  /** By process and subscription: the last number sent. */
  readonly #sent = new Map<string, number>()
  callbacks = 0

  constructor(parts: {
    readonly now: () => number
    readonly violation: (text: string) => void
    /** Whether it is so still: a relationship that ended took its rules with it. */
    readonly excludes: (actorId: string, peerId: string, name: string) => boolean
  }) {
    this.#now = parts.now
    this.#violation = parts.violation
    this.#excludes = parts.excludes
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
    if (typeof body !== 'string') return
    const told = JSON.parse(body) as { sequence: number; data?: object; subtarget?: string }
    const lane = `${process} ${subscription}`
    const last = this.#sent.get(lane) ?? 0
    if (told.sequence < last) {
      this.#violation(`I3: ${process} sends number ${told.sequence} of ${subscription} after number ${last}`)
    }
    this.#sent.set(lane, told.sequence)
    const peerId = new URL(url).pathname.split('/')[1] ?? ''
    const withdrawal = this.withdrawn.get(`${actorId} ${peerId}`)
    if (withdrawal === undefined || this.#now() - withdrawal.at <= underWayMs || told.data === undefined) return
    const subtarget = told.subtarget ?? ''
    const names = subtarget === '' ? Object.keys(told.data) : JSON.stringify(told.data) === '{}' ? [] : [subtarget]
    const leaked = this.leaked(actorId, peerId, withdrawal, names)
    if (leaked !== undefined) this.#violation(`I7: ${process} tells ${url} of "${leaked}", which was withdrawn`)
  }

  answered({ method, url, bearer }: PeerRequest, status: number): void {
    const [, actorId = ''] = /^\/([^/]+)\/trust\/[^/]+\/[^/]+$/.exec(new URL(url).pathname) ?? []
    if (method === 'DELETE' && actorId !== '' && bearer !== undefined && status === 204) {
      this.end(actorId, bearer.secret)
    }
  }
}
