/** A property of the actor, or a value below a property. */
import { type RequestSender, orMissing, pathOf, strongVersion } from './connection.ts'
import type { ChangeStream } from './live.ts'
import { RequestFailed } from './request-failed.ts'
import { Watched } from './watched.ts'

/** A property of the actor. @public */
export interface ClientProperty<Value, Given> {
  /** Returns the value. Undefined when it does not exist. */
  get(): Promise<Value>
  /** Stores a value. Below a name, objects merge key by key. */
  set(value: Given): Promise<void>
  /**
   * Replaces the value by the result of `change`, and returns it. No other change comes between: `change` runs again when
   * one did.
   *
   * @throws RequestFailed `precondition_failed` when other changes came between 50 times.
   */
  update(change: (value: Value) => Given | Promise<Given>): Promise<Given>
  delete(): Promise<void>
  /** Calls `onValue` with the value now and after each change. Returns the function that ends this. */
  live(onValue: (value: Value) => void, onError?: (error: Error) => void): () => void
  /** The value with its state, for `useProperty`. */
  readonly watched: Watched<Value>
}

/** A read-only value, such as the copy of a peer's property. @public */
export type ClientValue<Value> = Pick<ClientProperty<Value, never>, 'get' | 'live' | 'watched'>

const maxAttempts = 50

/** @param path The name, or a path below it. */
export function clientProperty<Value, Given>(
  connection: RequestSender,
  live: ChangeStream,
  path: string | readonly string[],
): ClientProperty<Value, Given> {
  const [name = ''] = typeof path === 'string' ? path.split('/') : path
  const address = `/properties${pathOf(path)}`
  const readable = clientValue<Value>(connection, live, { address, category: 'properties', name })
  return {
    ...readable,
    async set(value) {
      await connection.request('PUT', address, { body: value })
    },
    async update(change) {
      for (let attempt = 1; ; attempt += 1) {
        const found = await orMissing(() => connection.request('GET', address))
        const value = await change((found === undefined ? undefined : await found.json()) as Value)
        try {
          await connection.request('PUT', address, { body: value, headers: conditionOf(found) })
          return value
        } catch (error) {
          const wasOvertaken = error instanceof RequestFailed && error.status === 412
          if (!wasOvertaken || attempt === maxAttempts) throw error
        }
      }
    },
    async delete() {
      await orMissing(() => connection.request('DELETE', address))
    },
  }
}

/** The condition that the value is still the one of this response, or still missing. */
function conditionOf(found: Response | undefined): Record<string, string> {
  if (found === undefined) return { 'if-none-match': '*' }
  const tag = strongVersion(found)
  if (tag === null) throw new RequestFailed('Cannot update the value: it has no version', { code: 'no_version' })
  return { 'if-match': tag }
}

export interface ValueSource {
  readonly address: string
  /** The changes that concern the value. */
  readonly category: string
  readonly name: string
}

export function clientValue<Value>(
  connection: RequestSender,
  live: ChangeStream,
  { address, category, name }: ValueSource,
): ClientValue<Value> {
  const get = async (): Promise<Value> => {
    const found = await orMissing(() => connection.request('GET', address))
    return (found === undefined ? undefined : await found.json()) as Value
  }
  const watched = new Watched(live, {
    concerns: (change) => change.category === category && change.name === name,
    read: get,
  })
  return { get, watched, live: (onValue, onError) => watched.live(onValue, onError) }
}
