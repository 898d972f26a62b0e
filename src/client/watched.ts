/** A value that is read again when it changes. All readers of one value share its reads. */
import type { ServerChange, ChangeStream } from './live.ts'
import { RequestFailed } from './request-failed.ts'

/** The state of a watched value. The object stays the same while nothing changes. @public */
export interface WatchedState<Value> {
  /** `failed`: the last read failed, and `value` is what was read before. */
  readonly state: 'loading' | 'ready' | 'failed'
  readonly value: Value | undefined
  readonly error: Error | null
}

export interface WatchedSource<Value> {
  /** Whether a change concerns the value. */
  readonly concerns: (change: ServerChange) => boolean
  readonly read: () => Promise<Value>
}

/** A value that follows its changes. @public */
export class Watched<Value> {
  readonly #live: ChangeStream
  readonly #source: WatchedSource<Value>
  readonly #listeners = new Set<() => void>()
  #snapshot: WatchedState<Value> = { state: 'loading', value: undefined, error: null }
  #release: (() => void) | null = null
  #isReading = false
  #isOutdated = false

  constructor(live: ChangeStream, source: WatchedSource<Value>) {
    this.#live = live
    this.#source = source
  }

  readonly snapshot = (): WatchedState<Value> => this.#snapshot

  /** Calls the listener after each change of the snapshot. Returns the function that ends this. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#release === null) {
      this.#release = this.#live.listen((change) => {
        if (change === null || this.#source.concerns(change)) this.refresh()
      })
      this.refresh()
    }
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#release?.()
      this.#release = null
    }
  }

  /** Reads the value again. A read that has begun may be older than the change, so another read follows it. */
  readonly refresh = (): void => {
    this.#isOutdated = true
    if (!this.#isReading) void this.#readUntilCurrent()
  }

  async #readUntilCurrent(): Promise<void> {
    this.#isReading = true
    while (this.#isOutdated) {
      this.#isOutdated = false
      try {
        const value = await this.#source.read()
        if (!this.#isOutdated) this.#show({ state: 'ready', value, error: null })
      } catch (error) {
        // The next person must not see what the person before has read.
        const isSignedOut = error instanceof RequestFailed && error.status === 401
        const value = isSignedOut ? undefined : this.#snapshot.value
        if (!this.#isOutdated)
          this.#show({ state: 'failed', value, error: error instanceof Error ? error : new Error(String(error)) })
      }
    }
    this.#isReading = false
  }

  #show(snapshot: WatchedState<Value>): void {
    if (isSame(this.#snapshot, snapshot)) return
    this.#snapshot = snapshot
    for (const listener of this.#listeners) listener()
  }

  /** Calls `onValue` with the value now and after each change, and `onError` when a read fails. */
  live(onValue: (value: Value) => void, onError?: (error: Error) => void): () => void {
    const tell = (): void => {
      const { state, value, error } = this.#snapshot
      if (state === 'failed' && error !== null) onError?.(error)
      else if (state === 'ready') onValue(value as Value)
    }
    const end = this.subscribe(tell)
    if (this.#snapshot.state === 'ready') tell()
    return end
  }
}

/** Values are JSON, so equal text means equal values. */
function isSame(before: WatchedState<unknown>, after: WatchedState<unknown>): boolean {
  return (
    before.state === after.state &&
    before.error?.message === after.error?.message &&
    JSON.stringify(before.value) === JSON.stringify(after.value)
  )
}
