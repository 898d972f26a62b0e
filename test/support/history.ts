/** Records what was asked of things, when, and what was answered, to be held against serial orders. */
import { type Call, findSerialOrder, type Sequential } from './serial-order.ts'

export interface Reply {
  readonly status: number
  readonly text: string
}

/** Sends one request as the creator of an actor, or as nobody; throws when no answer comes. */
export type Send = (method: string, path: string, options?: SendOptions) => Promise<Reply>

export interface SendOptions {
  readonly authorization?: string
  /** A string goes as text, anything else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A call of a history; that it had no effect is known from some moment on. */
interface OpenCall<Input> extends Call<Input> {
  ended: number
}

/** A thing with its calls, whatever it is. */
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

  /** From now on nothing that was not answered can still have an effect: those who worked on it are dead. */
  settle(): void {
    const now = this.tick()
    for (const thing of this.#things) thing.settle(now)
  }

  /** One sentence for everything that must not be. */
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
   * Sends a request and records it. `read` gives the answer as the sequential thing would give it; undefined for an
   * answer that it never gives.
   *
   * @returns whether there was an answer.
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
      // A refusal says when it does not know whether the change was made; otherwise nothing was.
      if (reply.text.includes('is unknown')) this.#addUnknown(input, begun)
      else this.#history.refused++
      return true
    }
    const value = read(reply)
    if (value === undefined) {
      this.#history.surprise(
        `${this.name}: ${JSON.stringify(input)} was answered ${reply.status} ${reply.text.slice(0, 200)}`,
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
