/** Somebody with an actor, who asks it over HTTP. */
import { setTimeout } from 'node:timers/promises'
import type { DemoService } from './service.ts'

interface Trust {
  readonly peerid: string
  readonly secret: string
  readonly peer_approved: boolean
}

interface Subscription {
  readonly subscriptionid: string
  readonly peerid: string
}

export class Owner {
  readonly #service: DemoService
  readonly #authorization: string
  readonly id: string

  private constructor(service: DemoService, id: string, authorization: string) {
    this.#service = service
    this.id = id
    this.#authorization = authorization
  }

  static async create(service: DemoService, creator: string): Promise<Owner> {
    const answer = await fetch(service.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ creator }),
    })
    const { id, passphrase } = (await answer.json()) as { id: string; passphrase: string }
    return new Owner(service, id, `Basic ${Buffer.from(`${creator}:${passphrase}`).toString('base64')}`)
  }

  get url(): string {
    return `${this.#service.url}/${this.id}`
  }

  /** Below the own actor; the answer as JSON. */
  async ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: this.#authorization, 'content-type': 'application/json', accept: 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  async trustIn(other: Owner): Promise<Trust | undefined> {
    return ((await this.ask('GET', '/trust')) as Trust[]).find(({ peerid }) => peerid === other.id)
  }

  async secretWith(other: Owner): Promise<string> {
    return (await this.trustIn(other))?.secret ?? ''
  }

  async seenOf(other: Owner): Promise<Record<string, unknown>> {
    return (await this.ask('POST', '/methods/seen_of', { peer: other.id })) as Record<string, unknown>
  }

  async copyOf(other: Owner): Promise<string> {
    return JSON.stringify(await this.seenOf(other))
  }

  /** What became of each change that the other one was to be told of, the latest first. */
  async subscriptionOf(other: Owner): Promise<{ data: { sequence: number; outcome: string }[] }> {
    const { data } = (await this.ask('GET', `/subscriptions/${other.id}`)) as { data: Subscription[] }
    const [first] = data
    return (await this.ask('GET', `/subscriptions/${other.id}/${first?.subscriptionid}?timeline=true`)) as {
      data: { sequence: number; outcome: string }[]
    }
  }
}

/** Waits for something that happens at the other end. */
export async function until(what: string, happened: () => Promise<boolean>): Promise<void> {
  const limit = performance.now() + 15_000
  while (!(await happened())) {
    if (performance.now() > limit) throw new Error(`Waited in vain for ${what}.`)
    await setTimeout(20)
  }
}
