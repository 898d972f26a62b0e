/** An owner who uses an actor over HTTP. */
import { setTimeout } from 'node:timers/promises'
import type { DemoService } from './service.ts'

interface Trust {
  readonly peerid: string
  readonly secret: string
  readonly peer_approved: boolean
}

interface Home {
  readonly items: readonly { readonly id: string; readonly owner: string; readonly text: string }[]
  /** The money of the whole family. */
  readonly limit: number
  readonly spent: number
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

  /** Sends a request to a path below the owner's actor, and returns the JSON response. */
  async ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await this.#send(method, path, body)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} failed: ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  #send(method: string, path: string, body: unknown): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: this.#authorization, 'content-type': 'application/json', accept: 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async trustIn(other: Owner): Promise<Trust | undefined> {
    return ((await this.ask('GET', '/trust')) as Trust[]).find(({ peerid }) => peerid === other.id)
  }

  async secretWith(other: Owner): Promise<string> {
    return (await this.trustIn(other))?.secret ?? ''
  }

  /** Returns what the page of the household shows to this owner: the own data, and the copies of the others. */
  async home(): Promise<Home> {
    return (await this.ask('POST', '/actions/show_household', {})) as Home
  }

  /** The items that this owner sees, such as `Milk, Bread`. */
  async shopping(): Promise<string> {
    return (await this.home()).items.map(({ text }) => text).join(', ')
  }

  /** Buys the item of this name, and returns the status of the response. */
  async buy(text: string, price: number): Promise<number> {
    const item = (await this.home()).items.find((one) => one.text === text)
    if (item === undefined) throw new Error(`${text} is not on the list.`)
    return (await this.#send('POST', '/actions/buy', { owner: item.owner, id: item.id, price })).status
  }

  /** Returns the outcomes of the diffs for the peer's subscription, latest first. */
  async subscriptionOf(other: Owner): Promise<{ data: { sequence: number; outcome: string }[] }> {
    const { data } = (await this.ask('GET', `/subscriptions/${other.id}`)) as { data: Subscription[] }
    const [first] = data
    return (await this.ask('GET', `/subscriptions/${other.id}/${first?.subscriptionid}?timeline=true`)) as {
      data: { sequence: number; outcome: string }[]
    }
  }
}

/** Polls until the condition is true, for 15 seconds at most. */
export async function until(what: string, happened: () => Promise<boolean>): Promise<void> {
  const limit = performance.now() + 15_000
  while (!(await happened())) {
    if (performance.now() > limit) throw new Error(`Timed out while waiting for ${what}.`)
    await setTimeout(20)
  }
}
