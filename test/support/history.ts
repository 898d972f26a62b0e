/** Records requests to objects with their times and responses, and checks them against serial orders. */
import { type Call, findSerialOrder, type Sequential } from './serial-order.ts'

export interface Reply {
  readonly status: number
  readonly text: string
}

/** Sends one request with or without a creator's credentials. Throws when no response arrives. */
export type Send = (method: string, path: string, options?: SendOptions) => Promise<Reply>

export interface SendOptions {
  readonly authorization?: string
  /** A string is sent as text, any other value as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A recorded call. `ended` is infinite while a call without a response may still take effect. */
interface OpenCall<Input> extends Call<Input> {
  ended: number
}

/** An object with its recorded calls, independent of their types. */
interface Judged {
  settle(now: number): void
  failure(): string | null
}

export class History {
  readonly #things: Judged[] = []
  readonly #surprises: string[] = []
  #now = 0
  acknowledged = 0
  refused = 0
  unknown = 0

  tick(): number {
    return ++this.#now
  }

  thing<State, Input>(name: string, object: Sequential<State, Input>): Recorded<State, Input> {
    const recorded = new Recorded(this, name, object)
    this.#things.push(recorded)
    return recorded
  }

  surprise(what: string): void {
    this.#surprises.push(what)
  }

  /** Marks that calls without a response can no longer take effect, because the processes that handled them are dead. */
  settle(): void {
    const now = this.tick()
    for (const thing of this.#things) thing.settle(now)
  }

  /** Returns one message for each violation. */
  failures(): string[] {
    return [...this.#surprises, ...this.#things.flatMap((thing) => thing.failure() ?? [])]
  }
}

export class Recorded<State, Input> {
  readonly name: string
  readonly #history: History
  readonly #object: Sequential<State, Input>
  readonly #calls: OpenCall<Input>[] = []

  constructor(history: History, name: string, object: Sequential<State, Input>) {
    this.name = name
    this.#history = history
    this.#object = object
  }

  /**
   * Sends a request and records it. `read` converts the response to an answer of the sequential object, or to undefined
   * for a response that the object never gives.
   *
   * @returns Whether a response arrived.
   */
  async call(input: Input, send: () => Promise<Reply>, read: (reply: Reply) => unknown): Promise<boolean> {
    const begun = this.#history.tick()
    let reply: Reply
    try {
      reply = await send()
    } catch {
      this.#addUnknown(input, begun)
      return false
    }
    const ended = this.#history.tick()
    if (reply.status === 503) {
      // The message of a 503 says "is unknown" when the change may have been made. Otherwise it was not made.
      if (reply.text.includes('is unknown')) this.#addUnknown(input, begun)
      else this.#history.refused++
      return true
    }
    const value = read(reply)
    if (value === undefined) {
      this.#history.surprise(
        `${this.name}: unexpected response to ${JSON.stringify(input)}: ${reply.status} ${reply.text.slice(0, 200)}`,
      )
      return true
    }
    this.#history.acknowledged++
    this.#calls.push({ input, begun, ended, answer: { value } })
    return true
  }

  #addUnknown(input: Input, begun: number): void {
    this.#history.unknown++
    this.#calls.push({ input, begun, ended: Infinity, answer: 'unknown' })
  }

  settle(now: number): void {
    for (const call of this.#calls) if (call.ended === Infinity) call.ended = now
  }

  failure(): string | null {
    const verdict = findSerialOrder(this.#object, this.#calls)
    if (verdict.ordered) return null
    const { call, possible } = verdict
    const around = this.#calls
      .filter((other) => other.ended >= call.begun - 40 && other.begun <= call.ended)
      .sort((a, b) => a.begun - b.begun)
    return [
      `${this.name}: no serial order explains ${JSON.stringify(call)}`,
      `  possible before it: ${possible.join(' or ')}`,
      ...around.map((other) => `  ${JSON.stringify(other)}`),
    ].join('\n')
  }
}
