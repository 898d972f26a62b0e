/** The stream of changes of an actor. One stream serves everything that a client watches. */
import type { RequestSender } from './connection.ts'
import { serverEvents } from './event-stream.ts'
import { RequestFailed } from './request-failed.ts'

/** The name of what changed. */
export interface ServerChange {
  readonly category: string
  readonly name: string
}

/** Receives a change, or null when the stream has begun and changes may have been missed. */
export type StreamListener = (change: ServerChange | null) => void

const firstDelayMs = 1000
const longestDelayMs = 30_000

export class ChangeStream {
  readonly #connection: RequestSender
  readonly #listeners = new Set<StreamListener>()
  #running: AbortController | null = null

  constructor(connection: RequestSender) {
    this.#connection = connection
  }

  /** Calls the listener for each change. Returns the function that ends this. */
  listen(listener: StreamListener): () => void {
    this.#listeners.add(listener)
    if (this.#running === null) this.#begin()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  /** Ends the stream, and begins it again for another session. */
  restart(): void {
    this.#stop()
    if (this.#listeners.size > 0) this.#begin()
  }

  /** Ends the stream of a session that has ended. The listeners read again, and find no session. */
  end(): void {
    this.#stop()
    this.#tell(null)
  }

  #stop(): void {
    this.#running?.abort()
    this.#running = null
  }

  #begin(): void {
    const controller = new AbortController()
    this.#running = controller
    void this.#run(controller.signal)
  }

  async #run(signal: AbortSignal): Promise<void> {
    let delayMs = firstDelayMs
    while (!signal.aborted) {
      try {
        await visible(signal)
        await this.#read(signal, () => {
          delayMs = firstDelayMs
        })
      } catch (error) {
        // Without a session of the owner there is nothing to watch. A new session restarts the stream.
        if (error instanceof RequestFailed && (error.status === 401 || error.status === 403)) return
      }
      // Clients that lost their stream at the same moment come back at different times.
      await delay(delayMs * (0.5 + Math.random() / 2), signal)
      delayMs = Math.min(2 * delayMs, longestDelayMs)
    }
  }

  async #read(signal: AbortSignal, onBegun: () => void): Promise<void> {
    const { body } = await this.#connection.request('GET', '/live', {
      headers: { accept: 'text/event-stream' },
      signal: AbortSignal.any([signal, hidden(signal)]),
    })
    if (body === null) return
    onBegun()
    this.#tell(null)
    for await (const { event, data } of serverEvents(body))
      if (event === 'change') this.#tell(JSON.parse(data) as ServerChange)
  }

  #tell(change: ServerChange | null): void {
    for (const listener of this.#listeners) listener(change)
  }
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** The part of a page's document that is used here. */
interface PageDocument extends EventTarget {
  readonly hidden: boolean
}

function pageDocument(): PageDocument | undefined {
  return Reflect.get(globalThis, 'document') as PageDocument | undefined
}

/** Resolves when the page is visible. Browsers limit the connections to one host, so a hidden page has no stream. */
function visible(signal: AbortSignal): Promise<void> {
  const page = pageDocument()
  if (page?.hidden !== true) return Promise.resolve()
  return new Promise((resolve) => {
    page.addEventListener('visibilitychange', () => resolve(), { once: true, signal })
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Aborts when the page becomes hidden. */
function hidden(signal: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const page = pageDocument()
  page?.addEventListener('visibilitychange', () => page.hidden && controller.abort(), { signal })
  return controller.signal
}
